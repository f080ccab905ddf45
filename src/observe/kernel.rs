use std::net::SocketAddr;
use std::os::fd::RawFd;

use serde::{Deserialize, Serialize};

use super::{FileId, Instant, Modes, Pid, TaskId, TtyId};
use crate::wait::{Arch, string};

/// What an engine asks of the kernel: one method a source, answers as read, undecoded.
///
/// Every answer can be a refusal, and a refusal is data: see [`ReadError`].
pub trait Kernel {
    /// `CLOCK_MONOTONIC`.
    fn now(&mut self) -> Instant;
    /// Every process of this PID namespace. Costs in proportion to the machine: ask rarely.
    ///
    /// # Errors
    /// [`ReadError`], as every method here.
    fn processes(&mut self) -> Result<Vec<Pid>, ReadError>;
    /// The threads of a process (`/proc/PID/task`).
    fn threads(&mut self, pid: Pid) -> Result<Vec<Pid>, ReadError>;
    /// One of the text files of `/proc/PID/task/TID`.
    fn task_file(&mut self, task: TaskId, file: TaskFile) -> Result<String, ReadError>;
    /// The system-call convention, by the ELF class and machine of `/proc/PID/exe`.
    fn arch(&mut self, pid: Pid) -> Result<Arch, ReadError>;
    /// The numbers in `/proc/PID/fd`. Here and below a thread's number serves as well: `/proc/TID`
    /// exists though it is not listed, and shows that thread's own table.
    fn fds(&mut self, pid: Pid) -> Result<Vec<RawFd>, ReadError>;
    /// fstatat(2) through `/proc/PID/fd/FD`, with the access mode that the link itself shows.
    fn fd_stat(&mut self, pid: Pid, fd: RawFd) -> Result<FdStat, ReadError>;
    /// What the link `/proc/PID/fd/FD` says; lossy.
    fn fd_link(&mut self, pid: Pid, fd: RawFd) -> Result<String, ReadError>;
    /// `/proc/PID/fdinfo/FD`.
    fn fdinfo(&mut self, pid: Pid, fd: RawFd) -> Result<String, ReadError>;
    /// The task's memory: process_vm_readv(2), else `/proc/PID/mem`. Short where the mapping ends.
    fn memory(&mut self, task: TaskId, address: u64, length: usize) -> Result<Vec<u8>, ReadError>;
    /// A string in the task's memory, without its NUL, and nothing that stands behind it: that may
    /// be anything. Where it does not end within `longest` bytes, `E2BIG`.
    fn string(&mut self, task: TaskId, address: u64, longest: usize) -> Result<Vec<u8>, ReadError> {
        let read = |address, length| self.memory(task, address, length);
        string(address, longest, read)?.ok_or(ReadError::Errno(libc::E2BIG))
    }
    /// stat(2) of a path as process `pid` names it: below its root, relative to its `dirfd`
    /// (`AT_FDCWD`: its working directory).
    fn path_stat(&mut self, pid: Pid, dirfd: RawFd, path: &str) -> Result<FdStat, ReadError>;
    /// `/proc/locks`.
    fn locks(&mut self) -> Result<String, ReadError>;
    /// A table of `/proc/PID/net`: the network namespace is the process's.
    fn net_table(&mut self, pid: Pid, table: NetTable) -> Result<String, ReadError>;
    /// The network namespace of a process: what `/proc/PID/ns/net` leads to.
    fn net_namespace(&mut self, pid: Pid) -> Result<FileId, ReadError>;
    /// A unix socket by its inode, through sock_diag(7), in the namespace of `pid`.
    fn unix_socket(&mut self, pid: Pid, ino: u64) -> Result<UnixSocket, ReadError>;
    /// A TCP connection by its addresses, through sock_diag(7), in the namespace of `pid`; with 0 as
    /// the remote port, a listener on the local address. IPv4 addresses find IPv6 sockets too.
    fn tcp_connection(
        &mut self,
        pid: Pid,
        local: SocketAddr,
        remote: SocketAddr,
    ) -> Result<TcpConnection, ReadError>;
    /// Modes and foreground group of a terminal.
    fn terminal(&mut self, access: TtyAccess) -> Result<TtyState, ReadError>;
    /// `poll(slave, POLLIN | POLLOUT, 0)`. The kernel first hands over what was written to the
    /// master and is still on its way, so "not readable" means that nothing is under way.
    fn tty_ready(&mut self, access: TtyAccess) -> Result<TtyReady, ReadError>;
    /// `SO_RCVTIMEO` of a socket of another process: how long a blocking receive or accept waits at
    /// the most; `None` for ever. (pidfd_getfd(2), getsockopt(2), close; permission as for ptrace.)
    fn receive_timeout(
        &mut self,
        pid: Pid,
        fd: RawFd,
    ) -> Result<Option<std::time::Duration>, ReadError>;
    /// Does the pty master behind another process's descriptor have output that was not read?
    /// (pidfd_getfd(2), poll(2), close; permission as for ptrace.)
    fn master_readable(&mut self, pid: Pid, fd: RawFd) -> Result<bool, ReadError>;
}

