//! The `awaitty` program: one file a subcommand.

pub mod doctor;
pub mod duration;
pub mod exec;
pub mod exit;
pub mod help_texts;
pub mod job;
pub mod json;
pub mod limits;
pub mod permission;
pub mod probe;
pub mod ps;
pub mod record;
pub mod replay;
pub mod run;
pub mod sight;
pub mod signals;
pub mod size;
pub mod text;
pub mod trace;
pub mod watch;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Says exactly and at once whether what runs on a terminal waits for input, is busy, or is stuck on
/// something else.
#[derive(Debug, Parser)]
#[command(name = "awaitty", version, disable_help_subcommand = true, after_long_help = exit::HELP)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Exec(exec::Args),
    Run(run::Args),
    Record(record::Args),
    Replay(replay::Args),
    Watch(watch::Args),
    Ps(ps::Args),
    Trace(trace::Args),
    Doctor(doctor::Args),
    #[command(hide = true)]
    Probe(probe::Args),
    /// Prints the JSON schema of the lines of `--json`.
    #[command(hide = true)]
    Schema,
    /// Prints the long help of every subcommand in Markdown.
    #[command(hide = true)]
    HelpTexts,
}

/// Runs the program with the arguments of this process.
#[must_use]
pub fn main() -> ExitCode {
    match run_command(Cli::parse().command) {
        Ok(code) => code,
        Err(error) => {
            let (code, worth_telling) = exit::of_error(&error);
            if worth_telling {
                eprintln!("awaitty: {error:#}");
            }
            code
        }
    }
}

fn run_command(command: Command) -> anyhow::Result<ExitCode> {
    match command {
        // Probes are made by fork(2), with what this process was given.
        Command::Probe(args) => return Ok(probe::run(args)),
        _ => limits::raise(),
    }
    match command {
        Command::Probe(_) => {}
        Command::Exec(args) => return exec::run(args),
        Command::Run(args) => return run::run(args),
        Command::Record(args) => return record::run(args),
        Command::Replay(args) => return replay::run(&args),
        Command::Watch(args) => return watch::run(args),
        Command::Ps(args) => return ps::run(args),
        Command::Trace(args) => return trace::run(args),
        Command::Doctor(args) => return doctor::run(args),
        Command::Schema => print(&(json::schema()? + "\n"))?,
        Command::HelpTexts => print(&help_texts::markdown())?,
    }
    Ok(ExitCode::SUCCESS)
}

fn print(text: &str) -> io::Result<()> {
    let mut output = io::stdout().lock();
    output.write_all(text.as_bytes())?;
    output.flush()
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_arguments_are_consistent() {
        super::Cli::command().debug_assert();
    }
}
