//! `awaitty replay`: a recording, judged again.

use std::fs::File;
use std::io::{self, BufReader, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;

use super::text::{Escaped, Text};
use super::{exit, json};
use crate::fixture::{CastError, Reader, Replayed, replay};

/// Judges a recording again, without a kernel and without a clock, and gives the verdicts.
#[derive(Debug, clap::Args)]
#[command(after_long_help = exit::HELP_OF_REPLAY)]
pub struct Args {
    /// A file that `awaitty record` wrote.
    pub file: PathBuf,
    /// One JSON object a line, for every change of the state.
    #[arg(long)]
    pub json: bool,
    /// Compare with the verdicts in the file, and give only what differs.
    #[arg(long, conflicts_with = "json")]
    pub check: bool,
}

/// Replays the file.
///
/// # Errors
/// When the file cannot be read, or is damaged: with the line.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let name = || args.file.display().to_string();
    let file = File::open(&args.file).with_context(name)?;
    // What is wrong with a file may quote it.
    let damaged = |error: CastError| anyhow::anyhow!("{}", Escaped(&error.to_string()));
    let mut reader = Reader::new(BufReader::new(file)).map_err(damaged).with_context(name)?;
    let replayed = replay(&mut reader).map_err(damaged).with_context(name)?;
    if replayed.truncated {
        eprintln!("awaitty: {}: the last line is cut off, and left out", name());
    }
    if args.check {
        return check(&replayed, &mut io::stdout().lock());
    }
    if args.json {
        let mut output = io::stdout().lock();
        replayed.lines().iter().try_for_each(|line| json::write(&mut output, line))?;
        return Ok(ExitCode::from(exit::SUCCESS));
    }
    let mut output = anstream::stdout().lock();
    for change in &replayed.told {
        writeln!(output, "{:>10.4}  {}", change.t.as_secs_f64(), Text(&change.verdict))?;
    }
    Ok(ExitCode::from(exit::SUCCESS))
}

fn check(replayed: &Replayed, output: &mut dyn Write) -> anyhow::Result<ExitCode> {
    let differences = replayed.differences();
    for difference in &differences {
        writeln!(output, "{difference}")?;
    }
    if let Some(first) = replayed.diverged.first() {
        eprintln!(
            "awaitty: {} questions have no answer in the recording, the first at {:.6} s: {:?}",
            replayed.diverged.len(),
            first.at.as_secs_f64(),
            first.question
        );
    }
    Ok(ExitCode::from(if differences.is_empty() { exit::SUCCESS } else { exit::DIFFERENT }))
}
