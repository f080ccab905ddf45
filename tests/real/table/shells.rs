//! Shells at their prompts, and what is typed there.

use awaitty::verdict::WaitingOn::{Child, Timer};

use crate::situation::{
    Situation, Step, continuation, exited, key, line, prints, prompt, running, secret, situation,
    types,
};

const BASH: &[&str] = &["bash", "--noprofile", "--norc"];
const DASH: &[&str] = &["dash", "-i"];
const ZSH: &[&str] = &["zsh", "-f"];
const FISH: &[&str] = &["fish", "--no-config"];

const BASH_PROMPT: Step = prompt().prompt("$ ").reader("bash").step();
const ZSH_PROMPT: Step = prompt().prompt("$ ").reader("zsh").step();
/// It has no line editor, so its prompt and its `read` are the same to the kernel.
const DASH_PROMPT: Step = prompt().prompt("$ ").reader("dash").guessed().step();
const FISH_PROMPT: Step = prompt().reader("fish").step();

/// Marks as shells with integration emit them (OSC 133): around the prompts and before a command.
const MARKS: &[(&str, &str)] = &[
    ("PS1", r"\[\e]133;A\a\]$ \[\e]133;B\a\]"),
    ("PS2", r"\[\e]133;A;k=s\a\]> \[\e]133;B\a\]"),
    ("PS0", r"\e]133;C\a"),
];

