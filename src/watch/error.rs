use std::path::PathBuf;
use std::time::Duration;

use nix::errno::Errno;

use crate::observe::Pid;
use crate::pty::SpawnError;
use crate::verdict::Verdict;

/// A watch could not begin.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WatchError {
    /// The monitor's own descriptors could not be made.
    #[error("the monitor cannot start: {0}; more descriptors may help (ulimit -n)")]
    Monitor(#[source] Errno),
    /// The monitor's thread could not be started, or has ended.
    #[error("the monitor's thread is gone")]
    Ended,
    /// The command could not be executed.
    #[error(transparent)]
    Spawn(#[from] SpawnError),
    /// No process has this number.
    #[error("no process {0}")]
    NoProcess(Pid),
    /// A kernel thread has no terminal, no memory and no descriptors.
    #[error("process {0} is a kernel thread: it never waits for input")]
    KernelThread(Pid),
    /// The path cannot be opened.
    #[error("cannot look at {path}: {errno}", path = path.display())]
    Path {
        /// The path as given.
        path: PathBuf,
        /// Why.
        errno: Errno,
    },
    /// The path is no terminal.
    #[error("{path} is no terminal", path = path.display())]
    NotATerminal {
        /// The path as given.
        path: PathBuf,
    },
    /// Nobody sits on the terminal.
    #[error("no process has {path} as its terminal, or none that may be seen", path = path.display())]
    NoSession {
        /// The path as given.
        path: PathBuf,
    },
}

/// A wait did not end as hoped.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WaitError {
    /// The time is over; with the verdict as it was.
    #[error("timed out after {after:?}")]
    Timeout {
        /// The time that was given.
        after: Duration,
        /// The last verdict, if there was any.
        last: Option<Box<Verdict>>,
    },
    /// The watch has ended, and nothing can change any more.
    #[error("the watch has ended")]
    Ended {
        /// The last verdict, if there was any.
        last: Option<Box<Verdict>>,
    },
}
