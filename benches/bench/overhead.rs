//! What a watched job loses: the same job with a watcher and without, in pairs.

use std::ffi::OsString;
use std::io::Write;
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::time::Instant;

use anyhow::{Context, ensure};
use awaitty::pty::{Pty, Size};
use awaitty::watch::{Monitor, OpenOptions};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use crate::Effort;
use crate::report::Report;
use crate::stage::{DEADLINE, Shared};
use crate::stats::Sorted;

const METHOD: &str = "the job's wall time, taken by its parent on the terminal; each pair runs once \
                      watched and once on a terminal that is only drained, in alternating order; \
                      the median of the pairs' ratios. strace: smaller jobs, likewise in pairs";

/// The role in which this program runs a command and tells how long it took.
pub(crate) const TIMED: &str = "timed";

/// A job of a size that takes about half a second, and a smaller one for strace to slow down.
struct Workload {
    name: &'static str,
    job: fn(usize) -> anyhow::Result<Vec<OsString>>,
    size: usize,
    traced: usize,
}

const WORKLOADS: [Workload; 3] = [
    Workload { name: "dd bs=1", job: dd, size: 1_500_000, traced: 20_000 },
    Workload { name: "1,000 forks", job: forks, size: 1000, traced: 100 },
    Workload { name: "a compile", job: compile, size: 400, traced: 400 },
];

pub(crate) fn measure(report: &mut Report, effort: Effort) -> anyhow::Result<()> {
    report.subject("overhead", METHOD)?;
    let strace = Command::new("strace").arg("-V").output().is_ok();
    for Workload { name, job, size, traced } in &WORKLOADS {
        let Ok(command) = job(*size) else {
            report.skip(&format!("{name}: there is no cc"));
            continue;
        };
        let pairs = effort.of(30);
        let ratios = ratios(pairs, || unwatched(&command), || watched(&command))?;
        let bounds = [Some(1.01), None];
        report.figure(format!("{name}, watched"), ratios.median(), "times", bounds[0], pairs);
        if !strace {
            report.skip(&format!("{name} under strace -f: there is no strace"));
            continue;
        }
        let command = job(*traced)?;
        let under = ["strace", "-f", "-o", "/dev/null"].map(OsString::from);
        let under = [&under[..], &command[..]].concat();
        let pairs = effort.of(10);
        let ratios = self::ratios(pairs, || unwatched(&command), || unwatched(&under))?;
        report.figure(format!("{name}, under strace -f"), ratios.median(), "times", None, pairs);
    }
    Ok(())
}

/// `b` by `a`, so many times, each first as often as the other.
fn ratios(
    pairs: usize,
    a: impl Fn() -> anyhow::Result<f64>,
    b: impl Fn() -> anyhow::Result<f64>,
) -> anyhow::Result<Sorted> {
    let mut ratios = Vec::with_capacity(pairs);
    for pair in 0..pairs {
        let (before, after) = if pair % 2 == 0 {
            let before = a()?;
            (before, b()?)
        } else {
            let after = b()?;
            (a()?, after)
        };
        ratios.push(after / before);
    }
    Ok(Sorted::new(ratios))
}

/// The wall time of a job on a terminal that somebody reads, as every terminal is.
fn unwatched(job: &[OsString]) -> anyhow::Result<f64> {
    let time = Shared::new()?;
    let terminal = Pty::spawn(timed_command(job, &time)?, Size::default())?;
    drain(&terminal)?;
    seconds(&time)
}

fn watched(job: &[OsString]) -> anyhow::Result<f64> {
    let time = Shared::new()?;
    let monitor = Monitor::start()?;
    let watched = monitor.open(timed_command(job, &time)?, OpenOptions::default())?;
    watched.wait_until(|verdict| verdict.has_exited(), DEADLINE)?;
    seconds(&time)
}

fn timed_command(job: &[OsString], time: &Shared) -> anyhow::Result<Command> {
    let mut command = Command::new(crate::own_program()?);
    command.arg(TIMED).arg(time.path()).args(job);
    Ok(command)
}

fn seconds(time: &Shared) -> anyhow::Result<f64> {
    let nanoseconds = time.word(0).context("the job has not told its time")?;
    Ok(nanoseconds as f64 / 1e9)
}

/// Reads until nobody has the terminal open any more.
fn drain(terminal: &Pty) -> anyhow::Result<()> {
    let mut buffer = [0; 4096];
    loop {
        match terminal.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(_) | Err(Errno::EINTR) => {}
            Err(Errno::EAGAIN) => {
                let mut master = [PollFd::new(terminal.as_fd(), PollFlags::POLLIN)];
                poll(&mut master, PollTimeout::NONE)?;
            }
            Err(errno) => return Err(errno.into()),
        }
    }
}

/// Runs the command after the file's name, and writes its wall time in ns to the file.
pub(crate) fn timed(mut arguments: impl Iterator<Item = OsString>) -> anyhow::Result<ExitCode> {
    let file = arguments.next().context("no file")?;
    let program = arguments.next().context("no command")?;
    let mut file = std::fs::OpenOptions::new().write(true).open(file)?;
    let mut command = Command::new(program);
    command.args(arguments);
    let began = Instant::now();
    let status = command.status()?;
    let took = u64::try_from(began.elapsed().as_nanos())?;
    ensure!(status.success(), "{command:?}: {status}");
    file.write_all(&took.to_ne_bytes())?;
    Ok(ExitCode::SUCCESS)
}

fn dd(size: usize) -> anyhow::Result<Vec<OsString>> {
    let count = format!("count={size}");
    let command = ["dd", "if=/dev/zero", "of=/dev/null", "bs=1", "status=none", &count];
    Ok(command.map(OsString::from).to_vec())
}

fn forks(size: usize) -> anyhow::Result<Vec<OsString>> {
    let script = format!("i=0; while [ $i -lt {size} ]; do /bin/true; i=$((i+1)); done");
    Ok(["sh", "-c", &script].map(OsString::from).to_vec())
}

/// A file of so many functions, through the optimiser and the assembler.
fn compile(size: usize) -> anyhow::Result<Vec<OsString>> {
    let version = Command::new("cc").arg("--version").output()?;
    ensure!(version.status.success(), "cc does not run");
    let directory = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"));
    let path = directory.join("compile.c");
    let mut source = String::from("#include <stdio.h>\n#include <string.h>\n");
    for number in 0..size {
        source.push_str(&format!(
            "int f{number}(int *a, int n) {{ int s = {number}; for (int i = 0; i < n; i++) \
             {{ s += a[i] * {number}; if (s & 1) s ^= a[n - i - 1]; }} \
             if (s < 0) printf(\"%d\\n\", s); return s; }}\n"
        ));
    }
    std::fs::write(&path, source)?;
    let mut command = ["cc", "-O2", "-c", "-o"].map(OsString::from).to_vec();
    command.extend([directory.join("compile.o"), path].map(PathBuf::into_os_string));
    Ok(command)
}
