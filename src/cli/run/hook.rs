use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, at, never};

use crate::cli::text::word;
use crate::verdict::Verdict;

/// Nobody types for this long: then somebody has to be called.
const PATIENCE: Duration = Duration::from_secs(1);

/// The command of `--on-input`: run once for each time that the job begins to wait and nobody types.
#[derive(Debug)]
pub struct Hook {
    command: Option<String>,
    tty: Option<String>,
    waiting: Option<(Instant, Verdict)>,
    running: Vec<Child>,
}

impl Hook {
    /// A hook for the terminal of this name; without a command it does nothing.
    #[must_use]
    pub fn new(command: Option<String>, tty: Option<String>) -> Hook {
        Hook { command, tty, waiting: None, running: Vec::new() }
    }

    /// The job's state has changed.
    pub fn changed(&mut self, verdict: &Verdict) {
        let due = Instant::now() + PATIENCE;
        self.waiting = Some((due, verdict.clone())).filter(|_| verdict.waits_for_input());
    }

    /// Somebody types.
    pub fn typed(&mut self) {
        self.waiting = None;
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
        self.running.retain_mut(|child| matches!(child.try_wait(), Ok(None)));
        let (Some(command), Some((_, verdict))) = (&self.command, self.waiting.take()) else {
            return;
        };
        let prompt = verdict.input().and_then(|input| input.prompt.as_deref());
        let child = Command::new("sh")
            .args(["-c", command])
            .env("AWAITTY_STATE", word(&verdict.state.name()))
            .env("AWAITTY_PROMPT", prompt.unwrap_or_default().replace('\0', ""))
            .env("AWAITTY_TTY", self.tty.as_deref().unwrap_or_default())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        self.running.extend(child);
    }
}
