//! A state with what a test compares of it.
#![allow(dead_code, reason = "each test file uses a part of it")]

use awaitty::verdict::{IdleReason, Kind, State, StopReason, WaitingOn};

/// What must be said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Expect {
    /// The shell is at its own prompt.
    Prompt,
    /// It waits for input.
    Input(Kind),
    /// It is busy.
    Running {
        /// On one of these.
        on: &'static [WaitingOn],
        /// It would take input all the same.
        accepts_input: bool,
    },
    /// Nothing moves.
    Idle(IdleReason),
    /// It is stopped.
    Stopped(StopReason),
    /// It ended with this code.
    Exited(i32),
    /// It ended by this signal.
    Killed(i32),
    /// The kernel does not tell; every guess will do.
    Unknown,
}

impl Expect {
    /// Is it this that was said?
    pub(crate) fn fits(self, state: &State) -> bool {
        match (self, state) {
            (Expect::Prompt, State::Prompt(input)) => input.kind == Kind::Command,
            (Expect::Input(kind), State::Input(input)) => input.kind == kind,
            (Expect::Running { on, accepts_input }, State::Running(running)) => {
                running.accepts_input == accepts_input && on.contains(&running.waiting_on)
            }
            (Expect::Idle(reason), State::Idle(idle)) => idle.reason == reason,
            (Expect::Stopped(reason), State::Stopped(stopped)) => stopped.reason == reason,
            (Expect::Exited(code), State::Exited(exited)) => exited.code == Some(code),
            (Expect::Killed(signal), State::Exited(exited)) => exited.signal == Some(signal),
            (Expect::Unknown, _) => true,
            _ => false,
        }
    }
}
