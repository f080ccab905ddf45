//! A blocked system call and its objects → what it waits for. Pure: memory and descriptors come
//! in through the arguments, so a recording or a property test drives it as the kernel does.
//!
//! Numbers become names through the tables of the `syscalls` crate, per architecture
//! ([`Arch`]), and one decoder ([`decode`]) serves them all by name.

mod args;
mod decode;
mod files;
mod memory;
mod poll;
mod restart;
mod sync;
mod table;

#[cfg(test)]
mod fake;
#[cfg(test)]
mod tests;

use std::fmt;
use std::time::Duration;

pub use decode::decode;
pub(crate) use memory::string;
pub use memory::{Memory, MemoryError};
pub use restart::{Restarted, decode_restart, restarted};
use serde::{Deserialize, Serialize};

/// The system-call convention that a task runs under.
///
/// `/proc/PID/syscall` carries no mark of it: an i386 task on an x86_64 kernel shows numbers of the
/// i386 table. The ELF class of `/proc/PID/exe` decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Arch {
    /// 64-bit x86 (`arch/x86/entry/syscalls/syscall_64.tbl`).
    X86_64,
    /// 32-bit x86, natively or under an x86_64 kernel (`syscall_32.tbl`).
    I386,
    /// 64-bit ARM (`include/uapi/asm-generic/unistd.h`).
    Aarch64,
}

impl Arch {
    /// The convention of 64-bit programs on the machine this was compiled for.
    pub const NATIVE: Arch =
        if cfg!(target_arch = "aarch64") { Arch::Aarch64 } else { Arch::X86_64 };

    /// The size of a pointer and of a `long`, in bytes.
    #[must_use]
    pub fn word(self) -> usize {
        match self {
            Arch::I386 => 4,
            Arch::X86_64 | Arch::Aarch64 => 8,
        }
    }
}

/// The registers of a task that sleeps in a system call, as `/proc/PID/syscall` gives them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Registers {
    /// The number of the call.
    pub nr: u64,
    /// Its six arguments, as the call left them in the registers.
    pub args: [u64; 6],
    /// The stack pointer: at the same place in its code, a program has the same one.
    pub stack: u64,
}

/// A blocked call as its arguments state it: descriptors still are numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// The kernel's name of the call, or `"?"` for a number that no table has.
    pub name: &'static str,
    /// Everything that can end the wait; any one of them does.
    pub ends: Vec<End>,
    /// How long it waits at the most, as the caller asked (not what is left of it).
    pub timeout: Timeout,
}

/// One thing that can end a wait.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// A descriptor becomes readable, writable, or hangs up.
    Fd {
        /// Its number in the task's table.
        fd: i32,
        /// What of it is awaited.
        interest: Interest,
    },
    /// Any descriptor of an epoll set (nested sets too): the observer reads the set.
    Epoll {
        /// The epoll's own descriptor.
        fd: i32,
    },
    /// A completion on an io_uring; the kernel does not show of what file.
    Uring {
        /// The ring's descriptor.
        fd: i32,
    },
    /// A child changes its state: wait4(2), waitid(2), the parent of a vfork(2).
    Child(Children),
    /// A futex is woken: futex(2), futex_waitv(2).
    Futex {
        /// The user address that is waited on.
        addr: u64,
        /// `FUTEX_PRIVATE_FLAG`: only threads of the same process can wake it.
        private: bool,
    },
    /// A file lock is granted: flock(2), fcntl(2) `F_SETLKW`, `F_OFD_SETLKW`.
    Lock {
        /// The descriptor on which the lock is asked.
        fd: i32,
        /// Which of the three families of lock.
        kind: LockKind,
    },
    /// Somebody opens the other end of a fifo: open(2), openat(2).
    Open {
        /// The path as the program gave it; lossy.
        path: String,
        /// The directory it is relative to (`AT_FDCWD` is -100).
        dirfd: i32,
        /// Opened for reading only; otherwise for writing.
        read: bool,
    },
    /// A signal arrives: pause(2), sigsuspend(2), sigtimedwait(2).
    Signal {
        /// The signals that end the wait, bit `n - 1` for signal `n`; `None` for "any that is handled".
        set: Option<u64>,
    },
    /// Nothing but the time: nanosleep(2), clock_nanosleep(2).
    Time,
    /// The kernel does not say (ioctl(2), semop(2), a number in no table).
    Unknown,
}

/// What is awaited of a descriptor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Interest {
    /// Data, a connection or end of file.
    pub read: bool,
    /// Room to write.
    pub write: bool,
    /// Urgent data: `POLLPRI`, the except set of select(2). Typed input never is.
    pub priority: bool,
    /// The end of a connection attempt: connect(2).
    pub connect: bool,
}

impl Interest {
    /// Read interest alone.
    pub const READ: Interest =
        Interest { read: true, write: false, priority: false, connect: false };
    /// Write interest alone.
    pub const WRITE: Interest =
        Interest { read: false, write: true, priority: false, connect: false };
    /// Waits for neither: a descriptor that is polled for hang-up or errors only.
    #[must_use]
    pub fn none(self) -> bool {
        self == Interest::default()
    }
}

/// Which children a wait is for: the first argument of wait4(2), the first two of waitid(2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Children {
    /// Any child.
    Any,
    /// The one with this PID.
    Pid(i32),
    /// Any in this process group; 0 means the caller's own.
    Group(i32),
    /// The process behind this pidfd (`P_PIDFD`).
    PidFd(i32),
    /// The child that runs in the parent's memory until it executes or ends: vfork(2).
    Vfork,
}

/// The families of file locks; they do not see each other (`/proc/locks` names them).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LockKind {
    /// flock(2).
    Flock,
    /// fcntl(2) `F_SETLKW`, owned by the process.
    Posix,
    /// fcntl(2) `F_OFD_SETLKW`, owned by the open file description.
    Ofd,
}

/// How long a call waits at the most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Timeout {
    /// For ever.
    Never,
    /// For this long from the call's start.
    After(Duration),
    /// Until this point in time on `CLOCK_MONOTONIC`.
    Until(Duration),
    /// It has a timeout, but which is not known: one on a clock that can be set, one whose memory
    /// cannot be read, or a `restart_syscall` whose former arguments are gone.
    Some,
}

impl Timeout {
    /// Does the time alone end this wait?
    #[must_use]
    pub fn is_finite(self) -> bool {
        self != Timeout::Never
    }

    /// The length asked for, where it is known.
    #[must_use]
    pub fn duration(self) -> Option<Duration> {
        match self {
            Timeout::After(length) => Some(length),
            Timeout::Never | Timeout::Until(_) | Timeout::Some => None,
        }
    }
}

impl fmt::Display for Arch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Arch::X86_64 => "x86_64",
            Arch::I386 => "i386",
            Arch::Aarch64 => "aarch64",
        })
    }
}
