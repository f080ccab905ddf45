//! Waits that the time alone ends.

use std::time::Duration;

use nix::poll::{PollTimeout, poll};
use nix::sys::signal::{SaFlags, Signal};
use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};
use nix::time::{ClockId as Clock, clock_gettime};
use nix::unistd::{alarm, pause};

use crate::args::Args;
use crate::failure::{Failure, Outcome, Step};
use crate::stage::{HOUR, compute, ready};
use crate::sys;
use crate::{Group::Timers, Probe};

pub(crate) const PROBES: &[Probe] = &[
    Probe::new(Timers, "nanosleep", "nanosleep(2) for an hour", nanosleep),
    Probe::new(Timers, "clock-nanosleep", "clock_nanosleep(2) until a time an hour away", until),
    Probe::new(Timers, "timerfd", "read(2) of a timerfd that fires in an hour", timerfd),
    Probe::new(
        Timers,
        "timerfd-disarmed",
        "read(2) of a timerfd that is not armed",
        timerfd_disarmed,
    ),
    Probe::new(Timers, "poll-timeout", "poll(2) of nothing for an hour", poll_nothing),
    Probe::new(Timers, "alarm", "pause(2) with an alarm(2) an hour away", alarm_pause),
    Probe::new(Timers, "busy", "computes", busy),
];

fn nanosleep(_: &Args) -> Outcome {
    ready(&[])?;
    sys::nanosleep(HOUR).to("sleep")
}

fn until(_: &Args) -> Outcome {
    let now = Duration::from(clock_gettime(Clock::CLOCK_MONOTONIC).to("read the clock")?);
    ready(&[])?;
    sys::sleep_until(now + HOUR).to("sleep")
}

fn new_timerfd() -> Result<TimerFd, Failure> {
    TimerFd::new(ClockId::CLOCK_MONOTONIC, TimerFlags::TFD_CLOEXEC).to("make a timerfd")
}

fn timerfd(_: &Args) -> Outcome {
    let timer = new_timerfd()?;
    let once = Expiration::OneShot(TimeSpec::from(HOUR));
    timer.set(once, TimerSetTimeFlags::empty()).to("arm the timerfd")?;
    ready(&[])?;
    timer.wait().to("wait for the timerfd")
}

fn timerfd_disarmed(_: &Args) -> Outcome {
    let timer = new_timerfd()?;
    ready(&[])?;
    timer.wait().to("wait for the timerfd")
}

fn poll_nothing(_: &Args) -> Outcome {
    let timeout = PollTimeout::try_from(HOUR).map_err(|_| Failure::Usage("too long".into()))?;
    ready(&[])?;
    poll(&mut [], timeout).to("poll")?;
    Ok(())
}

fn alarm_pause(_: &Args) -> Outcome {
    sys::handle(Signal::SIGALRM, SaFlags::empty()).to("set a signal handler")?;
    alarm::set(HOUR.as_secs() as u32);
    ready(&[])?;
    pause();
    Ok(())
}

fn busy(_: &Args) -> Outcome {
    ready(&[])?;
    compute()
}
