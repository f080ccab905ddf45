#![allow(clippy::unwrap_used, clippy::expect_used)]
use std::os::unix::fs::PermissionsExt;

use nix::fcntl::FdFlag;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::*;

/// The output until the terminal is hung up.
fn read_all(pty: &Pty) -> String {
    let mut output = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        match pty.read(&mut buffer) {
            Ok(0) => return String::from_utf8(output).unwrap(),
            Ok(length) => output.extend_from_slice(&buffer[..length]),
            Err(Errno::EAGAIN) => {
                let mut set = [PollFd::new(pty.as_fd(), PollFlags::POLLIN)];
                poll(&mut set, PollTimeout::NONE).unwrap();
            }
            Err(errno) => panic!("{errno}"),
        }
    }
}

/// Reads until `text` has come.
fn read_until(pty: &Pty, text: &str) -> String {
    let mut output = String::new();
    let mut buffer = [0; 4096];
    while !output.contains(text) {
        let mut set = [PollFd::new(pty.as_fd(), PollFlags::POLLIN)];
        poll(&mut set, PollTimeout::NONE).unwrap();
        let length = pty.read(&mut buffer).unwrap();
        assert_ne!(length, 0, "hung up after {output:?}");
        output.push_str(&String::from_utf8_lossy(&buffer[..length]));
    }
    output
}

fn ended(pid: Pid) {
    if let Ok(pidfd) = sys::pidfd::open(pid) {
        poll(&mut [PollFd::new(pidfd.as_fd(), PollFlags::POLLIN)], PollTimeout::NONE).unwrap();
    }
}

fn shell(script: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", script]);
    command
}

#[test]
fn the_program_leads_a_session_on_its_terminal() {
    let size = Size { rows: 7, cols: 33 };
    let pty =
        Pty::spawn(shell("tty; stty size; ps -o pid=,sid=,pgid=,tpgid= -p $$"), size).unwrap();
    let output = read_all(&pty);
    let mut lines = output.lines();
    assert_eq!(lines.next(), Some(pty.name()));
    assert_eq!(lines.next(), Some("7 33"));
    let pid = pty.pid().to_string();
    assert!(lines.next().unwrap().split_whitespace().all(|number| number == pid), "{output}");
    ended(pty.pid());
    assert_eq!(pty.try_wait(), Ok(Some(Exited { code: Some(0), signal: None })));
    assert_eq!(pty.try_wait(), Ok(Some(Exited { code: Some(0), signal: None })));
}

#[test]
fn no_descriptor_leaks_into_the_program() {
    let other = Pty::spawn(shell("read a"), Size::default()).unwrap();
    let pty = Pty::spawn(shell("exec ls -l /proc/self/fd"), Size::default()).unwrap();
    let output = read_all(&pty);
    // Only our own ends: what else this process has open is inherited as by any program.
    assert_eq!(output.matches(&format!("{}\r", pty.name())).count(), 3, "{output}");
    assert!(!output.contains(&format!("{}\r", other.name())), "{output}");
    let flags = FdFlag::from_bits_retain(fcntl(&other, FcntlArg::F_GETFD).unwrap());
    assert!(flags.contains(FdFlag::FD_CLOEXEC));
    assert_eq!(other.try_wait(), Ok(None));
}

#[test]
fn all_signals_are_at_their_defaults() {
    let pty = Pty::spawn(shell("exec cat /proc/self/status"), Size::default()).unwrap();
    let output = read_all(&pty);
    let set = |name: &str| {
        let line = output.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        u64::from_str_radix(line.trim(), 16).unwrap()
    };
    // The C library keeps signals 32 and 33 for itself and lets nobody set them.
    let own = 0b11 << 31;
    assert_eq!((set("SigBlk:") & !own, set("SigIgn:") & !own), (0, 0));
}

#[test]
fn a_failed_exec_is_an_error_with_its_errno() {
    let missing = Pty::spawn(Command::new("/nonexistent/program"), Size::default()).unwrap_err();
    assert!(matches!(missing, SpawnError::NotFound { .. }), "{missing}");
    assert_eq!(missing.to_string(), "cannot execute /nonexistent/program: not found");

    let denied = Pty::spawn(Command::new("/etc"), Size::default()).unwrap_err();
    assert_eq!(denied.errno(), Some(Errno::EACCES));

    let mut command = Command::new("true");
    command.current_dir("/nonexistent");
    let directory = Pty::spawn(command, Size::default()).unwrap_err();
    assert!(matches!(directory, SpawnError::Directory { .. }), "{directory}");

    let script = std::env::temp_dir().join(format!("awaitty-spawn-{}", std::process::id()));
    std::fs::write(&script, "\x7fELF, but no more").unwrap();
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o644)).unwrap();
    let denied = Pty::spawn(Command::new(&script), Size::default()).unwrap_err();
    std::fs::remove_file(&script).unwrap();
    assert!(matches!(denied, SpawnError::Denied { .. }), "{denied}");
}

#[test]
fn a_signal_is_told_even_if_it_is_a_realtime_one() {
    let pty = Pty::spawn(shell("kill -40 $$"), Size::default()).unwrap();
    ended(pty.pid());
    assert_eq!(pty.try_wait(), Ok(Some(Exited { code: None, signal: Some(40) })));
}

#[test]
fn typing_and_resizing_reach_the_program() {
    // dash's `read` fails when a trap interrupts it.
    let script = "trap 'stty size' WINCH; echo go; until read a; do :; done; echo got $a";
    let pty = Pty::spawn(shell(script), Size::default()).unwrap();
    read_until(&pty, "go");
    pty.resize(Size { rows: 9, cols: 99 }).unwrap();
    read_until(&pty, "9 99");
    pty.write(b"one\n").unwrap();
    read_until(&pty, "got one");
}

#[test]
fn the_whole_family_is_killed() {
    let script = "trap '' HUP; sleep 1000 & a=$!; (sleep 1001 & echo orphan $!); \
                  setsid sh -c 'trap \"\" HUP; echo inner $$; sleep 1002; :' & echo done $a; wait";
    let pty = Pty::spawn(shell(script), Size::default()).unwrap();
    let output = read_until(&pty, "inner") + &read_until_quiet(&pty);
    let mut pids: Vec<Pid> = vec![pty.pid()];
    pids.extend(output.split_whitespace().filter_map(|word| word.parse::<Pid>().ok()));
    assert_eq!(pids.len(), 4, "{output}");
    drop(pty);
    pids.into_iter().for_each(ended);
}

fn read_until_quiet(pty: &Pty) -> String {
    let mut output = String::new();
    let mut buffer = [0; 4096];
    while let Ok(length @ 1..) = pty.read(&mut buffer) {
        output.push_str(&String::from_utf8_lossy(&buffer[..length]));
    }
    output
}
