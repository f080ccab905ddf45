//! The words in which the table is written.

use std::fmt;

use awaitty::verdict::{Kind, State, Verdict, WaitingOn};

use crate::expect::Expect;

/// A program that is brought to some points, and what must be said at each.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Situation {
    /// Its name, which selects it.
    pub(crate) name: &'static str,
    /// The command of the terminal. `{pty}` and `{no-pty}` are two ordinary users.
    pub(crate) command: &'static [&'static str],
    /// Programs that must be installed beside the command's own.
    pub(crate) needs: &'static [&'static str],
    /// Whose process the command is.
    pub(crate) user: User,
    /// Who watches.
    pub(crate) watcher: Watcher,
    /// Files in its directory.
    pub(crate) files: &'static [(&'static str, &'static str)],
    /// More variables for its environment.
    pub(crate) env: &'static [(&'static str, &'static str)],
    /// What the harness provides.
    pub(crate) beside: Beside,
    /// What happens, in order.
    pub(crate) steps: &'static [Step],
}

/// Whose process is it?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum User {
    /// Of whoever runs the tests.
    Same,
    /// Root's; skipped for others.
    Root,
    /// Of an ordinary user whom sudo gives a terminal of its own (`use_pty`). Needs root.
    Pty,
    /// Of an ordinary user whom sudo gives none (`!use_pty`). Needs root.
    NoPty,
}

/// Who watches?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Watcher {
    /// Whoever runs the tests.
    Same,
    /// The situation's own user.
    Its,
}

/// What is there beside the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Beside {
    Nothing,
    /// A server that never answers, on `$PORT` of the loopback interface.
    SilentServer,
    /// A lock (flock(2)) on `held.lock`.
    HeldLock,
    /// Nobody reads the terminal until something is typed.
    NoReader,
    /// The package database's lock: no two situations may ask apt-get at once.
    PackageLock,
}

/// One step.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Step {
    /// This must come to be said by itself, and hold.
    See(See),
    /// This is typed; `{password}` is the user's.
    Type(&'static str),
    /// This must be printed (since the last was typed).
    Print(&'static str),
}

/// What must be said.
#[derive(Debug, Clone, Copy)]
pub(crate) struct See {
    pub(crate) state: Expect,
    /// Proved; where false, it must not claim to be.
    pub(crate) exact: bool,
    /// In the line before the cursor.
    pub(crate) prompt: Option<&'static str>,
    /// Who reads.
    pub(crate) reader: Option<&'static str>,
    /// On the way there the program may wait for input in another way, and rightly so: it asks the
    /// terminal something, with a timeout.
    pub(crate) asks_terminal: bool,
}

impl See {
    /// Is it this that was said? What a running job waits on is no news, and not compared.
    pub(crate) fn fits(&self, verdict: &Verdict) -> bool {
        let input = verdict.input();
        let prompt = input.and_then(|input| input.prompt.as_deref()).unwrap_or_default();
        let reader = input.and_then(|input| input.reader.as_ref()).map(|reader| &*reader.comm);
        let state = match (self.state, &verdict.state) {
            (Expect::Running { accepts_input, .. }, State::Running(running)) => {
                running.accepts_input == accepts_input
            }
            (expected, state) => expected.fits(state),
        };
        state
            && verdict.exact == self.exact
            && self.prompt.is_none_or(|expected| prompt.contains(expected))
            && (self.reader.is_none() || self.reader == reader)
    }

    pub(crate) const fn guessed(mut self) -> See {
        self.exact = false;
        self
    }

    pub(crate) const fn prompt(mut self, prompt: &'static str) -> See {
        self.prompt = Some(prompt);
        self
    }

    pub(crate) const fn reader(mut self, reader: &'static str) -> See {
        self.reader = Some(reader);
        self
    }

    pub(crate) const fn asks_terminal(mut self) -> See {
        self.asks_terminal = true;
        self
    }

    pub(crate) const fn step(self) -> Step {
        Step::See(self)
    }
}

impl fmt::Display for See {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let how = if self.exact { "exact" } else { "not exact" };
        write!(f, "{:?}, {how}", self.state)?;
        if let Some(prompt) = self.prompt {
            write!(f, ", prompt {prompt:?}")?;
        }
        self.reader.map_or(Ok(()), |reader| write!(f, ", reader {reader}"))
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Step::See(see) => write!(f, "see {see}"),
            Step::Type(text) => write!(f, "type {text:?}"),
            Step::Print(text) => write!(f, "print {text:?}"),
        }
    }
}

const fn see(state: Expect) -> See {
    let exact = !matches!(state, Expect::Unknown);
    See { state, exact, prompt: None, reader: None, asks_terminal: false }
}

/// The shell's own prompt, which is set to `$ `.
pub(crate) const fn prompt() -> See {
    see(Expect::Prompt)
}

pub(crate) const fn line() -> See {
    see(Expect::Input(Kind::Line))
}

pub(crate) const fn secret() -> See {
    see(Expect::Input(Kind::Secret))
}

pub(crate) const fn key() -> See {
    see(Expect::Input(Kind::Key))
}

pub(crate) const fn screen() -> See {
    see(Expect::Input(Kind::Screen))
}

pub(crate) const fn continuation() -> See {
    see(Expect::Input(Kind::Continuation))
}

/// The kernel does not tell.
pub(crate) const fn unknown() -> See {
    see(Expect::Unknown)
}

pub(crate) const fn running(on: &'static [WaitingOn]) -> Step {
    Step::See(see(Expect::Running { on, accepts_input: false }))
}

pub(crate) const fn busy_reader(on: &'static [WaitingOn]) -> Step {
    Step::See(see(Expect::Running { on, accepts_input: true }))
}

/// A state that rests on a habit: as likely as it is, nobody proves that it lasts.
pub(crate) const fn habit(state: Expect) -> Step {
    see(state).guessed().step()
}

pub(crate) const fn state(state: Expect) -> Step {
    Step::See(see(state))
}

pub(crate) const fn exited(code: i32) -> Step {
    Step::See(see(Expect::Exited(code)))
}

pub(crate) const fn types(text: &'static str) -> Step {
    Step::Type(text)
}

pub(crate) const fn prints(text: &'static str) -> Step {
    Step::Print(text)
}

/// A situation; `bash -c` and the like need nothing more.
pub(crate) const fn situation(
    name: &'static str,
    command: &'static [&'static str],
    steps: &'static [Step],
) -> Situation {
    Situation {
        name,
        command,
        needs: &[],
        user: User::Same,
        watcher: Watcher::Same,
        files: &[],
        env: &[],
        beside: Beside::Nothing,
        steps,
    }
}

impl Situation {
    pub(crate) const fn needs(mut self, needs: &'static [&'static str]) -> Situation {
        self.needs = needs;
        self
    }

    pub(crate) const fn user(mut self, user: User) -> Situation {
        self.user = user;
        self
    }

    pub(crate) const fn watched_by_its_user(mut self) -> Situation {
        self.watcher = Watcher::Its;
        self
    }

    pub(crate) const fn files(
        mut self,
        files: &'static [(&'static str, &'static str)],
    ) -> Situation {
        self.files = files;
        self
    }

    pub(crate) const fn env(mut self, env: &'static [(&'static str, &'static str)]) -> Situation {
        self.env = env;
        self
    }

    pub(crate) const fn beside(mut self, beside: Beside) -> Situation {
        self.beside = beside;
        self
    }
}
