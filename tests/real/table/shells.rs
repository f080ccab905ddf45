//! Shells at their prompts, and what is typed there.

use awaitty::verdict::WaitingOn::{Child, Timer};

use crate::situation::{Situation, Step, exited, line, prints, prompt, running, situation, types};

pub(super) const BASH: &[&str] = &["bash", "--noprofile", "--norc"];
pub(super) const DASH: &[&str] = &["dash", "-i"];
pub(super) const ZSH: &[&str] = &["zsh", "-f"];
pub(super) const FISH: &[&str] = &["fish", "--no-config"];

pub(super) const BASH_PROMPT: Step = prompt().prompt("$ ").reader("bash").step();
pub(super) const ZSH_PROMPT: Step = prompt().prompt("$ ").reader("zsh").step();
/// It has no line editor, so its prompt and its `read` are the same to the kernel.
pub(super) const DASH_PROMPT: Step = prompt().prompt("$ ").reader("dash").guessed().step();
pub(super) const FISH_PROMPT: Step = prompt().reader("fish").step();

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
