//! The tracer as an embedding program has it, and `awaitty trace` as its user sees it.
#![cfg(feature = "cli")]
#![allow(clippy::unwrap_used, clippy::expect_used)]

#[path = "common/cli.rs"]
mod cli;

use std::ffi::CString;
use std::fs;
use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use awaitty::observe::{Object, Source};
use awaitty::pty::{Pty, Size};
use awaitty::trace::{Event, Options, Trace, TraceError, What};
use cli::{DEADLINE, Window, assert_ends, line, lines, program, text};
use crossbeam_channel::Receiver;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;
use serde_json::Value;

/// Every wait is told.
const ALL: Options = Options { lifecycle: false, longer: Duration::ZERO };
const LIFECYCLE: Options = Options { lifecycle: true, longer: Duration::ZERO };

fn trace(command: &[&str], options: Options) -> Trace {
    let command: Vec<CString> = command.iter().map(|word| CString::new(*word).unwrap()).collect();
    Trace::command(&command, None, options).unwrap()
}

/// The events to the end.
fn events(trace: &Trace) -> Vec<Event> {
    let mut events = Vec::new();
    let deadline = Instant::now() + DEADLINE;
    while let Ok(event) = trace.events().recv_deadline(deadline) {
        events.push(event);
    }
    assert!(Instant::now() < deadline, "no end after {events:#?}");
    events
}

fn event_where(trace: &Trace, fits: impl Fn(&Event) -> bool) -> Event {
    let deadline = Instant::now() + DEADLINE;
    loop {
        let event = trace.events().recv_deadline(deadline).expect("the event");
        if fits(&event) {
            return event;
        }
    }
}

fn end(events: &[Event], pid: i32) -> (Option<i32>, Option<i32>) {
    let mut ends = events.iter().filter(|event| event.pid == pid);
    ends.find_map(|event| match event.what {
        What::Exit { code, signal } => Some((code, signal)),
        _ => None,
    })
    .expect("an end")
}

