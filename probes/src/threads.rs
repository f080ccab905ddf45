//! Several threads: the reader is not the first task that is looked at, or not the only one.

use std::fs::File;
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Duration;

use nix::sched::{CloneFlags, unshare};
use nix::unistd::dup2_stdin;

use crate::args::Args;
use crate::failure::{Failure, Outcome, Step};
use crate::stage::{HOUR, compute, read, ready};
use crate::sys;
use crate::{Group::Threads, Probe};

pub(crate) const PROBES: &[Probe] = &[
    Probe::new(
        Threads,
        "thread-reader",
        "a thread reads fd 0, the main one waits for it by futex(2)",
        reader,
    ),
    Probe::new(
        Threads,
        "thread-reader-busy",
        "read(2) of fd 0 beside a thread that computes",
        beside_busy,
    ),
    Probe::new(
        Threads,
        "thread-reader-sleep",
        "read(2) of fd 0 beside a thread that sleeps for an hour",
        beside_sleep,
    ),
    Probe::new(
        Threads,
        "thread-reader-tick",
        "read(2) of fd 0 beside a thread that wakes every 50 ms",
        beside_tick,
    ),
    Probe::new(
        Threads,
        "thread-sleep",
        "futex(2): the main thread waits for one that sleeps for an hour",
        join_sleep,
    ),
    Probe::new(Threads, "thread-park", "futex(2) in two threads, which nobody wakes", park_both),
    Probe::new(
        Threads,
        "thread-leader-gone",
        "a thread reads fd 0 after the main one has ended",
        leader_gone,
    ),
    Probe::new(
        Threads,
        "thread-own-fds",
        "a thread with descriptors of its own reads the terminal as its fd 0",
        own_fds,
    ),
    Probe::new(Threads, "futex-waitv", "futex_waitv(2), which nobody wakes", futex_waitv),
];

fn join(thread: thread::JoinHandle<Outcome>) -> Outcome {
    thread.join().unwrap_or_else(|_| Err(Failure::Skip("a thread panicked".into())))
}

fn beside(other: fn()) -> Outcome {
    thread::spawn(other);
    ready(&[])?;
    read(sys::stdin())
}

fn reader(_: &Args) -> Outcome {
    join(thread::spawn(|| {
        ready(&[])?;
        read(sys::stdin())
    }))
}

fn beside_busy(_: &Args) -> Outcome {
    beside(|| compute())
}

fn beside_sleep(_: &Args) -> Outcome {
    beside(|| thread::sleep(HOUR))
}

fn beside_tick(_: &Args) -> Outcome {
    beside(|| {
        loop {
            thread::park_timeout(Duration::from_millis(50));
        }
    })
}

fn join_sleep(_: &Args) -> Outcome {
    let sleeper = thread::spawn(|| {
        thread::sleep(HOUR);
        Ok(())
    });
    ready(&[])?;
    join(sleeper)
}

fn park_for_ever() -> ! {
    loop {
        thread::park();
    }
}

fn park_both(_: &Args) -> Outcome {
    thread::spawn(|| park_for_ever());
    ready(&[])?;
    park_for_ever()
}

fn leader_gone(_: &Args) -> Outcome {
    thread::spawn(|| {
        crate::stage::finish(ready(&[]).and_then(|()| read(sys::stdin())));
    });
    sys::exit_thread()
}

/// The descriptor tables differ from here on: `/proc/PID/fd` is the main thread's alone.
fn own_fds(_: &Args) -> Outcome {
    let barrier = Arc::new(Barrier::new(2));
    let unshared = Arc::clone(&barrier);
    let reader = thread::spawn(move || {
        let outcome = unshare(CloneFlags::CLONE_FILES).to("unshare the descriptors");
        unshared.wait();
        outcome?;
        unshared.wait();
        ready(&[])?;
        read(sys::stdin())
    });
    barrier.wait();
    let null = File::open("/dev/null").to("open /dev/null")?;
    dup2_stdin(&null).to("replace fd 0")?;
    barrier.wait();
    join(reader)
}

fn futex_waitv(_: &Args) -> Outcome {
    ready(&[])?;
    sys::futex_waitv().or_skip("wait by futex_waitv")
}
