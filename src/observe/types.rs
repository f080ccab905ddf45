use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::proc::Signals;
use crate::wait::{Children, Interest, LockKind, Timeout};

/// A process or thread number, as in `/proc`.
pub type Pid = i32;

/// Time since boot on `CLOCK_MONOTONIC`.
pub type Instant = Duration;

/// A task: one thread of one process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct TaskId {
    /// The process (thread group).
    pub pid: Pid,
    /// The thread.
    pub tid: Pid,
}

/// A terminal by the device that it is, never by its path: containers reuse `/dev/pts/0`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct TtyId {
    /// The file system the device node lies on (`st_dev`); 0 where it could not be read.
    pub dev: u64,
    /// The device (`st_rdev`).
    pub rdev: u64,
}

impl Object {
    /// Is it a socket of any kind?
    #[must_use]
    pub fn is_socket(&self) -> bool {
        matches!(self, Object::Unix { .. } | Object::Inet { .. } | Object::Socket { .. })
    }
}

impl TtyId {
    /// The same terminal? A file system that could not be read (0) matches any.
    #[must_use]
    pub fn same(self, other: TtyId) -> bool {
        self.rdev == other.rdev && (self.dev == other.dev || self.dev == 0 || other.dev == 0)
    }
}

/// Everything read from the kernel about a job at one time.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Observation {
    /// When the first read was made.
    pub at: Instant,
    /// The outer terminal; `None` where the job is the tree of a process without one.
    pub terminal: Option<Terminal>,
    /// The terminals whose masters members of the job hold.
    pub inner: Vec<Terminal>,
    /// The processes of the job, and the background ones that a member waits for.
    pub processes: BTreeMap<Pid, Process>,
    /// Their tasks.
    pub tasks: Vec<Task>,
    /// Who can end waits on pipes, sockets and the like. Empty where the look ended early.
    pub holders: BTreeMap<ObjectId, Vec<Holder>>,
    /// Some process's descriptors could not be read: it may hold anything.
    pub tables_hidden: bool,
    /// Processes outside of the job that hold or own something the job waits for.
    pub outsiders: BTreeMap<Pid, Outsider>,
    /// Every member was looked at; otherwise the look ended at a live one.
    pub whole: bool,
    /// What the look proved about the instant between its passes.
    pub instant: Instantaneous,
    /// Tasks that ran between the passes and went back to sleep in the same wait.
    pub returned: Vec<TaskId>,
    /// Loopback connections inside the job with bytes still under way.
    pub in_flight: bool,
}

/// Did the tasks sleep at one and the same instant?
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Instantaneous {
    /// The look ended at the first live task, or was not asked for a second pass.
    #[default]
    NotTried,
    /// Every task slept, unwoken, through the instant between the passes.
    Proved,
    /// As proved, but for tasks that ran meanwhile and are asleep in the same wait again; they are in
    /// [`Observation::returned`].
    Returned,
    /// Something ran, appeared or ended meanwhile.
    Moved,
    /// The sources of the second pass cannot be read here.
    Unavailable,
}

/// A terminal as its termios and its queues show it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Terminal {
    /// Which one.
    pub id: TtyId,
    /// A path for people (`/dev/pts/3`).
    pub name: String,
    /// The foreground process group (`tpgid`), where one is known.
    pub foreground: Option<Pid>,
    /// The session that has it as its controlling terminal.
    pub session: Option<Pid>,
    /// Its modes, where they can be read.
    pub modes: Option<Modes>,
    /// Is input there that nobody has read, or on its way? `None` where it cannot be asked.
    pub readable: Option<bool>,
    /// Can the slave be written to? `Some(false)`: stopped by ^S, or nobody drains it.
    pub writable: Option<bool>,
    /// Output that the master's holder has not read yet. `None` where it cannot be asked.
    pub undrained: Option<bool>,
}

/// The local modes that decide about input (termios(3)).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Modes {
    /// `ICANON`: input comes in lines.
    pub canonical: bool,
    /// `ECHO`.
    pub echo: bool,
    /// `ISIG`: ^C is a signal.
    pub signals: bool,
    /// `VMIN` 0 with a `VTIME`: a read returns after this time without any input.
    pub read_timeout: Option<Duration>,
}

