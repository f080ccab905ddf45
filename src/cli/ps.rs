//! `awaitty ps`: every terminal of this machine and what it waits for.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::process::ExitCode;
use std::time::{Duration, Instant, SystemTime};

use serde::Serialize;

use super::text::{Escaped, Text};
use super::{exit, sight};
use crate::observe::{Live, Pid};
use crate::proc::Stat;
use crate::verdict::{Line, Party, Running, State, Verdict, WaitingOn};
use crate::watch::{Monitor, Session, Sight, Target, Watched, sessions};

/// Looks that are torn, and those that need a second one to tell a habit, settle within this time.
const SETTLING: Duration = Duration::from_millis(250);
/// A reader beside a timer waits for input if the timer is only a habit, and a habit of four times a
/// second takes this long to show.
const HABIT: Duration = Duration::from_secs(1);

/// Lists the terminals of this machine: what runs on each, and what it waits for.
///
/// SESSION is the leader of the session, JOB that of the foreground process group. SINCE tells how long
/// ago anything was read from the terminal or written to it; the kernel keeps these times to eight
/// seconds, as w(1) shows them too. PROMPT is the text before the cursor; it is known only of terminals
/// whose output awaitty sees, and - for all others.
#[derive(Debug, clap::Args)]
#[command(after_long_help = exit::HELP_OF_WATCH)]
pub struct Args {
    /// Print a JSON array, with an object a terminal: what a line of `watch --json` has, and session,
    /// foreground (JOB) and since (in seconds).
    #[arg(long)]
    pub json: bool,
    /// What the verdicts rest on.
    #[command(flatten)]
    pub sight: sight::Options,
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
    /// How long ago something was read from it or written to it (the device's times, as in w(1)).
    pub since: Option<Duration>,
    /// What the job does.
    pub verdict: Verdict,
}

/// A row as JSON.
#[derive(Debug, Serialize)]
struct Record {
    session: Option<Party>,
    /// The line's `job` has the tasks.
    foreground: Option<Party>,
    since: Option<u64>,
    #[serde(flatten)]
    line: Line,
}

/// Looks at every terminal once.
///
/// # Errors
/// When the monitor cannot start, or the rows cannot be written.
pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let rows = rows(&Monitor::start()?, &args.sight.into());
    if args.json {
        let records: Vec<Record> = rows.into_iter().map(Record::from).collect();
        let mut stdout = io::stdout();
        stdout.write_all((serde_json::to_string_pretty(&records)? + "\n").as_bytes())?;
        stdout.flush()?;
    } else {
        table(&rows, &mut anstream::stdout())?;
    }
    Ok(ExitCode::SUCCESS)
}

fn rows(monitor: &Monitor, sight: &Sight) -> Vec<Row> {
    let mut live = Live::new();
    // All are watched at once, so that all of them together take no longer than one.
    let watched: Vec<(Session, Watched)> = sessions(&mut live)
        .into_iter()
        .filter_map(|session| {
            let watched = monitor.attach(&Target::Pid(session.leader), sight.clone()).ok()?;
            Some((session, watched))
        })
        .collect();
    let began = Instant::now();
    watched
        .iter()
        .filter_map(|(session, watched)| {
            let verdict = settled(watched, began)?;
            // One that has ended meanwhile is no terminal of this machine any more.
            if verdict.has_exited() { None } else { row(session, watched, verdict) }
        })
        .collect()
}

/// A busy one never settles: it is told as it was last seen.
fn settled(watched: &Watched, began: Instant) -> Option<Verdict> {
    let within = |length: Duration| {
        watched.wait_until(Verdict::is_settled, length.saturating_sub(began.elapsed())).ok()
    };
    let open = |verdict: &Verdict| {
        matches!(
            verdict.state,
            State::Running(Running { waiting_on: WaitingOn::Timer, accepts_input: true, .. })
        )
    };
    within(SETTLING)
        .or_else(|| watched.verdict().filter(open).and_then(|_| within(HABIT)))
        .or_else(|| watched.verdict())
}

fn row(session: &Session, watched: &Watched, verdict: Verdict) -> Option<Row> {
    let tty = watched.tty()?.to_owned();
    let leader = party(session.leader);
    let job = leader.as_ref().and_then(|(_, tpgid)| party(*tpgid)).map(|(job, _)| job);
    let since = since(session, &tty);
    Some(Row { tty, session: leader.map(|(leader, _)| leader), job, since, verdict })
}

