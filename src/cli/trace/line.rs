//! A line of a trace, for people and as JSON.

use std::fmt::{self, Display, Formatter};
use std::time::Duration;

use serde::Serialize;

use crate::cli::text::Escaped;
use crate::observe::{Observation, Wait};
use crate::trace::{Event, What};
use crate::verdict::of_wait;

/// A line; its fields are those of the JSON.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Line<'e> {
    /// Seconds since the trace began.
    t: f64,
    /// The process.
    pid: i32,
    /// The thread.
    tid: i32,
    /// What happened.
    #[serde(flatten)]
    event: Kind<'e>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
enum Kind<'e> {
    Start {
        ppid: i32,
        cmdline: &'e [String],
        attached: bool,
    },
    Exec {
        cmdline: &'e [String],
        by: i32,
    },
    NotExecuted {
        error: &'static str,
    },
    /// A wait for input on a terminal begins.
    Waits {
        call: &'static str,
        wait: String,
    },
    /// A wait is over; it began `seconds` ago.
    Waited {
        call: &'static str,
        wait: String,
        terminal: bool,
        seconds: f64,
    },
    LetGo {
        program: &'e str,
    },
    Untouched {
        call: &'static str,
    },
    Refused,
    Exit {
        code: Option<i32>,
        signal: Option<i32>,
    },
}

impl Line<'_> {
    /// The line for an event of a trace that began then.
    pub(super) fn new(event: &Event, began: Duration) -> Line<'_> {
        let t = event.at.saturating_sub(began).as_secs_f64();
        Line { t, pid: event.pid, tid: event.tid, event: Kind::of(&event.what) }
    }
}

impl Kind<'_> {
    fn of(what: &What) -> Kind<'_> {
        match what {
            What::Start { ppid, cmdline, attached } => {
                Kind::Start { ppid: *ppid, cmdline, attached: *attached }
            }
            What::Exec { cmdline, by } => Kind::Exec { cmdline, by: *by },
            What::NotExecuted(errno) => Kind::NotExecuted { error: errno.desc() },
            What::Waits(wait) => Kind::Waits { call: wait.call, wait: words(wait) },
            What::Waited { wait, terminal, length } => Kind::Waited {
                call: wait.call,
                wait: words(wait),
                terminal: *terminal,
                seconds: length.as_secs_f64(),
            },
            What::LetGo { program } => Kind::LetGo { program },
            What::Untouched { call } => Kind::Untouched { call },
            What::Refused => Kind::Refused,
            What::Exit { code, signal } => Kind::Exit { code: *code, signal: *signal },
        }
    }
}

fn words(wait: &Wait) -> String {
    of_wait(&Observation::default(), wait)
}

impl Display for Line<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{:10.6}  {:>7}  ", self.t, self.pid)?;
        if self.tid != self.pid {
            write!(f, "[{}] ", self.tid)?;
        }
        match &self.event {
            Kind::Start { ppid, cmdline, attached } => {
                let how = if *attached { "runs" } else { "starts" };
                write!(f, "{how}, child of {ppid}: {}", Words(cmdline))
            }
            Kind::Exec { cmdline, by } => {
                write!(f, "executes {}", Words(cmdline))?;
                if *by == self.pid { Ok(()) } else { write!(f, " (by thread {by})") }
            }
            Kind::NotExecuted { error } => write!(f, "is not executed: {error}"),
            Kind::Waits { wait, .. } => write!(f, "waits for input: {}", Escaped(wait)),
            Kind::Waited { wait, seconds, .. } => {
                write!(f, "waited {seconds:.6} s: {}", Escaped(wait))
            }
            Kind::LetGo { program } => {
                write!(f, "is let go: {} gives rights that a trace would take", Escaped(program))
            }
            Kind::Untouched { call } => {
                write!(f, "is left alone: an interruption would make its {call} fail")
            }
            Kind::Refused => f.write_str("may not be traced"),
            Kind::Exit { code: Some(code), .. } => write!(f, "ends: code {code}"),
            Kind::Exit { signal: Some(signal), .. } => write!(f, "ends: signal {signal}"),
            Kind::Exit { .. } => f.write_str("ends"),
        }
    }
}

struct Words<'w>(&'w [String]);

impl Display for Words<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for (index, word) in self.0.iter().enumerate() {
            let space = if index == 0 { "" } else { " " };
            let plain = !word.is_empty() && !word.contains(char::is_whitespace);
            let quote = if plain { "" } else { "'" };
            write!(f, "{space}{quote}{}{quote}", Escaped(word))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;

    fn event(what: What) -> Event {
        Event { at: Duration::from_millis(2500), pid: 7, tid: 8, what }
    }

    #[test]
    fn an_end() {
        let event = event(What::Exit { code: Some(3), signal: None });
        let line = Line::new(&event, Duration::from_secs(1));
        assert_eq!(line.to_string(), "  1.500000        7  [8] ends: code 3");
        let json = serde_json::to_string(&line).unwrap();
        assert_eq!(json, r#"{"t":1.5,"pid":7,"tid":8,"event":"exit","code":3,"signal":null}"#);
    }

    #[test]
    fn words_of_others_are_harmless() {
        let cmdline = vec!["sh".to_owned(), "a b\x1b[2J".to_owned(), String::new()];
        let event = event(What::Exec { cmdline, by: 7 });
        let line = Line::new(&event, Duration::ZERO).to_string();
        assert!(line.ends_with("executes sh 'a b\\u{1b}[2J' ''"), "{line}");
    }
}
