//! The proof of one instant, against rings of processes that pass a byte around: one of them always
//! runs, and yet each is mostly caught asleep.
//!
//! `AWAITTY_LOOKS=1000000 cargo test --release --test torn` looks a million times at each ring; the
//! default is a thousand. `AWAITTY_ONLY=ring-pty` selects the rings with that in their names. One
//! line a ring goes to standard error.
#![cfg(feature = "cli")]
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::fmt;
use std::io::Write;
use std::os::fd::{AsFd, AsRawFd};
use std::process::Command;
use std::time::Instant;

use awaitty::observe::{
    Depth, Instantaneous, Live, Looker, Observation, Outer, Root, Scope, TtyAccess,
};
use awaitty::pty::{Pty, Size};
use awaitty::sys::clock;
use awaitty::verdict::{Judge, Output, State, Verdict};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

const LOOKS: u64 = 1000;
/// What the byte travels over, and among how many.
const RINGS: [&[&str]; 5] = [
    &["ring-pipe"],
    &["ring-pipe", "--count=5"],
    &["ring-unix"],
    &["ring-unix", "--count=5"],
    &["ring-pty"],
];
/// Microseconds of computing and of sleeping between two passes. The gaps between sleeps are what a
/// look has to fall into, so they are shorter than a look, as long, and longer.
const RHYTHMS: [&str; 6] = ["0:0", "5:0", "20:0", "100:0", "0:50", "0:1000"];
/// With a process beside the ring that reads the terminal, a torn look is a wrong `input`; without,
/// a wrong `idle`.
const READERS: [bool; 2] = [true, false];

#[derive(Default)]
struct Count {
    looks: u64,
    /// Single passes after which a tool that makes no second one would have called the job settled.
    torn: u64,
    /// Verdicts that were settled and exact.
    wrong: Vec<(Verdict, Observation)>,
}

/// A ring on a terminal of its own.
struct Ring {
    terminal: Pty,
    scope: Scope,
}

impl Ring {
    fn start(arguments: &[String]) -> Ring {
        let mut command = Command::new(env!("CARGO_BIN_EXE_awaitty"));
        command.arg("probe").args(arguments);
        let terminal = Pty::spawn(command, Size::default()).unwrap();
        let outer = Outer {
            id: terminal.id(),
            name: terminal.name().to_owned(),
            access: Some(TtyAccess::Master(terminal.as_fd().as_raw_fd())),
        };
        let scope = Scope { root: Root::Session(terminal.pid()), terminal: Some(outer) };
        let ring = Ring { terminal, scope };
        ring.await_ready();
        ring
    }

    /// Reads up to the end of the ready line; a ring prints nothing after it.
    fn await_ready(&self) {
        let mut buffer = [0; 256];
        let mut line = Vec::new();
        while !line.contains(&b'\n') {
            match self.terminal.read(&mut buffer) {
                Ok(0) => panic!("the probe ended: {}", String::from_utf8_lossy(&line)),
                Ok(count) => line.extend_from_slice(&buffer[..count]),
                Err(Errno::EAGAIN) => {
                    let mut master = [PollFd::new(self.terminal.as_fd(), PollFlags::POLLIN)];
                    poll(&mut master, PollTimeout::NONE).unwrap();
                }
                Err(errno) => panic!("{errno}"),
            }
        }
    }

    fn look(&self, times: u64) -> Count {
        let mut kernel = Live::new();
        let mut looker = Looker::new(self.scope.clone());
        let mut judge = Judge::new(clock::monotonic());
        let output = Output::default();
        let mut count = Count::default();
        while count.looks < times {
            count.looks += 1;
            let seen = looker.look(&mut kernel, Depth::Whole, &mut |_| false);
            let verdict = judge.judge(&seen, Some(&output), false, false).verdict;
            if verdict.exact && is_settled(&verdict) {
                count.wrong.push((verdict, seen));
            } else if is_settled(&of_one_pass(seen, &output)) {
                count.torn += 1;
            }
        }
        count
    }
}

/// What the first pass alone would have said: the same observation, taken at its word, and nothing
/// asked about what may be under way.
fn of_one_pass(mut seen: Observation, output: &Output) -> Verdict {
    if matches!(seen.instant, Instantaneous::Moved | Instantaneous::Returned) {
        seen.instant = Instantaneous::Proved;
    }
    for terminal in seen.terminal.iter_mut().chain(&mut seen.inner) {
        terminal.readable = Some(false);
        terminal.undrained = Some(false);
    }
    Judge::new(seen.at).judge(&seen, Some(output), false, false).verdict
}

fn is_settled(verdict: &Verdict) -> bool {
    matches!(verdict.state, State::Prompt(_) | State::Input(_) | State::Idle(_))
}

fn rings() -> impl Iterator<Item = Vec<String>> {
    let only = std::env::var("AWAITTY_ONLY").unwrap_or_default();
    let rings = RINGS.iter().flat_map(|ring| {
        RHYTHMS.iter().flat_map(move |rhythm| {
            READERS.iter().map(move |&reader| {
                let rhythm = format!("--rhythm={rhythm}");
                let ring = ring.iter().map(ToString::to_string).chain([rhythm]);
                ring.chain(reader.then(|| "--reader".to_owned())).collect::<Vec<_>>()
            })
        })
    });
    rings.filter(move |ring| ring.join(" ").contains(&only))
}

/// Past the capture of the test harness: a long run is to be followed.
fn say(line: fmt::Arguments<'_>) {
    let mut stderr = std::io::stderr().lock();
    writeln!(stderr, "{line}").unwrap();
}

#[test]
fn no_verdict_on_a_ring_is_settled_and_exact() {
    let times = std::env::var("AWAITTY_LOOKS").map_or(LOOKS, |times| times.parse().unwrap());
    let mut total = Count::default();
    for arguments in rings() {
        let ring = Ring::start(&arguments);
        let began = Instant::now();
        let count = ring.look(times);
        let rate = count.looks as f64 / began.elapsed().as_secs_f64();
        let (looks, torn, wrong) = (count.looks, count.torn, count.wrong.len());
        let name = arguments.join(" ");
        say(format_args!(
            "{name:<44} {looks:>8} looks ({rate:>6.0}/s), {torn:>7} torn in a single pass, {wrong} wrong"
        ));
        if let Some((verdict, seen)) = count.wrong.first() {
            say(format_args!("{verdict:#?}\n{seen:#?}"));
        }
        total.looks += looks;
        total.torn += torn;
        total.wrong.extend(count.wrong);
    }
    assert!(total.looks > 0, "no such ring");
    assert!(total.wrong.is_empty(), "{} of {} looks were wrong", total.wrong.len(), total.looks);
    assert!(total.torn > 0, "no single pass was torn, so nothing was proved");
}
