//! Probes for measurements: a stamp of the moment of blocking, and crowds.

use std::fs::{File, OpenOptions};
use std::io;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::time::{ClockId, clock_gettime};
use nix::unistd::write;

use crate::args::Args;
use crate::failure::{Failure, Outcome, Step};
use crate::stage::{child, compute_for, read, ready};
use crate::sys;
use crate::{Group::Bench, Probe};

pub(crate) const PROBES: &[Probe] = &[
    Probe::new(
        Bench,
        "stamp",
        "read(2) of fd 0, a number of times, each stamped just before in a shared file",
        stamp,
    )
    .options(&["--file=", "--count=", "--prompt=", "--sleep-ms=", "--work-ms="]),
    Probe::new(
        Bench,
        "crowd-threads",
        "read(2) of fd 0 beside many threads asleep in futex(2)",
        crowd_of_threads,
    )
    .options(&["--count="]),
    Probe::new(
        Bench,
        "crowd-processes",
        "read(2) of fd 0 beside many children asleep in read(2) of a pipe",
        crowd_of_processes,
    )
    .options(&["--count="]),
];

/// The file holds two native 64-bit words: the time on CLOCK_MONOTONIC in ns, and the number of
/// stamps so far. The number is written last, so who sees it sees the time that belongs to it.
fn stamp(args: &Args) -> Outcome {
    let count: u64 = args.value("--count=", 1)?;
    let prompt = args.text("--prompt=").unwrap_or("");
    let sleep = Duration::from_millis(args.value("--sleep-ms=", 0)?);
    let work = Duration::from_millis(args.value("--work-ms=", 0)?);
    let file = shared_file(args.text("--file="))?;
    let [time, number] = sys::map_counters(&file).to("map the stamp's file")?;
    ready(&[])?;
    for round in 1..=count {
        if !sleep.is_zero() {
            sys::nanosleep(sleep).to("sleep")?;
        }
        compute_for(work);
        if !prompt.is_empty() {
            write(io::stdout(), prompt.as_bytes()).to("print the prompt")?;
        }
        time.store(monotonic()?, Ordering::Relaxed);
        number.store(round, Ordering::Release);
        read(sys::stdin())?;
    }
    Ok(())
}

/// Without a path it is shared with nobody.
fn shared_file(path: Option<&str>) -> Result<File, Failure> {
    let Some(path) = path else {
        return memfd_create(c"stamp", MFdFlags::MFD_CLOEXEC)
            .to("make a file in memory")
            .map(File::from);
    };
    OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(path)
        .to("open the stamp's file")
}

fn monotonic() -> Result<u64, Failure> {
    let now = clock_gettime(ClockId::CLOCK_MONOTONIC).to("read the clock")?;
    Ok(Duration::from(now).as_nanos() as u64)
}

fn crowd_of_threads(args: &Args) -> Outcome {
    for _ in 0..args.value("--count=", 100)? {
        let stack = thread::Builder::new().stack_size(64 * 1024);
        stack
            .spawn(|| {
                loop {
                    thread::park();
                }
            })
            .to("start a thread")?;
    }
    ready(&[])?;
    read(sys::stdin())
}

fn crowd_of_processes(args: &Args) -> Outcome {
    let (reader, _writer) = io::pipe().to("make a pipe")?;
    for _ in 0..args.value("--count=", 100)? {
        child(|| read(&reader))?;
    }
    ready(&[])?;
    read(sys::stdin())
}
