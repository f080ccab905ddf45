//! Terminals inside the terminal: relays as script and sudo are, and drivers as expect is.

use std::fs::OpenOptions;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;

use libc::O_NOCTTY;
use nix::errno::Errno;
use nix::mount::{MsFlags, mount};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::pty::openpty;
use nix::sched::{CloneFlags, unshare};
use nix::sys::termios::{self, LocalFlags, SetArg};
use nix::unistd::{self, Pid};

use crate::args::Args;
use crate::failure::{Failure, Outcome, Step};
use crate::stage::{HOUR, Modes, child, compute, read, ready, wait_for};
use crate::sys;
use crate::{Group::Nested, Probe};

pub(crate) const PROBES: &[Probe] = &[
    Probe::new(
        Nested,
        "relay-reader",
        "a relay to an inner terminal whose job reads it",
        relay_reader,
    ),
    Probe::new(
        Nested,
        "relay-secret",
        "a relay to an inner terminal whose job reads it without echo",
        relay_secret,
    ),
    Probe::new(Nested, "relay-busy", "a relay to an inner terminal whose job computes", relay_busy),
    Probe::new(
        Nested,
        "relay-sleep",
        "a relay to an inner terminal whose job sleeps for an hour",
        relay_sleep,
    ),
    Probe::new(Nested, "relay-twice", "a relay to a relay to a reader", relay_twice),
    Probe::new(
        Nested,
        "expect-wait",
        "wait4(2) for a child that reads an inner terminal",
        expect_wait,
    ),
    Probe::new(
        Nested,
        "expect-read",
        "read(2) of the master of an inner terminal whose job reads it",
        expect_read,
    ),
    Probe::new(
        Nested,
        "expect-timeout",
        "poll(2) for an hour of the master of an inner terminal whose job reads it",
        expect_timeout,
    ),
    Probe::new(
        Nested,
        "own-devpts",
        "a relay to a reader on /dev/pts/0 of another devpts",
        own_devpts,
    ),
];

/// A master and a slave that passes every byte.
pub(crate) fn raw_pair() -> Result<(OwnedFd, OwnedFd), Failure> {
    let pair = openpty(None, None).to("open a pty")?;
    let mut modes = termios::tcgetattr(&pair.slave).to("get the terminal's modes")?;
    termios::cfmakeraw(&mut modes);
    termios::tcsetattr(&pair.slave, SetArg::TCSANOW, &modes).to("set the terminal's modes")?;
    Ok((pair.master, pair.slave))
}

/// Begins a session on this terminal.
pub(crate) fn lead_session(terminal: impl AsFd) -> Outcome {
    unistd::setsid().to("make a session")?;
    sys::take_terminal(terminal).to("take the controlling terminal")
}

/// Starts `body` on a terminal of which the caller keeps the master.
fn job_on(
    (master, slave): (OwnedFd, OwnedFd),
    body: impl FnOnce() -> Outcome,
) -> Result<(OwnedFd, Pid), Failure> {
    let master_number = master.as_raw_fd();
    let child = child(move || {
        // A job that held its own master would keep its terminal from hanging up.
        nix::unistd::close(master_number).to("close the master")?;
        lead_session(&slave)?;
        unistd::dup2_stdin(&slave).to("replace fd 0")?;
        unistd::dup2_stdout(&slave).to("replace fd 1")?;
        unistd::dup2_stderr(&slave).to("replace fd 2")?;
        drop(slave);
        body()
    })?;
    Ok((master, child))
}

fn inner(body: impl FnOnce() -> Outcome) -> Result<(OwnedFd, Pid), Failure> {
    let pair = openpty(None, None).to("open a pty")?;
    job_on((pair.master, pair.slave), body)
}

fn read_stdin() -> Outcome {
    read(sys::stdin())
}

