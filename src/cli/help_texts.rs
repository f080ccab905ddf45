//! `awaitty help-texts`: the long help of every subcommand in Markdown, for `docs/cli.md`.

use std::fmt::Write;

use clap::CommandFactory;

/// The text of the file. It does not depend on the width of anybody's terminal.
#[must_use]
pub fn markdown() -> String {
    let mut program = super::Cli::command().term_width(100);
    program.build();
    let mut text = String::from("# The commands\n\nWritten by `awaitty help-texts`.\n");
    section(&mut text, &program);
    for command in program.get_subcommands().filter(|command| !command.is_hide_set()) {
        section(&mut text, command);
    }
    text
}

fn section(text: &mut String, command: &clap::Command) {
    let name = command.get_bin_name().unwrap_or_else(|| command.get_name()).to_owned();
    let help = command.clone().term_width(100).render_long_help().to_string();
    let help: Vec<&str> = help.lines().map(str::trim_end).collect();
    // Writing to a String does not fail.
    let _ = write!(text, "\n## {name}\n\n```text\n{}\n```\n", help.join("\n").trim_end());
}
