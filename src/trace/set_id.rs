//! Programs that give rights: what is traced by an ordinary user does not get them (execve(2)).

use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use nix::fcntl::{OFlag, open};
use nix::sys::stat::{Mode, fstat};
use nix::sys::statvfs::{FsFlags, fstatvfs};
use nix::sys::uio::pread;

use crate::observe::{Calls, Kernel, Pid, TaskFile, TaskId, open_path};
use crate::proc::Status;
use crate::sys::stat::has_attribute;
use crate::wait::{Arch, Call, Registers};

/// `CAP_SYS_PTRACE` of capabilities(7).
const CAP_SYS_PTRACE: u32 = 19;
/// Interpreters may be scripts themselves, so deep (`exec_binprm()` in fs/exec.c).
const MOST_INTERPRETERS: usize = 5;
/// As much of the first line as the kernel reads (`BINPRM_BUF_SIZE`, 5.1).
const FIRST_LINE: usize = 256;
/// PATH_MAX, with the NUL.
const LONGEST_PATH: usize = 4096;

/// Does a tracer with our rights leave to its tracees those that a file gives them? The kernel looks at
/// the rights of the moment at which they were attached to.
pub(super) fn is_privileged() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let effective = status
        .lines()
        .find_map(|line| line.strip_prefix("CapEff:"))
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    effective.is_some_and(|mask| mask & 1 << CAP_SYS_PTRACE != 0)
}

/// The program that a task is about to execute, if it gives rights which the task has not got. Between
/// this and the exec the file could be replaced; then it runs without the rights.
pub(super) fn gives_rights(
    calls: &mut Calls,
    task: TaskId,
    arch: Arch,
    registers: Registers,
) -> Option<String> {
    // No call but these two has such a name, and to decode them costs nothing.
    let Call { name, .. } = calls.decode(task, arch, registers);
    let [first, second, .., flags, _] = registers.args;
    let (dirfd, address, itself) = match name {
        "execve" => (libc::AT_FDCWD, first, false),
        // The kernel takes 32 bits of these two.
        "execveat" => (first as u32 as i32, second, flags as u32 & libc::AT_EMPTY_PATH as u32 != 0),
        _ => return None,
    };
    let program = string(calls, task, address)?;
    let file = if itself && program.is_empty() {
        let path = format!("/proc/{}/fd/{dirfd}", task.tid);
        open(path.as_str(), OFlag::O_PATH | OFlag::O_CLOEXEC, Mode::empty()).ok()?
    } else {
        open_path(task.tid, dirfd, &program).ok()?
    };
    let text = calls.kernel.task_file(task, TaskFile::Status).ok()?;
    let status = Status::parse(&text)?;
    with_interpreters(file, task.tid, &status).then_some(program)
}

/// The set-id bits of a script count for nothing; those of its interpreter do.
fn with_interpreters(mut file: OwnedFd, tid: Pid, status: &Status) -> bool {
    for _ in 0..MOST_INTERPRETERS {
        match interpreter(file.as_raw_fd()) {
            None => return of_file(&file, status),
            Some(path) => match open_path(tid, libc::AT_FDCWD, &path) {
                Ok(next) => file = next,
                Err(_) => return false,
            },
        }
    }
    false
}

fn of_file(file: &OwnedFd, status: &Status) -> bool {
    let (Ok(stat), Ok(system)) = (fstat(file), fstatvfs(file)) else { return false };
    if system.flags().contains(FsFlags::ST_NOSUID) {
        return false;
    }
    let user = stat.st_mode & libc::S_ISUID != 0 && stat.st_uid != status.euid;
    // Without the right to execute, the bit once stood for mandatory locks.
    let group = libc::S_ISGID | libc::S_IXGRP;
    let group = stat.st_mode & group == group && stat.st_gid != status.egid;
    user || group || {
        // getxattr(2) takes no O_PATH descriptor, but its path.
        let path = format!("/proc/self/fd/{}", file.as_raw_fd());
        has_attribute(path.as_str(), c"security.capability").unwrap_or(false)
    }
}

/// The interpreter that a script names in its first line. A file that we may not read is no script that
/// we could tell.
fn interpreter(file: RawFd) -> Option<String> {
    let path = format!("/proc/self/fd/{file}");
    let flags = OFlag::O_RDONLY | OFlag::O_CLOEXEC | OFlag::O_NONBLOCK;
    let file = open(path.as_str(), flags, Mode::empty()).ok()?;
    let mut line = [0; FIRST_LINE];
    let length = pread(&file, &mut line, 0).ok()?;
    named_in(line.get(..length)?)
}

fn named_in(text: &[u8]) -> Option<String> {
    let line = text.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    let blank = |byte: &u8| matches!(byte, b' ' | b'\t' | 0);
    let name = line.split(blank).find(|word| !word.is_empty())?;
    Some(String::from_utf8_lossy(name).into_owned())
}

/// A path in a task's memory. The page after it may not be mapped.
fn string(calls: &mut Calls, task: TaskId, address: u64) -> Option<String> {
    let mut bytes = Vec::new();
    while bytes.len() < LONGEST_PATH {
        let at = address.checked_add(bytes.len() as u64)?;
        let page = LONGEST_PATH - usize::try_from(at % LONGEST_PATH as u64).ok()?;
        let piece = calls.kernel.memory(task, at, page).ok().filter(|piece| !piece.is_empty())?;
        let end = piece.iter().position(|byte| *byte == 0);
        bytes.extend_from_slice(piece.get(..end.unwrap_or(piece.len()))?);
        if end.is_some() {
            return String::from_utf8(bytes).ok();
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_lines() {
        let name = |text: &str| named_in(text.as_bytes());
        assert_eq!(name("#!/bin/sh\necho"), Some("/bin/sh".into()));
        assert_eq!(name("#! \t/usr/bin/env python3 -u\n"), Some("/usr/bin/env".into()));
        assert_eq!(name("#!\n/bin/sh"), None);
        assert_eq!(name("\x7fELF"), None);
    }
}
