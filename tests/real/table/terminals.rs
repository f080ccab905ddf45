//! Terminals within the terminal.

use awaitty::verdict::IdleReason;
use awaitty::verdict::WaitingOn::Timer;

use crate::expect::Expect::Idle;
use crate::situation::{
    Situation, Step, exited, line, prompt, running, screen, secret, situation, state, types,
};

const CAT: Step = line().reader("cat").step();
const TMUX: &[(&str, &str)] = &[("TMUX_TMPDIR", ".")];
const SCREEN: &[(&str, &str)] = &[("SCREENDIR", "screens")];

pub(super) const TABLE: &[Situation] = &[
    situation("script", &["script", "-qc", "cat", "/dev/null"], &[CAT, types("\x04"), exited(0)]),
    situation("script-sleep", &["script", "-qc", "sleep 100", "/dev/null"], &[running(&[Timer])]),
    situation(
        "script-secret",
        &["script", "-qc", "bash -c 'read -s -p Word: x'", "/dev/null"],
        &[secret().prompt("Word:").reader("bash").step(), types("x\n"), exited(0)],
    ),
    situation(
        "script-bash",
        &["script", "-qc", "bash --noprofile --norc", "/dev/null"],
        &[
            prompt().prompt("$ ").reader("bash").step(),
            types("cat\n"),
            CAT,
            types("\x04"),
            prompt().reader("bash").step(),
        ],
    ),
    situation(
        "script-script",
        &["script", "-qc", "script -qc cat /dev/null", "/dev/null"],
        &[CAT, types("\x04"), exited(0)],
    ),
    situation(
        "script-vim",
        &["script", "-qc", "vim -u NONE", "/dev/null"],
        &[screen().reader("vim").asks_terminal().step()],
    )
    .needs(&["vim"]),
    situation(
        "expect-timeout",
        &["expect", "-c", "set timeout 100; spawn cat; expect never"],
        &[running(&[Timer])],
    ),
    situation(
        "expect-for-ever",
        &["expect", "-c", "set timeout -1; spawn cat; expect never"],
        &[state(Idle(IdleReason::Deadlock))],
    ),
    situation(
        "expect-sleep",
        &["expect", "-c", "set timeout -1; spawn sleep 100; expect never"],
        &[running(&[Timer])],
    ),
    situation(
        "expect-interact",
        &["expect", "-c", "spawn cat; interact"],
        &[CAT, types("\x04"), exited(0)],
    ),
    situation(
        "expect-interact-sleep",
        &["expect", "-c", "spawn sleep 100; interact"],
        &[running(&[Timer])],
    ),
    situation(
        "expect-user",
        &["expect", "-c", "set timeout -1; send_user 'Name?'; expect_user -re .+"],
        &[line().prompt("Name?").reader("expect").step(), types("x\n"), exited(0)],
    ),
    situation(
        "expect-prompt",
        &["expect"],
        &[line().prompt("expect1.1> ").reader("expect").step()],
    ),
    situation(
        "tmux",
        &["tmux", "-f", "/dev/null", "new", "cat"],
        &[line().reader("cat").asks_terminal().step(), types("\x04"), exited(0)],
    )
    .env(TMUX),
    situation("tmux-sleep", &["tmux", "-f", "/dev/null", "new", "sleep 100"], &[running(&[Timer])])
        .env(TMUX),
    situation(
        "tmux-bash",
        &["tmux", "-f", "/dev/null", "new", "bash --noprofile --norc"],
        &[prompt().reader("bash").asks_terminal().step(), types("cat\n"), CAT],
    )
    .env(TMUX),
    situation(
        "screen",
        &["screen", "-c", "/dev/null", "cat"],
        &[line().reader("cat").asks_terminal().step(), types("\x04"), exited(0)],
    )
    .env(SCREEN),
    situation("screen-sleep", &["screen", "-c", "/dev/null", "sleep", "100"], &[running(&[Timer])])
        .env(SCREEN),
];
