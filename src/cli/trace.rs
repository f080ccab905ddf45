//! `awaitty trace`: a tree of processes, every wait with its begin and end.

mod line;

use std::ffi::{CString, OsString};
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, anyhow};
use crossbeam_channel::{never, select};
use nix::errno::Errno;
use signal_hook::consts::{SIGINT, SIGQUIT};

use super::exit::{self, Ended};
use super::signals::{Event as Asked, Signals};
use super::{duration, limits, permission};
use crate::sys::clock;
use crate::trace::{Event, Options, Trace, TraceError, What};
use crate::verdict::Exited;
use line::Line;

/// Traces a command, or a process that runs, and all of its descendants: their starts, programs and
/// ends, every wait for input on a terminal with its begin and end, and every longer wait for anything
/// else.
///
/// The command runs on your terminal, in the foreground, as it would without awaitty; the trace goes to
/// standard error. Each line has the seconds since the trace began. A program that gives rights (sudo)
/// is let go before it starts unless awaitty has CAP_SYS_PTRACE, since a traced one would not get them.
/// What still runs when awaitty ends, runs on.
///
/// With --pid every task is interrupted once. The call that it is blocked in is restarted unseen; tasks
/// in calls that would fail instead are left alone: epoll_wait, epoll_pwait, epoll_pwait2,
/// io_uring_enter, io_getevents, io_pgetevents, rt_sigtimedwait, semop, semtimedop, and receiving or
/// accepting on a socket with a timeout of its own (SO_RCVTIMEO). Stopping and continuing a traced
/// process makes the same calls fail, traced or not.
#[derive(Debug, clap::Args)]
#[command(after_long_help = exit::HELP)]
pub struct Args {
    /// Print one JSON object a line.
    #[arg(long)]
    pub json: bool,
    /// Write the trace to this file.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Tell of processes alone: their starts, programs and ends. It costs next to nothing as root; for
    /// an ordinary user the kernel still has to stop at every call, for the sake of sudo.
    #[arg(long)]
    pub lifecycle: bool,
    /// How long a wait for anything but a terminal must last to be told.
    #[arg(long, value_name = "TIME", value_parser = duration::parse, default_value = "100ms")]
    pub longer: Duration,
    /// Trace this process, and its descendants.
    #[arg(
        long,
        value_name = "PID",
        value_parser = clap::value_parser!(i32).range(1..),
        conflicts_with = "command",
        required_unless_present = "command",
    )]
    pub pid: Option<i32>,
    /// The command and its arguments.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub command: Vec<OsString>,
}

/// Traces until everything has ended.
///
/// # Errors
/// When the trace cannot begin, or the command cannot be executed.
pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let mut sink: Box<dyn Write> = match &args.output {
        Some(path) => Box::new(
            File::create(path).with_context(|| format!("cannot write {}", path.display()))?,
        ),
        None => Box::new(anstream::stderr()),
    };
    let signals = Signals::of_end()?;
    let began = clock::monotonic();
    let trace = start(&args)?;
    let mut followed = Followed { began, json: args.json, sink: Some(&mut *sink), end: None };
    let ended = follow(&trace, &signals, args.pid.is_none(), &mut followed);
    if let Some(Err(errno)) = followed.end {
        let program = args.command.first().map(|program| program.display().to_string());
        eprintln!("awaitty: cannot execute {}: {}", program.unwrap_or_default(), errno.desc());
        return Ok(ExitCode::from(match errno {
            Errno::ENOENT | Errno::ENOTDIR => exit::NOT_FOUND,
            _ => exit::CANNOT_EXECUTE,
        }));
    }
    drop(trace);
    Ok(ended.exit())
}

fn start(args: &Args) -> anyhow::Result<Trace> {
    let options = Options { lifecycle: args.lifecycle, longer: args.longer };
    let started = match args.pid {
        Some(pid) => Trace::attach(pid, options),
        None => {
            let words: Result<Vec<CString>, _> =
                args.command.iter().map(|word| CString::new(word.clone().into_vec())).collect();
            let words = words.context("a command has no NUL in it")?;
            Trace::command(&words, limits::inherited(), options)
        }
    };
    started.map_err(|error| match (&error, args.pid) {
        (TraceError::Denied(pid), Some(_)) => {
            let why = permission::of_trace(*pid).unwrap_or_default();
            anyhow!("{error}: {why}")
        }
        _ => error.into(),
    })
}

/// What has been seen.
struct Followed<'s> {
    began: Duration,
    json: bool,
    /// Nobody reads a trace whose output is closed; the command takes no harm.
    sink: Option<&'s mut dyn Write>,
    /// How the command ended, or why it could not begin.
    end: Option<Result<Exited, Errno>>,
}

/// Keys such as ^C mean the command as long as it runs, which shares the terminal with us.
fn follow(trace: &Trace, signals: &Signals, own: bool, followed: &mut Followed<'_>) -> Ended {
    let mut asked = signals.events().clone();
    loop {
        select! {
            recv(trace.events()) -> event => match event {
                Ok(event) => followed.take(trace.pid(), &event),
                Err(_) => return Ended::Code(followed.code(own)),
            },
            recv(asked) -> event => match event {
                Ok(Asked::End(SIGINT | SIGQUIT)) if own && followed.end.is_none() => {}
                Ok(Asked::End(_)) if own && followed.end.is_some() => {
                    return Ended::Code(followed.code(own));
                }
                Ok(Asked::End(signal)) => return Ended::Signal(signal),
                Ok(_) => {}
                Err(_) => asked = never(),
            },
        }
    }
}

impl Followed<'_> {
    fn take(&mut self, command: i32, event: &Event) {
        if event.pid == command {
            match event.what {
                What::NotExecuted(errno) => self.end = Some(Err(errno)),
                What::Exit { code, signal } if self.end.is_none() => {
                    self.end = Some(Ok(Exited { code, signal }));
                }
                _ => {}
            }
        }
        if self.write(event).is_err() {
            self.sink = None;
        }
    }

    fn write(&mut self, event: &Event) -> io::Result<()> {
        let Some(sink) = &mut self.sink else { return Ok(()) };
        let line = Line::new(event, self.began);
        let mut text = if self.json { serde_json::to_string(&line)? } else { line.to_string() };
        text.push('\n');
        sink.write_all(text.as_bytes())?;
        sink.flush()
    }

    /// The command's own code; that of a process that was there before is not ours to give.
    fn code(&self, own: bool) -> u8 {
        match self.end {
            Some(Ok(exited)) if own => exit::of_end(exited),
            _ => exit::SUCCESS,
        }
    }
}
