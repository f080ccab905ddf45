//! epoll on the terminal: the set is only to be seen in `/proc/PID/fdinfo`.

use std::io;
use std::os::fd::AsFd;

use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::eventfd::EventFd;
use nix::sys::signal::SigSet;

use crate::args::Args;
use crate::failure::{Failure, Outcome, Step};
use crate::stage::{read, ready};
use crate::sys;
use crate::{Group::Poll, Probe};

pub(crate) const PROBES: &[Probe] = &[
    Probe::new(
        Poll,
        "epoll",
        "epoll_wait(2) for fd 0 beside an eventfd and a pipe of its own",
        epoll,
    ),
    Probe::new(Poll, "epoll-pwait", "epoll_pwait(2) with a signal mask for fd 0", epoll_pwait),
    Probe::new(Poll, "epoll-pwait2", "epoll_pwait2(2) for fd 0", epoll_pwait2),
    Probe::new(
        Poll,
        "epoll-nested",
        "epoll_wait(2) on a set that holds the set with fd 0",
        epoll_nested,
    ),
    Probe::new(Poll, "poll-epoll", "poll(2) of an epoll set that holds fd 0", poll_epoll),
    Probe::new(
        Poll,
        "epoll-disarmed",
        "epoll_wait(2) for fd 0, of which no event is asked",
        epoll_disarmed,
    ),
    Probe::new(
        Poll,
        "epoll-moved",
        "epoll_wait(2) for the terminal under a number that is another file's now",
        epoll_moved,
    ),
];

fn set_of(fd: impl AsFd, events: EpollFlags) -> Result<Epoll, Failure> {
    let set = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC).to("make an epoll set")?;
    set.add(fd, EpollEvent::new(events, 0)).to("add to the epoll set")?;
    Ok(set)
}

fn wait(set: &Epoll) -> Outcome {
    set.wait(&mut [EpollEvent::empty()], EpollTimeout::NONE).to("wait on the epoll set")?;
    Ok(())
}

fn epoll(_: &Args) -> Outcome {
    let set = set_of(sys::stdin(), EpollFlags::EPOLLIN)?;
    let wakeup = EventFd::new().to("make an eventfd")?;
    let (reader, _writer) = io::pipe().to("make a pipe")?;
    set.add(&wakeup, EpollEvent::new(EpollFlags::EPOLLIN, 1)).to("add to the epoll set")?;
    set.add(&reader, EpollEvent::new(EpollFlags::EPOLLIN, 2)).to("add to the epoll set")?;
    ready(&[])?;
    wait(&set)?;
    read(sys::stdin())
}

fn epoll_pwait(_: &Args) -> Outcome {
    let set = set_of(sys::stdin(), EpollFlags::EPOLLIN)?;
    ready(&[])?;
    sys::epoll_pwait(&set.0, &SigSet::all()).to("wait on the epoll set")?;
    read(sys::stdin())
}

fn epoll_pwait2(_: &Args) -> Outcome {
    let set = set_of(sys::stdin(), EpollFlags::EPOLLIN)?;
    ready(&[])?;
    sys::epoll_pwait2(&set.0, None).or_skip("wait by epoll_pwait2")?;
    read(sys::stdin())
}

fn epoll_nested(_: &Args) -> Outcome {
    let inner = set_of(sys::stdin(), EpollFlags::EPOLLIN)?;
    let outer = set_of(&inner.0, EpollFlags::EPOLLIN)?;
    ready(&[])?;
    wait(&outer)?;
    read(sys::stdin())
}

fn poll_epoll(_: &Args) -> Outcome {
    let set = set_of(sys::stdin(), EpollFlags::EPOLLIN)?;
    ready(&[])?;
    sys::poll_with_ignored(&set.0).to("poll")?;
    read(sys::stdin())
}

fn epoll_disarmed(_: &Args) -> Outcome {
    let set = set_of(sys::stdin(), EpollFlags::EPOLLIN | EpollFlags::EPOLLONESHOT)?;
    set.modify(sys::stdin(), &mut EpollEvent::empty()).to("ask for no event")?;
    ready(&[])?;
    wait(&set)
}

/// The set keeps the open file, not the number: closing one of several descriptors of the file
/// leaves it watched (epoll(7), "Questions and answers", 6).
fn epoll_moved(_: &Args) -> Outcome {
    let number = sys::stdin().try_clone_to_owned().to("duplicate fd 0")?;
    let set = set_of(&number, EpollFlags::EPOLLIN)?;
    let other = EventFd::new().to("make an eventfd")?;
    sys::replace(&number, &other).to("reuse the number")?;
    ready(&[])?;
    wait(&set)?;
    read(sys::stdin())
}