fn scratch(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("awaitty-trace-{name}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&path);
    fs::create_dir(&path).unwrap();
    path
}

/// A child of ours that reads its standard input, by the line that says so.
fn reader() -> Child {
    let mut command = Command::new("sh");
    command.args(["-c", "echo ready; read a; echo got $a"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut ready = [0; 6];
    child.stdout.as_mut().unwrap().read_exact(&mut ready).unwrap();
    child
}

/// The same, by a child of a child of ours: that one's number.
fn distant_reader() -> (Child, i32) {
    let mut command = Command::new("sh");
    command.args(["-c", "sh -c 'echo $$; read a; echo got $a'; true"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let (mut number, mut byte) = (String::new(), [0]);
    while byte != *b"\n" {
        child.stdout.as_mut().unwrap().read_exact(&mut byte).unwrap();
        number.push(char::from(byte[0]));
    }
    (child, number.trim().parse().unwrap())
}

fn feed(mut child: Child) -> String {
    child.stdin.take().unwrap().write_all(b"food\n").unwrap();
    let mut rest = String::new();
    child.stdout.take().unwrap().read_to_string(&mut rest).unwrap();
    assert!(child.wait().unwrap().success());
    rest
}

#[test]
fn processes_and_their_ends() {
    for options in [ALL, LIFECYCLE] {
        let trace = trace(&["sh", "-c", "(exit 3); sh -c 'kill -9 $$'; exit 5"], options);
        let pid = trace.pid();
        let seen = events(&trace);
        assert_eq!(end(&seen, pid), (Some(5), None));
        let mut others: Vec<_> =
            seen.iter().map(|event| event.pid).filter(|at| *at != pid).collect();
        others.dedup();
        let ends: Vec<_> = others.iter().map(|pid| end(&seen, *pid)).collect();
        assert!(ends.contains(&(Some(3), None)) && ends.contains(&(None, Some(9))), "{ends:?}");
        let executed = |event: &&Event| matches!(event.what, What::Exec { .. });
        assert_eq!(seen.iter().filter(executed).count(), 2);
    }
}

#[test]
fn a_killed_tracee_ends_the_trace() {
    let trace = trace(&["sleep", "1000"], ALL);
    event_where(&trace, |event| matches!(event.what, What::Exec { .. }));
    kill(Pid::from_raw(trace.pid()), Signal::SIGKILL).unwrap();
    assert_eq!(end(&events(&trace), trace.pid()), (None, Some(9)));
}

#[test]
fn a_program_that_is_not_there() {
    let trace = trace(&["/no such program"], ALL);
    let seen = events(&trace);
    let missing = |event: &Event| event.what == What::NotExecuted(nix::errno::Errno::ENOENT);
    assert!(seen.iter().any(missing), "{seen:?}");
}

#[test]
#[ignore = "the program of the test below"]
fn executes_from_a_thread() {
    // Tests do not run on the first thread.
    panic!("{}", Command::new("true").exec());
}

#[test]
fn an_exec_by_another_thread() {
    let own = std::env::current_exe().unwrap();
    let own = own.to_str().unwrap();
    let trace = trace(&[own, "--exact", "executes_from_a_thread", "--ignored"], ALL);
    let seen = events(&trace);
    let by_thread = |event: &Event| matches!(&event.what, What::Exec { cmdline, by } if *by != event.pid && cmdline == &["true"]);
    assert!(seen.iter().any(by_thread), "{seen:?}");
    assert_eq!(end(&seen, trace.pid()), (Some(0), None));
}

#[test]
fn a_vfork_is_a_wait_for_the_child() {
    let trace = trace(&[program(), "probe", "vfork-sleep"], ALL);
    let child = event_where(&trace, |event| {
        matches!(event.what, What::Start { .. }) && event.pid != trace.pid()
    });
    kill(Pid::from_raw(child.pid), Signal::SIGKILL).unwrap();
    let waited = event_where(&trace, |event| {
        matches!(&event.what, What::Waited { wait, .. } if wait.call.contains("vfork")
            || wait.call.starts_with("clone"))
    });
    assert_eq!(waited.pid, trace.pid());
}

#[test]
fn a_32_bit_program_reads() {
    let directory = scratch("i386");
    if let Ok(probe) = awaitty_probes::i386::build(&directory) {
        let script = format!("echo | {}", probe.display());
        let trace = trace(&["sh", "-c", &script], ALL);
        let seen = events(&trace);
        let executed = |event: &&Event| matches!(&event.what, What::Exec { cmdline, .. } if cmdline == &[probe.to_str().unwrap()]);
        let pid = seen.iter().find(executed).expect("IA32 emulation").pid;
        let reads = |event: &Event| {
            matches!(&event.what, What::Waited { wait, .. } if wait.call == "read"
                && matches!(wait.sources[..], [Source::Object { fd: 0, object: Object::Pipe(_), .. }]))
        };
        assert!(seen.iter().any(|event| event.pid == pid && reads(event)), "{seen:#?}");
    }
    fs::remove_dir_all(directory).unwrap();
}

#[test]
fn attaching_and_letting_go_disturbs_nobody() {
    for _ in 0..20 {
        let (child, pid) = distant_reader();
        let trace = Trace::attach(pid, ALL).unwrap();
        drop(trace);
        assert_eq!(feed(child), "got food\n");
    }
}

#[test]
fn calls_that_an_interruption_breaks_are_left_alone() {
    let mut command = Command::new(program());
    command.args(["probe", "eintr"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let said = lines(child.stdout.take().unwrap());
    assert!(line(&said).starts_with("ready"));
    let pid = child.id().cast_signed();
    assert!(matches!(Trace::attach(pid, ALL), Err(TraceError::OwnChild(_))), "it is ours");
    let (mut tracer, told) = tracer(pid);
    while !line(&told).contains("untouched") {}
    child.stdin.take().unwrap().write_all(b"\n").unwrap();
    assert_eq!(line(&said), "eintr 0");
    child.wait().unwrap();
    tracer.wait().unwrap();
}

#[test]
fn children_of_the_embedding_program_are_its_own() {
    let busy = trace(&["sh", "-c", "while true; do (true); done"], ALL);
    for code in 0..20 {
        let exit = format!("exit {code}");
        let status = Command::new("sh").args(["-c", &exit]).status().unwrap();
        assert_eq!(status.code(), Some(code));
    }
    kill(Pid::from_raw(busy.pid()), Signal::SIGKILL).unwrap();
    assert_eq!(end(&events(&busy), busy.pid()), (None, Some(9)));
}

#[cfg(feature = "tokio")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn children_of_a_runtime_are_its_own() {
    let busy = trace(&["sh", "-c", "while true; do (true); done"], ALL);
    let ends = (0..20).map(|code| {
        let mut command = tokio::process::Command::new("sh");
        command.args(["-c", &format!("exit {code}")]);
        tokio::spawn(async move { (code, command.status().await.unwrap().code()) })
    });
    for end in ends.collect::<Vec<_>>() {
        let (code, told) = tokio::time::timeout(DEADLINE, end).await.unwrap().unwrap();
        assert_eq!(told, Some(code));
    }
    kill(Pid::from_raw(busy.pid()), Signal::SIGKILL).unwrap();
    assert_eq!(end(&events(&busy), busy.pid()), (None, Some(9)));
}

/// A tracer that is a process of its own, from when its trace has begun.
fn tracer(pid: i32) -> (Child, Receiver<String>) {
    let mut command = Command::new(program());
    command.args(["trace", "--json", "--pid", &pid.to_string()]).stderr(Stdio::piped());
    let mut tracer = command.spawn().unwrap();
    let told = lines(tracer.stderr.take().unwrap());
    assert!(line(&told).contains("\"attached\":true"));
    (tracer, told)
}

#[test]
fn a_killed_tracer_harms_nobody() {
    for _ in 0..20 {
        let child = reader();
        let (mut tracer, _told) = tracer(child.id().cast_signed());
        tracer.kill().unwrap();
        tracer.wait().unwrap();
        assert_eq!(feed(child), "got food\n");
    }
}

#[test]
fn job_control_works_under_a_trace() {
    let child = reader();
    let pid = Pid::from_raw(child.id().cast_signed());
    let (mut tracer, _told) = tracer(pid.as_raw());
    kill(pid, Signal::SIGSTOP).unwrap();
    let stopped = waitpid(pid, Some(WaitPidFlag::WUNTRACED)).unwrap();
    assert_eq!(stopped, WaitStatus::Stopped(pid, Signal::SIGSTOP));
    kill(pid, Signal::SIGCONT).unwrap();
    assert_eq!(waitpid(pid, Some(WaitPidFlag::WCONTINUED)).unwrap(), WaitStatus::Continued(pid));
    assert_eq!(feed(child), "got food\n");
    assert!(tracer.wait().unwrap().success(), "it ends with what it traces");
}

#[test]
fn a_process_has_one_tracer() {
    let (child, pid) = distant_reader();
    let trace = Trace::attach(pid, ALL).unwrap();
    let second =
        Command::new(program()).args(["trace", "--pid", &pid.to_string()]).output().unwrap();
    assert_eq!(second.status.code(), Some(125));
    let why = text(&second.stderr);
    let own = format!("process {pid} cannot be traced: process {} (", std::process::id());
    assert!(why.contains(&own) && why.contains("watch --pid"), "{why}");
    drop(trace);
    assert_eq!(feed(child), "got food\n");
}

#[test]
fn a_wait_on_the_terminal_has_a_begin_and_an_end() {
    let directory = scratch("terminal");
    let file = directory.join("trace");
    let mut command = Command::new(program());
    command.args(["trace", "--json", "-o", file.to_str().unwrap(), "--"]);
    command.args(["sh", "-c", "echo ready; read a; echo got $a; exit 4"]);
    let mut window = Window::new(Pty::spawn(command, Size::default()).unwrap());
    window.wait_for("ready");
    wait_for_event(&file, "waits");
    window.type_in("key\n");
    window.wait_for("got key");
    assert_ends(window.pty.pid());
    assert_eq!(window.pty.try_wait().unwrap().unwrap().code, Some(4));
    let lines = parsed(&file);
    let named = |name: &str| lines.iter().find(|line| line["event"] == name).expect("the event");
    let (waits, waited) = (named("waits"), named("waited"));
    assert_eq!((&waits["call"], &waits["pid"]), (&Value::from("read"), &waited["pid"]));
    assert_eq!(waits["wait"], format!("read 0 <{}>", window.pty.name()));
    let length = waited["t"].as_f64().unwrap() - waits["t"].as_f64().unwrap();
    assert!((length - waited["seconds"].as_f64().unwrap()).abs() < 1e-6);
    fs::remove_dir_all(directory).unwrap();
}

fn parsed(file: &Path) -> Vec<Value> {
    let text = fs::read_to_string(file).unwrap_or_default();
    text.lines().map_while(|line| serde_json::from_str(line).ok()).collect()
}

fn wait_for_event(file: &Path, name: &str) {
    let deadline = Instant::now() + DEADLINE;
    while !parsed(file).iter().any(|line| line["event"] == name) {
        assert!(Instant::now() < deadline, "no {name}");
        std::thread::yield_now();
    }
}

/// `awaitty trace -- COMMAND` as an ordinary user, who can execute it: its output and its trace.
fn as_user(directory: &Path, user: &str, command: &[&str]) -> (String, Vec<Value>) {
    let own = directory.join("awaitty");
    install(program(), &own, "755");
    let mut wrapped = Command::new("setpriv");
    wrapped.args([format!("--reuid={user}"), format!("--regid={user}")]);
    wrapped.args(["--clear-groups", "--"]).arg(own).args(["trace", "--json", "--"]);
    let output = wrapped.args(command).stdin(Stdio::null()).output().unwrap();
    let events = text(&output.stderr);
    (
        text(&output.stdout),
        events.lines().filter_map(|line| serde_json::from_str(line).ok()).collect(),
    )
}

/// By another process: a file that is open for writing, be it in a child that another test has just
/// forked, cannot be executed.
fn install(program: &str, path: &Path, mode: &str) {
    let status = Command::new("install").args(["-m", mode, program]).arg(path).status().unwrap();
    assert!(status.success());
}

fn was_let_go(events: &[Value]) -> bool {
    events.iter().any(|event| event["event"] == "let_go")
}

/// Only root can make set-id files and users.
fn is_root() -> bool {
    nix::unistd::geteuid().is_root()
}

#[test]
fn a_set_id_program_keeps_its_rights() {
    use std::os::unix::fs::PermissionsExt;
    if !is_root() {
        return;
    }
    let directory = scratch("set-id");
    fs::set_permissions(&directory, fs::Permissions::from_mode(0o755)).unwrap();
    let id = directory.join("id");
    install("/usr/bin/id", &id, "4755");
    let (said, events) = as_user(&directory, "65534", &[id.to_str().unwrap(), "-u"]);
    assert_eq!(said, "0\n");
    assert!(was_let_go(&events), "{events:?}");
    assert_eq!(events.last().unwrap()["code"], 0, "its end is told: {events:?}");

    // A program that gives nothing is traced.
    let (said, events) = as_user(&directory, "65534", &["/usr/bin/id", "-u"]);
    assert_eq!(said, "65534\n");
    assert!(!was_let_go(&events), "{events:?}");
    fs::remove_dir_all(directory).unwrap();
}

/// A user with a rule of sudo, for as long as this lives.
struct Sudoer {
    name: String,
    rules: PathBuf,
}

impl Sudoer {
    fn new() -> Sudoer {
        let name = format!("awaitty-t{}", std::process::id());
        let rules = PathBuf::from(format!("/etc/sudoers.d/{name}"));
        assert!(
            Command::new("useradd").args(["--no-create-home", &name]).status().unwrap().success()
        );
        let sudoer = Sudoer { name, rules };
        fs::write(&sudoer.rules, format!("{} ALL=(root) NOPASSWD: /usr/bin/id\n", sudoer.name))
            .unwrap();
        sudoer
    }
}

impl Drop for Sudoer {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.rules);
        let _ = Command::new("userdel").arg(&self.name).status();
    }
}

#[test]
fn sudo_works() {
    use std::os::unix::fs::PermissionsExt;
    if !is_root() || !Path::new("/etc/sudoers.d").is_dir() {
        return;
    }
    let directory = scratch("sudo");
    fs::set_permissions(&directory, fs::Permissions::from_mode(0o755)).unwrap();
    let sudoer = Sudoer::new();
    for command in [&["sudo", "-n", "id", "-u"][..], &["sh", "-c", "sudo -n id -u; exit 0"]] {
        let (said, events) = as_user(&directory, &sudoer.name, command);
        assert_eq!(said, "0\n");
        assert!(was_let_go(&events), "{events:?}");
    }
    drop(sudoer);
    fs::remove_dir_all(directory).unwrap();
}
