//! The memory of another process.

use std::fs::File;
use std::io::IoSliceMut;
use std::os::unix::fs::FileExt;

use nix::errno::Errno;
use nix::sys::uio::{RemoteIoVec, process_vm_readv};
use nix::unistd::Pid;

/// Reads at `address` of process or thread `tid` and says how many bytes were there: fewer than
/// asked where the mapping ends.
///
/// process_vm_readv(2); where that is missing (`CONFIG_CROSS_MEMORY_ATTACH`) or a seccomp filter
/// forbids it, `/proc/TID/mem` (proc_pid_mem(5)), which asks for the same permission.
///
/// # Errors
/// `EFAULT` (`EIO` by way of `mem`) when nothing is mapped at `address`, `EPERM` or `EACCES`
/// without permission, `ESRCH` or `ENOENT` when the process is gone.
pub fn read(tid: i32, address: u64, buffer: &mut [u8]) -> nix::Result<usize> {
    let base = usize::try_from(address).map_err(|_| Errno::EFAULT)?;
    let remote = [RemoteIoVec { base, len: buffer.len() }];
    match process_vm_readv(Pid::from_raw(tid), &mut [IoSliceMut::new(buffer)], &remote) {
        Err(Errno::ENOSYS | Errno::EPERM) => read_file(tid, address, buffer),
        answer => answer,
    }
}

fn read_file(tid: i32, address: u64, buffer: &mut [u8]) -> nix::Result<usize> {
    File::open(format!("/proc/{tid}/mem"))
        .and_then(|memory| memory.read_at(buffer, address))
        .map_err(|error| Errno::from_raw(error.raw_os_error().unwrap_or(libc::EIO)))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;

    #[test]
    fn both_ways_read_the_same() {
        let text = *b"what lies here";
        let address = text.as_ptr() as u64;
        let own = std::process::id().cast_signed();
        for way in [read, read_file] {
            let mut buffer = [0; 14];
            assert_eq!(way(own, address, &mut buffer), Ok(14));
            assert_eq!(buffer, text);
        }
    }

    #[test]
    fn nothing_mapped_is_an_error() {
        let own = std::process::id().cast_signed();
        assert_eq!(read(own, 8, &mut [0; 8]), Err(Errno::EFAULT));
        assert_eq!(read_file(own, 8, &mut [0; 8]), Err(Errno::EIO));
        assert!(read(own, u64::MAX, &mut [0; 8]).is_err());
    }
}
