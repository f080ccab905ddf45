//! poll and select on the terminal, for ever, for a time, for other things than reading.

use std::os::fd::AsFd;
use std::time::Duration;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll, ppoll};
use nix::sys::select::{FdSet, pselect};
use nix::sys::signal::SigSet;
use nix::sys::termios::{FlowArg, tcflow};
use nix::sys::time::TimeSpec;

use crate::args::Args;
use crate::failure::{Outcome, Step};
use crate::stage::{compute_for, read, ready};
use crate::sys;
use crate::{Group::Poll, Probe};

pub(crate) const PROBES: &[Probe] = &[
    Probe::new(Poll, "poll", "poll(2) of fd 0 for reading", poll_stdin),
    Probe::new(Poll, "ppoll", "ppoll(2) of fd 0 for reading", ppoll_stdin),
    Probe::new(Poll, "select", "select(2) of fd 0 for reading", select_stdin),
    Probe::new(Poll, "pselect", "pselect(2) of fd 0 for reading", pselect_stdin),
    Probe::new(Poll, "pselect-timeout", "pselect(2) of fd 0 for 60 s", pselect_timeout),
    Probe::new(Poll, "poll-hangup", "poll(2) of fd 0 for hang-up only", poll_hangup),
    Probe::new(Poll, "poll-write", "poll(2) of a stopped fd 0 for writing only", poll_write),
    Probe::new(
        Poll,
        "poll-write-and-read",
        "poll(2) of fd 0 for reading, of a pipe for writing",
        poll_write_and_read,
    ),
    Probe::new(Poll, "poll-ignored", "poll(2) of fd 0 and of the descriptor -1", poll_ignored),
    Probe::new(
        Poll,
        "work-select-0",
        "select(2) of fd 0 for 0 ms between slices of work",
        work_select_0,
    ),
    Probe::new(
        Poll,
        "work-select-20",
        "select(2) of fd 0 for 20 ms between slices of work",
        work_select_20,
    ),
];

fn wait_for_stdin(events: PollFlags) -> Outcome {
    poll(&mut [PollFd::new(sys::stdin(), events)], PollTimeout::NONE).to("poll")?;
    Ok(())
}

fn poll_stdin(_: &Args) -> Outcome {
    ready(&[])?;
    wait_for_stdin(PollFlags::POLLIN)?;
    read(sys::stdin())
}

fn ppoll_stdin(_: &Args) -> Outcome {
    ready(&[])?;
    let mut set = [PollFd::new(sys::stdin(), PollFlags::POLLIN)];
    ppoll(&mut set, None, Some(SigSet::empty())).to("ppoll")?;
    read(sys::stdin())
}

fn select_stdin(_: &Args) -> Outcome {
    ready(&[])?;
    sys::select_stdin(None).to("select")?;
    read(sys::stdin())
}

fn pselect_for(timeout: Option<Duration>) -> Outcome {
    let mut set = FdSet::new();
    set.insert(sys::stdin());
    let timeout = timeout.map(TimeSpec::from);
    pselect(None, &mut set, None, None, timeout.as_ref(), None).to("pselect")?;
    Ok(())
}

fn pselect_stdin(_: &Args) -> Outcome {
    ready(&[])?;
    pselect_for(None)?;
    read(sys::stdin())
}

fn pselect_timeout(_: &Args) -> Outcome {
    ready(&[])?;
    pselect_for(Some(Duration::from_secs(60)))
}

fn poll_hangup(_: &Args) -> Outcome {
    ready(&[])?;
    wait_for_stdin(PollFlags::empty())
}

fn poll_write(_: &Args) -> Outcome {
    ready(&[])?;
    tcflow(sys::stdin(), FlowArg::TCOOFF).to("stop the terminal's output")?;
    wait_for_stdin(PollFlags::POLLOUT)
}

fn poll_write_and_read(_: &Args) -> Outcome {
    let (_reader, writer) = crate::pipes::full()?;
    ready(&[])?;
    let mut set = [
        PollFd::new(sys::stdin(), PollFlags::POLLIN),
        PollFd::new(writer.as_fd(), PollFlags::POLLOUT),
    ];
    poll(&mut set, PollTimeout::NONE).to("poll")?;
    read(sys::stdin())
}

fn poll_ignored(_: &Args) -> Outcome {
    ready(&[])?;
    sys::poll_with_ignored(sys::stdin()).to("poll")?;
    read(sys::stdin())
}

fn work_between_selects(timeout: Duration) -> Outcome {
    ready(&[])?;
    while !sys::select_stdin(Some(timeout)).to("select")? {
        compute_for(Duration::from_millis(10));
    }
    read(sys::stdin())
}

fn work_select_0(_: &Args) -> Outcome {
    work_between_selects(Duration::ZERO)
}

fn work_select_20(_: &Args) -> Outcome {
    work_between_selects(Duration::from_millis(20))
}
