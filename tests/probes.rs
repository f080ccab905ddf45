//! Every probe, one after another: what is said of it must be what the table says, come to that by
//! itself, and stay so.
//!
//! `AWAITTY_ONLY=name` selects a row, `AWAITTY_REPEAT=20` runs each so often, `AWAITTY_LOAD=2`
//! keeps that many processes busy beside them. A row that this machine or this user cannot have is
//! a skip; with `CI=true` it is an error.
#![cfg(feature = "cli")]
#![allow(clippy::unwrap_used, clippy::expect_used)]

#[path = "common/expect.rs"]
mod expect;
#[path = "common/load.rs"]
mod load;
#[path = "common/table.rs"]
mod table;

use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use awaitty::pty::{Pty, Size};
use awaitty::verdict::{State, Verdict};
use awaitty::watch::{Monitor, OpenOptions, Sight, Target, WaitError, Watched};
use expect::Expect;
use table::{Expectation, Stdin, TABLE};

const DEADLINE: Duration = Duration::from_secs(20);
/// For so long no other verdict may come once the expected one has.
const HOLDS: Duration = Duration::from_millis(300);
const AT_ONCE: usize = 4;
const SKIPPED: i32 = i32::from_le_bytes([awaitty_probes::EXIT_SKIPPED, 0, 0, 0]);

/// How a row went, where it did not go well.
enum Trouble {
    Wrong(String),
    Skip,
}

#[test]
fn what_is_said_of_every_probe() {
    let _load = load::from_environment();
    let only = std::env::var("AWAITTY_ONLY").ok();
    let repeat = std::env::var("AWAITTY_REPEAT").map_or(1, |n| n.parse().unwrap());
    let rows: Vec<&Expectation> = (0..repeat)
        .flat_map(|_| TABLE)
        .filter(|row| only.as_deref().is_none_or(|only| only == row.probe))
        .collect();
    assert!(!rows.is_empty(), "no such probe");
    let next = Mutex::new(rows.iter());
    let troubles = Mutex::new(Vec::new());
    let monitor = Monitor::start().unwrap();
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                loop {
                    let Some(row) = next.lock().unwrap().next() else { return };
                    if let Err(trouble) = run(&monitor, row) {
                        troubles.lock().unwrap().push((row, trouble));
                    }
                }
            });
        }
    });
    report(&troubles.into_inner().unwrap(), rows.len());
}

fn report(troubles: &[(&&Expectation, Trouble)], total: usize) {
    let mut wrong = 0;
    let mut skipped = 0;
    for (row, trouble) in troubles {
        let name = format!("{} {}", row.probe, row.args.join(" "));
        match trouble {
            Trouble::Wrong(what) => {
                wrong += 1;
                eprintln!("WRONG {name}: {what}");
            }
            Trouble::Skip => {
                skipped += 1;
                eprintln!("SKIPPED {name}");
            }
        }
    }
    eprintln!("{} rows right, {wrong} wrong, {skipped} skipped", total - wrong - skipped);
    assert_eq!(wrong, 0);
    assert!(skipped == 0 || std::env::var_os("CI").is_none(), "a skip is an error in CI");
}

/// A probe that runs, and the watch on it.
enum Stage {
    Own(Watched),
    /// A terminal that the watch did not open.
    Pty {
        _held: Pty,
        watched: Watched,
    },
    Piped(Child, Watched),
}

