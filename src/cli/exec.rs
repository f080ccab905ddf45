//! `awaitty exec`: run a command on a new terminal; return when it has ended, waits, or is idle.

use std::ffi::OsString;
use std::io::{self, Write};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, at, never, select_biased};

use super::text::Text;
use super::{duration, exit, json};
use crate::pty::QueryFilter;
use crate::verdict::Line;
use crate::watch::Change;

/// Runs a command on a new terminal and returns when it has ended, waits for input, is idle or
/// stopped.
///
/// The command's output goes to standard output, the reason for the return to standard error. What
/// still runs then is ended.
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
    /// The command and its arguments.
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    pub command: Vec<OsString>,
}

/// Where a command's output and the changes of its state go.
pub struct Report<'a> {
    /// Takes what the command writes.
    pub output: &'a mut dyn Write,
    /// Takes the changes.
    pub changes: &'a mut dyn Write,
    /// The changes are JSON, all of them; otherwise the last one is told, as a text.
    pub json: bool,
    /// The terminal, for the JSON.
    pub tty: Option<String>,
}

/// Follows a command until it has ended or waits, and gives the exit code for that.
///
/// `output` has everything the command wrote before the change that follows it.
///
/// # Errors
/// When the output or the changes cannot be written.
pub fn follow(
    changes: &Receiver<Change>,
    output: &Receiver<Vec<u8>>,
    timeout: Option<Duration>,
    report: &mut Report<'_>,
) -> io::Result<u8> {
    let deadline =
        timeout.and_then(|timeout| Instant::now().checked_add(timeout)).map_or(never(), at);
    let mut shown = Shown::default();
    let mut last = None;
    // A closed channel is ready for ever; the other one tells the end.
    let mut open_output = output.clone();
    let code = loop {
        select_biased! {
            recv(open_output) -> bytes => match bytes {
                Ok(bytes) => shown.show(&bytes, report.output)?,
                Err(_) => open_output = never(),
            },
            recv(changes) -> change => {
                let Ok(change) = change else { break exit::UNKNOWN };
                if report.json {
                    let tty = report.tty.clone();
                    json::write(report.changes, &Line::new(change.seq, change.t.as_secs_f64(), tty, &change.verdict))?;
                }
                let code = exit::of_verdict(&change.verdict);
                last = Some(change.verdict);
                if let Some(code) = code {
                    break code;
                }
            }
            recv(deadline) -> _ => break exit::TIMED_OUT,
        }
    };
    for bytes in output.try_iter() {
        shown.show(&bytes, report.output)?;
    }
    shown.finish(report.output)?;
    if !report.json {
        let begin = if shown.in_line { "\n" } else { "" };
        let why = if code == exit::TIMED_OUT { "timed out, " } else { "" };
        match &last {
            Some(verdict) => writeln!(report.changes, "{begin}awaitty: {why}{}", Text(verdict))?,
            None => writeln!(report.changes, "{begin}awaitty: timed out")?,
        }
    }
    Ok(code)
}

/// The output on its way to the user.
#[derive(Default)]
struct Shown {
    filter: QueryFilter,
    /// The last line has no end yet.
    in_line: bool,
}

impl Shown {
    fn show(&mut self, bytes: &[u8], sink: &mut dyn Write) -> io::Result<()> {
        let bytes = self.filter.feed(bytes);
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
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use crossbeam_channel::{Sender, unbounded};

    use super::*;
    use crate::verdict::{By, Exited, Input, Kind, Running, State, Verdict, WaitingOn};

    fn verdict(state: State) -> Verdict {
        let (evidence, job) = (Vec::new(), Vec::new());
        Verdict { state, exact: true, by: By::Proc, confidence: 1.0, evidence, job }
    }

    fn running() -> State {
        State::Running(Running { waiting_on: WaitingOn::Cpu, accepts_input: false, task: None })
    }

    fn waits() -> State {
        State::Input(Input {
            kind: Kind::Line,
            prompt: Some("name: ".to_owned()),
            exclusive: true,
            timeout: None,
            reader: None,
            writers: Vec::new(),
        })
    }

    struct Script {
        changes: Sender<Change>,
        output: Sender<Vec<u8>>,
        seq: u64,
    }

    impl Script {
        fn change(&mut self, state: State) {
            self.seq += 1;
            self.changes
                .send(Change {
                    seq: self.seq,
                    t: Duration::from_millis(500),
                    verdict: verdict(state),
                })
                .unwrap();
        }
    }

    /// What is shown of a command that behaves like this: code, output, changes.
    fn followed(
        json: bool,
        timeout: Option<Duration>,
        behave: impl FnOnce(&mut Script),
    ) -> (u8, String, String) {
        let ((sender, changes), (bytes, output)) = (unbounded(), unbounded());
        let mut script = Script { changes: sender, output: bytes, seq: 0 };
        behave(&mut script);
        let (mut shown, mut told) = (Vec::new(), Vec::new());
        let mut report =
            Report { output: &mut shown, changes: &mut told, json, tty: Some("/dev/pts/1".into()) };
        let code = follow(&changes, &output, timeout, &mut report).unwrap();
        let told = anstream::adapter::strip_bytes(&told).into_vec();
        (code, String::from_utf8(shown).unwrap(), String::from_utf8(told).unwrap())
    }

    #[test]
    fn returns_when_the_command_waits() {
        let (code, output, told) = followed(false, None, |script| {
            script.change(running());
            script.output.send(b"name\x1b[6n: ".to_vec()).unwrap();
            script.change(waits());
        });
        assert_eq!(code, exit::INPUT);
        assert_eq!(output, "name: ", "the query is not for the user's terminal");
        assert_eq!(told, "\nawaitty: waits for input (line): \"name: \"\n");
    }

    #[test]
    fn gives_the_code_of_a_command_that_ended() {
        let (code, output, told) = followed(false, None, |script| {
            script.output.send(b"bye\r\n".to_vec()).unwrap();
            script.change(State::Exited(Exited { code: Some(3), signal: None }));
        });
        assert_eq!(
            (code, output.as_str(), told.as_str()),
            (3, "bye\r\n", "awaitty: ended: code 3\n")
        );
    }

    #[test]
    fn tells_every_change_in_json() {
        let (code, _, told) = followed(true, None, |script| {
            script.change(running());
            script.change(waits());
        });
        let lines: Vec<Line> =
            told.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!((code, lines.len()), (exit::INPUT, 2));
        assert_eq!(lines[1].tty.as_deref(), Some("/dev/pts/1"));
    }

    #[test]
    fn times_out() {
        let (code, _, told) =
            followed(false, Some(Duration::ZERO), |script| script.change(running()));
        assert_eq!((code, told.as_str()), (exit::TIMED_OUT, "awaitty: timed out, busy: cpu\n"));
    }
}
