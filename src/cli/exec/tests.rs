#![allow(clippy::unwrap_used, clippy::expect_used)]
use crossbeam_channel::{Sender, unbounded};

use super::*;
use crate::verdict::{By, Exited, Input, Kind, Line, Running, WaitingOn};

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
    events: Sender<Event>,
    seq: u64,
    written: u64,
}

impl Script {
    fn write(&mut self, bytes: &[u8]) {
        self.written += bytes.len() as u64;
        self.output.send(bytes.to_vec()).unwrap();
    }

    fn change(&mut self, state: State) {
        self.seq += 1;
        let (seq, t, verdict) = (self.seq, Duration::from_millis(500), verdict(state));
        self.changes.send(Change { seq, t, output: self.written, verdict }).unwrap();
    }
}

/// What is shown of a command that behaves like this: code, output, changes.
fn followed(
    json: bool,
    timeout: Option<Duration>,
    behave: impl FnOnce(&mut Script),
) -> (Ended, String, String) {
    let ((change, changes), (bytes, output), (event, events)) =
        (unbounded(), unbounded(), unbounded());
    let mut script = Script { changes: change, output: bytes, events: event, seq: 0, written: 0 };
    behave(&mut script);
    let feed = Feed { changes, output, events, latest: &|| Some(verdict(running())) };
    let (mut shown, mut told) = (Vec::new(), Vec::new());
    let tty = Some("/dev/pts/1".to_owned());
    let mut report = Report { output: &mut shown, changes: &mut told, json, together: true, tty };
    let ended = follow(&feed, timeout, &mut report).unwrap();
    let told = anstream::adapter::strip_bytes(&told).into_vec();
    (ended, String::from_utf8(shown).unwrap(), String::from_utf8(told).unwrap())
}

#[test]
fn returns_when_the_command_waits() {
    let (code, output, told) = followed(false, None, |script| {
        script.change(running());
        script.write(b"name\x1b[6n: ");
        script.change(waits());
    });
    assert_eq!(code, Ended::Code(exit::INPUT));
    assert_eq!(output, "name: ", "the query is not for the user's terminal");
    assert_eq!(told, "\nawaitty: waits for input (line): \"name: \"\n");
}

#[test]
fn gives_the_code_of_a_command_that_ended() {
    let (code, output, told) = followed(false, None, |script| {
        script.write(b"bye\r\n");
        script.change(State::Exited(Exited { code: Some(3), signal: None }));
    });
    assert_eq!(
        (code, output.as_str(), told.as_str()),
        (Ended::Code(3), "bye\r\n", "awaitty: ended: code 3\n")
    );
}

#[test]
fn tells_every_change_in_json() {
    let (code, _, told) = followed(true, None, |script| {
        script.change(running());
        script.change(waits());
    });
    let lines: Vec<Line> = told.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((code, lines.len()), (Ended::Code(exit::INPUT), 2));
    assert_eq!(lines[1].tty.as_deref(), Some("/dev/pts/1"));
}

#[test]
fn times_out() {
    let (code, _, told) = followed(false, Some(Duration::ZERO), |script| script.change(running()));
    assert_eq!(
        (code, told.as_str()),
        (Ended::Code(exit::TIMED_OUT), "awaitty: timed out, busy: cpu\n")
    );
}

#[test]
fn what_came_after_the_verdict_is_not_shown_before_it() {
    let (ended, output, _) = followed(false, None, |script| {
        script.write(b"name: ");
        script.change(waits());
        script.write(b"more");
    });
    assert_eq!((ended, output.as_str()), (Ended::Code(exit::INPUT), "name: "));
}

#[test]
fn a_signal_ends_it() {
    let (ended, ..) = followed(false, None, |script| {
        script.events.send(Event::End(libc::SIGTERM)).unwrap();
    });
    assert_eq!(ended, Ended::Signal(libc::SIGTERM));
}
