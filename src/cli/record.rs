//! `awaitty record`: `run`, with everything that was read and said written to a file.

use std::ffi::OsString;
use std::fs::{File, OpenOptions as FileOptions};
use std::io::{self, IsTerminal};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;

use super::run::{Hook, on_terminal};
use super::{exit, sight};
use crate::fixture::Recorder;
use crate::watch::OpenOptions;

/// Runs a command as `awaitty run` does, and records the session: what it prints, and what was read
/// of it to come to each verdict.
///
/// The file is an asciicast (version 3), which asciinema plays. What is typed while the terminal does
/// not echo is not in it. What the programs print is, and so are the names of their files and the
/// addresses of their connections: look before you give it away.
#[derive(Debug, clap::Args)]
#[command(after_long_help = exit::HELP)]
pub struct Args {
    /// The file to write.
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// Write over a file that exists.
    #[arg(long)]
    pub force: bool,
    /// What the verdict rests on.
    #[command(flatten)]
    pub sight: sight::Options,
    /// The command and its arguments.
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    pub command: Vec<OsString>,
}

/// Runs and records the command.
///
/// # Errors
/// As [`super::run::run`], and when the file cannot be written to its end.
pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    anyhow::ensure!(
        io::stdin().is_terminal(),
        "record passes a terminal through, and standard input is none"
    );
    let path = args.output.as_path();
    let words: Vec<_> = args.command.iter().map(|word| word.to_string_lossy()).collect();
    let recorder = Recorder::new(create(path, args.force)?, Some(words.join(" ")));
    let failure = recorder.failure();
    let tap: Option<Box<dyn crate::watch::Tap>> = Some(Box::new(recorder));
    let options = OpenOptions { sight: args.sight.into(), tap, ..OpenOptions::default() };
    let ended = on_terminal(&args.command, options, Hook::new(None, Duration::ZERO), None);
    // A command that could not be started leaves no file behind; /dev/null stays.
    let empty = |path| std::fs::metadata(path).is_ok_and(|file| file.is_file() && file.len() == 0);
    if ended.is_err() && empty(path) {
        let _ = std::fs::remove_file(path);
    }
    let ended = ended?;
    if let Some(error) = failure.take() {
        let whole = || format!("the recording in {} is not complete", path.display());
        return Err(error).with_context(whole);
    }
    Ok(ended.exit())
}

/// Nobody else may read it: it has what was shown and typed.
fn create(path: &Path, force: bool) -> anyhow::Result<File> {
    let mut options = FileOptions::new();
    options.write(true).mode(0o600);
    if force {
        options.create(true).truncate(true)
    } else {
        options.create_new(true)
    };
    options.open(path).with_context(|| format!("cannot write a recording to {}", path.display()))
}