/// One process.
#[derive(Debug, Clone, PartialEq)]
pub struct Process {
    /// Its number.
    pub pid: Pid,
    /// Start time in clock ticks since boot: with the PID, its identity (PIDs are reused).
    pub start: u64,
    /// Its parent.
    pub ppid: Pid,
    /// Its process group.
    pub pgrp: Pid,
    /// Its session.
    pub session: Pid,
    /// Its controlling terminal (`tty_nr` of proc_pid_stat(5), as an rdev); `None` without one.
    pub tty: Option<u64>,
    /// The foreground group of that terminal.
    pub tpgid: Pid,
    /// Its command name, lossy.
    pub comm: String,
    /// Does it belong to the job? Otherwise it is here because a member may wait for it.
    pub member: bool,
    /// It lies outside of the job and carries bytes between the job's terminal and inner ones (tmux's
    /// server): a path, and never a reason for the job to be live.
    pub relay: bool,
    /// Its children.
    pub children: Vec<Pid>,
    /// It has timers of timer_create(2). `/proc` does not say when they expire.
    pub timers: bool,
    /// What it does with signals, where `stat` tells.
    pub signals: Option<Signals>,
    /// Who traces it (`TracerPid`), 0 for nobody.
    pub tracer: Pid,
}

/// One task.
#[derive(Debug, Clone, PartialEq)]
pub struct Task {
    /// Which one.
    pub id: TaskId,
    /// Its own name (threads may differ from the process), lossy.
    pub comm: String,
    /// What it does.
    pub state: TaskState,
    /// How often it has been put on a CPU (`schedstat`, third field), where that is known.
    pub runs: Option<u64>,
    /// CPU time it has used.
    pub cpu: Option<Duration>,
}

impl Task {
    /// Does it sleep until there is input on some terminal (or longer)?
    #[must_use]
    pub fn reads_terminal(&self) -> bool {
        matches!(&self.state, TaskState::Blocked(wait) if wait.reads_any_terminal())
    }
}

/// What a task does, from what the kernel shows.
#[derive(Debug, Clone, PartialEq)]
pub enum TaskState {
    /// On a CPU, or about to be.
    Runnable,
    /// Blocked in a call that was decoded.
    Blocked(Wait),
    /// In uninterruptible sleep (`D`): a disk, a driver, a frozen control group.
    Disk {
        /// The kernel function it sleeps in (`wchan`), where it is shown.
        at: Option<String>,
    },
    /// Stopped by a signal or by a tracer.
    Stopped {
        /// Stopped by a tracer (`t`), not by job control (`T`).
        traced: bool,
        /// The call it was in, where it is shown.
        wait: Option<Wait>,
    },
    /// Ended, not yet reaped.
    Zombie,
    /// It sleeps, but in what, the kernel does not let us see.
    Opaque {
        /// Why not.
        why: Opacity,
    },
}

/// Why a task cannot be seen into.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Opacity {
    /// No permission: another user, a set-id program, a capability, Yama, hidepid.
    Denied,
    /// This kernel (or sandbox) does not offer the source.
    Unsupported,
    /// It is held in its call, and what the call waits for would not wake it: a frozen control group,
    /// a seccomp filter whose supervisor has not answered.
    Held,
}

/// A blocked call with the objects behind its descriptors.
#[derive(Debug, Clone, PartialEq)]
pub struct Wait {
    /// The kernel's name of the call.
    pub call: &'static str,
    /// Everything that can end it; any one does.
    pub sources: Vec<Source>,
    /// How long it waits at the most.
    pub timeout: Timeout,
    /// The stack pointer of the call: the same place in the program's code has the same one.
    pub stack: u64,
}

