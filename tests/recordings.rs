//! `awaitty record` and `awaitty replay`, and what a file may do to them.
#![cfg(feature = "cli")]
#![allow(clippy::unwrap_used, clippy::expect_used)]

#[path = "common/cli.rs"]
mod cli;
#[path = "common/expect.rs"]
mod expect;
#[path = "common/sink.rs"]
mod sink;
#[path = "common/table.rs"]
mod table;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use awaitty::fixture::{CastError, Reader, Recorder, Replayed, replay};
use awaitty::pty::{Pty, Size};
use awaitty::watch::{Monitor, OpenOptions};
use cli::{DEADLINE, Window, assert_ends, output, program, text};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use sink::Sink;
use table::{Expectation, Stdin, TABLE};

const AT_ONCE: usize = 4;
/// What a probe comes to is no matter here, as long as much is recorded.
const LONG_ENOUGH: Duration = Duration::from_secs(3);

fn replayed(bytes: &[u8]) -> Result<Replayed, CastError> {
    replay(&mut Reader::new(bytes)?)
}

/// The recording of a probe, up to the verdict that it must come to.
fn recording(monitor: &Monitor, row: &Expectation) -> Sink {
    let sink = Sink::default();
    let recorder = Recorder::new(sink.clone(), None);
    let failure = recorder.failure();
    let mut command = Command::new(program());
    command.arg("probe").arg(row.probe).args(row.args);
    let options = OpenOptions { tap: Some(Box::new(recorder)), ..OpenOptions::default() };
    let watched = monitor.open(command, options).unwrap();
    // A probe that cannot be had here ends: that is a recording too.
    let _ = watched.wait_until(|verdict| row.state.fits(&verdict.state), LONG_ENOUGH);
    assert!(failure.take().is_none());
    sink
}

#[test]
fn every_probe_replays_to_the_verdicts_that_were_told() {
    let rows = TABLE.iter().filter(|row| row.stdin == Stdin::Tty && row.drained);
    let next = Mutex::new(rows);
    let recordings = Mutex::new(Vec::new());
    let monitor = Monitor::start().unwrap();
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                loop {
                    let Some(row) = next.lock().unwrap().next() else { return };
                    let sink = recording(&monitor, row);
                    recordings.lock().unwrap().push((row, sink));
                }
            });
        }
    });
    // Nothing is written any more when this returns.
    monitor.shutdown();
    let recordings = recordings.into_inner().unwrap();
    assert!(recordings.len() > 12);
    for (row, sink) in recordings {
        let replayed = replayed(&sink.bytes()).unwrap();
        let name = format!("{} {:?}", row.probe, row.args);
        assert!(!replayed.recorded.is_empty(), "{name}");
        assert_eq!(replayed.differences(), [], "{name}");
        assert_eq!(replayed.diverged, [], "{name}");
        assert!(!replayed.truncated, "{name}");
    }
}

fn scratch(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("awaitty-{name}-{}.cast", std::process::id()))
}

fn recorded(path: &PathBuf, script: &str) -> Window {
    let mut command = Command::new(program());
    command.arg("record").arg("-o").arg(path).args(["--", "sh", "-c", script]);
    Window::new(Pty::spawn(command, Size::default()).unwrap())
}

fn taken(path: &PathBuf) -> String {
    let content = fs::read_to_string(path).unwrap();
    fs::remove_file(path).unwrap();
    content
}

/// Waits until the file says this, and gives what it says.
fn wait_for(path: &PathBuf, part: &str) -> String {
    let deadline = Instant::now() + DEADLINE;
    loop {
        let content = fs::read_to_string(path).unwrap_or_default();
        if content.contains(part) {
            return content;
        }
        assert!(Instant::now() < deadline, "no {part} in {content}");
        std::thread::yield_now();
    }
}

