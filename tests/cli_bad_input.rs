//! What makes no sense, or is not there: one clear line on standard error, and the documented code.
#![cfg(feature = "cli")]
#![allow(clippy::unwrap_used, clippy::expect_used)]

#[path = "common/cli.rs"]
mod cli;

use awaitty::cli::exit;
use cli::{awaitty, output, text};

/// Arguments, the exit code, and what is said: one line.
const TABLE: &[(&[&str], u8, &str)] = &[
    (&["watch", "--pid", "2147483647"], exit::FAILED, "no process 2147483647"),
    (
        &["watch", "--pid", "2"],
        exit::FAILED,
        "process 2 is a kernel thread: it never waits for input",
    ),
    (&["watch", "--tty", "/dev/null"], exit::FAILED, "/dev/null is no terminal"),
    (&["watch", "--tty", "/etc/passwd"], exit::FAILED, "/etc/passwd is no terminal"),
    (
        &["watch", "--tty", "/nonexistent"],
        exit::FAILED,
        "cannot look at /nonexistent: ENOENT: No such file or directory",
    ),
    (&["exec", "--", "/nonexistent"], exit::NOT_FOUND, "cannot execute /nonexistent: not found"),
    (&["exec", "--", "/etc"], exit::CANNOT_EXECUTE, "cannot execute /etc: Permission denied"),
    (
        &["exec", "--", "/etc/passwd"],
        exit::CANNOT_EXECUTE,
        "cannot execute /etc/passwd: Permission denied",
    ),
    (
        &["run", "--", "true"],
        exit::FAILED,
        "run passes a terminal through, and standard input is none; without a terminal use \
         awaitty exec",
    ),
];

#[test]
fn one_line_and_the_documented_code() {
    for (args, code, said) in TABLE {
        // There is no kernel thread to be seen from a PID namespace of one's own.
        if args.contains(&"2") && !std::fs::read("/proc/2/cmdline").is_ok_and(|it| it.is_empty()) {
            continue;
        }
        let output = output(args);
        assert_eq!(text(&output.stderr), format!("awaitty: {said}\n"), "{args:?}");
        assert_eq!(output.status.code(), Some(i32::from(*code)), "{args:?}");
        assert_eq!(text(&output.stdout), "", "{args:?}");
    }
}

#[test]
fn wrong_usage() {
    let cases: &[&[&str]] = &[
        &["exec"],
        &["exec", "--timeout", "soon", "--", "true"],
        &["exec", "--timeout", "-1", "--", "true"],
        &["exec", "--timeout", "nan", "--", "true"],
        &["exec", "--size", "24", "--", "true"],
        &["exec", "--hide", "everything", "--", "true"],
        &["exec", "--engine", "magic", "--", "true"],
        &["watch"],
        &["watch", "--pid", "0"],
        &["watch", "--pid", "-5"],
        &["watch", "--pid", "bash"],
        &["watch", "--all", "--pid", "1"],
        &["no-such-command"],
        &[],
    ];
    for args in cases {
        let output = output(args);
        assert_eq!(output.status.code(), Some(i32::from(exit::USAGE)), "{args:?}");
        assert_ne!(text(&output.stderr), "", "{args:?}");
    }
}

#[test]
fn a_process_without_a_terminal_is_its_tree() {
    // setsid: the test itself may be run from a terminal.
    let mut child = std::process::Command::new("setsid")
        .args(["sleep", "1000"])
        .stdin(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let watch = awaitty(&["watch", "--json", "--pid", &child.id().to_string()])
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut watch = Killed(watch);
    let lines = cli::lines(watch.0.stdout.take().unwrap());
    let line = cli::line_where(&lines, |line| line.state == awaitty::verdict::StateName::Running);
    assert_eq!(line.tty, None);
    child.kill().unwrap();
    child.wait().unwrap();
    cli::line_where(&lines, |line| line.state == awaitty::verdict::StateName::Exited);
    assert_eq!(watch.0.wait().unwrap().code(), Some(i32::from(exit::SUCCESS)));
}

struct Killed(std::process::Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_file_of_events_that_cannot_be_written() {
    let shell = awaitty::pty::Pty::spawn(
        {
            let mut command = std::process::Command::new(cli::program());
            command.args(["run", "--events", "/nonexistent/file", "--", "true"]);
            command
        },
        awaitty::pty::Size::default(),
    )
    .unwrap();
    let mut window = cli::Window::new(shell);
    window.wait_for("awaitty: cannot write events to /nonexistent/file: No such file or directory");
}
