//! Small programs, each blocked in exactly one known way.
//!
//! A probe makes its situation, prints one ready line and blocks until it is fed or killed, as
//! util-linux's `test_mkfds` does: whoever reads the ready line need not guess when to look. What
//! must be said of each stands in one table, `tests/common/table.rs` of the package `awaitty`.
//!
//! The ready line goes to standard output: `ready PID`, then `ROLE=PID` for every other process
//! that the probe started. Nothing that a probe starts outlives it.
//!
//! Another program can be all of the probes by calling [`run`] before it starts a thread: the
//! children are made by fork(2), so no file of this crate's own needs to be found.

mod args;
mod bench;
mod children;
mod eintr;
mod epoll;
mod events;
mod failure;
pub mod i386;
mod locks;
mod names;
mod nested;
mod output;
mod pairs;
mod pipes;
mod poll;
mod sequel;
mod signals;
mod sockets;
mod stage;
mod stops;
mod sys;
mod sysv;
mod tcp;
mod threads;
mod ticks;
mod timers;
mod tty;
mod uring;

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::LazyLock;

use args::Args;
use failure::{Failure, Outcome};

/// Exit code: the probe failed to make its situation.
pub const EXIT_FAILED: u8 = 1;
/// Exit code: no such probe, or an option that it does not have.
pub const EXIT_USAGE: u8 = 2;
/// Exit code: this machine or this user cannot have the situation. `skip: WHY` is on standard
/// error. The number is automake's.
pub const EXIT_SKIPPED: u8 = 77;

/// A program that blocks in one known way.
#[derive(Debug, Clone, Copy)]
pub struct Probe {
    /// What [`run`] knows it by.
    pub name: &'static str,
    /// How it blocks, in one line.
    pub summary: &'static str,
    /// The kind of wait.
    pub group: Group,
    /// The options it takes: `--name`, or `--name=` where a value follows.
    pub options: &'static [&'static str],
    body: fn(&Args) -> Outcome,
}

/// The kinds of wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Group {
    Tty,
    Poll,
    Threads,
    Pipes,
    Sockets,
    Timers,
    Events,
    Signals,
    Children,
    Locks,
    Stops,
    Output,
    Names,
    Pairs,
    Nested,
    Bench,
}

impl Probe {
    const fn new(
        group: Group,
        name: &'static str,
        summary: &'static str,
        body: fn(&Args) -> Outcome,
    ) -> Probe {
        Probe { name, summary, group, options: &[], body }
    }

    const fn options(mut self, options: &'static [&'static str]) -> Probe {
        self.options = options;
        self
    }
}

static PROBES: LazyLock<Vec<Probe>> = LazyLock::new(|| {
    [
        tty::PROBES,
        poll::PROBES,
        epoll::PROBES,
        uring::PROBES,
        threads::PROBES,
        pipes::PROBES,
        sockets::PROBES,
        tcp::PROBES,
        timers::PROBES,
        ticks::PROBES,
        events::PROBES,
        sysv::PROBES,
        signals::PROBES,
        children::PROBES,
        sequel::PROBES,
        locks::PROBES,
        stops::PROBES,
        output::PROBES,
        names::PROBES,
        pairs::PROBES,
        nested::PROBES,
        bench::PROBES,
        eintr::PROBES,
    ]
    .concat()
});

/// All probes, by group.
#[must_use]
pub fn list() -> &'static [Probe] {
    &PROBES
}

/// Runs the probe of that name; returns when it was fed, or could not be made.
///
/// Call it while the process has one thread. The code is 0 after the probe was fed,
/// [`EXIT_FAILED`], [`EXIT_USAGE`] or [`EXIT_SKIPPED`] with one line on standard error otherwise.
pub fn run(name: &OsStr, args: impl IntoIterator<Item = OsString>) -> ExitCode {
    match find(name).and_then(|probe| (probe.body)(&Args::new(args, probe.options)?)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("{failure}");
            ExitCode::from(failure.exit_code())
        }
    }
}

/// Prints the names and summaries of all probes; a closed standard output is no failure.
#[must_use]
pub fn print_list() -> ExitCode {
    let mut out = io::stdout().lock();
    for probe in list() {
        if writeln!(out, "{probe}").is_err() {
            break;
        }
    }
    ExitCode::SUCCESS
}

fn find(name: &OsStr) -> Result<&'static Probe, Failure> {
    list()
        .iter()
        .find(|probe| name == probe.name)
        .ok_or_else(|| Failure::Usage(format!("no probe is called {}", name.display())))
}

impl fmt::Display for Probe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:<20} {}", self.name, self.summary)?;
        for option in self.options {
            write!(f, " [{option}]")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_name_is_given_once() {
        let names: BTreeSet<&str> = list().iter().map(|probe| probe.name).collect();
        assert_eq!(names.len(), list().len());
    }

    #[test]
    fn an_unknown_name_is_a_usage_error() {
        assert_eq!(find(OsStr::new("no-such-probe")).unwrap_err().exit_code(), EXIT_USAGE);
    }
}
