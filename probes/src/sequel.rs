//! Situations in which what was true of a PID or of a call no longer is.

use std::fs;
use std::time::Duration;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{Signal, kill};
use nix::unistd::{self, Pid};

use crate::args::Args;
use crate::failure::{Failure, Outcome, Step};
use crate::stage::{HOUR, child, compute, die_with, finish, read, ready, ready_as, wait_for};
use crate::sys::{self, Fork};
use crate::{Group::Children, Group::Timers, Probe};

pub(crate) const PROBES: &[Probe] = &[
    Probe::new(
        Children,
        "pid-reuse",
        "wait4(2) for a child that reads fd 0; fed, it is followed by one of the same PID that computes",
        pid_reuse,
    ),
    Probe::new(
        Timers,
        "restart-poll",
        "poll(2) of fd 0, restarted after a stop: restart_syscall(2)",
        restart_poll,
    ),
    Probe::new(
        Timers,
        "restart-nanosleep",
        "nanosleep(2) for an hour, restarted after a stop: restart_syscall(2)",
        restart_nanosleep,
    ),
];

/// The second child gets the PID of the first by clone3(2) `set_tid`: CAP_CHECKPOINT_RESTORE.
fn pid_reuse(_: &Args) -> Outcome {
    if !unistd::geteuid().is_root() {
        return Err(Failure::Skip("only root may choose a PID".into()));
    }
    let reader = child(|| read(sys::stdin()))?;
    ready(&[("child", reader)])?;
    wait_for(reader)?;
    let parent = unistd::getpid();
    match sys::fork_as(reader).or_skip("choose a PID")? {
        Fork::Parent(child) => wait_for(child),
        Fork::Child => finish(die_with(parent).and_then(|()| compute())),
    }
}

fn restart_poll(_: &Args) -> Outcome {
    stop_and_continue_when_asleep()?;
    poll(&mut [PollFd::new(sys::stdin(), PollFlags::POLLIN)], PollTimeout::NONE).to("poll")?;
    read(sys::stdin())
}

fn restart_nanosleep(_: &Args) -> Outcome {
    stop_and_continue_when_asleep()?;
    sys::nanosleep(HOUR).to("sleep")
}

/// Starts a child that stops this process once it sleeps, continues it, prints the ready line for
/// it and ends. An ignored SIGCHLD neither leaves a zombie nor interrupts the call.
fn stop_and_continue_when_asleep() -> Outcome {
    let stopped = unistd::getpid();
    sys::ignore(Signal::SIGCHLD).to("ignore a signal")?;
    child(move || {
        wait_for_letter(stopped, 'S')?;
        kill(stopped, Signal::SIGSTOP).to("stop the parent")?;
        wait_for_letter(stopped, 'T')?;
        kill(stopped, Signal::SIGCONT).to("continue the parent")?;
        wait_for_letter(stopped, 'S')?;
        ready_as(stopped, &[])
    })?;
    Ok(())
}

/// Looks at the state letter of proc_pid_stat(5) until it is the one that is wanted.
fn wait_for_letter(pid: Pid, wanted: char) -> Outcome {
    loop {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).to("read the state")?;
        let letter = stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next());
        if letter == Some(wanted) {
            return Ok(());
        }
        sys::nanosleep(Duration::from_millis(1)).to("sleep")?;
    }
}
