//! Descriptors of the kernel's own events.

use std::os::fd::{AsFd, AsRawFd};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::eventfd::EventFd;
use nix::sys::inotify::{AddWatchFlags, InitFlags, Inotify};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::SignalFd;
use nix::sys::socket::{AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, recv, socket};
use nix::unistd::Pid;

use crate::args::Args;
use crate::failure::{Outcome, Step};
use crate::stage::{child, outsider, read, ready, sleep_long};
use crate::sys;
use crate::{Group::Events, Probe};

pub(crate) const PROBES: &[Probe] = &[
    Probe::new(Events, "eventfd", "read(2) of an eventfd that only it holds", eventfd),
    Probe::new(Events, "signalfd", "read(2) of a signalfd", signalfd),
    Probe::new(Events, "inotify", "read(2) of an inotify descriptor", inotify),
    Probe::new(
        Events,
        "pidfd-child",
        "poll(2) of the pidfd of a child that sleeps for an hour",
        pidfd_child,
    ),
    Probe::new(
        Events,
        "pidfd-outside",
        "poll(2) of the pidfd of a process that is not of the job",
        pidfd_outside,
    ),
    Probe::new(Events, "netlink", "recvfrom(2) on a netlink socket", netlink),
    Probe::new(Events, "io-getevents", "io_getevents(2) with nothing submitted", io_getevents),
];

fn eventfd(_: &Args) -> Outcome {
    let event = EventFd::new().to("make an eventfd")?;
    ready(&[])?;
    read(&event)
}

fn signalfd(_: &Args) -> Outcome {
    let mut set = SigSet::empty();
    set.add(Signal::SIGUSR1);
    set.thread_block().to("block a signal")?;
    let signals = SignalFd::new(&set).to("make a signalfd")?;
    ready(&[])?;
    read(&signals)
}

fn inotify(_: &Args) -> Outcome {
    let watches = Inotify::init(InitFlags::IN_CLOEXEC).to("make an inotify descriptor")?;
    // The root directory is never deleted.
    watches.add_watch("/", AddWatchFlags::IN_DELETE_SELF).to("watch the root directory")?;
    ready(&[])?;
    read(&watches)
}

fn wait_for_end(role: &str, process: Pid) -> Outcome {
    let pidfd = sys::pidfd_open(process).or_skip("open a pidfd")?;
    ready(&[(role, process)])?;
    let mut set = [PollFd::new(pidfd.as_fd(), PollFlags::POLLIN)];
    poll(&mut set, PollTimeout::NONE).to("poll")?;
    Ok(())
}

fn pidfd_child(_: &Args) -> Outcome {
    let child = child(|| {
        sleep_long();
        Ok(())
    })?;
    wait_for_end("child", child)
}

fn pidfd_outside(_: &Args) -> Outcome {
    wait_for_end("outside", outsider(|lifeline| lifeline.hold())?)
}

fn netlink(_: &Args) -> Outcome {
    let (kind, protocol) = (SockType::Raw, SockProtocol::NetlinkKObjectUEvent);
    let socket = socket(AddressFamily::Netlink, kind, SockFlag::SOCK_CLOEXEC, protocol)
        .or_skip("make a netlink socket")?;
    ready(&[])?;
    let mut buffer = [0; 4096];
    recv(socket.as_raw_fd(), &mut buffer, MsgFlags::empty()).to("receive")?;
    Ok(())
}

fn io_getevents(_: &Args) -> Outcome {
    ready(&[])?;
    sys::io_getevents().or_skip("use kernel aio")
}
