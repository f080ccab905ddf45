//! Waits for children, and children that are not where one would look.

use std::os::fd::AsFd;

use nix::sys::wait::{Id, WaitPidFlag, waitid as waitid_call};
use nix::unistd::{Pid, setpgid, setsid};

use crate::args::Args;
use crate::failure::{Failure, Outcome, Step};
use crate::stage::{child, compute, orphan, outsider, read, ready, sleep_long, wait_for};
use crate::sys;
use crate::{Group::Children, Probe};

pub(crate) const PROBES: &[Probe] = &[
    Probe::new(Children, "wait4-reader", "wait4(2) for a child that reads fd 0", wait4_reader),
    Probe::new(
        Children,
        "wait4-sleep",
        "wait4(2) for a child that sleeps for an hour",
        wait4_sleep,
    ),
    Probe::new(Children, "wait4-busy", "wait4(2) for a child that computes", wait4_busy),
    Probe::new(Children, "waitid", "waitid(2) for a child that reads fd 0", waitid_pid),
    Probe::new(
        Children,
        "waitid-pidfd",
        "waitid(2) by pidfd for a child that reads fd 0",
        waitid_pidfd,
    ),
    Probe::new(
        Children,
        "zombie",
        "wait4(2) for a child that reads fd 0, beside one that is not reaped",
        zombie,
    ),
    Probe::new(
        Children,
        "background-busy",
        "read(2) of fd 0 beside a background job that computes",
        background_busy,
    ),
    Probe::new(
        Children,
        "setsid-busy",
        "read(2) of fd 0 beside a child that computes in a session of its own",
        setsid_busy,
    ),
    Probe::new(
        Children,
        "setsid-sleep",
        "read(2) of fd 0 beside a child that sleeps in a session of its own",
        setsid_sleep,
    ),
    Probe::new(
        Children,
        "daemon-busy",
        "read(2) of fd 0 beside a process outside of the job that computes",
        daemon_busy,
    ),
    Probe::new(
        Children,
        "orphan-busy",
        "read(2) of fd 0 beside an orphan of the same group that computes",
        orphan_busy,
    ),
    Probe::new(
        Children,
        "vfork-sleep",
        "vfork(2): uninterruptible until a child ends that sleeps for an hour",
        vfork_sleep,
    ),
    Probe::new(
        Children,
        "vfork-reader",
        "vfork(2): uninterruptible until a child ends that reads fd 0",
        vfork_reader,
    ),
];

fn reader() -> Result<Pid, Failure> {
    child(|| read(sys::stdin()))
}

fn wait4_reader(_: &Args) -> Outcome {
    let child = reader()?;
    ready(&[("child", child)])?;
    wait_for(child)
}

fn wait4_sleep(_: &Args) -> Outcome {
    let child = child(|| {
        sleep_long();
        Ok(())
    })?;
    ready(&[("child", child)])?;
    wait_for(child)
}

fn wait4_busy(_: &Args) -> Outcome {
    let child = child(|| compute())?;
    ready(&[("child", child)])?;
    wait_for(child)
}

fn waitid_pid(_: &Args) -> Outcome {
    let child = reader()?;
    ready(&[("child", child)])?;
    waitid_call(Id::Pid(child), WaitPidFlag::WEXITED).to("wait for the child")?;
    Ok(())
}

fn waitid_pidfd(_: &Args) -> Outcome {
    let child = reader()?;
    let pidfd = sys::pidfd_open(child).or_skip("open a pidfd")?;
    ready(&[("child", child)])?;
    waitid_call(Id::PIDFd(pidfd.as_fd()), WaitPidFlag::WEXITED).to("wait for the child")?;
    Ok(())
}

fn zombie(_: &Args) -> Outcome {
    let zombie = child(|| Ok(()))?;
    // Waits until it has ended, and leaves it unreaped.
    waitid_call(Id::Pid(zombie), WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT)
        .to("wait for the child")?;
    let child = reader()?;
    ready(&[("zombie", zombie), ("child", child)])?;
    wait_for(child)
}

fn background_busy(_: &Args) -> Outcome {
    let child = child(|| {
        setpgid(Pid::from_raw(0), Pid::from_raw(0)).to("make a process group")?;
        compute()
    })?;
    ready(&[("background", child)])?;
    read(sys::stdin())
}

fn setsid_busy(_: &Args) -> Outcome {
    let child = child(|| {
        setsid().to("make a session")?;
        compute()
    })?;
    ready(&[("child", child)])?;
    read(sys::stdin())
}

fn setsid_sleep(_: &Args) -> Outcome {
    let child = child(|| {
        setsid().to("make a session")?;
        sleep_long();
        Ok(())
    })?;
    ready(&[("child", child)])?;
    read(sys::stdin())
}

fn daemon_busy(_: &Args) -> Outcome {
    let outsider = outsider(|lifeline| lifeline.compute())?;
    ready(&[("outside", outsider)])?;
    read(sys::stdin())
}

/// The orphan's parent is another process now, but its group and its terminal are the same. It
/// watches the probe's end by a pipe, since the death signal goes by parents.
fn orphan_busy(_: &Args) -> Outcome {
    let orphan = orphan(|lifeline| lifeline.compute())?;
    ready(&[("orphan", orphan)])?;
    read(sys::stdin())
}

fn vfork_sleep(_: &Args) -> Outcome {
    ready(&[])?;
    sys::vfork(|| {
        sleep_long();
        0
    })
    .to("vfork")?;
    Ok(())
}

fn vfork_reader(_: &Args) -> Outcome {
    ready(&[])?;
    sys::vfork(|| isize::from(read(sys::stdin()).is_err())).to("vfork")?;
    Ok(())
}