/// The files of `/proc/PID/task/TID`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskFile {
    /// `stat`: proc_pid_stat(5).
    Stat,
    /// `status`: proc_pid_status(5).
    Status,
    /// `syscall`: proc_pid_syscall(5).
    Syscall,
    /// `schedstat`: CPU time, waiting time (ns), number of runs.
    Schedstat,
    /// `children`: proc_pid_task(5), needs `CONFIG_PROC_CHILDREN`.
    Children,
    /// `wchan`: proc_pid_wchan(5).
    Wchan,
    /// `sched`: the scheduler's own numbers (`se.exec_start`).
    Sched,
    /// `cmdline` of the process; NUL between the arguments.
    Cmdline,
    /// `maps` of the process.
    Maps,
    /// `timers` of the process: what timer_create(2) made (`CONFIG_POSIX_TIMERS`, 3.10).
    Timers,
}

/// The tables of `/proc/PID/net`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NetTable {
    /// `tcp`.
    Tcp,
    /// `tcp6`.
    Tcp6,
    /// `udp`.
    Udp,
    /// `udp6`.
    Udp6,
    /// `netlink`.
    Netlink,
}

/// What stat(2) says of an open file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct FdStat {
    /// `st_mode`.
    pub mode: u32,
    /// `st_dev`.
    pub dev: u64,
    /// `st_ino`.
    pub ino: u64,
    /// `st_rdev`.
    pub rdev: u64,
    /// The descriptor can be read from; not asked of a device.
    pub read: bool,
    /// The descriptor can be written to; likewise.
    pub write: bool,
}

/// A unix socket as sock_diag(7) shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnixSocket {
    /// The inode of its peer; 0 where it has none.
    pub peer: u64,
    /// `TCP_LISTEN`.
    pub listening: bool,
    /// `TCP_ESTABLISHED`, which connect(2) reaches before accept(2) gives it a peer.
    pub connected: bool,
    /// The path or abstract name (`@name`) it is bound to; lossy.
    pub name: Option<String>,
}

/// One end of a TCP connection as sock_diag(7) shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TcpConnection {
    /// Its inode; 0 while no descriptor refers to it.
    pub ino: u64,
    /// Bytes received that nobody has read; when listening, connections not yet accepted.
    pub rx_queue: u32,
    /// Bytes sent that the peer has not acknowledged; when listening, nothing of use.
    pub tx_queue: u32,
}

/// A way to a terminal that needs no path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TtyAccess {
    /// A pty master of this process. Its slave is opened for the moment by `TIOCGPTPEER`.
    Master(RawFd),
    /// A descriptor of another process; the terminal is opened anew through `/proc/PID/fd/FD`
    /// (`O_NOCTTY | O_NONBLOCK`) for the moment of the question.
    Process {
        /// Whose.
        pid: Pid,
        /// Which of its descriptors.
        fd: RawFd,
        /// What must be found there, or nothing is asked.
        id: TtyId,
    },
}

/// Modes and groups of a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TtyState {
    /// termios.
    pub modes: Option<Modes>,
    /// TIOCGPGRP; only a master tells it to everyone.
    pub foreground: Option<Pid>,
}

