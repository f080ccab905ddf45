//! File locks, by who holds them. The file is a memfd: nothing is left behind.

use std::fs::{File, OpenOptions};
use std::os::fd::AsRawFd;

use nix::fcntl::{FcntlArg, Flock, FlockArg, fcntl};
use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::unistd::Pid;

use crate::args::Args;
use crate::failure::{Failure, Outcome, Step};
use crate::stage::{outsider, read, ready, sleep_long};
use crate::sys;
use crate::{Group::Locks, Probe};

pub(crate) const PROBES: &[Probe] = &[
    Probe::new(
        Locks,
        "flock-child",
        "flock(2), held by a child that sleeps for an hour",
        flock_child,
    ),
    Probe::new(
        Locks,
        "flock-child-reader",
        "flock(2), held by a child that reads fd 0",
        flock_child_reader,
    ),
    Probe::new(
        Locks,
        "flock-self",
        "flock(2), held by itself through another open file",
        flock_self,
    ),
    Probe::new(
        Locks,
        "flock-cycle",
        "flock(2) by parent and child, each of what the other holds",
        flock_cycle,
    ),
    Probe::new(
        Locks,
        "flock-outside",
        "flock(2), held by a process that is not of the job",
        flock_outside,
    ),
    Probe::new(
        Locks,
        "fcntl-child",
        "fcntl(2) F_SETLKW, held by a child that sleeps for an hour",
        fcntl_child,
    ),
    Probe::new(
        Locks,
        "ofd-self",
        "fcntl(2) F_OFD_SETLKW, held by itself through another open file",
        ofd_self,
    ),
    Probe::new(
        Locks,
        "ofd-outside",
        "fcntl(2) F_OFD_SETLKW, held by a process that is not of the job",
        ofd_outside,
    ),
];

fn new_file() -> Result<File, Failure> {
    memfd_create(c"lock", MFdFlags::MFD_CLOEXEC).to("make a file in memory").map(File::from)
}

/// The same file, opened again: locks of flock(2) and OFD locks belong to the open file.
fn open_again(file: &File) -> Result<File, Failure> {
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    OpenOptions::new().read(true).write(true).open(path).to("open the file again")
}

fn flock(file: File) -> Result<Flock<File>, Failure> {
    Flock::lock(file, FlockArg::LockExclusive).map_err(|(_, errno)| errno).to("lock the file")
}

fn whole_file() -> libc::flock {
    libc::flock {
        l_type: libc::F_WRLCK as libc::c_short,
        l_whence: libc::SEEK_SET as libc::c_short,
        l_start: 0,
        l_len: 0,
        l_pid: 0,
    }
}

fn lock_posix(file: &File) -> Outcome {
    fcntl(file, FcntlArg::F_SETLKW(&whole_file())).to("lock the file")?;
    Ok(())
}

fn lock_ofd(file: &File) -> Outcome {
    fcntl(file, FcntlArg::F_OFD_SETLKW(&whole_file())).to("lock the file")?;
    Ok(())
}

/// A child that says when it holds what it shall hold, and then goes on with `after`.
fn holding_child<T>(
    take: impl FnOnce() -> Result<T, Failure>,
    after: impl FnOnce() -> Outcome,
) -> Result<Pid, Failure> {
    let (held, report) = std::io::pipe().to("make a pipe")?;
    let child = crate::stage::child(move || {
        let _held = take()?;
        drop(report);
        after()
    })?;
    read(&held)?;
    Ok(child)
}

fn sleep() -> Outcome {
    sleep_long();
    Ok(())
}

fn flock_held_by_child(after: fn() -> Outcome) -> Outcome {
    let file = new_file()?;
    let childs = open_again(&file)?;
    let child = holding_child(move || flock(childs), after)?;
    ready(&[("child", child)])?;
    flock(file).map(drop)
}

fn flock_child(_: &Args) -> Outcome {
    flock_held_by_child(sleep)
}

fn flock_child_reader(_: &Args) -> Outcome {
    flock_held_by_child(|| read(sys::stdin()))
}

fn flock_self(_: &Args) -> Outcome {
    let file = new_file()?;
    let again = open_again(&file)?;
    let _held = flock(file)?;
    ready(&[])?;
    flock(again).map(drop)
}

fn flock_cycle(_: &Args) -> Outcome {
    let (first, second) = (new_file()?, new_file()?);
    let (first_again, second_again) = (open_again(&first)?, open_again(&second)?);
    let _held = flock(first)?;
    let child = holding_child(move || flock(second), move || flock(first_again).map(drop))?;
    ready(&[("child", child)])?;
    flock(second_again).map(drop)
}

fn flock_outside(_: &Args) -> Outcome {
    let file = new_file()?;
    let theirs = open_again(&file)?;
    let outsider = outsider(move |lifeline| {
        let _held = flock(theirs)?;
        lifeline.hold()
    })?;
    ready(&[("outside", outsider)])?;
    flock(file).map(drop)
}

fn fcntl_child(_: &Args) -> Outcome {
    let file = new_file()?;
    let childs = open_again(&file)?;
    let child = holding_child(move || lock_posix(&childs).map(|()| childs), sleep)?;
    ready(&[("child", child)])?;
    lock_posix(&file)
}

fn ofd_self(_: &Args) -> Outcome {
    let file = new_file()?;
    let again = open_again(&file)?;
    lock_ofd(&file)?;
    ready(&[])?;
    lock_ofd(&again)
}

fn ofd_outside(_: &Args) -> Outcome {
    let file = new_file()?;
    let theirs = open_again(&file)?;
    let outsider = outsider(move |lifeline| {
        lock_ofd(&theirs)?;
        lifeline.hold()
    })?;
    ready(&[("outside", outsider)])?;
    lock_ofd(&file)
}
