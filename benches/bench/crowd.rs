//! A probe with many tasks on a terminal that nobody watches, to be looked at by hand.

use std::fs::File;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::FileExt;
use std::time::Instant;

use anyhow::{Context, ensure};
use awaitty::observe::{Depth, Instantaneous, Live, Looker, Outer, Root, Scope, TtyAccess};
use awaitty::pty::{Pty, Size};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use crate::stage::probe;
use crate::stats::Sorted;

/// Reads of our own `stat` between two looks.
const YARDSTICK: usize = 20;

/// Times in µs.
pub(crate) struct Looks {
    /// Everything is read anew.
    pub(crate) first: Sorted,
    /// Nothing has run since.
    pub(crate) again: Sorted,
    /// The same work between the looks, whatever is looked at: how fast the machine was.
    pub(crate) yardstick: Sorted,
}

pub(crate) struct Crowd {
    terminal: Pty,
    scope: Scope,
}

impl Crowd {
    /// Starts `crowd-threads` or `crowd-processes`, with so many tasks in all.
    pub(crate) fn start(name: &str, tasks: usize) -> anyhow::Result<Crowd> {
        let command = probe(name, &[format!("--count={}", tasks - 1)]);
        let terminal = Pty::spawn(command, Size::default())?;
        let outer = Outer {
            id: terminal.id(),
            name: terminal.name().to_owned(),
            access: Some(TtyAccess::Master(terminal.as_fd().as_raw_fd())),
        };
        let scope = Scope { root: Root::Session(terminal.pid()), terminal: Some(outer) };
        let crowd = Crowd { terminal, scope };
        crowd.await_ready()?;
        Ok(crowd)
    }

    fn await_ready(&self) -> anyhow::Result<()> {
        let mut buffer = [0; 4096];
        loop {
            let mut master = [PollFd::new(self.terminal.as_fd(), PollFlags::POLLIN)];
            poll(&mut master, PollTimeout::NONE)?;
            let count = self.terminal.read(&mut buffer)?;
            ensure!(count > 0, "the probe ended");
            if buffer[..count].contains(&b'\n') {
                return Ok(());
            }
        }
    }

    /// Times in µs of first looks and of second ones, which find that nothing has run since. The
    /// kernel's files are open already, as they are in a watch that goes on.
    pub(crate) fn looks(&self, times: usize) -> anyhow::Result<Looks> {
        let mut kernel = Live::with_kept_tasks(1100);
        let mut first = Vec::with_capacity(times);
        let mut second = Vec::with_capacity(times);
        // The ready line is printed just before the probe blocks.
        let settled = (0..1000).any(|_| {
            let mut looker = Looker::new(self.scope.clone());
            let seen = looker.look(&mut kernel, Depth::Whole, &mut |_| false);
            seen.instant == Instantaneous::Proved
        });
        ensure!(settled, "the crowd never sleeps");
        let own = File::open("/proc/self/stat")?;
        let mut yardstick = Vec::with_capacity(times);
        for _ in 0..times {
            let began = Instant::now();
            for _ in 0..YARDSTICK {
                own.read_at(&mut [0; 4096], 0)?;
            }
            yardstick.push(began.elapsed().as_secs_f64() * 1e6);
            let mut looker = Looker::new(self.scope.clone());
            for samples in [&mut first, &mut second] {
                let began = Instant::now();
                let seen = looker.look(&mut kernel, Depth::Whole, &mut |_| false);
                samples.push(began.elapsed().as_secs_f64() * 1e6);
                let tasks = seen.tasks.len();
                (seen.instant == Instantaneous::Proved).then_some(()).with_context(|| {
                    format!("a look at {tasks} tasks asleep was {:?}", seen.instant)
                })?;
            }
        }
        Ok(Looks {
            first: Sorted::new(first),
            again: Sorted::new(second),
            yardstick: Sorted::new(yardstick),
        })
    }
}
