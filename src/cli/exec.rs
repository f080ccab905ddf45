//! `awaitty exec`: run a command on a new terminal; return when it has ended, waits, or is idle.

use std::ffi::OsString;
use std::io::{self, Write};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, at, never, select_biased};

use super::exit::Ended;
use super::job::Job;
use super::signals::{Event, Signals};
use super::text::Text;
use super::{duration, exit, json, sight, size};
use crate::pty::{QueryFilter, Size};
use crate::sys::stat;
use crate::verdict::{State, Verdict};
use crate::watch::{Change, OpenOptions};

/// A job whose state cannot be seen is followed until it has been quiet for so long. The kernel shows
/// nothing of it that would tell a wait from a long computation, so no answer will come by itself; and
/// ten seconds are longer than programs that talk at all are silent between two lines.
const PATIENCE: Duration = Duration::from_secs(10);

/// Runs a command on a new terminal and returns when it has ended, waits for input, is idle or
/// stopped.
///
/// The command's output goes to standard output as the terminal gets it (lines end in CR LF), the reason
/// for the return to standard error. Nothing is typed: standard input is not read. What still runs then
/// is ended.
#[derive(Debug, clap::Args)]
#[command(after_long_help = exit::HELP)]
pub struct Args {
    /// Return after this time whatever the command does (10, 1.5, 500ms, 2m).
    #[arg(long, value_name = "TIME", value_parser = duration::parse)]
    pub timeout: Option<Duration>,
    /// Print one JSON object for every change of the state; the command's output goes to standard
    /// error.
    #[arg(long)]
    pub json: bool,
    /// Do not end what still runs: the terminal is hung up (SIGHUP), and what survives that lives on.
    #[arg(long)]
    pub leave: bool,
    /// The size of the terminal's window; otherwise that of yours, or 24x80.
    #[arg(long, value_name = "ROWSxCOLS", value_parser = size::parse)]
    pub size: Option<Size>,
    /// What the verdict rests on.
    #[command(flatten)]
    pub sight: sight::Options,
    /// The command and its arguments.
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    pub command: Vec<OsString>,
}

/// Runs the command.
///
/// # Errors
/// When it cannot be started, or its output cannot be written.
pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let signals = Signals::of_end()?;
    let window = args.size.or_else(size::of_user).unwrap_or_default();
    let options = OpenOptions {
        size: window,
        output: true,
        sight: args.sight.into(),
        shown: false,
        tap: None,
    };
    let job = Job::start(&args.command, options)?;
    let feed = Feed {
        changes: job.watched.changes(),
        output: job.watched.output().unwrap_or_else(never),
        events: signals.events().clone(),
        latest: &|| job.watched.verdict(),
    };
    // The command's own colours are its own matter, ours are anstream's.
    let (mut stdout, mut stderr, mut styled) = (io::stdout(), io::stderr(), anstream::stderr());
    let (output, changes): (&mut dyn Write, &mut dyn Write) =
        if args.json { (&mut stderr, &mut stdout) } else { (&mut stdout, &mut styled) };
    let tty = job.watched.tty().map(str::to_owned);
    let together = same_file();
    let mut report = Report { output, changes, json: args.json, together, tty };
    let ended = follow(&feed, args.timeout, &mut report);
    drop(feed);
    if args.leave {
        job.leave()
    } else {
        job.end()
    }
    Ok(ended?.exit())
}

/// Are standard output and error the same file?
fn same_file() -> bool {
    let id = |stat: stat::Stat| (stat.dev, stat.ino, stat.rdev);
    stat::of(io::stdout()).map(id).is_ok_and(|out| stat::of(io::stderr()).map(id) == Ok(out))
}

/// What a command does.
pub struct Feed<'a> {
    /// The changes of its state.
    pub changes: Receiver<Change>,
    /// What it writes.
    pub output: Receiver<Vec<u8>>,
    /// What signals ask of us.
    pub events: Receiver<Event>,
    /// Its state by the last look, which may say more than the last change.
    pub latest: &'a dyn Fn() -> Option<Verdict>,
}

/// Where a command's output and the changes of its state go.
pub struct Report<'a> {
    /// Takes what the command writes.
    pub output: &'a mut dyn Write,
    /// Takes the changes.
    pub changes: &'a mut dyn Write,
    /// The changes are JSON, all of them; otherwise the last one is told, as a text.
    pub json: bool,
    /// Output and changes are seen one below the other.
    pub together: bool,
    /// The terminal, for the JSON.
    pub tty: Option<String>,
}

