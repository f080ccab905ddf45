//! What the watcher's thread takes, beside jobs of different kinds.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::Context;
use awaitty::proc::Schedstat;
use awaitty::watch::{Monitor, OpenOptions};

use crate::Effort;
use crate::report::Report;
use crate::stage::{DEADLINE, probe};
use crate::stats::Sorted;

const METHOD: &str = "CPU time of the thread awaitty-watch (schedstat) by wall time; the median of \
                      windows of a second, which begin a second after the job has come to be so";
const WINDOW: Duration = Duration::from_secs(1);

pub(crate) fn measure(report: &mut Report, effort: Effort) -> anyhow::Result<()> {
    report.subject("cpu", METHOD)?;
    let shell = |script: &str| {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    };
    let jobs = [
        ("a prompt that waits", probe("read-prompted", &[]), Some(0.1)),
        ("a job that computes in silence", probe("busy", &[]), Some(1.0)),
        ("a job that sleeps in silence", probe("nanosleep", &[]), Some(1.0)),
        ("a job that redraws its screen (top)", probe("redraw", &[]), None),
        (
            "a job that prints a line every 10 ms",
            shell("while :; do echo line; sleep 0.01; done"),
            None,
        ),
        ("a job that prints without end (yes)", shell("exec yes"), None),
    ];
    for (name, command, bound) in jobs {
        let shares = shares(command, effort.of(10))?;
        let samples = shares.len();
        report.figure(format!("beside {name}"), shares.median(), "%", bound, samples);
    }
    Ok(())
}

/// The shares of a core, in percent, that so many windows saw.
fn shares(command: Command, windows: usize) -> anyhow::Result<Sorted> {
    let monitor = Monitor::start()?;
    let watched = monitor.open(command, OpenOptions::default())?;
    watched.wait_until(|_| true, DEADLINE)?;
    let thread = Thread::find()?;
    std::thread::sleep(WINDOW);
    let mut shares = Vec::with_capacity(windows);
    for _ in 0..windows {
        let (began, before) = (Instant::now(), thread.cpu()?);
        std::thread::sleep(WINDOW);
        let (elapsed, after) = (began.elapsed(), thread.cpu()?);
        shares.push((after - before).as_secs_f64() / elapsed.as_secs_f64() * 100.0);
    }
    Ok(Sorted::new(shares))
}

/// The youngest watcher of this process; an older one may still be about to end. It has its name by
/// the time of its first verdict.
pub(crate) struct Thread(PathBuf);

impl Thread {
    pub(crate) fn find() -> anyhow::Result<Thread> {
        let name = |path: &Path| std::fs::read_to_string(path.join("comm")).unwrap_or_default();
        let entries = std::fs::read_dir("/proc/self/task")?;
        let tasks: Vec<_> =
            entries.map(|entry| entry.map(|entry| entry.path())).collect::<Result<_, _>>()?;
        let watchers = tasks.into_iter().filter(|path| name(path) == "awaitty-watch\n");
        let youngest = watchers.max_by_key(|path| number_of(path));
        let path = youngest.context("no thread is called awaitty-watch")?;
        Ok(Thread(path.join("schedstat")))
    }

    pub(crate) fn cpu(&self) -> anyhow::Result<Duration> {
        let text = std::fs::read_to_string(&self.0)?;
        Ok(Schedstat::parse(&text).context("no schedstat")?.cpu)
    }
}

fn number_of(path: &Path) -> u32 {
    path.file_name().and_then(|name| name.to_str()?.parse().ok()).unwrap_or(0)
}