/// A process by name, and the foreground group of its terminal.
fn party(pid: Pid) -> Option<(Party, Pid)> {
    let text = fs::read(format!("/proc/{pid}/stat")).ok()?;
    let text = String::from_utf8_lossy(&text);
    let stat = Stat::parse(&text)?;
    Some((Party { pid, comm: stat.comm.into_owned() }, stat.tpgid))
}

/// The terminal's path leads to another one where it lies on a devpts of a container.
fn since(session: &Session, tty: &str) -> Option<Duration> {
    let leader = session.leader;
    let device = (0..3)
        .map(|fd| format!("/proc/{leader}/fd/{fd}"))
        .chain([tty.to_owned()])
        .filter_map(|path| fs::metadata(path).ok())
        .find(|it| it.rdev() == session.id.rdev && [0, it.dev()].contains(&session.id.dev))?;
    let used = device.accessed().ok()?.max(device.modified().ok()?);
    // The clock may have been set back.
    Some(SystemTime::now().duration_since(used).unwrap_or_default())
}

impl From<Row> for Record {
    fn from(row: Row) -> Record {
        let Row { tty, session, job, since, verdict } = row;
        let line = Line::new(1, 0.0, Some(tty), &verdict);
        Record { session, foreground: job, since: since.map(|since| since.as_secs()), line }
    }
}

/// Writes the rows as a table.
///
/// # Errors
/// When they cannot be written.
pub fn table(rows: &[Row], sink: &mut dyn Write) -> io::Result<()> {
    let heads = ["TTY", "SESSION", "JOB", "SINCE", "PROMPT"].map(str::to_owned);
    let cells: Vec<[String; 5]> = rows.iter().map(cells).collect();
    let mut widths = [0; 5];
    for line in cells.iter().chain([&heads]) {
        for (width, cell) in widths.iter_mut().zip(line) {
            *width = cell.chars().count().max(*width);
        }
    }
    write_row(sink, &heads, widths, &"STATE")?;
    for (cells, line) in cells.iter().zip(rows) {
        write_row(sink, cells, widths, &Text(&line.verdict))?;
    }
    sink.flush()
}

fn write_row(
    sink: &mut dyn Write,
    cells: &[String; 5],
    widths: [usize; 5],
    state: &dyn std::fmt::Display,
) -> io::Result<()> {
    for (cell, width) in cells.iter().zip(widths) {
        write!(sink, "{cell:width$}  ")?;
    }
    writeln!(sink, "{state}")
}

fn cells(row: &Row) -> [String; 5] {
    let tty = row.tty.strip_prefix("/dev/").unwrap_or(&row.tty);
    let prompt = row.verdict.input().and_then(|input| input.prompt.as_deref());
    [
        Escaped(tty).to_string(),
        name(&row.session),
        name(&row.job),
        ago(row.since),
        prompt.map_or_else(|| "-".to_owned(), |prompt| Escaped(prompt).to_string()),
    ]
}

fn name(party: &Option<Party>) -> String {
    party
        .as_ref()
        .map_or_else(|| "-".to_owned(), |it| format!("{} ({})", Escaped(&it.comm), it.pid))
}

fn ago(time: Option<Duration>) -> String {
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
    use crate::verdict::{By, Exited};

    #[test]
    fn a_table_has_straight_columns() {
        let row = |tty: &str, session, since| Row {
            tty: tty.to_owned(),
            session,
            job: Some(Party { pid: 9, comm: "\u{1b}c".to_owned() }),
            since,
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
            "TTY    SESSION      JOB          SINCE  PROMPT  STATE\n\
             pts/3  bash (4711)  \\u{1b}c (9)  1h02m  -       ended\n\
             tty1   -            \\u{1b}c (9)  -      -       ended\n"
        );
    }

    #[test]
    fn times_are_short() {
        let times = [0, 59, 60, 3599, 86_399, 86_400, 90_000 * 86_400].map(Duration::from_secs);
        assert_eq!(
            times.map(|time| ago(Some(time))),
            ["0s", "59s", "1m00s", "59m59s", "23h59m", "1d00h", "90000d00h"]
        );
    }
}
