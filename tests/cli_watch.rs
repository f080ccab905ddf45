//! `awaitty watch`, as its user sees it.
#![cfg(feature = "cli")]
#![allow(clippy::unwrap_used, clippy::expect_used)]

#[path = "common/cli.rs"]
mod cli;

use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};

use awaitty::pty::{Pty, Size};
use awaitty::verdict::{Kind, Line, StateName};
use cli::{Window, awaitty, line, line_where, lines};
use crossbeam_channel::Receiver;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// A watch that runs; it is ended when this is dropped.
struct Watch {
    child: Child,
    lines: Receiver<String>,
}

impl Watch {
    fn start(args: &[&str]) -> Watch {
        let mut child =
            awaitty(&[&["watch"], args].concat()).stdout(Stdio::piped()).spawn().unwrap();
        let lines = lines(child.stdout.take().unwrap());
        Watch { child, lines }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A shell on a terminal of its own that is somebody else's to `watch`.
fn window(script: &str) -> Window {
    let mut command = Command::new("sh");
    command.args(["-c", script]);
    let mut window = Window::new(Pty::spawn(command, Size::default()).unwrap());
    window.wait_for("go");
    window
}

fn is_input(line: &Line) -> bool {
    line.state == StateName::Input && line.input.as_ref().is_some_and(|it| it.kind == Kind::Line)
}

#[test]
fn tells_what_a_terminal_waits_for_until_its_process_ends() {
    let mut window = window("echo go; read a; sleep 0.3; read b; exit 0");
    let pid = window.pty.pid();
    let mut watch = Watch::start(&["--json", "--pid", &pid.to_string()]);
    let first = line_where(&watch.lines, is_input);
    assert_eq!(first.input.unwrap().reader.unwrap().pid, pid);
    assert_eq!(first.tty.as_deref(), Some(window.pty.name()));
    window.type_in("one\n");
    window.wait_for("one");
    line_where(&watch.lines, |line| line.state == StateName::Running);
    line_where(&watch.lines, is_input);
    window.type_in("two\n");
    line_where(&watch.lines, |line| line.state == StateName::Exited);
    assert_eq!(watch.child.wait().unwrap().code(), Some(0));
}

#[test]
fn finds_a_terminal_by_its_path_and_tells_that_it_vanished() {
    let window = window("echo go; read a");
    let mut watch = Watch::start(&["--tty", window.pty.name()]);
    let said = line(&watch.lines);
    assert!(said.contains("waits for input (line) – sh ("), "{said}");
    drop(window);
    while !line(&watch.lines).ends_with("  ended") {}
    assert_eq!(watch.child.wait().unwrap().code(), Some(0));
}

#[test]
fn all_finds_terminals_that_are_opened_later() {
    let watch = Watch::start(&["--json", "--all"]);
    let window = window("echo go; read a");
    let pid = window.pty.pid();
    let reads = |line: &Line| {
        line.input.as_ref().and_then(|input| input.reader.as_ref()).is_some_and(|it| it.pid == pid)
    };
    let line = line_where(&watch.lines, reads);
    let name = window.pty.name().to_owned();
    assert_eq!(line.tty.as_deref(), Some(&*name));
    drop(window);
    line_where(&watch.lines, |line| {
        line.tty.as_deref() == Some(&name) && line.state == StateName::Exited
    });
}

#[test]
fn nobody_reads_and_nothing_happens() {
    let window = window("echo go; read a");
    let mut child = awaitty(&["watch", "--pid", &window.pty.pid().to_string()])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn control_c_ends_it_quietly() {
    let window = window("echo go; read a");
    let mut child = awaitty(&["watch", "--pid", &window.pty.pid().to_string()])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    line(&lines(child.stdout.take().unwrap()));
    let said = lines(child.stderr.take().unwrap());
    kill(Pid::from_raw(child.id().cast_signed()), Signal::SIGINT).unwrap();
    assert_eq!(child.wait().unwrap().signal(), Some(Signal::SIGINT as i32));
    assert!(said.recv().is_err(), "nothing is said");
}

#[test]
fn a_terminal_that_is_gone_while_its_process_lives_on_is_told() {
    let window = window("trap '' HUP; echo go; exec sleep 1000");
    let pid = window.pty.pid();
    let watch = awaitty(&["watch", "--json", "--tty", window.pty.name()])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut watch = watch.unwrap();
    let lines = lines(watch.stdout.take().unwrap());
    line_where(&lines, |line| line.state == StateName::Running);
    window.pty.leave();
    line_where(&lines, |line| line.state == StateName::Exited);
    let ended = watch.wait_with_output().unwrap();
    kill(Pid::from_raw(pid), Signal::SIGKILL).unwrap();
    let told = String::from_utf8(ended.stderr).unwrap();
    assert!(told.ends_with(&format!("is gone; process {pid} lives on\n")), "{told}");
    assert_eq!(ended.status.code(), Some(125));
}
