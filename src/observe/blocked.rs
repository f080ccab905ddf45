//! What one task does: its state letter, its blocked call, and the objects of that call.

use std::os::fd::RawFd;

use nix::sys::stat::SFlag;

use super::members::Identity;
use super::objects::{Controlling, EPOLL_NESTS, Resolver};
use super::sockets::Sockets;
use super::{
    FdStat, FileId, Kernel, Object, Opacity, Pid, ReadError, Source, TaskFile, TaskId, TaskState,
    Wait,
};
use crate::proc::locks::{Lock, locks};
use crate::proc::{Syscall, fdinfo, maps};
use crate::wait::{
    self, Arch, Call, Children, End, Interest, Memory, MemoryError, Registers, Timeout,
};

/// Call names of `restart_syscall`, which stands for another call after a stop.
const RESTART: &str = "restart_syscall";

/// Kernel functions in which a task sleeps that is held: `do_freezer_trap()` is inlined into
/// `get_signal()` on some builds (kernel/signal.c), and the filter's wait into its callers
/// (kernel/seccomp.c).
const HELD_IN: [&str; 6] = [
    "__refrigerator",
    "get_signal",
    "do_freezer_trap",
    "seccomp_do_user_notification",
    "__seccomp_filter",
    "__secure_computing",
];
// What of an epoll entry's events is read, write and urgent interest: epoll_ctl(2).
const EPOLL_READ: u32 = (libc::EPOLLIN | libc::EPOLLRDNORM | libc::EPOLLRDBAND) as u32;
const EPOLL_WRITE: u32 = (libc::EPOLLOUT | libc::EPOLLWRNORM | libc::EPOLLWRBAND) as u32;
const EPOLL_PRIORITY: u32 = libc::EPOLLPRI as u32;

/// Does the wait settle by itself what its task is? Then it must not be one that holds no more.
fn decides_alone(wait: &Wait) -> bool {
    wait.reads_any_terminal() || wait.sources == [Source::Time]
}

/// Reads tasks of one process.
pub(super) struct Reading<'k> {
    pub(super) kernel: &'k mut dyn Kernel,
    /// What is known of sockets; `None`: of a socket no more is told than its inode.
    pub(super) sockets: Option<&'k mut Sockets>,
    /// A thread of the process that shows its files.
    pub(super) thread: Pid,
}

