//! A kernel with some sources closed, to try what is left when permission lacks.

use std::collections::BTreeSet;
use std::fmt;
use std::net::SocketAddr;
use std::os::fd::RawFd;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::{
    FdStat, FileId, Instant, Kernel, NetTable, Pid, ReadError, TaskFile, TaskId, TcpConnection,
    TtyAccess, TtyReady, TtyState, UnixSocket,
};
use crate::wait::Arch;

/// A source of information, by the name that options know it by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SourceName {
    /// `/proc/PID/task/TID/syscall`.
    Syscall,
    /// `/proc/PID/task/TID/stat`.
    Stat,
    /// `/proc/PID/task/TID/status`.
    Status,
    /// `/proc/PID/task/TID/schedstat`.
    Schedstat,
    /// `/proc/PID/task/TID/sched`.
    Sched,
    /// `/proc/PID/task/TID/wchan`.
    Wchan,
    /// `/proc/PID/task/TID/children`.
    Children,
    /// `/proc/PID/cmdline`.
    Cmdline,
    /// `/proc/PID/maps`.
    Maps,
    /// `/proc/PID/exe`, and with it the architecture.
    Exe,
    /// `/proc/PID/fd`, and with it the paths that start from a descriptor.
    Fd,
    /// `/proc/PID/fdinfo`.
    Fdinfo,
    /// Process memory.
    Memory,
    /// Terminal modes.
    Termios,
    /// Foreground group and session of a terminal.
    Foreground,
    /// poll(2) of terminals.
    Poll,
    /// sock_diag(7) of unix sockets.
    Unix,
    /// `/proc/PID/net`, and with it sock_diag(7) of internet sockets.
    Net,
    /// `/proc/locks`.
    Locks,
}

/// A word that names no source.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown source `{word}`; the sources are {}", SourceName::list())]
pub struct UnknownSource {
    word: String,
}

impl SourceName {
    /// Every source.
    pub const ALL: [SourceName; 19] = [
        SourceName::Syscall,
        SourceName::Stat,
        SourceName::Status,
        SourceName::Schedstat,
        SourceName::Sched,
        SourceName::Wchan,
        SourceName::Children,
        SourceName::Cmdline,
        SourceName::Maps,
        SourceName::Exe,
        SourceName::Fd,
        SourceName::Fdinfo,
        SourceName::Memory,
        SourceName::Termios,
        SourceName::Foreground,
        SourceName::Poll,
        SourceName::Unix,
        SourceName::Net,
        SourceName::Locks,
    ];

    /// Its name in options.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            SourceName::Syscall => "syscall",
            SourceName::Stat => "stat",
            SourceName::Status => "status",
            SourceName::Schedstat => "schedstat",
            SourceName::Sched => "sched",
            SourceName::Wchan => "wchan",
            SourceName::Children => "children",
            SourceName::Cmdline => "cmdline",
            SourceName::Maps => "maps",
            SourceName::Exe => "exe",
            SourceName::Fd => "fd",
            SourceName::Fdinfo => "fdinfo",
            SourceName::Memory => "memory",
            SourceName::Termios => "termios",
            SourceName::Foreground => "foreground",
            SourceName::Poll => "poll",
            SourceName::Unix => "unix",
            SourceName::Net => "net",
            SourceName::Locks => "locks",
        }
    }

    fn list() -> String {
        SourceName::ALL.map(SourceName::as_str).join(", ")
    }
}

impl fmt::Display for SourceName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for SourceName {
    type Err = UnknownSource;

    fn from_str(word: &str) -> Result<SourceName, UnknownSource> {
        SourceName::ALL
            .into_iter()
            .find(|name| name.as_str() == word)
            .ok_or_else(|| UnknownSource { word: word.to_owned() })
    }
}

impl From<TaskFile> for SourceName {
    fn from(file: TaskFile) -> SourceName {
        match file {
            TaskFile::Stat => SourceName::Stat,
            TaskFile::Status => SourceName::Status,
            TaskFile::Syscall => SourceName::Syscall,
            TaskFile::Schedstat => SourceName::Schedstat,
            TaskFile::Children => SourceName::Children,
            TaskFile::Wchan => SourceName::Wchan,
            TaskFile::Sched => SourceName::Sched,
            TaskFile::Cmdline => SourceName::Cmdline,
            TaskFile::Maps => SourceName::Maps,
            TaskFile::Timers => SourceName::Syscall,
        }
    }
}

/// A kernel that answers [`ReadError::Denied`] for the sources that are hidden.
#[derive(Debug)]
pub struct Hidden<K> {
    kernel: K,
    hidden: BTreeSet<SourceName>,
}

impl<K: Kernel> Hidden<K> {
    /// Hides these sources of a kernel.
    pub fn new(kernel: K, hidden: impl IntoIterator<Item = SourceName>) -> Hidden<K> {
        Hidden { kernel, hidden: hidden.into_iter().collect() }
    }

    fn open(&mut self, source: SourceName) -> Result<&mut K, ReadError> {
        if self.hidden.contains(&source) { Err(ReadError::Denied) } else { Ok(&mut self.kernel) }
    }
}

