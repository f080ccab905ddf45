//! `awaitty run`: a command on a terminal of its own behind the user's, passed through both ways.

mod hook;
mod pass;
mod raw;

pub use hook::Hook;
pub use pass::{Far, Near, pass, read};
pub use raw::RawMode;

use std::ffi::OsString;
use std::fs::{File, OpenOptions as FileOptions};
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use crossbeam_channel::never;
use nix::sys::signal::Signal;

use super::exit::Ended;
use super::job::Job;
use super::signals::Signals;
use super::{duration, exit, sight, size};
use crate::watch::OpenOptions;

/// Runs a command on a new terminal behind yours, as if it ran on yours, and watches it meanwhile.
#[derive(Debug, clap::Args)]
#[command(after_long_help = exit::HELP)]
pub struct Args {
    /// Run this with `sh -c` when the job has begun to wait for input and nobody types.
    ///
    /// It reads the verdict as JSON on its standard input; AWAITTY_STATE, AWAITTY_KIND,
    /// AWAITTY_PROMPT, AWAITTY_TTY and AWAITTY_PID say the most of it. What it prints is not shown.
    #[arg(long, value_name = "COMMAND")]
    pub on_input: Option<String>,
    /// Nobody types: no key for this time.
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = duration::parse)]
    pub idle_for: Duration,
    /// Append one JSON object to this file for every change of the state.
    #[arg(long, value_name = "FILE")]
    pub events: Option<PathBuf>,
    /// What the verdict rests on.
    #[command(flatten)]
    pub sight: sight::Options,
    /// The command and its arguments.
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    pub command: Vec<OsString>,
}

/// Runs the command; the user's terminal is as before when this returns.
///
/// # Errors
/// When standard input is no terminal, the command cannot be started, or the file of events cannot be
/// written.
pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    anyhow::ensure!(
        io::stdin().is_terminal(),
        "run passes a terminal through, and standard input is none; without a terminal use awaitty exec"
    );
    let log = args.events.as_deref().map(open_log).transpose()?;
    let options = OpenOptions { sight: args.sight.into(), ..OpenOptions::default() };
    let hook = Hook::new(args.on_input, args.idle_for);
    Ok(on_terminal(&args.command, options, hook, log)?.exit())
}

/// Runs a command on a new terminal behind the user's, and ends what still runs on it then.
///
/// # Errors
/// As [`run`].
pub fn on_terminal(
    command: &[OsString],
    options: OpenOptions,
    hook: Hook,
    log: Option<File>,
) -> anyhow::Result<Ended> {
    let signals = Signals::of_terminal()?;
    let size = size::of_user().unwrap_or_default();
    let options = OpenOptions { size, output: true, shown: true, ..options };
    let job = Job::start(command, options)?;
    let ended = passed(&job, &signals, hook, log);
    job.end();
    Ok(ended?)
}

fn open_log(path: &Path) -> anyhow::Result<File> {
    FileOptions::new()
        .append(true)
        .create(true)
        .open(path)
        .with_context(|| format!("cannot write events to {}", path.display()))
}

/// The terminal is raw only while bytes are passed: what is said before and after is for people.
fn passed(job: &Job, signals: &Signals, hook: Hook, log: Option<File>) -> io::Result<Ended> {
    let watched = &job.watched;
    let gone = |_| io::Error::from(io::ErrorKind::BrokenPipe);
    let stdin = io::stdin();
    let raw = RawMode::enter(&stdin)?;
    let mut near = Near {
        input: read(stdin)?,
        output: &mut io::stdout(),
        events: signals.events(),
        suspend: &|| raw.suspend(),
        resume: &|| raw.resume(),
        size: &size::of_user,
        log,
        hook,
    };
    let mut far = Far {
        output: watched.output().unwrap_or_else(never),
        changes: watched.changes(),
        write: &|bytes| watched.write(bytes).map_err(gone),
        resize: &|size| watched.resize(size).map_err(gone),
        resume: &|| watched.signal(Signal::SIGCONT).map_err(gone),
        tty: watched.tty().map(str::to_owned),
    };
    match pass(&mut near, &mut far) {
        // The user's terminal has gone; SIGHUP tells only its session, and comes behind this.
        Err(error) if error.raw_os_error() == Some(libc::EIO) => Ok(Ended::Signal(libc::SIGHUP)),
        ended => ended,
    }
}
