//! Descriptors that come in as numbers.

use std::os::fd::{FromRawFd, OwnedFd, RawFd};

use nix::errno::Errno;

/// A second descriptor, close-on-exec, for what stands behind a number: what follows then holds
/// even if the owner of the number closes it meanwhile.
///
/// # Errors
/// `EBADF` when the number is not open, `EMFILE` at the limit.
pub fn duplicate(fd: RawFd) -> nix::Result<OwnedFd> {
    // SAFETY: F_DUPFD_CLOEXEC takes an integer and touches no memory; a number that is not open
    // is answered with EBADF.
    let copy = Errno::result(unsafe { libc::fcntl(fd, libc::F_DUPFD_CLOEXEC, 0) })?;
    // SAFETY: the kernel has just made this descriptor for us; nobody else knows its number.
    Ok(unsafe { OwnedFd::from_raw_fd(copy) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_closed_number_is_an_error() {
        assert_eq!(duplicate(-1).map(drop), Err(Errno::EBADF));
    }
}
