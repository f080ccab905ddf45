//! `awaitty exec`, as its user sees it.
#![cfg(feature = "cli")]
#![allow(clippy::unwrap_used, clippy::expect_used)]

#[path = "common/cli.rs"]
mod cli;

use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;

use awaitty::cli::exit;
use awaitty::verdict::{Kind, Line, StateName};
use cli::{assert_ends, assert_lives, awaitty, line, lines, output, parsed, program, text};
use nix::sys::resource::{Resource, getrlimit};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// What `exec -- sh -c SCRIPT` comes to: code, output, what awaitty says.
fn exec(options: &[&str], script: &str) -> (u8, String, String) {
    let limit: &[&str] = if options.contains(&"--timeout") { &[] } else { &["--timeout", "20"] };
    let args = [&["exec"], limit, options, &["--", "sh", "-c", script]].concat();
    let output = output(&args);
    let code = u8::try_from(output.status.code().expect("it is not ended by a signal")).unwrap();
    (code, text(&output.stdout), text(&output.stderr))
}

#[test]
fn returns_at_a_question() {
    let (code, shown, said) = exec(&[], "printf 'Continue? [Y/n] '; read answer");
    assert_eq!((code, shown.as_str()), (exit::INPUT, "Continue? [Y/n] "));
    let expected = "awaitty: waits for input (line): \"Continue? [Y/n] \" – sh (";
    assert!(said.starts_with(expected), "{said}");
    assert_eq!(said.lines().count(), 1);
}

#[test]
fn gives_the_commands_own_code() {
    let (code, shown, said) = exec(&[], "echo done; exit 3");
    assert_eq!((code, shown.as_str(), said.as_str()), (3, "done\r\n", "awaitty: ended: code 3\n"));
    let (code, _, said) = exec(&[], "kill -9 $$");
    assert_eq!((code, said.as_str()), (137, "awaitty: ended: signal 9 (SIGKILL)\n"));
}

#[test]
fn tells_idle_from_stopped() {
    let code = |probe| output(&["exec", "--", program(), "probe", probe]).status.code();
    assert_eq!(code("flock-cycle"), Some(i32::from(exit::IDLE)));
    assert_eq!(code("sigtstp"), Some(i32::from(exit::STOPPED)));
}

#[test]
fn follows_what_is_busy_until_the_time_is_over() {
    let (code, shown, said) = exec(&["--timeout", "1s"], "echo go; exec sleep 1000");
    assert_eq!((code, shown.as_str()), (exit::TIMED_OUT, "go\r\n"));
    // On a loaded machine the shell is still on its way to the sleep.
    assert!(said.starts_with("awaitty: timed out, busy: "), "{said}");
}

#[test]
fn a_command_that_prints_without_end_times_out() {
    let mut command = awaitty(&["exec", "--timeout", "300ms", "--", "yes"]);
    let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap();
    assert_eq!(status.code(), Some(i32::from(exit::TIMED_OUT)));
}

#[test]
fn the_output_is_whole_when_the_verdict_comes() {
    let (code, shown, _) = exec(&[], "seq 1 30000; read answer");
    assert_eq!((code, shown.lines().count()), (exit::INPUT, 30_000));
    let (code, shown, _) = exec(&[], "seq 1 30000");
    assert_eq!((code, shown.lines().count()), (exit::SUCCESS, 30_000));
}

#[test]
fn json_has_every_change_and_the_output_goes_to_standard_error() {
    let (code, changes, shown) = exec(&["--json"], "printf 'name: '; read name");
    assert_eq!((code, shown.as_str()), (exit::INPUT, "name: "));
    let lines: Vec<Line> = changes.lines().map(parsed).collect();
    let last = lines.last().unwrap();
    assert_eq!((last.state, last.exact), (StateName::Input, true));
    let input = last.input.as_ref().unwrap();
    assert_eq!((input.kind, input.prompt.as_deref()), (Kind::Line, Some("name: ")));
    assert_eq!(last.tty.as_deref(), Some(input.reader.as_ref().unwrap().tty.as_str()));
    assert!(lines.windows(2).all(|pair| pair[1].seq == pair[0].seq + 1 && pair[0].t <= pair[1].t));
}

