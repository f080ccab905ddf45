//! Signals as events.

use std::io;
use std::thread;

use crossbeam_channel::{Receiver, unbounded};
use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP, SIGWINCH};
use signal_hook::iterator;
use signal_hook::iterator::Handle;

use crate::proc::Status;

/// What a signal asks of awaitty itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// The window has another size.
    Resized,
    /// End, by this signal.
    End(i32),
    /// Stop (`SIGTSTP`).
    Stop,
    /// Go on (`SIGCONT`).
    Continue,
}

/// The signals of this process as [`Event`]s, as long as this lives.
#[derive(Debug)]
pub struct Signals {
    handle: Handle,
    events: Receiver<Event>,
}

impl Signals {
    /// Takes over the signals that ask for an end.
    ///
    /// # Errors
    /// As sigaction(2) and pthread_create(3).
    pub fn of_end() -> io::Result<Signals> {
        Signals::take(&[SIGTERM, SIGHUP, SIGINT, SIGQUIT])
    }

    /// Takes over those of the terminal's window and of job control, too. The keys for them do not
    /// become signals while the terminal is raw: they come from kill(1), from the terminal's owner or
    /// from the shell.
    ///
    /// # Errors
    /// As sigaction(2) and pthread_create(3).
    pub fn of_terminal() -> io::Result<Signals> {
        Signals::take(&[SIGTERM, SIGHUP, SIGINT, SIGQUIT, SIGWINCH, SIGTSTP, SIGCONT])
    }

    fn take(signals: &[i32]) -> io::Result<Signals> {
        // What our parent had us ignore (nohup(1), a shell's background job) stays ignored.
        let ignored = ignored();
        let taken = signals.iter().filter(|signal| ignored & (1 << (**signal - 1)) == 0);
        let mut signals = iterator::Signals::new(taken)?;
        let handle = signals.handle();
        let (sender, events) = unbounded();
        thread::Builder::new().name("awaitty-signals".to_owned()).spawn(move || {
            for signal in signals.forever() {
                let event = match signal {
                    SIGWINCH => Event::Resized,
                    SIGTSTP => Event::Stop,
                    SIGCONT => Event::Continue,
                    other => Event::End(other),
                };
                if sender.send(event).is_err() {
                    break;
                }
            }
        })?;
        Ok(Signals { handle, events })
    }

    /// The events, in the order in which they came.
    #[must_use]
    pub fn events(&self) -> &Receiver<Event> {
        &self.events
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        self.handle.close();
    }
}

fn ignored() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    Status::parse(&status).map_or(0, |status| status.ignored)
}
