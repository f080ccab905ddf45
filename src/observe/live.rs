//! The running kernel.

mod files;
mod terminals;

pub(crate) use files::open_path;

use std::net::SocketAddr;
use std::os::fd::RawFd;

use nix::errno::Errno;
use nix::sys::socket::{getsockopt, sockopt::ReceiveTimeout};
use nix::sys::time::TimeValLike;

use super::{
    FdStat, FileId, Instant, Kernel, NetTable, Pid, ReadError, TaskFile, TaskId, TcpConnection,
    TtyAccess, TtyReady, TtyState, UnixSocket,
};
use crate::proc::Reader;
use crate::proc::reader::{Kept, whole};
use crate::sys::sock_diag::SockDiag;
use crate::sys::{clock, memory, pidfd, stat};
use crate::wait::Arch;

/// More than any array of descriptors or strings that a call waits on; what asks for more comes
/// from a process that wants to hurt the watcher.
const MOST_MEMORY: usize = 16 << 20;

/// The kernel that runs, through `/proc` and a few system calls. It only reads: nothing watched is
/// stopped, signalled or interrupted by any of its answers.
#[derive(Debug)]
pub struct Live {
    reader: Reader,
    buffer: Vec<u8>,
    sockets: Option<Sockets>,
}

/// sock_diag(7) answers for one network namespace.
#[derive(Debug)]
struct Sockets {
    namespace: FileId,
    diag: Result<SockDiag, ReadError>,
    /// Does this kernel answer for unix sockets?
    unix: Result<(), ReadError>,
}

impl Sockets {
    fn open() -> Result<Sockets, ReadError> {
        let namespace = files::net_namespace("thread-self")?;
        let mut diag = SockDiag::open().map_err(ReadError::from);
        let unix = match &mut diag {
            Ok(diag) => diag.try_unix().map_err(ReadError::from),
            Err(error) => Err(*error),
        };
        Ok(Sockets { namespace, diag, unix })
    }
}

impl Live {
    /// Keeps the hot files of as many tasks open as suits a single terminal: 256.
    #[must_use]
    pub fn new() -> Live {
        Live::with_kept_tasks(256)
    }

    /// Keeps the hot files of at most so many tasks open, and never more than a quarter of the
    /// descriptors that this process may have.
    #[must_use]
    pub fn with_kept_tasks(most: usize) -> Live {
        Live { reader: Reader::new(most), buffer: Vec::new(), sockets: None }
    }

    fn kept(&mut self, task: TaskId, file: Kept) -> nix::Result<String> {
        self.reader.read(task.pid, task.tid, file, &mut self.buffer).map(text)
    }

    fn whole(&mut self, path: &str) -> nix::Result<String> {
        whole(path, &mut self.buffer).map(text)
    }

    /// sock_diag(7) for the sockets of a process; refused where its network namespace is not ours.
    fn sockets(&mut self, pid: Pid) -> Result<&mut Sockets, ReadError> {
        let namespace = self.net_namespace(pid)?;
        if self.sockets.is_none() {
            self.sockets = Some(Sockets::open()?);
        }
        self.sockets
            .as_mut()
            .filter(|sockets| sockets.namespace == namespace)
            .ok_or(ReadError::Unsupported)
    }
}

fn text(bytes: &[u8]) -> String {
    // Nearly all of it is ASCII, for which the check alone is twice as fast.
    match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => String::from_utf8_lossy(bytes).into_owned(),
    }
}

impl Default for Live {
    fn default() -> Live {
        Live::new()
    }
}

impl Kernel for Live {
    fn now(&mut self) -> Instant {
        clock::monotonic()
    }

    fn processes(&mut self) -> Result<Vec<Pid>, ReadError> {
        files::numbers("/proc").map_err(ReadError::from)
    }

    fn threads(&mut self, pid: Pid) -> Result<Vec<Pid>, ReadError> {
        let threads = files::numbers(&format!("/proc/{pid}/task"))?;
        // A directory that was opened before its process ended lists nothing.
        if threads.is_empty() { Err(ReadError::Gone) } else { Ok(threads) }
    }

    fn task_file(&mut self, task: TaskId, file: TaskFile) -> Result<String, ReadError> {
        let TaskId { pid, tid } = task;
        let answer = match file {
            TaskFile::Syscall => self.kept(task, Kept::Syscall),
            TaskFile::Stat => self.kept(task, Kept::Stat),
            TaskFile::Schedstat => self.kept(task, Kept::Schedstat),
            TaskFile::Children => self.kept(task, Kept::Children),
            TaskFile::Status => self.kept(task, Kept::Status),
            TaskFile::Wchan => self.kept(task, Kept::Wchan),
            TaskFile::Sched => self.whole(&format!("/proc/{pid}/task/{tid}/sched")),
            TaskFile::Cmdline => self.whole(&format!("/proc/{pid}/cmdline")),
            TaskFile::Maps => self.whole(&format!("/proc/{pid}/maps")),
            TaskFile::Timers => self.whole(&format!("/proc/{pid}/timers")),
        };
        answer.map_err(|errno| files::refusal(errno, &format!("/proc/{pid}/task/{tid}")))
    }

    fn arch(&mut self, pid: Pid) -> Result<Arch, ReadError> {
        files::arch(pid)
    }

