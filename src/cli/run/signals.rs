use std::io;
use std::thread;

use crossbeam_channel::{Receiver, unbounded};
use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP, SIGWINCH};
use signal_hook::iterator;
use signal_hook::iterator::Handle;

/// What a signal asks of `awaitty run` itself.
///
/// Keys do not become signals while the terminal is raw: these come from kill(1), from the terminal's
/// owner (hang-up, size) or from the shell.
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
    /// Takes the signals over from now on.
    ///
    /// # Errors
    /// As sigaction(2) and pthread_create(3).
    pub fn take() -> io::Result<Signals> {
        let mut signals =
            iterator::Signals::new([SIGWINCH, SIGTERM, SIGHUP, SIGINT, SIGQUIT, SIGTSTP, SIGCONT])?;
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
