//! A process as a descriptor, and a look at a descriptor of its.

use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::time::Duration;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

/// pidfd_open(2): becomes readable when the process ends, and is never another process's.
///
/// # Errors
/// `ESRCH` when it is gone; `EINVAL` when `pid` is a thread other than the first.
pub fn open(pid: i32) -> nix::Result<OwnedFd> {
    // SAFETY: two integers, no memory; the kernel checks both.
    owned(unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) })
}

/// pidfd_getfd(2): a copy of another process's descriptor, close-on-exec. Holding it keeps the
/// open file alive: ask, and let go.
///
/// # Errors
/// `EBADF` when the process has no such descriptor, `EPERM` without the permission that ptrace
/// needs, `ESRCH` when it is gone.
pub fn get_fd<Fd: AsFd>(pidfd: Fd, fd: RawFd) -> nix::Result<OwnedFd> {
    // SAFETY: three integers, no memory; `pidfd` is open for the length of the call.
    owned(unsafe { libc::syscall(libc::SYS_pidfd_getfd, pidfd.as_fd().as_raw_fd(), fd, 0) })
}

/// Does the process end within this time? It may have ended before.
///
/// # Errors
/// As poll(2).
pub fn ends_within<Fd: AsFd>(pidfd: Fd, time: Duration) -> nix::Result<bool> {
    let mut set = [PollFd::new(pidfd.as_fd(), PollFlags::POLLIN)];
    let timeout = PollTimeout::try_from(time).unwrap_or(PollTimeout::MAX);
    Ok(poll(&mut set, timeout)? > 0)
}

fn owned(answer: libc::c_long) -> nix::Result<OwnedFd> {
    let number = RawFd::try_from(Errno::result(answer)?).map_err(|_| Errno::EBADF)?;
    // SAFETY: both calls return a descriptor that the kernel has just made for us.
    Ok(unsafe { OwnedFd::from_raw_fd(number) })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;

    #[test]
    fn finds_its_own_descriptors() {
        let own = open(std::process::id().cast_signed()).unwrap();
        assert!(get_fd(&own, own.as_raw_fd()).is_ok());
        assert_eq!(get_fd(&own, -1).map(drop), Err(Errno::EBADF));
    }

    #[test]
    fn an_end_is_waited_for() {
        let own = open(std::process::id().cast_signed()).unwrap();
        assert_eq!(ends_within(&own, Duration::ZERO), Ok(false));
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let end = open(child.id().cast_signed()).unwrap();
        assert_eq!(ends_within(&end, Duration::from_secs(30)), Ok(true));
        child.wait().unwrap();
    }

    #[test]
    fn no_such_process() {
        assert_eq!(open(i32::MAX).map(drop), Err(Errno::ESRCH));
    }
}