#[test]
fn what_is_typed_without_echo_is_not_written() {
    let path = scratch("secret");
    let script = "printf 'name? '; read name; printf 'sure? '; read sure; stty -echo; printf 'password? '; read secret; \
        stty echo; printf 'thanks, %s.' \"$name\"; read end; exit 3";
    let mut window = recorded(&path, script);
    window.wait_for("name? ");
    window.type_in("eve\n");
    window.wait_for("sure? ");
    window.type_in("\n");
    window.wait_for("password? ");
    // The first half stays in the terminal until the line is complete.
    window.type_in("xyzzy-");
    wait_for(&path, "\\\"kind\\\":\\\"secret\\\"");
    window.type_in("plugh\n");
    window.wait_for("thanks, eve.");
    window.type_in("\n");
    wait_for(&path, "\"x\", \"3\"");
    let check = output(&["replay", "--check", path.to_str().unwrap()]);
    assert_eq!((check.status.code(), text(&check.stdout)), (Some(0), String::new()));
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    let content = taken(&path);
    assert!(content.contains("\"i\", \"eve\\n\""), "{content}");
    for secret in ["xyzzy", "plugh", &hex::encode("xyzzy"), &hex::encode("plugh")] {
        assert!(!content.contains(secret), "{content}");
    }
}

#[test]
fn a_killed_recorder_leaves_a_file_that_replays() {
    let path = scratch("killed");
    let mut window = recorded(&path, "echo outer $PPID; echo inner $$; read a");
    let outer = window.number_after("outer ");
    let inner = window.number_after("inner ");
    wait_for(&path, "\\\"state\\\":\\\"input\\\"");
    kill(Pid::from_raw(outer), Signal::SIGKILL).unwrap();
    assert_ends(outer);
    assert_ends(inner);
    let check = output(&["replay", "--check", path.to_str().unwrap()]);
    assert_eq!(check.status.code(), Some(0), "{}", text(&check.stdout));
    let replayed = replayed(taken(&path).as_bytes()).unwrap();
    assert!(!replayed.ended);
    assert!(replayed.told.iter().any(|change| change.verdict.waits_for_input()));
}

#[test]
fn a_file_that_exists_is_kept() {
    let path = scratch("exists");
    fs::write(&path, "mine").unwrap();
    let mut window = recorded(&path, "true");
    window.wait_for("cannot write a recording");
    assert_eq!(taken(&path), "mine");
}

#[test]
fn nothing_is_left_of_a_command_that_does_not_start() {
    let path = scratch("nothing");
    let mut command = Command::new("sh");
    command.args(["-c", "$AWAITTY record -o $FILE /nonexistent/program; echo code $?."]);
    command.env("AWAITTY", program()).env("FILE", &path);
    let mut window = Window::new(Pty::spawn(command, Size::default()).unwrap());
    window.wait_for("code 127.");
    assert!(!path.exists());
}

#[test]
fn a_verdict_that_differs_is_shown() {
    let path = scratch("differs");
    let cast = fs::read_to_string(example()).unwrap();
    fs::write(&path, cast.replacen("\\\"kind\\\":\\\"line\\\"", "\\\"kind\\\":\\\"key\\\"", 1))
        .unwrap();
    let check = output(&["replay", "--check", path.to_str().unwrap()]);
    fs::remove_file(&path).unwrap();
    assert_eq!(check.status.code(), Some(1));
    let shown = text(&check.stdout);
    assert!(shown.ends_with("input.kind\n  - \"key\"\n  + \"line\"\n"), "{shown}");
}

fn example() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fixtures/recordings/sh-read-line.cast")
}

