//! `awaitty run`, as its user sees it: a terminal behind a terminal.
#![cfg(feature = "cli")]
#![allow(clippy::unwrap_used, clippy::expect_used)]

#[path = "common/cli.rs"]
mod cli;

use std::fs;
use std::io::Read;
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::process::Command;

use awaitty::pty::{Pty, Size};
use awaitty::verdict::StateName;
use cli::{Window, assert_ends, assert_lives, parsed, program};
use nix::poll::{PollFd, PollFlags, poll};
use nix::sys::signal::{Signal, kill};
use nix::sys::stat::Mode;
use nix::sys::termios::{Termios, tcgetattr};
use nix::unistd::{Pid, mkfifo};

/// A shell that runs `awaitty run OPTIONS -- sh -c SCRIPT` on a terminal with modes of its own. It
/// stays: a terminal forgets its modes with its session's leader.
fn shell(options: &str, script: &str) -> (Window, Termios) {
    let mut command = Command::new("sh");
    let run = "stty -echoctl -ixany eof ^Y; echo begin; read go; \
        $AWAITTY run $OPTIONS -- sh -c \"$SCRIPT\"; echo code $?.; read end";
    command.args(["-c", run]);
    command.env("AWAITTY", program()).env("OPTIONS", options).env("SCRIPT", script);
    let mut window = Window::new(Pty::spawn(command, Size::default()).unwrap());
    window.wait_for("begin");
    let modes = tcgetattr(&window.pty).unwrap();
    window.type_in("\n");
    (window, modes)
}

fn assert_restored(window: &Window, before: &Termios) {
    assert_eq!(&tcgetattr(&window.pty).unwrap(), before);
}

fn send(pid: i32, signal: Signal) {
    kill(Pid::from_raw(pid), signal).unwrap();
}

fn scratch(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("awaitty-run-{name}-{}", std::process::id()))
}

#[test]
fn passes_keys_output_size_and_the_exit_code() {
    let (mut window, modes) = shell("", "tty; stty size; read a; echo got $a; exit 7");
    let inner = window.wait_for("24 80");
    assert!(!inner.contains(&format!("{}\r", window.pty.name())), "a terminal of its own: {inner}");
    assert_ne!(tcgetattr(&window.pty).unwrap(), modes, "raw");
    window.type_in("keys\n");
    window.wait_for("got keys\r\n");
    window.wait_for("code 7.");
    assert_restored(&window, &modes);
}

#[test]
fn the_terminal_is_restored_after_signals() {
    for (signal, code) in [(Signal::SIGTERM, 143), (Signal::SIGHUP, 129), (Signal::SIGINT, 130)] {
        let (mut window, modes) = shell("", "echo outer $PPID; echo inner $$; read a");
        let outer = window.number_after("outer ");
        let inner = window.number_after("inner ");
        send(outer, signal);
        window.wait_for(&format!("code {code}."));
        assert_restored(&window, &modes);
        assert_ends(inner);
    }
}

#[test]
fn the_terminal_is_restored_when_the_command_is_killed() {
    let (mut window, modes) = shell("", "echo inner $$; read a");
    send(window.number_after("inner "), Signal::SIGKILL);
    window.wait_for("code 137.");
    assert_restored(&window, &modes);
}

#[test]
fn the_terminal_is_untouched_when_nothing_can_be_run() {
    let (mut window, modes) = shell("--events /nonexistent/file", "true");
    window.wait_for("code 125.");
    assert_restored(&window, &modes);
}

#[test]
fn nothing_is_left_when_the_terminal_vanishes() {
    let (mut window, _) = shell("", "echo outer $PPID; echo inner $$; read a");
    let outer = window.number_after("outer ");
    let inner = window.number_after("inner ");
    window.pty.leave();
    assert_ends(outer);
    assert_ends(inner);
}

#[test]
fn the_command_follows_the_window() {
    let (mut window, _) = shell("", "trap 'stty size' WINCH; echo go; while :; do read a; done");
    window.wait_for("go");
    window.pty.resize(Size { rows: 9, cols: 99 }).unwrap();
    window.wait_for("9 99");
}

#[test]
fn stops_with_the_command_and_goes_on_with_it() {
    let mut command = Command::new("bash");
    command.args(["--norc", "--noprofile", "-i"]).env("PS1", "$ ").env("AWAITTY", program());
    command.env("SCRIPT", "echo inner $$; read a; echo got $a");
    let mut window = Window::new(Pty::spawn(command, Size::default()).unwrap());
    window.wait_for("$ ");
    window.type_in("$AWAITTY run -- sh -c \"$SCRIPT\"\n");
    let inner = window.number_after("inner ");
    send(inner, Signal::SIGSTOP);
    window.wait_for("Stopped");
    window.wait_for("$ ");
    assert_lives(inner);
    window.type_in("fg\n");
    window.wait_for("run -- sh");
    window.type_in("on\n");
    window.wait_for("got on\r\n");
}

#[test]
fn the_hook_is_called_when_nobody_types() {
    let fifo = scratch("hook");
    mkfifo(&fifo, Mode::S_IRWXU).unwrap();
    // Open for both, so that neither side waits for the other.
    let mut reader = fs::OpenOptions::new().read(true).write(true).open(&fifo).unwrap();
    let hook = scratch("hook.sh");
    let script = "cat; echo \"$AWAITTY_STATE $AWAITTY_KIND $AWAITTY_PROMPT $AWAITTY_PID\"";
    fs::write(&hook, format!("{{ {script}; }} > {}\n", fifo.display())).unwrap();
    let mut command = Command::new(program());
    command.args(["run", "--idle-for", "50ms", "--on-input", &format!(". {}", hook.display())]);
    command.args(["--", "sh", "-c", "printf 'name: '; read a"]);
    let mut window = Window::new(Pty::spawn(command, Size::default()).unwrap());
    window.wait_for("name: ");
    let mut said = Vec::new();
    let mut buffer = [0; 65536];
    while said.iter().filter(|byte| **byte == b'\n').count() < 2 {
        let ready = poll(&mut [PollFd::new(reader.as_fd(), PollFlags::POLLIN)], 20_000_u16);
        assert_eq!(ready, Ok(1), "the hook was not called");
        let count = reader.read(&mut buffer).unwrap();
        said.extend_from_slice(&buffer[..count]);
    }
    fs::remove_file(&fifo).unwrap();
    fs::remove_file(&hook).unwrap();
    let said = String::from_utf8(said).unwrap();
    let (json, variables) = said.split_once('\n').unwrap();
    let line = parsed(json);
    let reader = line.input.unwrap().reader.unwrap();
    assert_eq!(line.state, StateName::Input);
    assert_eq!(variables, format!("input line name:  {}\n", reader.pid));
}

#[test]
fn events_are_appended_line_by_line() {
    let path = scratch("events");
    let (mut window, _) = shell(&format!("--events {}", path.display()), "read a; exit 3");
    window.type_in("\n");
    window.wait_for("code 3.");
    let events = fs::read_to_string(&path).unwrap();
    fs::remove_file(&path).unwrap();
    let last = parsed(events.lines().last().unwrap());
    assert_eq!((last.state, last.exited.unwrap().code), (StateName::Exited, Some(3)));
}

#[test]
fn the_users_terminal_answers_the_queries() {
    let script = "stty -icanon -echo min 6; printf 'where\\033[6n'; dd bs=6 count=1 2>/dev/null | tr -d '\\033'";
    let (mut window, _) = shell("", script);
    window.wait_for("where\u{1b}[6n");
    window.type_in("\u{1b}[5;7R");
    window.wait_for("[5;7R");
    window.wait_for("code 0.");
}
