//! What is watched is not disturbed, and a 32-bit program is read by its own table.
#![cfg(feature = "cli")]
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::process::Command;
use std::time::{Duration, Instant};

use awaitty::verdict::{Kind, Verdict};
use awaitty::watch::{Monitor, OpenOptions, Sight, Target, Watched};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

const DEADLINE: Duration = Duration::from_secs(20);

fn open(monitor: &Monitor, command: Command) -> Watched {
    let options = OpenOptions { output: true, ..OpenOptions::default() };
    monitor.open(command, options).unwrap()
}

/// Reads output until `found` finds what it looks for in it.
fn printed<T>(watched: &Watched, found: impl Fn(&str) -> Option<T>) -> T {
    let output = watched.output().unwrap();
    let end = Instant::now() + DEADLINE;
    let mut text = String::new();
    loop {
        if let Some(found) = found(&text) {
            return found;
        }
        let piece = output.recv_deadline(end).unwrap_or_else(|_| panic!("only {text:?} came"));
        text.push_str(&String::from_utf8_lossy(&piece));
    }
}

fn eintr_probe(monitor: &Monitor) -> Watched {
    let mut command = Command::new(env!("CARGO_BIN_EXE_awaitty"));
    command.args(["probe", "eintr", "--opaque"]);
    let watched = open(monitor, command);
    printed(&watched, |text| text.split_once("ready ")?.1.contains('\n').then_some(()));
    watched
}

/// How often the probe's calls were interrupted, by its own count.
fn interruptions(watched: &Watched) -> u32 {
    watched.write(b"\n").unwrap();
    printed(watched, |text| {
        let (count, _) = text.split_once("eintr ")?.1.split_once('\r')?;
        count.parse().ok()
    })
}

#[test]
fn watching_interrupts_nothing() {
    let monitor = Monitor::start().unwrap();
    let watched = eintr_probe(&monitor);
    let target = Target::Pid(watched.pid());
    let others: Vec<Watched> =
        (0..20).map(|_| monitor.attach(&target, Sight::default()).unwrap()).collect();
    for other in &others {
        other.wait_until(|_| true, DEADLINE).unwrap();
        // Looks go on for as long as it moves, and a thread of it has a timer.
        let news = other.wait_until(Verdict::has_exited, Duration::from_millis(100));
        assert!(news.is_err(), "it has ended");
    }
    assert_eq!(interruptions(&watched), 0);
}

#[test]
fn a_stop_would_have_been_counted() {
    let monitor = Monitor::start().unwrap();
    let watched = eintr_probe(&monitor);
    let pid = Pid::from_raw(watched.pid());
    kill(pid, Signal::SIGSTOP).unwrap();
    let stopped = |verdict: &Verdict| matches!(verdict.state, awaitty::verdict::State::Stopped(_));
    watched.wait_until(stopped, DEADLINE).unwrap();
    kill(pid, Signal::SIGCONT).unwrap();
    watched.wait_until(|verdict| !stopped(verdict), DEADLINE).unwrap();
    assert!(interruptions(&watched) > 0);
}

#[test]
fn a_32_bit_program() {
    let directory = std::env::temp_dir().join(format!("awaitty-i386-{}", std::process::id()));
    std::fs::create_dir(&directory).unwrap();
    let built = awaitty_probes::i386::build(&directory);
    let told = built.map_err(|error| error.to_string()).map(|program| {
        let monitor = Monitor::start().unwrap();
        let watched = open(&monitor, Command::new(program));
        let reads = |verdict: &Verdict| {
            verdict.exact && verdict.input().is_some_and(|input| input.kind == Kind::Line)
        };
        let verdict = watched.wait_until(reads, DEADLINE).unwrap();
        verdict.input().unwrap().reader.clone().unwrap().call
    });
    std::fs::remove_dir_all(&directory).unwrap();
    match told {
        Ok(call) => assert_eq!(call, "read"),
        Err(why) => {
            assert!(std::env::var_os("CI").is_none(), "a skip is an error in CI: {why}");
            eprintln!("SKIPPED a_32_bit_program: {why}");
        }
    }
}
