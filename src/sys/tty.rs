//! Terminals by descriptor: ioctl_tty(2), termios(3), poll(2).

use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};

use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::pty::Winsize;
use nix::sys::termios::{Termios, tcgetattr};
use nix::unistd::{Pid, tcgetpgrp};

mod ioctl {
    nix::ioctl_write_int_bad!(get_peer, libc::TIOCGPTPEER);
    nix::ioctl_read_bad!(get_window_size, libc::TIOCGWINSZ, libc::winsize);
    nix::ioctl_write_ptr_bad!(set_window_size, libc::TIOCSWINSZ, libc::winsize);
}

/// What poll(2) says at this moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ready {
    /// A read would return: with data, at end of file, or with an error.
    pub readable: bool,
    /// A write would return.
    pub writable: bool,
}

/// The modes (termios(3)); a pty master answers for its slave.
///
/// # Errors
/// `ENOTTY` when this is no terminal, `EIO` when it was hung up.
pub fn modes<Fd: AsFd>(terminal: Fd) -> nix::Result<Termios> {
    tcgetattr(terminal)
}

/// The foreground process group (`TIOCGPGRP`), `None` without one or when it lives outside of our
/// PID namespace. A pty master tells it to everyone, a slave only to its own session.
///
/// # Errors
/// `ENOTTY` for a slave that is not our controlling terminal.
pub fn foreground<Fd: AsFd>(terminal: Fd) -> nix::Result<Option<Pid>> {
    tcgetpgrp(terminal).map(|group| Some(group).filter(|group| group.as_raw() > 0))
}

/// Opens the slave of a pty master without a path (`TIOCGPTPEER`, Linux 4.13): right even where
/// the master's devpts is mounted nowhere that we can see. It never becomes our controlling
/// terminal, and it closes on exec.
///
/// # Errors
/// `ENOTTY` when this is no pty master, `EIO` while its slave is locked (unlockpt(3)).
pub fn open_peer<Fd: AsFd>(master: Fd, flags: OFlag) -> nix::Result<OwnedFd> {
    let flags = flags | OFlag::O_NOCTTY | OFlag::O_CLOEXEC;
    // SAFETY: TIOCGPTPEER takes open(2) flags by value and touches no memory.
    let slave = unsafe { ioctl::get_peer(master.as_fd().as_raw_fd(), flags.bits()) }?;
    // SAFETY: the kernel has just made this descriptor for us.
    Ok(unsafe { OwnedFd::from_raw_fd(slave) })
}

/// The window size.
///
/// # Errors
/// `ENOTTY` when this is no terminal.
pub fn window_size<Fd: AsFd>(terminal: Fd) -> nix::Result<Winsize> {
    let mut size = Winsize { ws_row: 0, ws_col: 0, ws_xpixel: 0, ws_ypixel: 0 };
    // SAFETY: TIOCGWINSZ writes one `winsize` to the pointer, which is valid for that.
    unsafe { ioctl::get_window_size(terminal.as_fd().as_raw_fd(), &raw mut size) }?;
    Ok(size)
}

/// Sets the window size; the foreground group gets `SIGWINCH` if it differs.
///
/// # Errors
/// `ENOTTY` when this is no terminal.
pub fn set_window_size<Fd: AsFd>(terminal: Fd, size: &Winsize) -> nix::Result<()> {
    // SAFETY: TIOCSWINSZ reads one `winsize` from the pointer, which is valid for that.
    unsafe { ioctl::set_window_size(terminal.as_fd().as_raw_fd(), size) }.map(drop)
}

/// Would a read or a write return now? On a slave the kernel first hands over what was written
/// to the master (`n_tty_poll` flushes the work queue), on a master what the slave wrote.
///
/// # Errors
/// As poll(2).
pub fn ready<Fd: AsFd>(terminal: Fd) -> nix::Result<Ready> {
    let events = poll_now(terminal, PollFlags::POLLIN | PollFlags::POLLOUT)?;
    let ended = events.intersects(PollFlags::POLLHUP | PollFlags::POLLERR);
    Ok(Ready {
        readable: ended || events.contains(PollFlags::POLLIN),
        writable: ended || events.contains(PollFlags::POLLOUT),
    })
}

/// Is there data to read? On a master: output that its holder has not taken. A hang-up alone
/// does not count.
///
/// # Errors
/// As poll(2).
pub fn has_data<Fd: AsFd>(fd: Fd) -> nix::Result<bool> {
    poll_now(fd, PollFlags::POLLIN).map(|events| events.contains(PollFlags::POLLIN))
}

fn poll_now<Fd: AsFd>(fd: Fd, interest: PollFlags) -> nix::Result<PollFlags> {
    let mut set = [PollFd::new(fd.as_fd(), interest)];
    // Nothing sleeps here, so EINTR comes only from a signal that was pending already.
    while let Err(errno) = poll(&mut set, PollTimeout::ZERO) {
        if errno != Errno::EINTR {
            return Err(errno);
        }
    }
    Ok(set[0].revents().unwrap_or(PollFlags::empty()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use nix::pty::openpty;
    use nix::unistd::write;

    use nix::sys::termios::LocalFlags;

    use super::*;

    #[test]
    fn a_typed_line_is_readable_and_a_part_of_one_is_not() {
        let pty = openpty(None, None).unwrap();
        let slave = open_peer(&pty.master, OFlag::O_RDWR).unwrap();
        assert_eq!(ready(&slave), Ok(Ready { readable: false, writable: true }));
        write(&pty.master, b"no newline").unwrap();
        assert!(!ready(&slave).unwrap().readable);
        write(&pty.master, b"\n").unwrap();
        assert!(ready(&slave).unwrap().readable);
        assert_eq!(has_data(&pty.master), Ok(true), "the echo");
    }

    #[test]
    fn control_s_stops_the_slave() {
        let pty = openpty(None, None).unwrap();
        write(&pty.master, b"\x13").unwrap();
        // The stop takes effect when the line discipline sees it: the poll hands it over.
        ready(&pty.slave).unwrap();
        assert!(!ready(&pty.slave).unwrap().writable);
    }

    #[test]
    fn the_master_answers_for_its_slave() {
        let pty = openpty(None, None).unwrap();
        let flags = modes(&pty.master).unwrap().local_flags;
        assert!(flags.contains(LocalFlags::ICANON | LocalFlags::ECHO));
        assert_eq!(foreground(&pty.master), Ok(None));
        let size = Winsize { ws_row: 7, ws_col: 9, ws_xpixel: 0, ws_ypixel: 0 };
        set_window_size(&pty.master, &size).unwrap();
        assert_eq!(window_size(&pty.slave), Ok(size));
    }

    #[test]
    fn a_hung_up_slave_is_ready_for_everything() {
        let pty = openpty(None, None).unwrap();
        drop(pty.master);
        assert_eq!(ready(&pty.slave), Ok(Ready { readable: true, writable: true }));
    }

    #[test]
    fn no_terminal() {
        let null = std::fs::File::open("/dev/null").unwrap();
        assert_eq!(modes(&null).err(), Some(Errno::ENOTTY));
        assert_eq!(open_peer(&null, OFlag::O_RDWR).map(drop), Err(Errno::ENOTTY));
    }
}
