//! When the kernel is closed: what is still open, in order of weight. Never exact.

use std::time::Duration;

use super::{
    By, Evidence, Input, Kind, Output, Running, State, StateName, Unknown, Verdict, WaitingOn,
};
use crate::observe::{Modes, Observation, TaskState};

/// A password is asked after this long without change: the flags say it, but a program may still
/// be on its way from tcsetattr(3) to read(2).
const SETTLE: Duration = Duration::from_millis(30);
/// Quiet that makes a text at the cursor a prompt.
const PROMPT_QUIET: Duration = Duration::from_millis(300);
/// Quiet after which there is nothing more to be learned.
const LONG_QUIET: Duration = Duration::from_secs(2);

// Confidence of each layer: how far each may be trusted beside the others. No frequency was
// measured yet.
const BY_STATE: f64 = 0.95;
const BY_FLAGS: f64 = 0.9;
const BY_FOREGROUND: f64 = 0.85;
const BY_COUNTERS: f64 = 0.8;
const BY_TEXT: f64 = 0.75;
const BY_SCREEN: f64 = 0.6;
const BY_QUIET: f64 = 0.5;
const BY_NOTHING: f64 = 0.3;

/// What is still open.
#[derive(Debug, Clone, Copy)]
pub struct Open<'a> {
    /// The observation; its opaque tasks have states and counters all the same.
    pub observation: &'a Observation,
    /// The output, where the terminal is ours.
    pub output: Option<&'a Output>,
    /// Since when no counter has moved and nothing was printed.
    pub quiet: Duration,
    /// A run counter moved since the last look.
    pub ran: bool,
    /// What cannot be seen, for people.
    pub why: &'a str,
    /// The input goes to another machine, or to whoever sits behind a socket.
    pub remote: bool,
}

impl Open<'_> {
    fn modes(&self) -> Option<Modes> {
        self.observation.terminal.as_ref().and_then(|terminal| terminal.modes)
    }

    /// Is the session's own leader in the foreground?
    fn shell_in_front(&self) -> bool {
        self.observation.terminal.as_ref().is_some_and(|terminal| {
            terminal.foreground.is_some()
                && terminal.foreground == terminal.session
                && terminal.session.is_some_and(|leader| {
                    self.observation.processes.get(&leader).is_some_and(super::shell::is_shell)
                })
        })
    }
}

/// The likeliest verdict, with how likely it is.
#[must_use]
pub fn guess(open: &Open<'_>) -> Verdict {
    let awake = open.observation.tasks.iter().any(|task| {
        matches!(task.state, TaskState::Runnable | TaskState::Disk { .. })
            && open.observation.processes.get(&task.id.pid).is_some_and(|p| p.member)
    });
    if awake {
        return running(open, WaitingOn::Cpu, BY_STATE, Evidence::Counters);
    }
    let text = open.output.map_or("", |output| output.line.as_str());
    let secret = open.modes().is_some_and(|modes| modes.canonical && !modes.echo);
    if secret && open.quiet >= SETTLE {
        return input(open, Kind::Secret, BY_FLAGS, Evidence::Termios);
    }
    if !open.remote && open.shell_in_front() && open.quiet >= SETTLE {
        return input(open, Kind::Command, BY_FOREGROUND, Evidence::Foreground);
    }
    if open.ran && !open.remote {
        return running(open, WaitingOn::Other, BY_COUNTERS, Evidence::Counters);
    }
    if open.quiet < PROMPT_QUIET {
        return running(open, WaitingOn::Other, BY_QUIET, Evidence::Quiet);
    }
    let full_screen = open.output.is_some_and(|output| output.full_screen);
    if full_screen {
        return input(open, Kind::Screen, BY_SCREEN, Evidence::Quiet);
    }
    if is_prompt_like(text) {
        let raw = open.modes().is_some_and(|modes| !modes.canonical);
        let kind = if raw { Kind::Key } else { Kind::Line };
        return input(open, kind, BY_TEXT, Evidence::PromptText);
    }
    if open.remote {
        return running(open, WaitingOn::Network, BY_QUIET, Evidence::Quiet);
    }
    unknown(open)
}

/// Text at the cursor that ends as questions and prompts end. It does not decide alone: the same
/// text is printed by programs that go on to work.
#[must_use]
pub fn is_prompt_like(text: &str) -> bool {
    let trimmed = text.trim_end();
    let Some(last) = trimmed.chars().next_back() else { return false };
    // A progress display stands at the cursor too, and ends in a figure or a bar.
    matches!(last, '?' | ':' | '>' | '$' | '#' | '%' | ']' | ')' | '❯' | '»' | 'λ' | '➜')
        && !trimmed.chars().rev().nth(1).is_some_and(|before| last == '%' && before.is_numeric())
}

fn verdict(open: &Open<'_>, state: State, confidence: f64, evidence: Evidence) -> Verdict {
    Verdict {
        state,
        exact: false,
        by: By::Heuristic,
        confidence,
        evidence: vec![evidence],
        job: super::words::job(open.observation),
    }
}

fn running(open: &Open<'_>, on: WaitingOn, confidence: f64, evidence: Evidence) -> Verdict {
    let state = Running { waiting_on: on, accepts_input: open.remote, task: None };
    verdict(open, State::Running(state), confidence, evidence)
}

fn input(open: &Open<'_>, kind: Kind, confidence: f64, evidence: Evidence) -> Verdict {
    let prompt = open.output.filter(|_| kind != Kind::Screen).map(|output| output.line.clone());
    let input =
        Input { kind, prompt, exclusive: true, timeout: None, reader: None, writers: Vec::new() };
    let state = match kind {
        Kind::Command => State::Prompt(input),
        _ => State::Input(input),
    };
    verdict(open, state, confidence, evidence)
}

fn unknown(open: &Open<'_>) -> Verdict {
    let silent = open.output.is_none_or(|output| output.line.trim().is_empty());
    let guess = match (silent, open.quiet >= LONG_QUIET) {
        (false, true) => Some(StateName::Input),
        (true, true) => None,
        (_, false) => Some(StateName::Running),
    };
    let state = State::Unknown(Unknown { guess, why: open.why.to_owned() });
    verdict(open, state, BY_NOTHING, Evidence::Quiet)
}
