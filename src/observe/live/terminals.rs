//! Questions to terminals. Each opens what it asks and closes it at once: a slave held open would
//! hide the hang-up from the master's holder, a copied master the hang-up from the slave's.

use std::os::fd::{AsFd, OwnedFd, RawFd};
use std::time::Duration;

use nix::errno::Errno;
use nix::fcntl::{OFlag, open};
use nix::sys::stat::Mode;
use nix::sys::termios::{LocalFlags, SpecialCharacterIndices, Termios};

use super::files::fd_path;
use crate::observe::{Modes, Pid, TtyAccess, TtyId, TtyReady, TtyState};
use crate::sys::{fd, pidfd, stat, tty};

pub(super) fn state(access: TtyAccess) -> nix::Result<TtyState> {
    match access {
        TtyAccess::Master(master) => {
            let master = fd::duplicate(master)?;
            Ok(TtyState {
                modes: Some(modes(&tty::modes(&master)?)),
                foreground: group(tty::foreground(&master)),
            })
        }
        // A slave tells its groups to its own session only.
        TtyAccess::Process { pid, fd, id } => {
            let modes = modes(&tty::modes(open_anew(pid, fd, id)?)?);
            Ok(TtyState { modes: Some(modes), ..TtyState::default() })
        }
    }
}

pub(super) fn ready(access: TtyAccess) -> nix::Result<TtyReady> {
    match access {
        TtyAccess::Master(master) => {
            let master = fd::duplicate(master)?;
            let slave = tty::open_peer(&master, OFlag::O_RDWR | OFlag::O_NONBLOCK)?;
            let undrained = tty::has_data(&master)?;
            answer(&slave, Some(undrained))
        }
        TtyAccess::Process { pid, fd, id } => answer(&open_anew(pid, fd, id)?, None),
    }
}

pub(super) fn master_readable(pid: Pid, fd: RawFd) -> nix::Result<bool> {
    // A socket that is copied would be charged to our control group from then on.
    let kind = stat::follow(fd_path(pid, fd).as_str())?.mode & libc::S_IFMT;
    if kind != libc::S_IFCHR {
        return Err(Errno::ENOTTY);
    }
    tty::has_data(pidfd::get_fd(pidfd::open(pid)?, fd)?)
}

fn answer<Fd: AsFd>(slave: Fd, undrained: Option<bool>) -> nix::Result<TtyReady> {
    let tty::Ready { readable, writable } = tty::ready(slave)?;
    Ok(TtyReady { readable, writable, undrained })
}

/// Opens the terminal behind another process's descriptor. It is looked at before, because to open
/// some devices is to set them going, and after, because the descriptor may have changed meanwhile.
fn open_anew(pid: Pid, fd: RawFd, id: TtyId) -> nix::Result<OwnedFd> {
    let path = fd_path(pid, fd);
    expect(stat::follow(path.as_str())?, id)?;
    let flags = OFlag::O_NOCTTY | OFlag::O_NONBLOCK | OFlag::O_CLOEXEC;
    let terminal = match open(path.as_str(), flags | OFlag::O_RDWR, Mode::empty()) {
        Err(Errno::EACCES) => open(path.as_str(), flags | OFlag::O_RDONLY, Mode::empty()),
        answer => answer,
    }?;
    expect(stat::of(&terminal)?, id)?;
    Ok(terminal)
}

/// Another terminal than the one asked for means that the one asked for is gone.
fn expect(found: stat::Stat, id: TtyId) -> nix::Result<()> {
    let device = found.mode & libc::S_IFMT == libc::S_IFCHR && found.rdev == id.rdev;
    if device && (id.dev == 0 || found.dev == id.dev) { Ok(()) } else { Err(Errno::ENOENT) }
}

fn modes(termios: &Termios) -> Modes {
    let flags = termios.local_flags;
    let at = |index: SpecialCharacterIndices| termios.control_chars[index as usize];
    let (least, tenths) = (at(SpecialCharacterIndices::VMIN), at(SpecialCharacterIndices::VTIME));
    let timed = !flags.contains(LocalFlags::ICANON) && least == 0 && tenths > 0;
    Modes {
        read_timeout: timed.then(|| Duration::from_millis(100 * u64::from(tenths))),
        canonical: flags.contains(LocalFlags::ICANON),
        echo: flags.contains(LocalFlags::ECHO),
        signals: flags.contains(LocalFlags::ISIG),
    }
}

fn group(answer: nix::Result<Option<nix::unistd::Pid>>) -> Option<Pid> {
    answer.ok().flatten().map(nix::unistd::Pid::as_raw)
}