#[test]
fn a_damaged_file_is_an_error_with_its_line() {
    let cast = fs::read_to_string(example()).unwrap();
    let header = cast.lines().next().unwrap();
    let after = |line: &str| format!("{header}\n{line}\n[0.1, \"G\", \"\"]\n");
    let deep = format!("[0.1, \"o\", {}", "[".repeat(100_000));
    let cases = [
        (String::new(), "line 1: EOF while parsing"),
        (
            "{\"version\": 2, \"width\": 80, \"height\": 24}\n".to_owned(),
            "line 1: this is no asciicast",
        ),
        (
            "{\"version\": 3, \"term\": {\"cols\": 80, \"rows\": 24}}\n".to_owned(),
            "line 1: this asciicast is not",
        ),
        (header.replace("\"version\":1", "\"version\":9"), "line 1: this was recorded by a newer"),
        (after("{}"), "line 2: invalid type"),
        (after("[0.1, \"o\"]"), "line 2: invalid length"),
        (after("[0.1, \"o\", {}]"), "line 2: the data of an event `o` is a string"),
        (after("[0.1, 7, \"\"]"), "line 2: invalid type"),
        (after("[-1, \"G\", \"\"]"), "line 2: the interval is out of range"),
        (after("[1e300, \"G\", \"\"]"), "line 2: the interval is out of range"),
        (after("[0.1, \"B\", \"xy\"]"), "line 2: the data of the event `B`"),
        (after("[0.1, \"r\", \"80\"]"), "line 2: the data of the event `r`"),
        (after("[0.1, \"x\", \"no\"]"), "line 2: the data of the event `x`"),
        (after("[0.1, \"L\", \"{}\"]"), "line 2: the data of the event `L`"),
        (after("[0.1, \"J\", \"null\"]"), "line 2: this judges a look"),
        (
            after(
                "[0.1, \"L\", \"{\\\"depth\\\":\\\"whole\\\",\\\"clock\\\":[],\\\"asked\\\":[7]}\"]",
            ),
            "line 2: there is no question number 7",
        ),
        (after(&deep), "line 2: recursion limit exceeded"),
        (format!("{header}\n# a comment\n\nnonsense\n"), "line 4: expected"),
        (format!("{header}\n\"{}", "x".repeat(17 << 20)), "line 2: it is longer"),
    ];
    for (file, expected) in cases {
        let error = replayed(file.as_bytes()).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error} is not: {expected}");
    }
    let binary = [header.as_bytes(), b"\n\xff\xfe\x00\n"].concat();
    assert_eq!(replayed(&binary).unwrap_err().to_string(), "line 2: it is no text");
}

#[test]
fn what_is_not_known_is_passed_over() {
    let cast = fs::read_to_string(example()).unwrap();
    let header = cast.lines().next().unwrap();
    let unknown =
        "[0.0, \"m\", \"a marker\"]\n[0.0, \"Z\", {\"of\": [\"the\", \"future\"]}]\n# comment\n";
    let with = cast.replacen('\n', &format!("\n{unknown}"), 1);
    let replayed_all = replayed(with.as_bytes()).unwrap();
    assert!(!replayed_all.recorded.is_empty());
    assert_eq!(replayed_all.differences(), []);
    let only = replayed(format!("{header}\n{unknown}").as_bytes()).unwrap();
    assert!(only.told.is_empty() && !only.ended);
}

#[test]
fn a_file_may_be_cut_off_anywhere() {
    let cast = fs::read(example()).unwrap();
    let header = cast.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    for end in (header..cast.len()).step_by(61) {
        let replayed = replayed(&cast[..end]).unwrap();
        assert_eq!(replayed.differences(), [], "cut off at {end}");
        assert_eq!(replayed.truncated, cast[end - 1] != b'\n' && cast[end] != b'\n');
    }
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig {
        cases: 200,
        failure_persistence: None,
        ..proptest::prelude::ProptestConfig::default()
    })]

    /// Whatever becomes of a recording, reading it ends, and not in a panic.
    #[test]
    fn a_garbled_file_does_no_harm(
        changes in proptest::collection::vec((proptest::prelude::any::<usize>(), proptest::prelude::any::<u8>()), 1..20),
    ) {
        let mut cast = fs::read(example()).unwrap();
        for (at, byte) in changes {
            let length = cast.len();
            // Digits garble numbers, which leaves the file readable.
            if cast[at % length].is_ascii_digit() {
                cast[at % length] = b'0' + byte % 10;
            } else if byte < 16 {
                cast[at % length] = byte;
            }
        }
        if let Ok(replayed) = replayed(&cast) {
            proptest::prop_assert!(replayed.looks < 100_000);
        }
    }
}
