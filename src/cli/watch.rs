//! `awaitty watch`: tell the changes of a terminal that exists.

use std::io::{self, Write};
use std::path::PathBuf;

use crossbeam_channel::Receiver;

use super::json;
use super::text::Text;
use crate::verdict::Line;
use crate::watch::Change;

/// Tells what a terminal's job does, at once and then at every change, until it is gone.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Which terminal.
    #[command(flatten)]
    pub target: Target,
    /// Print one JSON object a line.
    #[arg(long)]
    pub json: bool,
}

/// What to watch.
#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
pub struct Target {
    /// The terminal that this process sits on, or its tree where it has none; ends with it.
    #[arg(long, value_name = "PID", value_parser = clap::value_parser!(i32).range(1..))]
    pub pid: Option<i32>,
    /// This terminal (/dev/pts/3).
    #[arg(long, value_name = "PATH")]
    pub tty: Option<PathBuf>,
    /// Every terminal of this machine.
    #[arg(long)]
    pub all: bool,
}

/// Writes the changes of one terminal until there are no more.
///
/// # Errors
/// When they cannot be written.
pub fn tell(
    changes: &Receiver<Change>,
    tty: Option<&str>,
    json: bool,
    sink: &mut dyn Write,
) -> io::Result<()> {
    for change in changes {
        if json {
            let tty = tty.map(str::to_owned);
            json::write(
                sink,
                &Line::new(change.seq, change.t.as_secs_f64(), tty, &change.verdict),
            )?;
        } else {
            writeln!(sink, "{:10.3}  {}", change.t.as_secs_f64(), Text(&change.verdict))?;
            sink.flush()?;
        }
        if change.verdict.has_exited() {
            break;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;
    use crate::verdict::{By, Exited, State, Verdict};

    #[test]
    fn ends_with_what_it_watches() {
        let (sender, changes) = crossbeam_channel::unbounded();
        let verdict = Verdict {
            state: State::Exited(Exited { code: None, signal: None }),
            exact: true,
            by: By::Proc,
            confidence: 1.0,
            evidence: Vec::new(),
            job: Vec::new(),
        };
        sender.send(Change { seq: 1, t: std::time::Duration::from_millis(1250), verdict }).unwrap();
        let mut told = Vec::new();
        tell(&changes, None, false, &mut told).unwrap();
        assert_eq!(String::from_utf8(told).unwrap(), "     1.250  ended\n");
    }
}
