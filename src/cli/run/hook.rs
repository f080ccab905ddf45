use std::fs::File;
use std::io::{self, Seek, Write};
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, at, never};
use nix::sys::memfd::{MFdFlags, memfd_create};

use crate::cli::text::word;
use crate::cli::{json, limits};
use crate::verdict::Line;

/// The command of `--on-input`: run once for each time that the job begins to wait and nobody types.
#[derive(Debug)]
pub struct Hook {
    command: Option<String>,
    idle_for: Duration,
    waiting: Option<(Instant, Line)>,
}

impl Hook {
    /// A hook that is patient for so long; without a command it does nothing.
    #[must_use]
    pub fn new(command: Option<String>, idle_for: Duration) -> Hook {
        Hook { command, idle_for, waiting: None }
    }

    /// The job's state has changed.
    pub fn changed(&mut self, line: Line, waits: bool) {
        self.waiting = Some((self.next(), line)).filter(|_| waits);
    }

    /// Somebody types: no need to call anybody, until that stops.
    pub fn typed(&mut self) {
        let next = self.next();
        if let Some((due, _)) = &mut self.waiting {
            *due = next;
        }
    }

    fn next(&self) -> Instant {
        let now = Instant::now();
        now.checked_add(self.idle_for).unwrap_or(now)
    }

    /// Ready when [`Hook::run`] is due.
    #[must_use]
    pub fn due(&self) -> Receiver<Instant> {
        match &self.waiting {
            Some((due, _)) if self.command.is_some() => at(*due),
            _ => never(),
        }
    }

    /// Runs the command, away from the terminal: what it printed would fall into the job's picture.
    /// That it cannot be run is no reason to disturb the job.
    pub fn run(&mut self) {
        let Some(((_, line), command)) = self.waiting.take().zip(self.command.as_ref()) else {
            return;
        };
        let _ = start(command, &line);
    }
}

fn start(command: &str, line: &Line) -> io::Result<()> {
    let input = line.input.as_ref();
    let reader = input.and_then(|input| input.reader.as_ref());
    let prompt = input.and_then(|input| input.prompt.as_deref()).unwrap_or_default();
    let mut child = limits::command("sh")
        .args(["-c", command])
        .env("AWAITTY_STATE", word(&line.state))
        .env("AWAITTY_KIND", input.map(|input| word(&input.kind)).unwrap_or_default())
        .env("AWAITTY_PROMPT", prompt.replace('\0', ""))
        .env("AWAITTY_TTY", line.tty.as_deref().unwrap_or_default())
        .env("AWAITTY_PID", reader.map(|reader| reader.pid.to_string()).unwrap_or_default())
        .stdin(file_of(line)?)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    thread::Builder::new().name("awaitty-hook".to_owned()).spawn(move || child.wait())?;
    Ok(())
}

/// A file and no pipe: a command that does not read it keeps nobody waiting.
fn file_of(line: &Line) -> io::Result<File> {
    let mut file = File::from(memfd_create(c"awaitty-verdict", MFdFlags::MFD_CLOEXEC)?);
    json::write(&mut file, line)?;
    file.flush()?;
    file.rewind()?;
    Ok(file)
}
