//! Files of `/proc` that are opened for one question.

use std::os::fd::{OwnedFd, RawFd};

use nix::dir::Dir;
use nix::errno::Errno;
use nix::fcntl::{AT_FDCWD, OFlag, OpenHow, ResolveFlag, open, openat, openat2};
use nix::sys::stat::Mode;
use nix::sys::uio::pread;

use crate::observe::{FdStat, FileId, Pid, ReadError};
use crate::sys::stat;
use crate::wait::Arch;

pub(super) fn fd_path(pid: Pid, fd: RawFd) -> String {
    format!("/proc/{pid}/fd/{fd}")
}

/// What a failed read of a file in `directory` means: where the directory is still there, the
/// kernel (or sandbox) does not offer the file.
pub(super) fn refusal(errno: Errno, directory: &str) -> ReadError {
    if errno == Errno::ENOENT && stat::follow(directory).is_ok() {
        ReadError::Unsupported
    } else {
        ReadError::from(errno)
    }
}

/// The same for an entry of `/proc/PID/fd` or `fdinfo`, which may have been closed: only a missing
/// directory says that such entries are not offered.
pub(super) fn fd_refusal(errno: Errno, pid: Pid, directory: &str) -> ReadError {
    let process = format!("/proc/{pid}");
    match stat::follow(&*format!("{process}/{directory}")) {
        Err(Errno::ENOENT) if errno == Errno::ENOENT => refusal(errno, &process),
        _ => ReadError::from(errno),
    }
}

/// The entries of a directory whose names are numbers.
pub(super) fn numbers(directory: &str) -> nix::Result<Vec<i32>> {
    let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
    let mut directory = Dir::open(directory, flags, Mode::empty())?;
    let mut numbers = Vec::new();
    for entry in directory.iter() {
        let entry = entry?;
        numbers.extend(entry.file_name().to_str().ok().and_then(|name| name.parse::<i32>().ok()));
    }
    Ok(numbers)
}

pub(super) fn fd_stat(pid: Pid, fd: RawFd) -> nix::Result<FdStat> {
    let path = fd_path(pid, fd);
    let file = of_path(stat::follow(path.as_str())?);
    // A device has no other end whose rights matter, and is what most looks ask for.
    if file.mode & libc::S_IFMT == libc::S_IFCHR {
        return Ok(file);
    }
    // The permission bits of the link itself are those that the descriptor was opened with.
    let link = stat::link(path.as_str())?;
    let read = link.mode & libc::S_IRUSR != 0;
    let write = link.mode & libc::S_IWUSR != 0;
    Ok(FdStat { read, write, ..file })
}

pub(super) fn path_stat(pid: Pid, dirfd: RawFd, path: &str) -> nix::Result<FdStat> {
    stat::of(open_path(pid, dirfd, path)?).map(of_path)
}

/// What a path leads to. Nothing is opened but the path itself (`O_PATH`): a fifo stays as it is.
pub(crate) fn open_path(pid: Pid, dirfd: RawFd, path: &str) -> nix::Result<OwnedFd> {
    let flags = OFlag::O_PATH | OFlag::O_CLOEXEC;
    if path.starts_with('/') {
        let root = format!("/proc/{pid}/root");
        let root = open(root.as_str(), flags | OFlag::O_DIRECTORY, Mode::empty())?;
        // Absolute links on the way are the process's too: they start from its root, not ours.
        let how = OpenHow::new().flags(flags).resolve(ResolveFlag::RESOLVE_IN_ROOT);
        openat2(root, path, how)
    } else {
        let start = match dirfd {
            libc::AT_FDCWD => format!("/proc/{pid}/cwd"),
            dirfd => fd_path(pid, dirfd),
        };
        let start = openat(AT_FDCWD, start.as_str(), flags | OFlag::O_DIRECTORY, Mode::empty())?;
        openat(start, path, flags, Mode::empty())
    }
}