impl<K: Kernel> Kernel for Hidden<K> {
    fn now(&mut self) -> Instant {
        self.kernel.now()
    }

    fn processes(&mut self) -> Result<Vec<Pid>, ReadError> {
        self.kernel.processes()
    }

    fn threads(&mut self, pid: Pid) -> Result<Vec<Pid>, ReadError> {
        self.kernel.threads(pid)
    }

    fn task_file(&mut self, task: TaskId, file: TaskFile) -> Result<String, ReadError> {
        self.open(file.into())?.task_file(task, file)
    }

    fn arch(&mut self, pid: Pid) -> Result<Arch, ReadError> {
        self.open(SourceName::Exe)?.arch(pid)
    }

    fn fds(&mut self, pid: Pid) -> Result<Vec<RawFd>, ReadError> {
        self.open(SourceName::Fd)?.fds(pid)
    }

    fn fd_stat(&mut self, pid: Pid, fd: RawFd) -> Result<FdStat, ReadError> {
        self.open(SourceName::Fd)?.fd_stat(pid, fd)
    }

    fn fd_link(&mut self, pid: Pid, fd: RawFd) -> Result<String, ReadError> {
        self.open(SourceName::Fd)?.fd_link(pid, fd)
    }

    fn fdinfo(&mut self, pid: Pid, fd: RawFd) -> Result<String, ReadError> {
        self.open(SourceName::Fdinfo)?.fdinfo(pid, fd)
    }

    fn memory(&mut self, task: TaskId, address: u64, length: usize) -> Result<Vec<u8>, ReadError> {
        self.open(SourceName::Memory)?.memory(task, address, length)
    }

    fn string(&mut self, task: TaskId, address: u64, longest: usize) -> Result<Vec<u8>, ReadError> {
        self.open(SourceName::Memory)?.string(task, address, longest)
    }

    fn path_stat(&mut self, pid: Pid, dirfd: RawFd, path: &str) -> Result<FdStat, ReadError> {
        self.open(SourceName::Fd)?.path_stat(pid, dirfd, path)
    }

    fn locks(&mut self) -> Result<String, ReadError> {
        self.open(SourceName::Locks)?.locks()
    }

    fn net_table(&mut self, pid: Pid, table: NetTable) -> Result<String, ReadError> {
        self.open(SourceName::Net)?.net_table(pid, table)
    }

    fn net_namespace(&mut self, pid: Pid) -> Result<FileId, ReadError> {
        self.open(SourceName::Net)?.net_namespace(pid)
    }

    fn unix_socket(&mut self, pid: Pid, ino: u64) -> Result<UnixSocket, ReadError> {
        self.open(SourceName::Unix)?.unix_socket(pid, ino)
    }

    fn tcp_connection(
        &mut self,
        pid: Pid,
        local: SocketAddr,
        remote: SocketAddr,
    ) -> Result<TcpConnection, ReadError> {
        self.open(SourceName::Net)?.tcp_connection(pid, local, remote)
    }

    fn terminal(&mut self, access: TtyAccess) -> Result<TtyState, ReadError> {
        let modes = self.open(SourceName::Termios).is_ok();
        let groups = self.open(SourceName::Foreground).is_ok();
        if !modes && !groups {
            return Err(ReadError::Denied);
        }
        let state = self.kernel.terminal(access)?;
        Ok(TtyState {
            modes: state.modes.filter(|_| modes),
            foreground: state.foreground.filter(|_| groups),
        })
    }

    fn tty_ready(&mut self, access: TtyAccess) -> Result<TtyReady, ReadError> {
        self.open(SourceName::Poll)?.tty_ready(access)
    }

    fn receive_timeout(
        &mut self,
        pid: Pid,
        fd: RawFd,
    ) -> Result<Option<std::time::Duration>, ReadError> {
        self.open(SourceName::Fd)?.receive_timeout(pid, fd)
    }

    fn master_readable(&mut self, pid: Pid, fd: RawFd) -> Result<bool, ReadError> {
        self.open(SourceName::Poll)?.master_readable(pid, fd)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;
    use crate::observe::Live;

    #[test]
    fn names_read_back() {
        for name in SourceName::ALL {
            assert_eq!(name.to_string().parse(), Ok(name));
        }
        let unknown = "syscalls".parse::<SourceName>().unwrap_err().to_string();
        assert!(unknown.starts_with("unknown source `syscalls`; the sources are syscall, stat"));
    }

    #[test]
    fn hides_what_it_was_told_and_nothing_else() {
        let own = std::process::id().cast_signed();
        let task = TaskId { pid: own, tid: own };
        let mut kernel = Hidden::new(Live::new(), [SourceName::Syscall, SourceName::Fd]);
        assert_eq!(kernel.task_file(task, TaskFile::Syscall), Err(ReadError::Denied));
        assert_eq!(kernel.fds(own), Err(ReadError::Denied));
        assert!(kernel.task_file(task, TaskFile::Stat).is_ok());
        assert!(kernel.threads(own).is_ok());
    }
}