    fn fds(&mut self, pid: Pid) -> Result<Vec<RawFd>, ReadError> {
        let directory = format!("/proc/{pid}/fd");
        files::numbers(&directory).map_err(|errno| files::refusal(errno, &format!("/proc/{pid}")))
    }

    fn fd_stat(&mut self, pid: Pid, fd: RawFd) -> Result<FdStat, ReadError> {
        files::fd_stat(pid, fd).map_err(|errno| files::fd_refusal(errno, pid, "fd"))
    }

    fn fd_link(&mut self, pid: Pid, fd: RawFd) -> Result<String, ReadError> {
        nix::fcntl::readlink(files::fd_path(pid, fd).as_str())
            .map(|link| link.to_string_lossy().into_owned())
            .map_err(|errno| files::fd_refusal(errno, pid, "fd"))
    }

    fn fdinfo(&mut self, pid: Pid, fd: RawFd) -> Result<String, ReadError> {
        self.whole(&format!("/proc/{pid}/fdinfo/{fd}"))
            .map_err(|errno| files::fd_refusal(errno, pid, "fdinfo"))
    }

    fn memory(&mut self, task: TaskId, address: u64, length: usize) -> Result<Vec<u8>, ReadError> {
        // Cut short it would look like the end of a mapping.
        if length > MOST_MEMORY {
            return Err(ReadError::Errno(libc::E2BIG));
        }
        let mut bytes = vec![0; length];
        let read = memory::read(task.tid, address, &mut bytes)?;
        bytes.truncate(read);
        Ok(bytes)
    }

    fn path_stat(&mut self, pid: Pid, dirfd: RawFd, path: &str) -> Result<FdStat, ReadError> {
        Ok(files::path_stat(pid, dirfd, path)?)
    }

    fn locks(&mut self) -> Result<String, ReadError> {
        self.whole("/proc/locks").map_err(|errno| files::refusal(errno, "/proc"))
    }

    fn net_table(&mut self, pid: Pid, table: NetTable) -> Result<String, ReadError> {
        let table = match table {
            NetTable::Tcp => "tcp",
            NetTable::Tcp6 => "tcp6",
            NetTable::Udp => "udp",
            NetTable::Udp6 => "udp6",
            NetTable::Netlink => "netlink",
        };
        self.whole(&format!("/proc/{pid}/net/{table}"))
            .map_err(|errno| files::refusal(errno, &format!("/proc/{pid}")))
    }

    fn net_namespace(&mut self, pid: Pid) -> Result<FileId, ReadError> {
        Ok(files::net_namespace(&pid.to_string())?)
    }

    fn unix_socket(&mut self, pid: Pid, ino: u64) -> Result<UnixSocket, ReadError> {
        let sockets = self.sockets(pid)?;
        sockets.unix?;
        let answer = sockets.diag.as_mut().map_err(|error| *error)?.unix_socket(ino)?;
        Ok(UnixSocket {
            peer: u64::from(answer.peer),
            listening: answer.listening,
            connected: answer.connected,
            name: answer.name,
        })
    }

    fn tcp_connection(
        &mut self,
        pid: Pid,
        local: SocketAddr,
        remote: SocketAddr,
    ) -> Result<TcpConnection, ReadError> {
        let diag = &mut self.sockets(pid)?.diag;
        let answer = diag.as_mut().map_err(|error| *error)?.tcp_socket(local, remote)?;
        Ok(TcpConnection {
            ino: u64::from(answer.ino),
            rx_queue: answer.rx_queue,
            tx_queue: answer.tx_queue,
        })
    }

    fn terminal(&mut self, access: TtyAccess) -> Result<TtyState, ReadError> {
        Ok(terminals::state(access)?)
    }

    fn tty_ready(&mut self, access: TtyAccess) -> Result<TtyReady, ReadError> {
        Ok(terminals::ready(access)?)
    }

    fn receive_timeout(
        &mut self,
        pid: Pid,
        fd: RawFd,
    ) -> Result<Option<std::time::Duration>, ReadError> {
        let pidfd = pidfd::open(pid)?;
        let socket = pidfd::get_fd(&pidfd, fd)?;
        let timeout = getsockopt(&socket, ReceiveTimeout)?;
        let length = std::time::Duration::from_micros(timeout.num_microseconds().unsigned_abs());
        Ok((!length.is_zero()).then_some(length))
    }

    fn master_readable(&mut self, pid: Pid, fd: RawFd) -> Result<bool, ReadError> {
        Ok(terminals::master_readable(pid, fd)?)
    }
}

impl From<stat::Stat> for FileId {
    fn from(stat: stat::Stat) -> FileId {
        FileId { dev: stat.dev, ino: stat.ino }
    }
}

impl From<Errno> for ReadError {
    fn from(errno: Errno) -> ReadError {
        match errno {
            // EBADF: pidfd_getfd(2) of a descriptor that was closed.
            Errno::ENOENT | Errno::ESRCH | Errno::EBADF => ReadError::Gone,
            Errno::EACCES | Errno::EPERM => ReadError::Denied,
            Errno::ENOSYS | Errno::EOPNOTSUPP | Errno::EPROTONOSUPPORT | Errno::EAFNOSUPPORT => {
                ReadError::Unsupported
            }
            other => ReadError::Errno(other as i32),
        }
    }
}
