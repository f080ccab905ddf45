use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::graph::{IdleReason, WaitingOn};
use crate::observe::Pid;

/// What a terminal's job does, and how that is known.
#[derive(Debug, Clone, PartialEq)]
pub struct Verdict {
    /// The state, with what belongs to it.
    pub state: State,
    /// Proved from the kernel's own data, for one instant. Never true of a guess.
    pub exact: bool,
    /// What the verdict rests on.
    pub by: By,
    /// 1.0 when exact; below for everything else.
    pub confidence: f64,
    /// The layers that spoke, for people.
    pub evidence: Vec<Evidence>,
    /// The tasks of the job as the look saw them.
    pub job: Vec<JobTask>,
}

/// The state of a job.
#[derive(Debug, Clone, PartialEq)]
pub enum State {
    /// The shell is at its own prompt.
    Prompt(Input),
    /// The job waits for input.
    Input(Input),
    /// Something moves, or will by itself.
    Running(Running),
    /// Nothing can move by itself, and input from the terminal is not what it waits for.
    Idle(Idle),
    /// Stopped by job control or a tracer.
    Stopped(Stopped),
    /// The job (or the process that was watched) has ended.
    Exited(Exited),
    /// The kernel does not let us see enough.
    Unknown(Unknown),
}

/// The names of the states alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "documented at State")]
pub enum StateName {
    Prompt,
    Input,
    Running,
    Idle,
    Stopped,
    Exited,
    Unknown,
}

/// Where a verdict comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum By {
    /// The passive engine: `/proc` and the terminal.
    Proc,
    /// Guessed from what is still open: terminal flags, groups, counters, output.
    Heuristic,
}

/// A layer of knowledge that spoke for the verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Evidence {
    /// Every task's blocked call, decoded.
    Syscalls,
    /// All tasks slept through one instant (two passes over run counters).
    TwoPasses,
    /// Nothing typed is under way (poll on the slave).
    EmptyInput,
    /// What earlier looks saw (ticks, redraws).
    History,
    /// The shell's own marks (OSC 133, OSC 633).
    Marks,
    /// The text of the prompt, compared with what was learned.
    PromptText,
    /// Terminal flags.
    Termios,
    /// The foreground process group.
    Foreground,
    /// World-readable task states and run counters.
    Counters,
    /// The output has been quiet.
    Quiet,
}

/// What the job waits for, when that is input.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
pub struct Input {
    /// How the input is read.
    pub kind: Kind,
    /// The text before the cursor on its line; `null` where the output cannot be seen.
    pub prompt: Option<String>,
    /// Only one task reads.
    pub exclusive: bool,
    /// The wait's own timeout in seconds; `null`: it waits for ever.
    pub timeout: Option<f64>,
    /// Who reads; `null` where that cannot be seen.
    pub reader: Option<Reader>,
    /// Who holds the other end of a stdin pipe (kind `pipe`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub writers: Vec<Party>,
}

/// How input is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A line, echoed.
    Line,
    /// A line that is not echoed: a password.
    Secret,
    /// Single keys: a line editor, a menu.
    Key,
    /// Single keys, on the full screen: vim, less, top.
    Screen,
    /// A pipe whose writers are all outside of the job.
    Pipe,
    /// A command, at the shell's own prompt.
    Command,
    /// The rest of a command: the shell's secondary prompt.
    Continuation,
}

/// The task that reads.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
pub struct Reader {
    /// Its process.
    pub pid: Pid,
    /// Its thread.
    pub tid: Pid,
    /// Its name.
    pub comm: String,
    /// The call it is blocked in.
    pub call: String,
    /// The descriptor.
    pub fd: i32,
    /// The terminal, or the pipe.
    pub tty: String,
}

/// A process, named.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
pub struct Party {
    /// Its number.
    pub pid: Pid,
    /// Its name.
    pub comm: String,
}

/// The job moves.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
pub struct Running {
    /// What it waits for meanwhile.
    pub waiting_on: WaitingOn,
    /// A task would take input all the same.
    pub accepts_input: bool,
    /// The task that was found live first.
    pub task: Option<Party>,
}

/// Nothing moves.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
pub struct Idle {
    /// Why.
    pub reason: IdleReason,
    /// A server's addresses.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub listening: Vec<String>,
    /// The processes of a deadlock, in the order in which each waits for the next.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cycle: Vec<Party>,
}

/// Stopped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
pub struct Stopped {
    /// Why.
    pub reason: StopReason,
    /// The tracer, when one holds it.
    pub tracer: Option<Party>,
}

/// Why a job is stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// It read from the terminal in the background (SIGTTIN).
    TerminalInput,
    /// It wrote to the terminal in the background (SIGTTOU).
    TerminalOutput,
    /// SIGTSTP or SIGSTOP.
    JobControl,
    /// A tracer holds it.
    Traced,
}

/// Ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
pub struct Exited {
    /// The exit code; `null` where it was a signal or is not ours to know.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
}

/// Not known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
pub struct Unknown {
    /// The likelier state, if any.
    pub guess: Option<StateName>,
    /// What could not be seen.
    pub why: String,
}

/// A task of the job, for the reader of a verdict.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
pub struct JobTask {
    /// Its process.
    pub pid: Pid,
    /// Its thread.
    pub tid: Pid,
    /// Its name.
    pub comm: String,
    /// What it does.
    pub state: TaskClass,
    /// The wait in words (`read 0 </dev/pts/3>`).
    pub wait: Option<String>,
}

/// The mission's classes of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum TaskClass {
    /// Blocked until somebody types.
    TtyRead,
    /// Blocked on something else.
    OtherIo,
    /// On a CPU or about to be.
    Runnable,
    /// Stopped.
    Stopped,
    /// Ended, not reaped.
    Zombie,
    /// Cannot be seen into.
    Opaque,
}

impl State {
    /// The bare name.
    #[must_use]
    pub fn name(&self) -> StateName {
        match self {
            State::Prompt(_) => StateName::Prompt,
            State::Input(_) => StateName::Input,
            State::Running(_) => StateName::Running,
            State::Idle(_) => StateName::Idle,
            State::Stopped(_) => StateName::Stopped,
            State::Exited(_) => StateName::Exited,
            State::Unknown(_) => StateName::Unknown,
        }
    }
}

impl Verdict {
    /// The job waits for you: `prompt` or `input`.
    #[must_use]
    pub fn waits_for_input(&self) -> bool {
        matches!(self.state, State::Prompt(_) | State::Input(_))
    }

    /// The input it waits for.
    #[must_use]
    pub fn input(&self) -> Option<&Input> {
        match &self.state {
            State::Prompt(input) | State::Input(input) => Some(input),
            _ => None,
        }
    }

    /// The job has ended.
    #[must_use]
    pub fn has_exited(&self) -> bool {
        matches!(self.state, State::Exited(_))
    }

    /// Nothing will happen unless somebody does something: input, idle, stopped or ended.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        !matches!(self.state, State::Running(_) | State::Unknown(_))
    }
}

/// Seconds with a fraction, as the JSON has them.
#[must_use]
pub fn seconds(duration: Duration) -> f64 {
    duration.as_secs_f64()
}
