use super::*;
use crate::verdict::{By, IdleReason, StateName, StopReason, WaitingOn};

fn plain(state: State, exact: bool) -> String {
    let confidence = if exact { 1.0 } else { 0.7 };
    let verdict = Verdict {
        state,
        exact,
        by: if exact { By::Proc } else { By::Heuristic },
        confidence,
        evidence: Vec::new(),
        job: Vec::new(),
    };
    anstream::adapter::strip_str(&Text(&verdict).to_string()).to_string()
}

fn input(kind: Kind, prompt: Option<&str>) -> Input {
    Input {
        kind,
        prompt: prompt.map(str::to_owned),
        exclusive: true,
        timeout: None,
        reader: Some(Reader {
            pid: 812,
            tid: 812,
            comm: "apt-get".to_owned(),
            call: "read".to_owned(),
            fd: 0,
            tty: "/dev/pts/3".to_owned(),
        }),
        writers: Vec::new(),
    }
}

fn party(pid: i32, comm: &str) -> Party {
    Party { pid, comm: comm.to_owned() }
}

#[test]
fn waits_for_input() {
    assert_eq!(
        plain(State::Input(input(Kind::Line, Some("Continue? [Y/n] "))), true),
        "waits for input (line): \"Continue? [Y/n] \" – apt-get (812) read 0 </dev/pts/3>"
    );
    let several = Input { exclusive: false, timeout: Some(60.0), ..input(Kind::Key, None) };
    assert_eq!(
        plain(State::Input(several), true),
        "waits for input (key) – apt-get (812) read 0 </dev/pts/3>, one of several readers, \
         for 60 s at the most"
    );
    let pipe = Input { writers: vec![party(77, "agent")], ..input(Kind::Pipe, None) };
    assert!(plain(State::Input(pipe), true).ends_with(", held open by agent (77)"));
    let guess = Input { reader: None, ..input(Kind::Secret, Some("Password: ")) };
    assert_eq!(
        plain(State::Input(guess), false),
        "waits for input (secret): \"Password: \" [a guess, 0.70]"
    );
}

#[test]
fn at_a_prompt() {
    let prompt = |kind| Input { reader: None, ..input(kind, Some("$ ")) };
    assert_eq!(plain(State::Prompt(prompt(Kind::Command)), true), "at the prompt: \"$ \"");
    assert_eq!(
        plain(State::Prompt(prompt(Kind::Continuation)), true),
        "at the secondary prompt: \"$ \""
    );
}

#[test]
fn moves_or_stands() {
    let busy =
        Running { waiting_on: WaitingOn::Cpu, accepts_input: true, task: Some(party(99, "cc1")) };
    assert_eq!(plain(State::Running(busy), true), "busy: cpu – cc1 (99), takes input all the same");
    let server = Idle {
        reason: IdleReason::Server,
        listening: vec!["127.0.0.1:8000".to_owned()],
        cycle: Vec::new(),
    };
    assert_eq!(plain(State::Idle(server), true), "idle: server, listening on 127.0.0.1:8000");
    let deadlock = Idle {
        reason: IdleReason::Deadlock,
        listening: Vec::new(),
        cycle: vec![party(1, "a"), party(2, "b")],
    };
    assert_eq!(plain(State::Idle(deadlock), true), "idle: deadlock – a (1) → b (2) → a (1)");
    let stop = Stopped { reason: StopReason::TerminalInput, tracer: None };
    assert_eq!(plain(State::Stopped(stop), true), "stopped: terminal input");
}

#[test]
fn ends() {
    let ended = |code, signal| plain(State::Exited(Exited { code, signal }), true);
    assert_eq!(ended(Some(3), None), "ended: code 3");
    assert_eq!(ended(None, Some(9)), "ended: signal 9 (SIGKILL)");
    assert_eq!(ended(None, Some(40)), "ended: signal 40");
}

#[test]
fn is_not_known() {
    let unknown = Unknown { guess: Some(StateName::Input), why: "sudo (5): no permission".into() };
    assert_eq!(
        plain(State::Unknown(unknown), false),
        "unknown: sudo (5): no permission; likely input [a guess, 0.70]"
    );
}

#[test]
fn controls_do_not_reach_the_reader() {
    let hostile = "\x1b]0;x\x07\u{9b}2J\u{202e}\"\r\nä";
    assert_eq!(Escaped(hostile).to_string(), "\\u{1b}]0;x\\u{7}\\u{9b}2J\\u{202e}\\\"\\r\\nä");
}
