//! Probes on watched terminals, and the stamps by which they say when they blocked.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, ensure};
use awaitty::sys::clock;
use awaitty::watch::{Change, Monitor, OpenOptions, Watched};
use crossbeam_channel::Receiver;
use nix::sys::memfd::{MFdFlags, memfd_create};

/// Longer than any wait here takes; what takes longer is a failure, not a figure.
pub(crate) const DEADLINE: Duration = Duration::from_secs(30);

/// The command of a probe.
pub(crate) fn probe(name: &str, arguments: &[String]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_awaitty"));
    command.arg("probe").arg(name).args(arguments);
    command
}

/// A file in memory, which other processes open by its path while we live.
pub(crate) struct Shared {
    file: File,
}

impl Shared {
    pub(crate) fn new() -> nix::Result<Shared> {
        memfd_create(c"bench", MFdFlags::MFD_CLOEXEC).map(|fd| Shared { file: File::from(fd) })
    }

    pub(crate) fn path(&self) -> String {
        format!("/proc/{}/fd/{}", std::process::id(), self.file.as_raw_fd())
    }

    /// The native 64-bit word at this place of the file.
    pub(crate) fn word(&self, at: u64) -> std::io::Result<u64> {
        let mut word = [0; 8];
        self.file.read_exact_at(&mut word, 8 * at)?;
        Ok(u64::from_ne_bytes(word))
    }
}

/// What the `stamp` probe does between two reads.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Rhythm {
    pub(crate) sleep: Duration,
    pub(crate) work: Duration,
    pub(crate) prompt: &'static str,
}

/// The `stamp` probe on a watched terminal.
pub(crate) struct Stamped {
    watched: Watched,
    pub(crate) changes: Receiver<Change>,
    stamps: Shared,
    round: u64,
}

impl Stamped {
    pub(crate) fn open(monitor: &Monitor, rhythm: Rhythm) -> anyhow::Result<Stamped> {
        let stamps = Shared::new()?;
        let arguments = [
            format!("--file={}", stamps.path()),
            format!("--count={}", u32::MAX),
            format!("--prompt={}", rhythm.prompt),
            format!("--sleep-ms={}", rhythm.sleep.as_millis()),
            format!("--work-ms={}", rhythm.work.as_millis()),
        ];
        let watched = monitor.open(probe("stamp", &arguments), OpenOptions::default())?;
        let changes = watched.changes();
        Ok(Stamped { watched, changes, stamps, round: 0 })
    }

    /// Types a line, after as long as somebody takes to read and answer: the probe goes round once
    /// more.
    pub(crate) fn answer(&self, after: Duration) -> anyhow::Result<()> {
        std::thread::sleep(after);
        Ok(self.watched.write(b"\n")?)
    }

    /// The time from the stamp to the verdict that the probe waits for input again.
    pub(crate) fn latency(&mut self) -> anyhow::Result<Duration> {
        loop {
            let change = self.changes.recv_timeout(DEADLINE).context("no verdict came")?;
            if let Some(latency) = self.arrived(&change)? {
                return Ok(latency);
            }
        }
    }

    /// The latency of this change, if it is the verdict on the round that is under way.
    pub(crate) fn arrived(&mut self, change: &Change) -> anyhow::Result<Option<Duration>> {
        let now = clock::monotonic();
        if !change.verdict.waits_for_input() {
            return Ok(None);
        }
        // The number is written after the time, so the two belong together.
        let round = self.stamps.word(1)?;
        if round == self.round {
            return Ok(None);
        }
        ensure!(change.verdict.exact, "a verdict that is not exact: {:?}", change.verdict);
        ensure!(round == self.round + 1, "round {round} after {}", self.round);
        self.round = round;
        Ok(Some(now.saturating_sub(Duration::from_nanos(self.stamps.word(0)?))))
    }
}