/// Follows a command until it has ended or waits, and gives the exit code for that.
///
/// A change is told behind the output that is older than it, and the last change is told behind nothing
/// else: what the reader sees of the output is what the verdict was made on.
///
/// # Errors
/// When the output or the changes cannot be written.
pub fn follow(
    feed: &Feed<'_>,
    timeout: Option<Duration>,
    report: &mut Report<'_>,
) -> io::Result<Ended> {
    let deadline =
        timeout.and_then(|timeout| Instant::now().checked_add(timeout)).map_or(never(), at);
    let mut shown = Shown::default();
    let mut output = feed.output.clone();
    let mut unseen: Option<Instant> = None;
    // A command that prints without end would hide everything behind its output: that comes last.
    let (code, last) = loop {
        select_biased! {
            recv(feed.events) -> event => if let Ok(Event::End(signal)) = event {
                return Ok(Ended::Signal(signal));
            },
            recv(deadline) -> _ => break (exit::TIMED_OUT, (feed.latest)()),
            recv(feed.changes) -> change => {
                let Ok(change) = change else { break (exit::UNKNOWN, (feed.latest)()) };
                shown.catch_up(&change, &output, report.output)?;
                if report.json {
                    json::write(report.changes, &change.line(report.tty.as_deref()))?;
                }
                if let State::Unknown(_) = change.verdict.state {
                    unseen = Some(Instant::now());
                } else if let Some(code) = exit::of_verdict(&change.verdict) {
                    break (code, Some(change.verdict));
                } else {
                    unseen = None;
                }
            }
            recv(unseen.map_or(never(), |since| at(since + PATIENCE))) -> _ => break (exit::UNKNOWN, (feed.latest)()),
            recv(output) -> bytes => match bytes {
                Ok(bytes) => {
                    shown.show(bytes, report.output)?;
                    unseen = unseen.map(|_| Instant::now());
                }
                // A closed channel is ready for ever; the other one tells the end.
                Err(_) => output = never(),
            },
        }
    };
    if code == exit::TIMED_OUT {
        // What came meanwhile, and not what a command may still print while we do.
        for bytes in output.try_iter().take(output.len()) {
            shown.show(bytes, report.output)?;
        }
    }
    shown.finish(report.output)?;
    if !report.json {
        tell(code, last.as_ref(), shown.in_line && report.together, report.changes)?;
    }
    Ok(Ended::Code(code))
}

fn tell(code: u8, last: Option<&Verdict>, in_line: bool, sink: &mut dyn Write) -> io::Result<()> {
    let begin = if in_line { "\n" } else { "" };
    let why = if code == exit::TIMED_OUT { "timed out, " } else { "" };
    match last {
        Some(verdict) => writeln!(sink, "{begin}awaitty: {why}{}", Text(verdict)),
        None => writeln!(sink, "{begin}awaitty: timed out"),
    }
}

/// The output on its way to the user.
#[derive(Default)]
struct Shown {
    filter: QueryFilter,
    /// Bytes that came, those of queries included.
    bytes: u64,
    /// The last line has no end yet.
    in_line: bool,
}

impl Shown {
    /// Shows what is older than a change.
    fn catch_up(
        &mut self,
        change: &Change,
        output: &Receiver<Vec<u8>>,
        sink: &mut dyn Write,
    ) -> io::Result<()> {
        while self.bytes < change.output {
            // The piece is in the channel, or waits for the room that we make.
            let Ok(bytes) = output.recv() else { break };
            self.show(bytes, sink)?;
        }
        Ok(())
    }

    fn show(&mut self, bytes: Vec<u8>, sink: &mut dyn Write) -> io::Result<()> {
        self.bytes += bytes.len() as u64;
        let bytes = self.filter.feed(&bytes);
        self.write(&bytes, sink)
    }

    fn finish(&mut self, sink: &mut dyn Write) -> io::Result<()> {
        let bytes = self.filter.finish();
        self.write(&bytes, sink)
    }

    fn write(&mut self, bytes: &[u8], sink: &mut dyn Write) -> io::Result<()> {
        if let Some(last) = bytes.last() {
            self.in_line = *last != b'\n';
            sink.write_all(bytes)?;
            sink.flush()?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