impl Reading<'_> {
    /// A task's name and what it does; `Err(Gone)` where it has ended meanwhile.
    pub(super) fn state(
        &mut self,
        task: TaskId,
        controlling: Controlling,
        former: Option<&Wait>,
    ) -> Result<(String, TaskState), ReadError> {
        let read = Identity::read(self.kernel, task)?;
        let state = self.by_letter(task, read.state, controlling, former)?;
        Ok((read.comm, state))
    }

    fn by_letter(
        &mut self,
        task: TaskId,
        letter: u8,
        controlling: Controlling,
        former: Option<&Wait>,
    ) -> Result<TaskState, ReadError> {
        match letter {
            b'Z' | b'X' => Ok(TaskState::Zombie),
            b'R' => Ok(TaskState::Runnable),
            b'T' | b't' => Ok(TaskState::Stopped {
                traced: letter == b't',
                wait: self.blocked(task, controlling, former).ok().flatten(),
            }),
            b'D' => self.uninterruptible(task, controlling),
            _ => match self.blocked(task, controlling, former) {
                Ok(Some(wait)) if decides_alone(&wait) && self.is_held(task) => {
                    Ok(TaskState::Opaque { why: Opacity::Held })
                }
                Ok(Some(wait)) => Ok(TaskState::Blocked(wait)),
                // Woken meanwhile; or held on its way to user mode.
                Ok(None) if self.is_held(task) => Ok(TaskState::Opaque { why: Opacity::Held }),
                Ok(None) => Ok(TaskState::Runnable),
                Err(ReadError::Gone) => Err(ReadError::Gone),
                Err(ReadError::Denied) => Ok(TaskState::Opaque { why: Opacity::Denied }),
                Err(_) => Ok(TaskState::Opaque { why: Opacity::Unsupported }),
            },
        }
    }

    /// A task of a frozen control group (v2) sleeps in `S` and shows the call that it was in; so does
    /// one whose call a seccomp filter has handed to a supervisor (seccomp_unotify(2)). Only the
    /// kernel function that it sleeps in tells. Asked of those who seem to read a terminal or to
    /// sleep: for them it makes the difference, and the answer is dear.
    fn is_held(&mut self, task: TaskId) -> bool {
        self.kernel
            .task_file(task, TaskFile::Wchan)
            .is_ok_and(|wchan| HELD_IN.contains(&wchan.trim_ascii()))
    }

    /// The parent of a vfork(2) sleeps in `D` (a killable wait since 2.6.25), and yet waits for its
    /// child and no disk. A task of a frozen control group (v1) shows `D` too, some of them in the
    /// call where the freezer met them; nobody waits for the time in `D` otherwise.
    fn uninterruptible(
        &mut self,
        task: TaskId,
        controlling: Controlling,
    ) -> Result<TaskState, ReadError> {
        match self.blocked(task, controlling, None) {
            Ok(Some(wait)) if wait.sources.contains(&Source::Child(Children::Vfork)) => {
                return Ok(TaskState::Blocked(wait));
            }
            Ok(Some(wait)) if wait.sources == [Source::Time] => {
                return Ok(TaskState::Opaque { why: Opacity::Held });
            }
            _ if self.is_held(task) => return Ok(TaskState::Opaque { why: Opacity::Held }),
            _ => {}
        }
        Ok(TaskState::Disk { at: self.kernel.task_file(task, TaskFile::Wchan).ok() })
    }

    /// The call a task sleeps in; `Ok(None)` when it runs.
    pub(super) fn blocked(
        &mut self,
        task: TaskId,
        controlling: Controlling,
        former: Option<&Wait>,
    ) -> Result<Option<Wait>, ReadError> {
        let text = self.kernel.task_file(task, TaskFile::Syscall)?;
        let registers = match Syscall::parse(&text) {
            Some(Syscall::Call(registers)) => registers,
            // Not in a call: stopped, or woken, in user mode.
            Some(Syscall::Running | Syscall::NotInCall) => return Ok(None),
            Some(Syscall::KernelThread) | None => return Err(ReadError::Unsupported),
        };
        let arch = self.arch(registers)?;
        let call = self.decode(task, arch, registers);
        if call.name == RESTART
            && let Some(former) = former
        {
            return Ok(Some(former.clone()));
        }
        Ok(Some(self.resolve(task, call, registers.stack, controlling)))
    }

    /// The convention of the process's calls. A 32-bit program has its stack below 4 GiB, where
    /// nearly no other has; for the rest its file tells.
    fn arch(&mut self, registers: Registers) -> Result<Arch, ReadError> {
        match u32::try_from(registers.stack) {
            Ok(_) => self.kernel.arch(self.thread),
            Err(_) => Ok(Arch::NATIVE),
        }
    }

    fn decode(&mut self, task: TaskId, arch: Arch, registers: Registers) -> Call {
        let call = wait::decode(arch, registers, &mut OfTask { kernel: self.kernel, task });
        if call.name != RESTART {
            return call;
        }
        let wchan = self.kernel.task_file(task, TaskFile::Wchan).unwrap_or_default();
        match wait::restarted(&wchan) {
            Some(former) => wait::decode_restart(
                arch,
                registers,
                former,
                &mut OfTask { kernel: self.kernel, task },
            ),
            None => call,
        }
    }

    pub(super) fn resolve(
        &mut self,
        task: TaskId,
        call: Call,
        stack: u64,
        controlling: Controlling,
    ) -> Wait {
        let mut sources = Vec::with_capacity(call.ends.len());
        for end in call.ends {
            self.end(task, end, controlling, call.name, &mut sources);
        }
        let timeout = match call.timeout {
            Timeout::Until(at) => Timeout::After(at.saturating_sub(self.kernel.now())),
            other => other,
        };
        let timeout = match timeout {
            Timeout::Never if self.sockets.is_some() && is_receive(call.name) => {
                self.receive_timeout(task, &mut sources)
            }
            other => other,
        };
        Wait { call: call.name, sources, timeout, stack }
    }

    fn end(
        &mut self,
        task: TaskId,
        end: End,
        controlling: Controlling,
        name: &'static str,
        sources: &mut Vec<Source>,
    ) {
        // The thread's own directory: behind a leader that has ended, /proc/PID/fd is empty, and
        // after unshare(CLONE_FILES) it is another table.
        let pid = task.tid;
        match end {
            End::Fd { fd, interest } => {
                let object = self.object(pid, fd, controlling);
                if object == Object::Epoll {
                    self.epoll(pid, fd, controlling, 0, sources);
                } else {
                    sources.push(Source::Object { fd, interest, object });
                }
            }
            End::Epoll { fd } => self.epoll(pid, fd, controlling, 0, sources),
            End::Uring { fd } => sources.push(self.uring(pid, fd)),
            End::Child(Children::PidFd(fd)) => sources.push(self.pidfd(pid, fd)),
            End::Child(children) => sources.push(Source::Child(children)),
            End::Futex { addr, private } => {
                sources.push(Source::Futex { addr, private: private || self.is_private(pid, addr) })
            }
            End::Lock { fd, kind } => sources.push(self.lock(pid, fd, kind)),
            End::Open { path, dirfd, .. } => sources.push(self.open(pid, dirfd, path)),
            End::Signal { set } => sources.push(Source::Signal { set }),
            End::Time => sources.push(Source::Time),
            End::Unknown => sources.push(Source::Unknown { what: name.to_owned() }),
        }
    }

    fn object(&mut self, pid: Pid, fd: RawFd, controlling: Controlling) -> Object {
        let Reading { kernel, sockets, .. } = self;
        Resolver { kernel: &mut **kernel, sockets: sockets.as_deref_mut(), controlling }
            .resolve(pid, fd)
    }

    /// An epoll set, from the `tfd:` lines of its fdinfo. The numbers there are those of
    /// epoll_ctl(2)'s time: the inode tells whether the descriptor still is the same file.
    fn epoll(
        &mut self,
        pid: Pid,
        fd: RawFd,
        controlling: Controlling,
        nested: usize,
        sources: &mut Vec<Source>,
    ) {
        let Ok(text) = self.kernel.fdinfo(pid, fd) else {
            sources.push(Source::Unknown { what: "epoll set".to_owned() });
            return;
        };
        for entry in fdinfo::epoll_entries(&text) {
            let Some(number) = self.same_file(pid, &entry) else {
                sources.push(Source::Unknown { what: "epoll entry".to_owned() });
                continue;
            };
            let object = self.object(pid, number, controlling);
            if object == Object::Epoll && nested < EPOLL_NESTS {
                self.epoll(pid, number, controlling, nested + 1, sources);
                continue;
            }
            let interest = Interest {
                read: entry.events & EPOLL_READ != 0,
                write: entry.events & EPOLL_WRITE != 0,
                priority: entry.events & EPOLL_PRIORITY != 0,
                connect: false,
            };
            sources.push(Source::Object { fd: number, interest, object });
        }
        if sources.is_empty() {
            sources.push(Source::Signal { set: None });
        }
    }

    /// The descriptor that has this inode: the one named, or another one (dup(2), then close(2)).
    fn same_file(&mut self, pid: Pid, entry: &fdinfo::EpollEntry) -> Option<RawFd> {
        if entry.ino == 0 {
            return Some(entry.fd);
        }
        let same = |stat: FdStat| stat.ino == entry.ino && stat.dev == entry.dev;
        if self.kernel.fd_stat(pid, entry.fd).is_ok_and(same) {
            return Some(entry.fd);
        }
        let all = self.kernel.fds(pid).ok()?;
        all.into_iter().find(|&other| self.kernel.fd_stat(pid, other).is_ok_and(same))
    }

    /// What an io_uring has pending. The kernel shows the operations that wait for their file
    /// (`PollList`), not the file; other requests are not shown at all. So this is opaque, and the
    /// operations are for people.
    fn uring(&mut self, pid: Pid, fd: RawFd) -> Source {
        let ring = self.kernel.fdinfo(pid, fd).ok().and_then(|text| fdinfo::uring(&text));
        let pending = ring.map(|ring| ring.pending).unwrap_or_default();
        let what = match pending[..] {
            [] => "io_uring".to_owned(),
            _ => format!("io_uring, pending opcodes {pending:?}"),
        };
        Source::Unknown { what }
    }

    /// A blocking call on a socket ends after SO_RCVTIMEO (socket(7)), which no argument shows.
    fn receive_timeout(&mut self, task: TaskId, sources: &mut Vec<Source>) -> Timeout {
        let socket = sources.iter().find_map(|source| match source {
            Source::Object { fd, object, .. } if object.is_socket() => Some(*fd),
            _ => None,
        });
        match socket.map(|fd| self.kernel.receive_timeout(task.pid, fd)) {
            None | Some(Ok(None)) => Timeout::Never,
            Some(Ok(Some(length))) => Timeout::After(length),
            Some(Err(_)) => {
                sources.push(Source::Unknown { what: "the socket's timeout".to_owned() });
                Timeout::Never
            }
        }
    }

    fn pidfd(&mut self, pid: Pid, fd: RawFd) -> Source {
        match self.kernel.fdinfo(pid, fd).ok().and_then(|text| fdinfo::pid(&text)) {
            Some(child) => Source::Child(Children::PidFd(child)),
            None => Source::Unknown { what: "pidfd".to_owned() },
        }
    }

    /// Without FUTEX_PRIVATE_FLAG (pthread_join of older C libraries waits so) the mapping decides.
    fn is_private(&mut self, pid: Pid, addr: u64) -> bool {
        let text = self.kernel.task_file(TaskId { pid, tid: pid }, TaskFile::Maps);
        text.is_ok_and(|text| maps::at(&text, addr).is_some_and(|mapping| !mapping.shared))
    }

    fn lock(&mut self, pid: Pid, fd: RawFd, kind: wait::LockKind) -> Source {
        let Ok(stat) = self.kernel.fd_stat(pid, fd) else {
            return Source::Unknown { what: "lock".to_owned() };
        };
        let file = FileId { dev: stat.dev, ino: stat.ino };
        let path = self.kernel.fd_link(pid, fd).unwrap_or_default();
        let holds = |lock: &Lock| {
            !lock.blocked && lock.kind == kind && (lock.dev, lock.ino) == (file.dev, file.ino)
        };
        let table = self.kernel.locks().unwrap_or_default();
        let holder = locks(&table).find(holds).and_then(|lock| lock.pid);
        Source::Lock { kind, file, path, holder }
    }

    fn open(&mut self, pid: Pid, dirfd: RawFd, path: String) -> Source {
        match self.kernel.path_stat(pid, dirfd, &path) {
            Ok(stat) if stat.mode & SFlag::S_IFMT.bits() == SFlag::S_IFIFO.bits() => {
                Source::Fifo { path, file: Some(FileId { dev: stat.dev, ino: stat.ino }) }
            }
            Ok(stat) if stat.mode & SFlag::S_IFMT.bits() == SFlag::S_IFREG.bits() => {
                let file = FileId { dev: stat.dev, ino: stat.ino };
                let object = Object::File { file, path };
                Source::Object { fd: -1, interest: Interest::READ, object }
            }
            _ => Source::Unknown { what: format!("open of {path}") },
        }
    }
}

