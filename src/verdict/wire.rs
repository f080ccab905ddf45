//! The JSON of a verdict: one object a line, the state's name beside what belongs to it.

use serde::{Deserialize, Serialize};

use super::{
    By, Evidence, Exited, Idle, Input, JobTask, Running, State, StateName, Stopped, Unknown,
    Verdict,
};

/// One line of `--json`: a change of the verdict of one terminal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
pub struct Line {
    /// Counts the lines of this terminal, from 1.
    pub seq: u64,
    /// Seconds since the watch began (monotonic).
    pub t: f64,
    /// The terminal; `null` for a process tree without one.
    pub tty: Option<String>,
    /// The state.
    pub state: StateName,
    /// Proved, not guessed.
    pub exact: bool,
    /// What it rests on.
    pub by: By,
    /// 1.0 when exact, below otherwise.
    pub confidence: f64,
    /// The layers that spoke.
    pub evidence: Vec<Evidence>,
    /// With `prompt` and `input`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<Input>,
    /// With `running`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub running: Option<Running>,
    /// With `idle`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle: Option<Idle>,
    /// With `stopped`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped: Option<Stopped>,
    /// With `exited`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exited: Option<Exited>,
    /// With `unknown`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unknown: Option<Unknown>,
    /// The tasks of the job.
    pub job: Vec<JobTask>,
}

impl Line {
    /// The line for a verdict.
    #[must_use]
    pub fn new(seq: u64, t: f64, tty: Option<String>, verdict: &Verdict) -> Line {
        let mut line = Line {
            seq,
            t,
            tty,
            state: verdict.state.name(),
            exact: verdict.exact,
            by: verdict.by,
            confidence: verdict.confidence,
            evidence: verdict.evidence.clone(),
            input: None,
            running: None,
            idle: None,
            stopped: None,
            exited: None,
            unknown: None,
            job: verdict.job.clone(),
        };
        match verdict.state.clone() {
            State::Prompt(input) | State::Input(input) => line.input = Some(input),
            State::Running(running) => line.running = Some(running),
            State::Idle(idle) => line.idle = Some(idle),
            State::Stopped(stopped) => line.stopped = Some(stopped),
            State::Exited(exited) => line.exited = Some(exited),
            State::Unknown(unknown) => line.unknown = Some(unknown),
        }
        line
    }
}
