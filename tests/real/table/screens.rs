//! Programs that draw the whole screen, and pagers.

use awaitty::verdict::WaitingOn::{Child, Cpu, Timer};

use crate::situation::{Situation, exited, key, line, running, screen, situation, types};

const LONG: &str = include_str!("../table/screens.rs");
const MANUAL: &str = ".TH TEST 1\n.SH NAME\ntest \\- a test\n.SH DESCRIPTION\nText.\n";
const FILE: &[(&str, &str)] = &[("file", LONG)];

pub(super) const TABLE: &[Situation] = &[
    situation(
        "vim",
        &["vim", "-u", "NONE", "file"],
        &[
            screen().reader("vim").asks_terminal().step(),
            types(":"),
            screen().reader("vim").step(),
            types("q\r"),
            exited(0),
        ],
    )
    .files(FILE),
    situation(
        "vim-shell",
        &["vim", "-u", "NONE"],
        &[
            screen().reader("vim").asks_terminal().step(),
            types(":!cat\r"),
            // vim asks for its child's end every few milliseconds: a habit.
            line().reader("cat").guessed().step(),
            types("\x04"),
            key().reader("vim").step(),
        ],
    ),
    situation(
        "vim-insert",
        &["vim", "-u", "NONE"],
        &[
            screen().reader("vim").asks_terminal().step(),
            types("itext"),
            screen().reader("vim").step(),
        ],
    ),
    situation(
        "nano",
        &["nano", "--ignorercfiles", "file"],
        &[
            screen().reader("nano").asks_terminal().step(),
            types("x\x18"),
            screen().reader("nano").step(),
            types("n"),
            exited(0),
        ],
    )
    .files(FILE),
    situation(
        "less",
        &["less", "file"],
        &[
            screen().reader("less").step(),
            types(" "),
            screen().reader("less").step(),
            types("q"),
            exited(0),
        ],
    )
    .files(FILE),
    situation(
        "less-pipe",
        &["bash", "-c", "cat file | less"],
        &[screen().reader("less").step(), types("q"), exited(0)],
    )
    .needs(&["less"])
    .files(FILE),
    situation(
        "less-follow",
        &["less", "+F", "file"],
        &[running(&[Timer, Cpu]), types("\x03"), screen().reader("less").step()],
    )
    .files(FILE),
    situation(
        "more",
        &["more", "file"],
        &[key().prompt("--More--").reader("more").step(), types("q"), exited(0)],
    )
    .files(FILE),
    situation(
        "man",
        &["man", "-P", "less", "./test.1"],
        &[screen().reader("less").step(), types("q"), exited(0)],
    )
    .needs(&["less"])
    .files(&[("test.1", MANUAL)]),
    situation("top", &["top"], &[screen().reader("top").step(), types("q"), exited(0)]),
    situation("htop", &["htop"], &[screen().reader("htop").step(), types("q"), exited(0)]),
    situation(
        "whiptail",
        &["whiptail", "--yesno", "Continue?", "10", "40"],
        &[screen().reader("whiptail").step(), types("\t\r"), exited(1)],
    ),
    situation("watch", &["watch", "-n", "1", "date"], &[running(&[Timer, Cpu, Child])]),
];
