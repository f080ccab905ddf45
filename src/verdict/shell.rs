//! Is a shell at its own prompt, or does it read for a command (`read -p`)?
//!
//! What makes a shell: it does job control, so it ignores SIGTSTP and SIGTTOU in its own process
//! (POSIX, "Job Control", and the GNU C library's manual, "Initializing the Shell"), is told of its
//! children by SIGCHLD, and leads its process group. (passwd(1) ignores the two as well, but has no
//! children.) Marks of its own settle what it does. Without them the kernel tells a line editor
//! from a plain read: the first wait of a shell shows how it reads commands, and a wait of another
//! shape is no prompt. Where both have one shape (dash has no line editor), the text that was
//! learned decides, and exactness is not claimed.

use std::collections::BTreeMap;

use super::{Evidence, Kind, Mark, Output};
use crate::observe::{Modes, Pid, Process, Wait};

const SIGTSTP_BIT: u64 = 1 << (20 - 1);
const SIGTTOU_BIT: u64 = 1 << (22 - 1);
const SIGCHLD_BIT: u64 = 1 << (17 - 1);

/// What was learned of the shells of one terminal.
#[derive(Debug, Clone, Default)]
pub struct Shells {
    known: BTreeMap<(Pid, u64), Learned>,
}

#[derive(Debug, Clone)]
struct Learned {
    shape: (&'static str, Option<i32>, Option<Modes>),
    /// The stack pointer of the prompt's own wait.
    stack: u64,
    prompt: Option<String>,
}

/// How a shell reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reading {
    /// [`Kind::Command`], [`Kind::Continuation`], or `None`: for a command that it runs.
    pub kind: Option<Kind>,
    /// The kernel or the marks prove it.
    pub exact: bool,
    /// What it rests on, beside the kernel.
    pub evidence: Option<Evidence>,
}

/// Does this process do job control?
#[must_use]
pub fn is_shell(process: &Process) -> bool {
    let both = SIGTSTP_BIT | SIGTTOU_BIT;
    process.pid == process.pgrp
        && process.signals.is_some_and(|signals| {
            signals.ignored & both == both && signals.caught & SIGCHLD_BIT != 0
        })
}

impl Shells {
    /// How the shell `process` reads in `wait` from descriptor `fd`, and learns from it.
    pub fn reading(
        &mut self,
        process: &Process,
        wait: &Wait,
        fd: i32,
        modes: Option<Modes>,
        output: Option<&Output>,
    ) -> Reading {
        if modes.is_some_and(|modes| modes.canonical && !modes.echo) {
            // A command is typed in sight.
            return Reading { kind: None, exact: true, evidence: None };
        }
        let shape = (wait.call, Some(fd), modes);
        let text = output.map(|output| output.line.clone()).filter(|text| !text.is_empty());
        let learned = self.known.entry((process.pid, process.start)).or_insert_with(|| Learned {
            shape,
            stack: wait.stack,
            prompt: None,
        });
        let same_place = learned.stack == wait.stack;
        let marked = output.and_then(|output| output.mark).and_then(by_mark);
        let reading = match marked {
            // Not every shell that marks its prompts marks its commands.
            _ if learned.shape != shape => Reading { kind: None, exact: true, evidence: None },
            Some(reading) => reading,
            None => by_text(learned.prompt.as_deref(), text.as_deref(), modes, same_place),
        };
        if reading.kind == Some(Kind::Command) {
            learned.prompt = text.or(learned.prompt.take());
        }
        reading
    }
}

fn by_mark(mark: Mark) -> Option<Reading> {
    let kind = match mark {
        Mark::Prompt | Mark::Command => Some(Kind::Command),
        Mark::Continuation => Some(Kind::Continuation),
        Mark::Executing => None,
        // The prompt is about to be drawn: the mark says nothing yet.
        Mark::Finished(_) => return None,
    };
    Some(Reading { kind, exact: true, evidence: Some(Evidence::Marks) })
}

/// The shape of the wait is that of the prompt. A line editor alone has it, but `read -e` borrows
/// the editor, from deeper in the stack; so do a search of the history and an open quote, which the
/// text tells apart. A cooked read is shared with every `read`.
fn by_text(
    learned: Option<&str>,
    text: Option<&str>,
    modes: Option<Modes>,
    same_place: bool,
) -> Reading {
    let editor = modes.is_some_and(|modes| !modes.canonical && !modes.echo);
    let (kind, evidence) = match (learned, text) {
        (None, _) | (_, None) => (Some(Kind::Command), None),
        (Some(learned), Some(text)) => (compare(learned, text), Some(Evidence::PromptText)),
    };
    Reading { exact: editor && same_place && kind == Some(Kind::Command), kind, evidence }
}

/// A prompt may name the directory, so its end is what lasts: `$`, `#`, `%`, `❯`.
fn compare(learned: &str, text: &str) -> Option<Kind> {
    let sigil = |text: &str| text.trim_end().chars().next_back();
    if text.starts_with(learned) || sigil(learned) == sigil(text) {
        return Some(Kind::Command);
    }
    // `> ` is every shell's secondary prompt unless changed (POSIX, PS2); zsh says what is open
    // before it (`quote> `), fish indents the line.
    let open = text.trim_end().strip_suffix('>');
    let says = |open: &str| open.chars().all(|c| c.is_ascii_lowercase() || c == ' ');
    (text.trim().is_empty() || open.is_some_and(says)).then_some(Kind::Continuation)
}