/// One thing that can end a wait, resolved.
#[derive(Debug, Clone, PartialEq)]
pub enum Source {
    /// Something happens on an object behind a descriptor.
    Object {
        /// The descriptor, in the waiting task's table.
        fd: i32,
        /// What of it is awaited.
        interest: Interest,
        /// What it is.
        object: Object,
    },
    /// A child changes its state.
    Child(Children),
    /// A futex is woken.
    Futex {
        /// The user address.
        addr: u64,
        /// Only threads of this process can wake it.
        private: bool,
    },
    /// A file lock is granted.
    Lock {
        /// The family.
        kind: LockKind,
        /// The locked file.
        file: FileId,
        /// Its path, where readable.
        path: String,
        /// Who holds it (`/proc/locks`); `None` where no process is named (OFD locks: -1).
        holder: Option<Pid>,
    },
    /// The other end of a fifo is opened.
    Fifo {
        /// Its path.
        path: String,
        /// The fifo's identity, where it could be found.
        file: Option<FileId>,
    },
    /// A signal arrives.
    Signal {
        /// The set that is awaited; `None` for any handled one.
        set: Option<u64>,
    },
    /// The time alone.
    Time,
    /// The kernel does not say what.
    Unknown {
        /// What is known of it, for people.
        what: String,
    },
}

/// A file by device and inode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct FileId {
    /// `st_dev`.
    pub dev: u64,
    /// `st_ino`.
    pub ino: u64,
}

/// What stands behind a descriptor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Object {
    /// A terminal: a pty slave, a console, a serial line.
    Terminal(TtyId),
    /// A pty master; the terminal it drives.
    Master(TtyId),
    /// A pipe.
    Pipe(FileId),
    /// A fifo that is open: anybody may open its other end by the path.
    Fifo(FileId),
    /// A unix socket.
    Unix {
        /// Its inode.
        ino: u64,
        /// The peer's inode, 0 where there is none or it is not known.
        peer: u64,
        /// It accepts connections.
        listening: bool,
        /// It has a peer, be it one that was not accepted yet.
        connected: bool,
        /// The path or abstract name it (or its peer) is bound to.
        name: Option<String>,
    },
    /// A TCP or UDP socket.
    Inet {
        /// Its inode.
        ino: u64,
        /// `tcp` or `udp`.
        protocol: Protocol,
        /// Own address.
        local: std::net::SocketAddr,
        /// The peer's; unspecified where not connected.
        remote: std::net::SocketAddr,
        /// It accepts connections (TCP), or is bound without a peer (UDP).
        listening: bool,
        /// The inode of the other end, where that is on this machine.
        peer: u64,
    },
    /// Another kind of socket: netlink, packet, raw, vsock, or one of another network namespace.
    Socket {
        /// Its inode.
        ino: u64,
        /// It is a netlink socket: events of the kernel.
        netlink: bool,
    },
    /// eventfd(2).
    EventFd {
        /// `eventfd-id` of its fdinfo, where the kernel gives one.
        id: Option<u64>,
    },
    /// signalfd(2) and its mask.
    SignalFd {
        /// Bit `n - 1` for signal `n`.
        mask: u64,
    },
    /// timerfd_create(2).
    TimerFd {
        /// Time left until it fires; `None` when disarmed.
        left: Option<Duration>,
    },
    /// inotify(7) or fanotify(7).
    Inotify,
    /// pidfd_open(2).
    PidFd {
        /// The process; -1 when it has ended.
        pid: Pid,
    },
    /// An epoll set that was not resolved.
    Epoll,
    /// An io_uring whose pending requests are not shown.
    Uring,
    /// A regular file, a directory, a block device.
    File {
        /// Which.
        file: FileId,
        /// Its path.
        path: String,
    },
    /// A device or anonymous inode that has no place above.
    Other {
        /// What `/proc/PID/fd` calls it.
        name: String,
    },
    /// The descriptor could not be resolved.
    Unknown,
}

/// Transport of an internet socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Protocol {
    /// TCP.
    Tcp,
    /// UDP.
    Udp,
}

/// An object that several processes can hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ObjectId {
    /// A pipe or open fifo.
    Pipe(FileId),
    /// A socket, by inode.
    Socket(u64),
    /// An eventfd, by id.
    EventFd(u64),
    /// The master side of a terminal.
    Master(TtyId),
    /// The terminal itself.
    Terminal(TtyId),
}

/// A process that has an object open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Holder {
    /// Who.
    pub pid: Pid,
    /// It can read from it.
    pub read: bool,
    /// It can write to it.
    pub write: bool,
}

/// A process outside of the job, named because the job depends on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outsider {
    /// Its number.
    pub pid: Pid,
    /// Its command name, lossy.
    pub comm: String,
    /// The far ends of what the job waits on that it holds.
    pub holds: Vec<ObjectId>,
}