/// The queues of a terminal at this moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TtyReady {
    /// A read of the slave would return.
    pub readable: bool,
    /// A write to the slave would return.
    pub writable: bool,
    /// The master has output to read; `None` where there is no way to it.
    pub undrained: Option<bool>,
}

/// A source did not answer. Data, not an accident: processes end and permissions lack all the time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReadError {
    /// The process, thread or descriptor is no more (ENOENT, ESRCH).
    #[error("it is gone")]
    Gone,
    /// No permission (EACCES, EPERM).
    #[error("permission denied")]
    Denied,
    /// This kernel does not offer the source, or it was hidden by an option.
    #[error("not offered here")]
    Unsupported,
    /// Another failure, by errno.
    #[error("errno {0}")]
    Errno(i32),
}

/// A borrowed kernel is a kernel: one may serve many jobs, each behind a [`super::Hidden`] of its own.
impl<K: Kernel + ?Sized> Kernel for &mut K {
    fn now(&mut self) -> Instant {
        (**self).now()
    }
    fn processes(&mut self) -> Result<Vec<Pid>, ReadError> {
        (**self).processes()
    }
    fn threads(&mut self, pid: Pid) -> Result<Vec<Pid>, ReadError> {
        (**self).threads(pid)
    }
    fn task_file(&mut self, task: TaskId, file: TaskFile) -> Result<String, ReadError> {
        (**self).task_file(task, file)
    }
    fn arch(&mut self, pid: Pid) -> Result<Arch, ReadError> {
        (**self).arch(pid)
    }
    fn fds(&mut self, pid: Pid) -> Result<Vec<RawFd>, ReadError> {
        (**self).fds(pid)
    }
    fn fd_stat(&mut self, pid: Pid, fd: RawFd) -> Result<FdStat, ReadError> {
        (**self).fd_stat(pid, fd)
    }
    fn fd_link(&mut self, pid: Pid, fd: RawFd) -> Result<String, ReadError> {
        (**self).fd_link(pid, fd)
    }
    fn fdinfo(&mut self, pid: Pid, fd: RawFd) -> Result<String, ReadError> {
        (**self).fdinfo(pid, fd)
    }
    fn memory(&mut self, task: TaskId, address: u64, length: usize) -> Result<Vec<u8>, ReadError> {
        (**self).memory(task, address, length)
    }
    fn string(&mut self, task: TaskId, address: u64, longest: usize) -> Result<Vec<u8>, ReadError> {
        (**self).string(task, address, longest)
    }
    fn path_stat(&mut self, pid: Pid, dirfd: RawFd, path: &str) -> Result<FdStat, ReadError> {
        (**self).path_stat(pid, dirfd, path)
    }
    fn locks(&mut self) -> Result<String, ReadError> {
        (**self).locks()
    }
    fn net_table(&mut self, pid: Pid, table: NetTable) -> Result<String, ReadError> {
        (**self).net_table(pid, table)
    }
    fn net_namespace(&mut self, pid: Pid) -> Result<FileId, ReadError> {
        (**self).net_namespace(pid)
    }
    fn unix_socket(&mut self, pid: Pid, ino: u64) -> Result<UnixSocket, ReadError> {
        (**self).unix_socket(pid, ino)
    }
    fn tcp_connection(
        &mut self,
        pid: Pid,
        local: SocketAddr,
        remote: SocketAddr,
    ) -> Result<TcpConnection, ReadError> {
        (**self).tcp_connection(pid, local, remote)
    }
    fn terminal(&mut self, access: TtyAccess) -> Result<TtyState, ReadError> {
        (**self).terminal(access)
    }
    fn tty_ready(&mut self, access: TtyAccess) -> Result<TtyReady, ReadError> {
        (**self).tty_ready(access)
    }
    fn receive_timeout(
        &mut self,
        pid: Pid,
        fd: RawFd,
    ) -> Result<Option<std::time::Duration>, ReadError> {
        (**self).receive_timeout(pid, fd)
    }
    fn master_readable(&mut self, pid: Pid, fd: RawFd) -> Result<bool, ReadError> {
        (**self).master_readable(pid, fd)
    }
}
