//! Waits for a signal.

use nix::sys::signal::{SigSet, Signal};
use nix::unistd::pause as pause_call;

use crate::args::Args;
use crate::failure::{Failure, Outcome, Step};
use crate::stage::{HOUR, ready};
use crate::sys;
use crate::{Group::Signals, Probe};

pub(crate) const PROBES: &[Probe] = &[
    Probe::new(Signals, "pause", "pause(2)", pause),
    Probe::new(Signals, "sigsuspend", "sigsuspend(2)", sigsuspend),
    Probe::new(Signals, "sigwait", "sigwait(3): sigtimedwait(2) for ever", sigwait),
    Probe::new(Signals, "sigtimedwait", "sigtimedwait(2) for an hour", sigtimedwait),
];

fn blocked_usr1() -> Result<SigSet, Failure> {
    let mut set = SigSet::empty();
    set.add(Signal::SIGUSR1);
    set.thread_block().to("block a signal")?;
    Ok(set)
}

fn pause(_: &Args) -> Outcome {
    ready(&[])?;
    pause_call();
    Ok(())
}

fn sigsuspend(_: &Args) -> Outcome {
    blocked_usr1()?;
    ready(&[])?;
    // It always ends in EINTR: a signal is what it waits for.
    let _ = SigSet::empty().suspend();
    Ok(())
}

fn sigwait(_: &Args) -> Outcome {
    let set = blocked_usr1()?;
    ready(&[])?;
    set.wait().to("wait for a signal")?;
    Ok(())
}

fn sigtimedwait(_: &Args) -> Outcome {
    let set = blocked_usr1()?;
    ready(&[])?;
    sys::sigtimedwait(&set, Some(HOUR)).to("wait for a signal")
}
