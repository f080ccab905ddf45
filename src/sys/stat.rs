//! What a file is, without asking a server: a hung NFS or FUSE mount under a watched process must
//! not hang the watcher.

use std::ffi::CStr;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, RawFd};

use nix::NixPath;
use nix::errno::Errno;

/// The part of stat(2) that tells what a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stat {
    /// `st_mode`.
    pub mode: u32,
    /// `st_dev`.
    pub dev: u64,
    /// `st_ino`.
    pub ino: u64,
    /// `st_rdev`.
    pub rdev: u64,
}

/// stat(2) of a path, through a final symbolic link.
///
/// # Errors
/// As statx(2).
pub fn follow<P: ?Sized + NixPath>(path: &P) -> nix::Result<Stat> {
    statx(libc::AT_FDCWD, path, 0)
}

/// lstat(2) of a path: a final symbolic link itself.
///
/// # Errors
/// As statx(2).
pub fn link<P: ?Sized + NixPath>(path: &P) -> nix::Result<Stat> {
    statx(libc::AT_FDCWD, path, libc::AT_SYMLINK_NOFOLLOW)
}

/// fstat(2); serves `O_PATH` descriptors too.
///
/// # Errors
/// As statx(2).
pub fn of<Fd: AsFd>(fd: Fd) -> nix::Result<Stat> {
    statx(fd.as_fd().as_raw_fd(), "", libc::AT_EMPTY_PATH)
}

/// Does a path have this extended attribute? (getxattr(2), through a final symbolic link.)
///
/// # Errors
/// As getxattr(2); a file system without extended attributes has none.
pub fn has_attribute<P: ?Sized + NixPath>(path: &P, name: &CStr) -> nix::Result<bool> {
    let asked = path.with_nix_path(|path| {
        // SAFETY: both strings are NUL-terminated and outlive the call; with a size of 0 nothing is
        // written.
        Errno::result(unsafe {
            libc::getxattr(path.as_ptr(), name.as_ptr(), std::ptr::null_mut(), 0)
        })
    })?;
    match asked {
        Ok(_) => Ok(true),
        Err(Errno::ENODATA | Errno::EOPNOTSUPP) => Ok(false),
        Err(errno) => Err(errno),
    }
}

fn statx<P: ?Sized + NixPath>(dirfd: RawFd, path: &P, flags: libc::c_int) -> nix::Result<Stat> {
    // Type, inode and device never change, so what the kernel has cached of them is right.
    let flags = flags | libc::AT_STATX_DONT_SYNC | libc::AT_NO_AUTOMOUNT;
    let mask = libc::STATX_TYPE | libc::STATX_MODE | libc::STATX_INO;
    let mut answer = MaybeUninit::<libc::statx>::zeroed();
    path.with_nix_path(|path| {
        // SAFETY: `path` is NUL-terminated and outlives the call; the kernel writes one `statx`
        // into `answer`.
        Errno::result(unsafe {
            libc::statx(dirfd, path.as_ptr(), flags, mask, answer.as_mut_ptr())
        })
    })??;
    // SAFETY: the call succeeded and filled it in; all zeros is a valid value as well.
    let answer = unsafe { answer.assume_init() };
    Ok(Stat {
        mode: u32::from(answer.stx_mode),
        dev: libc::makedev(answer.stx_dev_major, answer.stx_dev_minor),
        ino: answer.stx_ino,
        rdev: libc::makedev(answer.stx_rdev_major, answer.stx_rdev_minor),
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use std::os::unix::fs::MetadataExt;

    use super::*;

    #[test]
    fn agrees_with_stat() {
        let stat = std::fs::metadata("/dev/null").unwrap();
        let null = Stat { mode: stat.mode(), dev: stat.dev(), ino: stat.ino(), rdev: stat.rdev() };
        assert_eq!(follow("/dev/null"), Ok(null));
        assert_eq!(of(std::fs::File::open("/dev/null").unwrap()), Ok(null));
    }

    #[test]
    fn a_link_is_not_what_it_points_to() {
        let itself = link("/proc/self").unwrap();
        assert_eq!(itself.mode & libc::S_IFMT, libc::S_IFLNK);
        assert_ne!(follow("/proc/self"), Ok(itself));
        assert_eq!(follow("/proc/self/no such file"), Err(Errno::ENOENT));
        assert_eq!(follow("a\0b"), Err(Errno::EINVAL));
    }
}
