//! Known situations, and whether the right thing is said of them here.

use std::time::{Duration, Instant};

use crossbeam_channel::{at, never, select};
use serde::Serialize;

use super::probe;
use crate::cli::text::Text;
use crate::verdict::{Exited, Kind, State, StateName, Verdict};
use crate::watch::{Monitor, OpenOptions, Watched};

/// Right verdicts come within milliseconds, and within a second where they rest on a habit.
const DEADLINE: Duration = Duration::from_secs(5);

/// What must be said, exactly, of probes that stand for their kind.
const SITUATIONS: &[(&str, StateName, Option<Kind>)] = &[
    ("read", StateName::Input, Some(Kind::Line)),
    ("read-secret", StateName::Input, Some(Kind::Secret)),
    ("read-key", StateName::Input, Some(Kind::Key)),
    ("read-dev-tty", StateName::Input, Some(Kind::Line)),
    ("poll", StateName::Input, Some(Kind::Line)),
    ("pselect", StateName::Input, Some(Kind::Line)),
    ("epoll", StateName::Input, Some(Kind::Line)),
    ("thread-reader", StateName::Input, Some(Kind::Line)),
    ("thread-reader-busy", StateName::Running, None),
    ("wait4-reader", StateName::Input, Some(Kind::Line)),
    ("pipe-child-reader", StateName::Input, Some(Kind::Line)),
    ("pipe-child-busy", StateName::Running, None),
    ("unix-child", StateName::Idle, None),
    ("tcp-child", StateName::Idle, None),
    ("ring-pipe", StateName::Running, None),
    ("nanosleep", StateName::Running, None),
    ("tick-tty", StateName::Input, Some(Kind::Key)),
    ("flock-cycle", StateName::Idle, None),
    ("relay-reader", StateName::Input, Some(Kind::Line)),
    ("relay-busy", StateName::Running, None),
    ("sigtstp", StateName::Stopped, None),
];

/// How one went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Outcome {
    Right,
    /// This machine or this user cannot have the situation.
    Skipped,
    Wrong,
}

/// A probe that was tried.
#[derive(Debug, Serialize)]
pub(super) struct Trial {
    pub(super) probe: &'static str,
    pub(super) outcome: Outcome,
    /// What was said of it.
    pub(super) said: String,
}

/// Tries all, one after another: some of them compute.
pub(super) fn run(monitor: &Monitor) -> anyhow::Result<Vec<Trial>> {
    SITUATIONS
        .iter()
        .map(|(name, state, kind)| {
            let options = OpenOptions { output: true, ..OpenOptions::default() };
            let watched = monitor.open(probe(name)?, options)?;
            let right = |verdict: &Verdict| {
                verdict.exact
                    && verdict.state.name() == *state
                    && verdict.input().map(|input| input.kind) == *kind
            };
            let (outcome, verdict) = observe(&watched, right);
            let said = verdict.as_ref().map(|verdict| Text(verdict).to_string());
            let said = said.map(|said| anstream::adapter::strip_str(&said).to_string());
            Ok(Trial { probe: name, outcome, said: said.unwrap_or_default() })
        })
        .collect()
}

/// Waits until the right thing is said of a probe that stands ready.
fn observe(watched: &Watched, right: impl Fn(&Verdict) -> bool) -> (Outcome, Option<Verdict>) {
    let skipped = Some(i32::from(awaitty_probes::EXIT_SKIPPED));
    let mut output = watched.output().unwrap_or_else(never);
    let changes = watched.changes();
    let deadline = at(Instant::now() + DEADLINE);
    let (mut text, mut last) = (Vec::new(), None);
    loop {
        select! {
            recv(output) -> piece => match piece {
                Ok(piece) => text.extend(piece),
                Err(_) => output = never(),
            },
            recv(changes) -> change => match change {
                Ok(change) => last = Some(change.verdict),
                Err(_) => return (Outcome::Wrong, last),
            },
            recv(deadline) -> _ => return (Outcome::Wrong, last),
        }
        match last.as_ref().map(|verdict| &verdict.state) {
            Some(State::Exited(Exited { code, .. })) if *code == skipped => {
                return (Outcome::Skipped, last);
            }
            _ if is_ready(&text) && last.as_ref().is_some_and(&right) => {
                return (Outcome::Right, watched.verdict().filter(&right).or(last));
            }
            _ => {}
        }
    }
}

/// The probe's line, ended.
fn is_ready(text: &[u8]) -> bool {
    text.starts_with(b"ready ") && text.contains(&b'\n')
}
