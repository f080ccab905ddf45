use std::time::Duration;

use nix::errno::Errno;

use crate::observe::{Instant, Pid, Wait};

/// Something that a trace saw.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// When: `CLOCK_MONOTONIC`, as the tracer read it at the stop.
    pub at: Instant,
    /// The process.
    pub pid: Pid,
    /// The thread.
    pub tid: Pid,
    /// What.
    pub what: What,
}

/// What happened.
#[derive(Debug, Clone, PartialEq)]
pub enum What {
    /// The process was made, or was there when the trace began.
    Start {
        /// Its parent.
        ppid: Pid,
        /// Its command line, lossy; that of its parent until it executes a program.
        cmdline: Vec<String>,
        /// It was there before.
        attached: bool,
    },
    /// It has executed a program.
    Exec {
        /// Its command line from now on, lossy.
        cmdline: Vec<String>,
        /// The thread that did, by the number that it had before.
        by: Pid,
    },
    /// The command's program could not be executed; its end follows.
    NotExecuted(Errno),
    /// It begins to wait for input on a terminal.
    Waits(Wait),
    /// It has waited: for input on a terminal, or for anything else and long enough to be told.
    Waited {
        /// For what.
        wait: Wait,
        /// It was input on a terminal, and its begin was told.
        terminal: bool,
        /// How long.
        length: Duration,
    },
    /// It is about to execute a program that gives rights which a traced process would not get. It is
    /// traced no more, and goes on by itself; its descendants are traced again where that is permitted.
    LetGo {
        /// The program as the process names it, lossy.
        program: String,
    },
    /// Its calls are not seen, because the interruption that begins to show them would make this one
    /// fail with `EINTR`.
    Untouched {
        /// The call.
        call: &'static str,
    },
    /// It could not be attached to.
    Refused,
    /// It has ended. Both are `None` for a process that was let go and is no child of the tracer.
    Exit {
        /// With this code.
        code: Option<i32>,
        /// By this signal.
        signal: Option<i32>,
    },
}