#[test]
fn without_the_kernel_it_guesses_and_says_so() {
    let (code, _, said) =
        exec(&["--hide", "syscall,fd"], "printf 'Password: '; stty -echo; read x");
    assert_eq!(code, exit::INPUT, "{said}");
    assert!(said.contains("(secret)") && said.contains("[a guess, "), "{said}");
    let (_, changes, _) =
        exec(&["--json", "--engine", "heuristic"], "printf 'Password: '; stty -echo; read x");
    let last = parsed(changes.lines().last().unwrap());
    assert!(!last.exact && last.confidence < 1.0, "{changes}");
}

#[test]
fn the_window_is_as_asked_for() {
    assert_eq!(exec(&["--size", "7x33"], "stty size").1, "7 33\r\n");
    assert_eq!(exec(&[], "stty size").1, "24 80\r\n", "there is no window of a user here");
}

#[test]
fn queries_are_answered_and_not_shown() {
    let script = "stty -icanon -echo min 6; printf 'ab\\033[6n'; dd bs=6 count=1 2>/dev/null | tr -d '\\033'";
    assert_eq!(exec(&[], script), (0, "ab[1;3R".to_owned(), "awaitty: ended: code 0\n".to_owned()));
}

#[test]
fn the_limit_of_descriptors_is_the_users() {
    let soft = getrlimit(Resource::RLIMIT_NOFILE).unwrap().0;
    assert_eq!(exec(&[], "ulimit -n").1, format!("{soft}\r\n"));
}

/// A shell that shrugs off a hang-up, and a child of its; both print their numbers. The child is live,
/// so this does not count as waiting.
const STUBBORN: &str = "trap '' HUP; sleep 1000 & echo $$; echo $!; read answer";

fn numbers(shown: &str) -> Vec<i32> {
    shown.lines().map(|line| line.trim().parse().unwrap()).collect()
}

#[test]
fn nothing_is_left_behind() {
    let (code, shown, _) = exec(&["--timeout", "500ms"], STUBBORN);
    assert_eq!((code, numbers(&shown).len()), (exit::TIMED_OUT, 2));
    numbers(&shown).into_iter().for_each(assert_ends);
}

#[test]
fn nor_is_a_child_in_a_session_of_its_own() {
    let (code, shown, _) =
        exec(&["--timeout", "500ms"], "setsid -w sh -c 'echo $$; exec sleep 1000'");
    assert_eq!(code, exit::TIMED_OUT);
    let [child] = numbers(&shown)[..] else { panic!("{shown}") };
    assert_ends(child);
}

#[test]
fn unless_asked_to() {
    let (code, shown, _) = exec(&["--leave", "--timeout", "500ms"], STUBBORN);
    assert_eq!(code, exit::TIMED_OUT);
    let [shell, child] = numbers(&shown)[..] else { panic!("{shown}") };
    // The shell's read of a terminal that was hung up is at its end.
    assert_ends(shell);
    assert_lives(child);
    kill(Pid::from_raw(child), Signal::SIGKILL).unwrap();
}

#[test]
fn a_signal_ends_the_command_too() {
    for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP] {
        let script = format!("{STUBBORN} < /dev/null; exec sleep 1000");
        let mut child = awaitty(&["exec", "--", "sh", "-c", &script])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let shown = lines(child.stdout.take().unwrap());
        let pids = [line(&shown), line(&shown)].map(|pid| pid.trim().parse().unwrap());
        kill(Pid::from_raw(child.id().cast_signed()), signal).unwrap();
        assert_eq!(child.wait().unwrap().signal(), Some(signal as i32));
        pids.into_iter().for_each(assert_ends);
    }
}

#[test]
fn a_closed_stdout_is_a_quiet_success() {
    let mut child = awaitty(&["exec", "--", "sh", "-c", "echo $$; exec yes"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut first).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), text(&output.stderr).as_str()), (Some(0), ""));
    assert_ends(first.trim().parse().unwrap());
}
