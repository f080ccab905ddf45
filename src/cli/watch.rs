//! `awaitty watch`: tell the changes of terminals that exist.

mod all;
mod closed;

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::bail;
use crossbeam_channel::{Receiver, select};

use super::text::{Escaped, Text};
use super::{exit, json, permission, sight};
use crate::sys::pidfd;
use crate::watch::{self, Change, Monitor};

/// Tells what a terminal's job does, at once and then at every change, until it is gone.
///
/// Each line has the seconds since the watch began and the state. ^C ends the watch, and so does
/// whoever reads its output by closing it.
#[derive(Debug, clap::Args)]
#[command(after_long_help = exit::HELP_OF_WATCH)]
pub struct Args {
    /// Which terminal.
    #[command(flatten)]
    pub target: Target,
    /// Print one JSON object a line.
    #[arg(long)]
    pub json: bool,
    /// What the verdict rests on.
    #[command(flatten)]
    pub sight: sight::Options,
}

/// What to watch.
#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
pub struct Target {
    /// The terminal that this process sits on, or its tree where it has none; ends with it.
    #[arg(long, value_name = "PID", value_parser = clap::value_parser!(i32).range(1..))]
    pub pid: Option<i32>,
    /// This terminal (/dev/pts/3); ends with its session.
    #[arg(long, value_name = "PATH")]
    pub tty: Option<PathBuf>,
    /// Every terminal of this machine, those that are opened later included.
    #[arg(long)]
    pub all: bool,
}

impl Target {
    fn one(self) -> Option<watch::Target> {
        self.pid.map(watch::Target::Pid).or(self.tty.map(watch::Target::Tty))
    }
}

/// Watches until there is nothing left to tell or nobody left to tell it to. Signals end this process
/// by themselves: it changes nothing that had to be put right.
///
/// # Errors
/// When there is nothing to watch, or standard output cannot be written.
pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let monitor = Monitor::start()?;
    let closed = closed::of_stdout()?;
    let mut sink = anstream::stdout();
    let Some(target) = args.target.one() else {
        all::tell(&monitor, &args.sight.into(), &closed, args.json, &mut sink)?;
        return Ok(ExitCode::SUCCESS);
    };
    let watched = monitor.attach(&target, args.sight.into())?;
    if let Some(why) = permission::refusal(watched.pid()) {
        let pid = watched.pid();
        eprintln!("awaitty: process {pid} can only be guessed about: {why}");
    }
    // Taken while it lives: later its number may be another's.
    let end = pidfd::open(watched.pid());
    let over = tell(&watched.changes(), &closed, watched.tty(), args.json, &mut sink)?;
    if over
        && let (Some(tty), Ok(end)) = (watched.tty(), end)
        && !pidfd::ends_within(&end, HANGUP)?
    {
        bail!("the terminal {} is gone; process {} lives on", Escaped(tty), watched.pid());
    }
    Ok(ExitCode::SUCCESS)
}

/// What a hang-up ends, it ends sooner than this.
const HANGUP: Duration = Duration::from_secs(1);

/// Writes the changes of one terminal until there are no more (then it gives `true`), or nobody reads
/// them.
///
/// # Errors
/// When they cannot be written.
pub fn tell(
    changes: &Receiver<Change>,
    closed: &Receiver<()>,
    tty: Option<&str>,
    json: bool,
    sink: &mut dyn Write,
) -> io::Result<bool> {
    loop {
        select! {
            recv(changes) -> change => {
                let Ok(change) = change else { return Ok(true) };
                line(&change, json, tty, None, sink)?;
                if change.verdict.has_exited() {
                    return Ok(true);
                }
            }
            recv(closed) -> _ => return Ok(false),
        }
    }
}

/// Writes a change; with `name`, a column that says whose it is.
fn line(
    change: &Change,
    json: bool,
    tty: Option<&str>,
    name: Option<&str>,
    sink: &mut dyn Write,
) -> io::Result<()> {
    if json {
        return json::write(sink, &change.line(tty));
    }
    let name = name.map_or_else(String::new, |name| format!("{:<8}  ", Escaped(name).to_string()));
    writeln!(sink, "{:10.3}  {name}{}", change.t.as_secs_f64(), Text(&change.verdict))?;
    sink.flush()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use crossbeam_channel::{never, unbounded};

    use super::*;
    use crate::verdict::{By, Exited, State, Verdict};

    fn end() -> Change {
        let (evidence, job) = (Vec::new(), Vec::new());
        let state = State::Exited(Exited { code: None, signal: None });
        let verdict = Verdict { state, exact: true, by: By::Proc, confidence: 1.0, evidence, job };
        Change { seq: 1, t: std::time::Duration::from_millis(1250), output: 0, verdict }
    }

    #[test]
    fn ends_with_what_it_watches() {
        let (sender, changes) = unbounded();
        sender.send(end()).unwrap();
        let mut told = Vec::new();
        assert!(tell(&changes, &never(), None, false, &mut told).unwrap());
        assert_eq!(String::from_utf8(told).unwrap(), "     1.250  ended\n");
    }

    #[test]
    fn ends_when_nobody_reads() {
        let (_sender, changes) = unbounded();
        let (closed, is_closed) = unbounded();
        closed.send(()).unwrap();
        assert!(!tell(&changes, &is_closed, None, false, &mut Vec::new()).unwrap());
    }

    #[test]
    fn a_column_says_whose_line_it_is() {
        let mut told = Vec::new();
        line(&end(), false, None, Some("pts/3"), &mut told).unwrap();
        assert_eq!(String::from_utf8(told).unwrap(), "     1.250  pts/3     ended\n");
    }
}
