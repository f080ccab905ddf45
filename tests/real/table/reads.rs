//! Shells that read something else than a command: the rest of one, or for one.

use super::shells::{BASH, BASH_PROMPT, DASH, DASH_PROMPT, FISH, FISH_PROMPT, ZSH, ZSH_PROMPT};
use crate::situation::{Situation, continuation, key, line, secret, situation, types};

/// Marks as shells with integration emit them (OSC 133): around the prompts and before a command.
const MARKS: &[(&str, &str)] = &[
    ("PS1", r"\[\e]133;A\a\]$ \[\e]133;B\a\]"),
    ("PS2", r"\[\e]133;A;k=s\a\]> \[\e]133;B\a\]"),
    ("PS0", r"\e]133;C\a"),
];

pub(super) const TABLE: &[Situation] = &[
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
];
