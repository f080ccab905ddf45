//! The built program, and what it says, with deadlines.
#![allow(dead_code, reason = "each test file uses a part of it")]

use std::io::{BufRead, BufReader, Read};
use std::os::fd::AsFd;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use awaitty::pty::Pty;
use awaitty::sys::pidfd;
use awaitty::verdict::Line;
use crossbeam_channel::{Receiver, unbounded};
use nix::poll::{PollFd, PollFlags, poll};

/// Nothing here takes a hundredth of it on an idle machine.
pub(crate) const DEADLINE: Duration = Duration::from_secs(20);
const DEADLINE_MS: u16 = 20_000;

pub(crate) fn awaitty(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_awaitty"));
    command.args(args).stdin(Stdio::null());
    command
}

pub(crate) fn output(args: &[&str]) -> Output {
    awaitty(args).output().unwrap()
}

/// The program's own path, for shells.
pub(crate) fn program() -> &'static str {
    env!("CARGO_BIN_EXE_awaitty")
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// What is written to a stream, line by line, as it comes.
pub(crate) fn lines(stream: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = unbounded();
    std::thread::spawn(move || {
        for line in BufReader::new(stream).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    receiver
}

pub(crate) fn line(lines: &Receiver<String>) -> String {
    lines.recv_timeout(DEADLINE).expect("a line")
}

pub(crate) fn parsed(line: &str) -> Line {
    serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))
}

/// The first line that fits.
pub(crate) fn line_where(lines: &Receiver<String>, fits: impl Fn(&Line) -> bool) -> Line {
    loop {
        let line = parsed(&line(lines));
        if fits(&line) {
            return line;
        }
    }
}

/// Waits until a process has ended; one that is gone has.
pub(crate) fn assert_ends(pid: i32) {
    if let Ok(end) = pidfd::open(pid) {
        let ready = poll(&mut [PollFd::new(end.as_fd(), PollFlags::POLLIN)], DEADLINE_MS).unwrap();
        assert_eq!(ready, 1, "process {pid} lives on");
    }
}

pub(crate) fn assert_lives(pid: i32) {
    let end = pidfd::open(pid).expect("it lives");
    let ready = poll(&mut [PollFd::new(end.as_fd(), PollFlags::POLLIN)], 0_u16).unwrap();
    assert_eq!(ready, 0, "process {pid} has ended");
}

/// A terminal as its user sees it.
pub(crate) struct Window {
    pub(crate) pty: Pty,
    seen: String,
}

impl Window {
    pub(crate) fn new(pty: Pty) -> Window {
        Window { pty, seen: String::new() }
    }

    /// Reads on until `text` has been shown, and gives what was shown up to its end.
    pub(crate) fn wait_for(&mut self, text: &str) -> String {
        let deadline = Instant::now() + DEADLINE;
        let mut buffer = [0; 4096];
        loop {
            if let Some(at) = self.seen.find(text) {
                return self.seen.drain(..at + text.len()).collect();
            }
            assert!(Instant::now() < deadline, "no {text:?} in {:?}", self.seen);
            poll(&mut [PollFd::new(self.pty.as_fd(), PollFlags::POLLIN)], 100_u16).unwrap();
            match self.pty.read(&mut buffer) {
                Ok(0) => panic!("hung up before {text:?} came, after {:?}", self.seen),
                Ok(count) => self.seen.push_str(&String::from_utf8_lossy(&buffer[..count])),
                Err(_) => {}
            }
        }
    }

    /// The number after `text`, which ends with its line.
    pub(crate) fn number_after(&mut self, text: &str) -> i32 {
        self.wait_for(text);
        self.wait_for("\r\n").trim().parse().unwrap()
    }

    pub(crate) fn type_in(&self, keys: &str) {
        assert_eq!(self.pty.write(keys.as_bytes()), Ok(keys.len()));
    }
}
