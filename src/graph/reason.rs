use serde::{Deserialize, Serialize};

/// What a live job waits on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum WaitingOn {
    /// It computes.
    Cpu,
    /// A disk or a driver.
    Disk,
    /// A child that is outside of the job, or cannot be seen into.
    Child,
    /// A pipe or unix socket whose other end is outside of the job.
    Pipe,
    /// A network peer.
    Network,
    /// A timer of its own.
    Timer,
    /// A lock that a process outside holds.
    Lock,
    /// Somebody to take its output.
    Output,
    /// Something else outside.
    Other,
}

/// Why nothing moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum IdleReason {
    /// It accepts connections.
    Server,
    /// It watches files (inotify, fanotify).
    Files,
    /// It waits for a signal.
    Signal,
    /// It waits for the other end of a fifo.
    Fifo,
    /// It waits for a lock.
    Lock,
    /// Its tasks wait for one another.
    Deadlock,
    /// Nobody takes its output, or the terminal is stopped (^S).
    Output,
    /// It waits for events of the kernel (netlink and the like).
    Events,
}
