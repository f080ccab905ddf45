//! `awaitty ps`: every terminal of this machine and what it waits for.

use std::io::{self, Write};
use std::time::Duration;

use super::text::{Escaped, Text};
use crate::verdict::{Party, Verdict};

/// Lists the terminals of this machine: session, job, how long nothing was typed or written, and the
/// state.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Print one JSON object a line.
    #[arg(long)]
    pub json: bool,
}

/// One terminal.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// Its path.
    pub tty: String,
    /// The leader of its session, where there is one that can be seen.
    pub session: Option<Party>,
    /// The leader of its foreground group.
    pub job: Option<Party>,
    /// How long nothing was read from it or written to it (the device's times, as in w(1)).
    pub quiet: Option<Duration>,
    /// What the job does.
    pub verdict: Verdict,
}

/// Writes the rows as a table.
///
/// # Errors
/// When they cannot be written.
pub fn table(rows: &[Row], sink: &mut dyn Write) -> io::Result<()> {
    let heads = ["TTY", "SESSION", "JOB", "QUIET"].map(str::to_owned);
    let cells: Vec<[String; 4]> = rows.iter().map(cells).collect();
    let mut widths = [0; 4];
    for line in cells.iter().chain([&heads]) {
        for (width, cell) in widths.iter_mut().zip(line) {
            *width = cell.chars().count().max(*width);
        }
    }
    row(sink, &heads, widths, &"STATE")?;
    for (cells, line) in cells.iter().zip(rows) {
        row(sink, cells, widths, &Text(&line.verdict))?;
    }
    sink.flush()
}

fn row(
    sink: &mut dyn Write,
    cells: &[String; 4],
    widths: [usize; 4],
    state: &dyn std::fmt::Display,
) -> io::Result<()> {
    for (cell, width) in cells.iter().zip(widths) {
        write!(sink, "{cell:width$}  ")?;
    }
    writeln!(sink, "{state}")
}

fn cells(row: &Row) -> [String; 4] {
    let tty = row.tty.strip_prefix("/dev/").unwrap_or(&row.tty);
    [Escaped(tty).to_string(), party(&row.session), party(&row.job), quiet(row.quiet)]
}

fn party(party: &Option<Party>) -> String {
    party
        .as_ref()
        .map_or_else(|| "-".to_owned(), |it| format!("{} ({})", Escaped(&it.comm), it.pid))
}

fn quiet(time: Option<Duration>) -> String {
    // Two units say enough, and fit in a column.
    let Some(seconds) = time.map(|time| time.as_secs()) else { return "-".to_owned() };
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds}s"),
        (0, 0, _) => format!("{minutes}m{:02}s", seconds % 60),
        (0, ..) => format!("{hours}h{:02}m", minutes % 60),
        _ => format!("{days}d{:02}h", hours % 24),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;
    use crate::verdict::{By, Exited, State};

    #[test]
    fn a_table_has_straight_columns() {
        let row = |tty: &str, session, quiet| Row {
            tty: tty.to_owned(),
            session,
            job: Some(Party { pid: 9, comm: "\u{1b}c".to_owned() }),
            quiet,
            verdict: Verdict {
                state: State::Exited(Exited { code: None, signal: None }),
                exact: true,
                by: By::Proc,
                confidence: 1.0,
                evidence: Vec::new(),
                job: Vec::new(),
            },
        };
        let bash = Party { pid: 4711, comm: "bash".to_owned() };
        let rows = [
            row("/dev/pts/3", Some(bash), Some(Duration::from_secs(3725))),
            row("/dev/tty1", None, None),
        ];
        let mut table = Vec::new();
        super::table(&rows, &mut table).unwrap();
        assert_eq!(
            String::from_utf8(table).unwrap(),
            "TTY    SESSION      JOB          QUIET  STATE\n\
             pts/3  bash (4711)  \\u{1b}c (9)  1h02m  ended\n\
             tty1   -            \\u{1b}c (9)  -      ended\n"
        );
    }

    #[test]
    fn times_are_short() {
        let times = [0, 59, 60, 3599, 86_399, 86_400, 90_000 * 86_400].map(Duration::from_secs);
        assert_eq!(
            times.map(|time| quiet(Some(time))),
            ["0s", "59s", "1m00s", "59m59s", "23h59m", "1d00h", "90000d00h"]
        );
    }
}
