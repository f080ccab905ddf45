//! Stopped processes.

use std::io;

use nix::sys::ptrace;
use nix::sys::signal::{SigSet, Signal, raise};
use nix::sys::termios::LocalFlags;
use nix::sys::wait::{WaitPidFlag, waitpid};
use nix::unistd::{Pid, setpgid, tcsetpgrp, write};

use crate::args::Args;
use crate::failure::{Failure, Outcome, Step};
use crate::stage::{Modes, child, read, ready, wait_for};
use crate::sys;
use crate::{Group::Stops, Probe};

pub(crate) const PROBES: &[Probe] = &[
    Probe::new(
        Stops,
        "sigttin",
        "wait4(2) for a background child, stopped when it read fd 0",
        sigttin,
    ),
    Probe::new(
        Stops,
        "sigttou",
        "wait4(2) for a background child, stopped when it wrote to fd 0",
        sigttou,
    ),
    Probe::new(Stops, "sigtstp", "a foreground child that stopped itself by SIGTSTP", sigtstp),
    Probe::new(Stops, "sigstop", "stops itself by SIGSTOP", sigstop),
    Probe::new(Stops, "traced", "wait4(2) for a child in a ptrace stop", traced),
    Probe::new(
        Stops,
        "debugger",
        "read(2) of fd 0 by the tracer of a child in a ptrace stop",
        debugger,
    ),
];

/// A process that runs `body` in a group of its own.
fn grouped_child(body: impl FnOnce() -> Outcome) -> Result<Pid, Failure> {
    child(|| {
        own_group()?;
        body()
    })
}

fn own_group() -> Outcome {
    setpgid(Pid::from_raw(0), Pid::from_raw(0)).to("make a process group")
}

/// Waits until the child has stopped.
fn wait_for_stop(child: Pid) -> Outcome {
    waitpid(child, Some(WaitPidFlag::WUNTRACED)).to("wait for the child to stop")?;
    Ok(())
}

fn sigttin(_: &Args) -> Outcome {
    let child = grouped_child(|| read(sys::stdin()))?;
    wait_for_stop(child)?;
    ready(&[("child", child)])?;
    wait_for(child)
}

fn sigttou(_: &Args) -> Outcome {
    let _modes = Modes::change(|termios| termios.local_flags.insert(LocalFlags::TOSTOP))?;
    let child = grouped_child(|| {
        write(io::stdout(), b"from the background\n").to("write")?;
        Ok(())
    })?;
    wait_for_stop(child)?;
    ready(&[("child", child)])?;
    wait_for(child)
}

/// The parent must be of another group of the session: nobody could continue an orphaned group, so
/// the kernel does not let SIGTSTP stop it.
fn sigtstp(_: &Args) -> Outcome {
    let child = grouped_child(|| {
        SigSet::from(Signal::SIGTTOU).thread_block().to("block SIGTTOU")?;
        tcsetpgrp(sys::stdin(), nix::unistd::getpid()).to("take the foreground")?;
        raise(Signal::SIGTSTP).to("stop")
    })?;
    wait_for_stop(child)?;
    ready(&[("child", child)])?;
    wait_for(child)
}

fn sigstop(_: &Args) -> Outcome {
    ready(&[])?;
    raise(Signal::SIGSTOP).to("stop")
}

fn tracee() -> Result<Pid, Failure> {
    let child = child(|| {
        ptrace::traceme().or_skip("be traced")?;
        raise(Signal::SIGSTOP).to("stop")
    })?;
    wait_for_stop(child)?;
    Ok(child)
}

fn traced(_: &Args) -> Outcome {
    let child = tracee()?;
    ready(&[("child", child)])?;
    wait_for(child)
}

fn debugger(_: &Args) -> Outcome {
    let child = tracee()?;
    ready(&[("child", child)])?;
    read(sys::stdin())
}