fn is_receive(call: &str) -> bool {
    matches!(
        call,
        "read" | "readv" | "recv" | "recvfrom" | "recvmsg" | "recvmmsg" | "accept" | "accept4"
    )
}

pub(super) struct OfTask<'k> {
    pub(super) kernel: &'k mut dyn Kernel,
    pub(super) task: TaskId,
}

impl Memory for OfTask<'_> {
    fn read(&mut self, address: u64, length: usize) -> Result<Vec<u8>, MemoryError> {
        self.kernel.memory(self.task, address, length).map_err(|_| MemoryError)
    }

    fn string(&mut self, address: u64, longest: usize) -> Result<Vec<u8>, MemoryError> {
        self.kernel.string(self.task, address, longest).map_err(|_| MemoryError)
    }
}

impl Wait {
    /// Does this wait end by terminal input on `tty`?
    #[must_use]
    pub fn reads(&self, tty: super::TtyId) -> Option<RawFd> {
        self.sources.iter().find_map(|source| match source {
            Source::Object { fd, interest, object: Object::Terminal(id) }
                if interest.read && id.same(tty) =>
            {
                Some(*fd)
            }
            _ => None,
        })
    }

    /// Does it end by input on some terminal?
    #[must_use]
    pub fn reads_any_terminal(&self) -> bool {
        self.sources.iter().any(|source| {
            matches!(source, Source::Object { interest, object: Object::Terminal(_), .. }
                if interest.read)
        })
    }

    /// Is the time one of the things that end it?
    #[must_use]
    pub fn is_timed(&self) -> bool {
        self.timeout != Timeout::Never
            || self.sources.iter().any(|source| {
                matches!(
                    source,
                    Source::Time | Source::Object { object: Object::TimerFd { left: Some(_) }, .. }
                )
            })
    }
}