/// Carries bytes both ways until either side ends.
fn relay(master: &OwnedFd) -> Outcome {
    let _modes = Modes::raw()?;
    loop {
        let mut set = [sys::stdin(), master.as_fd()].map(|fd| PollFd::new(fd, PollFlags::POLLIN));
        poll(&mut set, PollTimeout::NONE).to("poll")?;
        let [outer, inner] = set.map(|end| end.any().unwrap_or(false));
        let ended =
            (outer && !carry(sys::stdin(), master)?) || (inner && !carry(master, io::stdout())?);
        if ended {
            return Ok(());
        }
    }
}

/// Copies what is there. False at the end; a master whose slave is closed reads as EIO.
fn carry(from: impl AsFd, to: impl AsFd) -> Result<bool, Failure> {
    let mut buffer = [0; 4096];
    match unistd::read(from, &mut buffer) {
        Ok(0) | Err(Errno::EIO) => Ok(false),
        Ok(length) => {
            unistd::write(to, &buffer[..length]).to("relay")?;
            Ok(true)
        }
        Err(errno) => Err(errno).to("relay"),
    }
}

fn relay_to(body: impl FnOnce() -> Outcome) -> Outcome {
    let (master, child) = inner(body)?;
    ready(&[("inner", child)])?;
    relay(&master)
}

fn relay_reader(_: &Args) -> Outcome {
    relay_to(read_stdin)
}

fn relay_secret(_: &Args) -> Outcome {
    relay_to(|| {
        let _modes = Modes::without(LocalFlags::ECHO)?;
        read_stdin()
    })
}

fn relay_busy(_: &Args) -> Outcome {
    relay_to(|| compute())
}

fn relay_sleep(_: &Args) -> Outcome {
    relay_to(|| sys::nanosleep(HOUR).to("sleep"))
}

fn relay_twice(_: &Args) -> Outcome {
    relay_to(|| {
        let (master, _) = inner(read_stdin)?;
        relay(&master)
    })
}

fn expect_wait(_: &Args) -> Outcome {
    let (_master, child) = inner(read_stdin)?;
    ready(&[("inner", child)])?;
    wait_for(child)
}

fn expect_read(_: &Args) -> Outcome {
    let (master, child) = inner(read_stdin)?;
    ready(&[("inner", child)])?;
    read(&master)
}

fn expect_timeout(_: &Args) -> Outcome {
    let (master, child) = inner(read_stdin)?;
    let timeout = PollTimeout::try_from(HOUR).map_err(|_| Failure::Usage("too long".into()))?;
    ready(&[("inner", child)])?;
    poll(&mut [PollFd::new(master.as_fd(), PollFlags::POLLIN)], timeout).to("poll")?;
    Ok(())
}

/// As in a container: the terminal's number is one that the host has given out too.
fn own_devpts(_: &Args) -> Outcome {
    if !unistd::geteuid().is_root() {
        return Err(Failure::Skip("only root may mount a devpts".into()));
    }
    unshare(CloneFlags::CLONE_NEWNS).or_skip("make a mount namespace")?;
    let (nothing, private) = (None::<&str>, MsFlags::MS_REC | MsFlags::MS_PRIVATE);
    mount(nothing, "/", nothing, private, nothing).or_skip("keep the mounts private")?;
    let options = Some("newinstance,ptmxmode=0666");
    mount(Some("devpts"), "/dev/pts", Some("devpts"), MsFlags::empty(), options)
        .or_skip("mount a devpts")?;
    let open = |path| OpenOptions::new().read(true).write(true).custom_flags(O_NOCTTY).open(path);
    let master = OwnedFd::from(open("/dev/pts/ptmx").to("open a pty master")?);
    sys::unlock_pty(&master).to("unlock the pty")?;
    let slave = OwnedFd::from(open("/dev/pts/0").to("open the pty slave")?);
    let (master, child) = job_on((master, slave), read_stdin)?;
    ready(&[("inner", child)])?;
    relay(&master)
}