fn of_path(stat: stat::Stat) -> FdStat {
    let stat::Stat { mode, dev, ino, rdev } = stat;
    FdStat { mode, dev, ino, rdev, read: false, write: false }
}

pub(super) fn net_namespace(process: &str) -> nix::Result<FileId> {
    stat::follow(&*format!("/proc/{process}/ns/net")).map(FileId::from)
}

/// The ELF header of the program decides; elf(5).
pub(super) fn arch(pid: Pid) -> Result<Arch, ReadError> {
    let path = format!("/proc/{pid}/exe");
    let flags = OFlag::O_RDONLY | OFlag::O_CLOEXEC;
    // The link is there and leads nowhere for a kernel thread and for a zombie.
    let program = open(path.as_str(), flags, Mode::empty())
        .map_err(|errno| refusal(errno, &format!("/proc/{pid}")))?;
    let mut header = [0; 20];
    let length = pread(program, &mut header, 0)?;
    arch_of(&header[..length]).ok_or(ReadError::Unsupported)
}

fn arch_of(header: &[u8]) -> Option<Arch> {
    let class = *header.strip_prefix(b"\x7fELF")?.first()?;
    let machine = u16::from_le_bytes(header.get(18..20)?.try_into().ok()?);
    match (class, machine) {
        (libc::ELFCLASS64, libc::EM_X86_64) => Some(Arch::X86_64),
        (libc::ELFCLASS32, libc::EM_386) => Some(Arch::I386),
        (libc::ELFCLASS64, libc::EM_AARCH64) => Some(Arch::Aarch64),
        // x32 and 32-bit ARM have tables of their own.
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use std::os::fd::AsRawFd;

    use super::*;

    fn header(class: u8, machine: u8) -> Vec<u8> {
        let mut header = b"\x7fELF".to_vec();
        header.push(class);
        header.resize(18, 1);
        header.extend([machine, 0]);
        header
    }

    #[test]
    fn elf_headers() {
        assert_eq!(arch_of(&header(2, 62)), Some(Arch::X86_64));
        assert_eq!(arch_of(&header(1, 3)), Some(Arch::I386));
        assert_eq!(arch_of(&header(2, 183)), Some(Arch::Aarch64));
        assert_eq!(arch_of(&header(1, 62)), None, "x32");
        assert_eq!(arch_of(&header(2, 62)[..19]), None);
        assert_eq!(arch_of(b"#!/bin/sh\n"), None);
    }

    #[test]
    fn a_missing_file_is_told_from_a_missing_process() {
        let own = std::process::id();
        let directory = format!("/proc/{own}");
        assert_eq!(refusal(Errno::ENOENT, &directory), ReadError::Unsupported);
        assert_eq!(refusal(Errno::ENOENT, "/proc/-1"), ReadError::Gone);
        assert_eq!(refusal(Errno::EACCES, &directory), ReadError::Denied);
        let own = own.cast_signed();
        assert_eq!(fd_refusal(Errno::ENOENT, own, "fd"), ReadError::Gone);
        assert_eq!(fd_refusal(Errno::ENOENT, own, "no such"), ReadError::Unsupported);
        assert_eq!(fd_refusal(Errno::ENOENT, -1, "fd"), ReadError::Gone);
    }

    #[test]
    fn paths_as_a_process_names_them() {
        let own = std::process::id().cast_signed();
        let null = stat::follow("/dev/null").map(of_path);
        assert_eq!(path_stat(own, libc::AT_FDCWD, "/dev/null"), null);
        let directory = std::fs::File::open("/dev").unwrap();
        assert_eq!(path_stat(own, directory.as_raw_fd(), "null"), null);
        assert_eq!(path_stat(own, libc::AT_FDCWD, "."), stat::follow(".").map(of_path));
        assert_eq!(path_stat(own, libc::AT_FDCWD, "/no such"), Err(Errno::ENOENT));
        assert_eq!(path_stat(own, -5, "null"), Err(Errno::ENOENT));
    }
}