pub(super) const TABLE: &[Situation] = &[
    // Prompts
    situation(
        "bash",
        BASH,
        &[BASH_PROMPT, types("true\n"), BASH_PROMPT, types("exit 7\n"), exited(7)],
    ),
    situation(
        "dash",
        DASH,
        &[DASH_PROMPT, types("true\n"), DASH_PROMPT, types("exit 7\n"), exited(7)],
    ),
    situation("zsh", ZSH, &[ZSH_PROMPT, types("true\n"), ZSH_PROMPT, types("exit 7\n"), exited(7)]),
    situation(
        "fish",
        FISH,
        &[FISH_PROMPT, types("true\n"), FISH_PROMPT, types("exit 7\n"), exited(7)],
    ),
    situation(
        "bash-typing",
        BASH,
        &[BASH_PROMPT, types("ech"), prompt().prompt("$ ech").reader("bash").step()],
    ),
    situation(
        "bash-in-bash",
        BASH,
        &[
            BASH_PROMPT,
            types("PS1='inner$ ' bash --noprofile --norc\n"),
            prompt().prompt("inner$ ").reader("bash").step(),
            types("exit\n"),
            prompt().prompt("$ ").reader("bash").step(),
        ],
    ),
    // Commands at a prompt
    situation(
        "bash-sleep",
        BASH,
        &[BASH_PROMPT, types("sleep 100\n"), running(&[Timer]), types("\x03"), BASH_PROMPT],
    ),
    situation(
        "dash-sleep",
        DASH,
        &[DASH_PROMPT, types("sleep 100\n"), running(&[Timer]), types("\x03"), DASH_PROMPT],
    ),
    situation(
        "zsh-sleep",
        ZSH,
        &[ZSH_PROMPT, types("sleep 100\n"), running(&[Timer]), types("\x03"), ZSH_PROMPT],
    ),
    situation(
        "fish-sleep",
        FISH,
        &[FISH_PROMPT, types("sleep 100\n"), running(&[Timer]), types("\x03"), FISH_PROMPT],
    ),
    situation(
        "bash-cat",
        BASH,
        &[BASH_PROMPT, types("cat\n"), line().reader("cat").step(), types("\x04"), BASH_PROMPT],
    ),
    situation(
        "bash-pipeline",
        BASH,
        &[
            BASH_PROMPT,
            types("cat | tail -1\n"),
            line().reader("cat").step(),
            types("\x04"),
            BASH_PROMPT,
        ],
    ),
    situation(
        "bash-subshell-read",
        BASH,
        &[
            BASH_PROMPT,
            types("(read x)\n"),
            line().reader("bash").step(),
            types("x\n"),
            BASH_PROMPT,
        ],
    ),
    situation(
        "bash-wait",
        BASH,
        &[
            BASH_PROMPT,
            types("sleep 100 & wait\n"),
            running(&[Timer, Child]),
            types("\x03"),
            BASH_PROMPT,
        ],
    ),
    situation(
        "bash-select",
        BASH,
        &[
            BASH_PROMPT,
            types("select x in one two; do break; done\n"),
            line().prompt("#? ").reader("bash").step(),
            types("1\n"),
            BASH_PROMPT,
        ],
    ),
    situation(
        "bash-timeout",
        BASH,
        &[
            BASH_PROMPT,
            types("timeout 100 cat\n"),
            line().reader("cat").step(),
            types("\x03"),
            BASH_PROMPT,
        ],
    ),
    // Jobs
    situation("bash-background", BASH, &[BASH_PROMPT, types("sleep 100 &\n"), BASH_PROMPT]),
    situation("zsh-background", ZSH, &[ZSH_PROMPT, types("sleep 100 &\n"), ZSH_PROMPT]),
    situation("fish-background", FISH, &[FISH_PROMPT, types("sleep 100 &\n"), FISH_PROMPT]),
    situation("bash-background-reader", BASH, &[BASH_PROMPT, types("cat &\n"), BASH_PROMPT]),
    situation(
        "bash-background-busy",
        BASH,
        &[BASH_PROMPT, types("while :; do :; done &\n"), BASH_PROMPT],
    ),
    situation(
        "bash-stopped",
        BASH,
        &[
            BASH_PROMPT,
            types("sleep 100\n"),
            running(&[Timer]),
            types("\x1a"),
            BASH_PROMPT,
            types("fg\n"),
            running(&[Timer]),
        ],
    ),
    situation(
        "bash-stopped-reader",
        BASH,
        &[
            BASH_PROMPT,
            types("cat\n"),
            line().reader("cat").step(),
            types("\x1a"),
            BASH_PROMPT,
            types("fg\n"),
            line().reader("cat").step(),
        ],
    ),
    // The rest of a command. The kernel sees a prompt; its text tells.
    situation(
        "bash-quote",
        BASH,
        &[
            BASH_PROMPT,
            types("echo 'open\n"),
            continuation().guessed().prompt("> ").step(),
            types("'\n"),
            BASH_PROMPT,
        ],
    ),
    situation(
        "bash-heredoc",
        BASH,
        &[
            BASH_PROMPT,
            types("cat <<X\n"),
            continuation().guessed().prompt("> ").step(),
            types("X\n"),
            BASH_PROMPT,
        ],
    ),
    situation(
        "zsh-quote",
        ZSH,
        &[
            ZSH_PROMPT,
            types("echo 'open\n"),
            continuation().guessed().prompt("quote> ").step(),
            types("'\n"),
            ZSH_PROMPT,
        ],
    ),
    situation(
        "zsh-heredoc",
        ZSH,
        &[
            ZSH_PROMPT,
            types("cat <<X\n"),
            continuation().guessed().prompt("heredoc> ").step(),
            types("X\n"),
            ZSH_PROMPT,
        ],
    ),
    situation(
        "dash-quote",
        DASH,
        &[
            DASH_PROMPT,
            types("echo 'open\n"),
            continuation().guessed().prompt("> ").step(),
            types("'\n"),
            DASH_PROMPT,
        ],
    ),
    situation(
        "dash-heredoc",
        DASH,
        &[
            DASH_PROMPT,
            types("cat <<X\n"),
            continuation().guessed().prompt("> ").step(),
            types("X\n"),
            DASH_PROMPT,
        ],
    ),
    situation(
        "fish-quote",
        FISH,
        &[FISH_PROMPT, types("echo 'open\n"), continuation().guessed().step()],
    ),
    // Marks settle it.
    situation("marks", BASH, &[BASH_PROMPT, types("true\n"), BASH_PROMPT]).env(MARKS),
    situation(
        "marks-quote",
        BASH,
        &[
            BASH_PROMPT,
            types("echo 'open\n"),
            continuation().prompt("> ").step(),
            types("'\n"),
            BASH_PROMPT,
        ],
    )
    .env(MARKS),
    situation(
        "marks-read-e",
        BASH,
        &[
            BASH_PROMPT,
            types("read -e -p 'Name$ ' x\n"),
            key().prompt("Name$ ").step(),
            types("x\n"),
            BASH_PROMPT,
        ],
    )
    .env(MARKS),
    // read, typed: the shell reads, and it is not at its prompt.
    situation(
        "bash-read",
        BASH,
        &[
            BASH_PROMPT,
            types("read -p 'Name? ' x\n"),
            line().prompt("Name? ").reader("bash").step(),
            types("x\n"),
            BASH_PROMPT,
        ],
    ),
    situation(
        "bash-read-bare",
        BASH,
        &[BASH_PROMPT, types("read x\n"), line().reader("bash").step(), types("x\n"), BASH_PROMPT],
    ),
    situation(
        "bash-read-s",
        BASH,
        &[
            BASH_PROMPT,
            types("read -s -p 'Word: ' x\n"),
            secret().prompt("Word: ").reader("bash").step(),
            types("x\n"),
            BASH_PROMPT,
        ],
    ),
    situation(
        "bash-read-n1",
        BASH,
        &[
            BASH_PROMPT,
            types("read -n1 -p 'Key: ' x\n"),
            key().prompt("Key: ").reader("bash").step(),
            types("x"),
            BASH_PROMPT,
        ],
    ),
    situation(
        "bash-read-t",
        BASH,
        &[
            BASH_PROMPT,
            types("read -t 60 -p 'Name? ' x\n"),
            line().prompt("Name? ").reader("bash").step(),
            types("x\n"),
            BASH_PROMPT,
        ],
    ),
    situation(
        "bash-read-e",
        BASH,
        &[
            BASH_PROMPT,
            types("read -e -p 'Name? ' x\n"),
            key().guessed().prompt("Name? ").reader("bash").step(),
            types("x\n"),
            BASH_PROMPT,
        ],
    ),
    situation(
        "zsh-read",
        ZSH,
        &[
            ZSH_PROMPT,
            types("read 'x?Name? '\n"),
            line().prompt("Name? ").reader("zsh").step(),
            types("x\n"),
            ZSH_PROMPT,
        ],
    ),
    situation(
        "zsh-read-s",
        ZSH,
        &[
            ZSH_PROMPT,
            types("read -s 'x?Word: '\n"),
            secret().prompt("Word: ").reader("zsh").step(),
            types("x\n"),
            ZSH_PROMPT,
        ],
    ),
    situation(
        "zsh-read-k",
        ZSH,
        &[
            ZSH_PROMPT,
            types("read -k 1 'x?Key: '\n"),
            key().prompt("Key: ").reader("zsh").step(),
            types("x"),
            ZSH_PROMPT,
        ],
    ),
    situation(
        "zsh-read-t",
        ZSH,
        &[
            ZSH_PROMPT,
            types("read -t 60 'x?Name? '\n"),
            line().prompt("Name? ").reader("zsh").step(),
            types("x\n"),
            ZSH_PROMPT,
        ],
    ),
    situation(
        "zsh-vared",
        ZSH,
        &[
            ZSH_PROMPT,
            types("vared -c -p 'Name? ' x\n"),
            key().guessed().prompt("Name? ").reader("zsh").step(),
            types("x\n"),
            ZSH_PROMPT,
        ],
    ),
    situation(
        "dash-read",
        DASH,
        &[
            DASH_PROMPT,
            types("read -p 'Name? ' x\n"),
            line().guessed().prompt("Name? ").reader("dash").step(),
            types("x\n"),
            DASH_PROMPT,
        ],
    ),
    situation(
        "fish-read",
        FISH,
        &[
            FISH_PROMPT,
            types("read -P 'Name? ' x\n"),
            key().guessed().prompt("Name? ").reader("fish").step(),
            types("x\n"),
            FISH_PROMPT,
        ],
    ),
    // It looks like a prompt, and work follows.
    situation(
        "bash-prompt-like",
        BASH,
        &[
            BASH_PROMPT,
            types("printf '%s ' Continue?; sleep 100\n"),
            prints("Continue? "),
            running(&[Timer]),
            types("\x03"),
            BASH_PROMPT,
        ],
    ),
    situation(
        "bash-fake-prompt",
        BASH,
        &[
            BASH_PROMPT,
            types("printf '\\n$ '; sleep 100\n"),
            running(&[Timer]),
            types("\x03"),
            BASH_PROMPT,
        ],
    ),
];