impl Stage {
    fn watched(&self) -> &Watched {
        match self {
            Stage::Own(watched) | Stage::Pty { watched, .. } | Stage::Piped(_, watched) => watched,
        }
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        if let Stage::Piped(child, _) = self {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn command(row: &Expectation) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_awaitty"));
    command.arg("probe").arg(row.probe).args(row.args);
    command
}

fn run(monitor: &Monitor, row: &Expectation) -> Result<(), Trouble> {
    let stage = match (row.stdin, row.drained) {
        (Stdin::Tty, true) => on_own_terminal(monitor, row)?,
        (Stdin::Tty, false) => on_undrained_terminal(monitor, row)?,
        (Stdin::HeldPipe, _) => on_a_pipe(monitor, row)?,
    };
    let watched = stage.watched();
    let mut seen = Vec::new();
    let verdict = watched.wait_until(
        |verdict| {
            seen.push(line(verdict));
            fits(row, verdict)
        },
        DEADLINE,
    );
    match verdict {
        Ok(_) => {}
        Err(WaitError::Ended { last: Some(last) }) if exit_code(&last) == Some(SKIPPED) => {
            return Err(Trouble::Skip);
        }
        Err(_) => {
            let got = tail(&seen);
            return Err(Trouble::Wrong(format!("expected {:?}, got\n{got}", row.state)));
        }
    }
    if matches!(row.state, Expect::Exited(_)) {
        return Ok(());
    }
    match watched.wait_until(|verdict| !fits(row, verdict), HOLDS) {
        Ok(other) => Err(Trouble::Wrong(format!(
            "{:?} did not hold, then came\n{}",
            row.state,
            line(&other)
        ))),
        Err(_) => Ok(()),
    }
}

fn exit_code(verdict: &Verdict) -> Option<i32> {
    match &verdict.state {
        State::Exited(exited) => exited.code,
        _ => None,
    }
}

fn line(verdict: &Verdict) -> String {
    serde_json::to_string(&awaitty::verdict::Line::new(0, 0.0, None, verdict)).unwrap()
}

fn tail(lines: &[String]) -> String {
    let from = lines.len().saturating_sub(3);
    lines[from..].join("\n")
}

fn fits(row: &Expectation, verdict: &Verdict) -> bool {
    // What the kernel does not show is guessed, and each guess says that it is one.
    row.state.fits(&verdict.state) && verdict.exact == row.exact
}

fn on_own_terminal(monitor: &Monitor, row: &Expectation) -> Result<Stage, Trouble> {
    let options = OpenOptions { output: true, ..OpenOptions::default() };
    let watched = monitor.open(command(row), options).unwrap();
    let output = watched.output().unwrap();
    let mut text = Vec::new();
    let end = Instant::now() + DEADLINE;
    while !is_ready(&text) {
        match output.recv_deadline(end) {
            Ok(piece) => text.extend(piece),
            Err(_) => return not_ready(&watched, &text),
        }
    }
    // The output has no end until the probe has: somebody must take it.
    std::thread::spawn(move || output.iter().for_each(drop));
    Ok(Stage::Own(watched))
}

fn not_ready(watched: &Watched, text: &[u8]) -> Result<Stage, Trouble> {
    match watched.wait_until(Verdict::has_exited, DEADLINE) {
        Ok(verdict) if exit_code(&verdict) == Some(SKIPPED) => Err(Trouble::Skip),
        _ => Err(Trouble::Wrong(format!("not ready: {}", String::from_utf8_lossy(text)))),
    }
}

/// The ready line, ended.
fn is_ready(text: &[u8]) -> bool {
    let text = String::from_utf8_lossy(text);
    text.split_once("ready ").is_some_and(|(_, rest)| rest.contains('\n'))
}

fn on_undrained_terminal(monitor: &Monitor, row: &Expectation) -> Result<Stage, Trouble> {
    let pty = Pty::spawn(command(row), Size::default()).unwrap();
    let mut text = Vec::new();
    let mut buffer = [0; 256];
    while !is_ready(&text) {
        let mut fds =
            [nix::poll::PollFd::new(std::os::fd::AsFd::as_fd(&pty), nix::poll::PollFlags::POLLIN)];
        nix::poll::poll(&mut fds, 20_000_u16).unwrap();
        let count = pty.read(&mut buffer).unwrap_or(0);
        text.extend_from_slice(&buffer[..count]);
    }
    let watched = monitor.attach(&Target::Pid(pty.pid()), Sight::default()).unwrap();
    Ok(Stage::Pty { _held: pty, watched })
}

fn on_a_pipe(monitor: &Monitor, row: &Expectation) -> Result<Stage, Trouble> {
    // Without a terminal even where the test itself is run from one.
    let mut wrapper = Command::new("setsid");
    wrapper.arg(env!("CARGO_BIN_EXE_awaitty")).arg("probe").arg(row.probe).args(row.args);
    let mut child = wrapper.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdout = child.stdout.take().unwrap();
    let mut text = Vec::new();
    let mut buffer = [0; 256];
    while !is_ready(&text) {
        match stdout.read(&mut buffer).unwrap() {
            0 => {
                let end = child.wait().unwrap();
                return Err(Trouble::Wrong(format!("it was not ready, but ended: {end}")));
            }
            count => text.extend_from_slice(&buffer[..count]),
        }
    }
    let pid = i32::try_from(child.id()).unwrap();
    let watched = monitor.attach(&Target::Pid(pid), Sight::default()).unwrap();
    Ok(Stage::Piped(child, watched))
}
