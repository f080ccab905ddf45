//! Two hundred terminals watched by one process.

use std::ffi::OsString;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use awaitty::watch::Monitor;
use crossbeam_channel::Select;
use serde::{Deserialize, Serialize};

use crate::Effort;
use crate::cpu::Thread;
use crate::report::Report;
use crate::stage::{DEADLINE, Rhythm, Stamped};
use crate::stats::Sorted;

const METHOD: &str = "a process of its own watches 200 stamp probes; one, then eight of them at \
                      random, are fed a line, sleep 20 ms, print a prompt and block; memory is that \
                      process's VmRSS after all, CPU its watching thread's while all wait";
const TERMINALS: usize = 200;
const AT_ONCE: usize = 8;

/// The role in which this program is that process.
pub(crate) const WATCHER: &str = "watcher";

/// What it tells.
#[derive(Debug, Serialize, Deserialize)]
struct Told {
    one: Vec<f64>,
    several: Vec<f64>,
    idle_percent: f64,
    resident_mb: f64,
}

pub(crate) fn measure(report: &mut Report, effort: Effort) -> anyhow::Result<()> {
    report.subject("many", METHOD)?;
    let mut command = Command::new(crate::own_program()?);
    command.arg(WATCHER).arg(effort.of(2000).to_string()).stderr(Stdio::inherit());
    let output = command.output()?;
    ensure!(output.status.success(), "the watcher: {}", output.status);
    let told: Told = serde_json::from_slice(&output.stdout)?;
    let bounds = [None, Some(20.0)];
    report.distribution("one of 200 comes back", &Sorted::new(told.one), "ms", bounds);
    report.distribution("eight of 200 at once come back", &Sorted::new(told.several), "ms", bounds);
    report.figure("memory of the process".to_owned(), told.resident_mb, "MB", Some(30.0), 1);
    report.figure("CPU while all 200 wait".to_owned(), told.idle_percent, "%", None, 1);
    Ok(())
}

pub(crate) fn watcher(mut arguments: impl Iterator<Item = OsString>) -> anyhow::Result<ExitCode> {
    let samples = arguments.next().and_then(|number| number.to_str()?.parse().ok());
    let samples: usize = samples.context("how many samples?")?;
    let monitor = Monitor::start()?;
    let rhythm = Rhythm { sleep: Duration::from_millis(20), prompt: "> ", ..Rhythm::default() };
    let mut probes = Vec::with_capacity(TERMINALS);
    for _ in 0..TERMINALS {
        let mut probe = Stamped::open(&monitor, rhythm)?;
        probe.latency()?;
        probes.push(probe);
    }
    let mut random = Random(1);
    let one = (0..samples).map(|at| {
        let fed = [at % TERMINALS];
        round(&mut probes, &fed)
    });
    let one = one.collect::<anyhow::Result<Vec<_>>>()?.concat();
    let several = (0..samples / AT_ONCE).map(|_| {
        let fed = random.distinct(AT_ONCE, TERMINALS);
        round(&mut probes, &fed)
    });
    let several = several.collect::<anyhow::Result<Vec<_>>>()?.concat();
    let idle_percent = idle_percent()?;
    let told = Told { one, several, idle_percent, resident_mb: resident_mb()? };
    println!("{}", serde_json::to_string(&told)?);
    Ok(ExitCode::SUCCESS)
}

/// Feeds these terminals and waits until all have come back; their latencies in ms.
fn round(probes: &mut [Stamped], fed: &[usize]) -> anyhow::Result<Vec<f64>> {
    for &at in fed {
        probes[at].answer(Duration::ZERO)?;
    }
    let mut open = fed.to_vec();
    let mut latencies = Vec::with_capacity(fed.len());
    while !open.is_empty() {
        let mut select = Select::new();
        for &at in &open {
            select.recv(&probes[at].changes);
        }
        let ready = select.ready_timeout(DEADLINE).ok().context("no verdict came")?;
        let probe = &mut probes[open[ready]];
        let change = probe.changes.recv()?;
        if let Some(latency) = probe.arrived(&change)? {
            latencies.push(latency.as_secs_f64() * 1e3);
            open.swap_remove(ready);
        }
    }
    Ok(latencies)
}

fn idle_percent() -> anyhow::Result<f64> {
    let thread = Thread::find()?;
    let (began, before) = (Instant::now(), thread.cpu()?);
    std::thread::sleep(Duration::from_secs(5));
    Ok((thread.cpu()? - before).as_secs_f64() / began.elapsed().as_secs_f64() * 100.0)
}

fn resident_mb() -> anyhow::Result<f64> {
    let text = std::fs::read_to_string("/proc/self/status")?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("no VmRSS")?;
    let kilobytes: f64 = line.trim().trim_end_matches(" kB").parse()?;
    Ok(kilobytes * 1024.0 / 1e6)
}

/// xorshift64: which terminals are fed need not be unforeseeable, only mixed, and the same each time.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound as u64) as usize
    }

    fn distinct(&mut self, count: usize, bound: usize) -> Vec<usize> {
        let mut chosen = Vec::with_capacity(count);
        while chosen.len() < count {
            let next = self.below(bound);
            if !chosen.contains(&next) {
                chosen.push(next);
            }
        }
        chosen
    }
}
