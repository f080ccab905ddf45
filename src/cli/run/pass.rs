use std::fs::File;
use std::io::{self, Read, Write};
use std::thread;

use crossbeam_channel::{Receiver, bounded, never, select_biased};
use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, getpgid, getppid, getsid};

use super::Hook;
use crate::cli::exit::{self, Ended};
use crate::cli::json;
use crate::cli::signals::Event;
use crate::pty::Size;
use crate::verdict::State;
use crate::watch::Change;

/// The user's side.
pub struct Near<'a> {
    /// Keys; the channel closes when the terminal has gone.
    pub input: Receiver<Vec<u8>>,
    /// Where the command's output goes.
    pub output: &'a mut dyn Write,
    /// What signals ask.
    pub events: &'a Receiver<Event>,
    /// Gives the user's terminal its old modes back.
    pub suspend: &'a dyn Fn(),
    /// Makes it raw again.
    pub resume: &'a dyn Fn() -> io::Result<()>,
    /// The size of the user's window.
    pub size: &'a dyn Fn() -> Option<Size>,
    /// The file of `--events`.
    pub log: Option<File>,
    /// The command of `--on-input`.
    pub hook: Hook,
}

/// The command's side.
pub struct Far<'a> {
    /// What it writes.
    pub output: Receiver<Vec<u8>>,
    /// What it does.
    pub changes: Receiver<Change>,
    /// Types on its terminal.
    pub write: &'a dyn Fn(&[u8]) -> io::Result<()>,
    /// Gives its window another size.
    pub resize: &'a dyn Fn(Size) -> io::Result<()>,
    /// Continues it where it is stopped.
    pub resume: &'a dyn Fn() -> io::Result<()>,
    /// Its terminal.
    pub tty: Option<String>,
}

/// Passes bytes both ways until the command has ended or a signal ends us.
///
/// # Errors
/// When the user's terminal or the file of events cannot be written.
pub fn pass(near: &mut Near<'_>, far: &mut Far<'_>) -> io::Result<Ended> {
    loop {
        select_biased! {
            recv(near.events) -> event => match event {
                Ok(Event::End(signal)) => return Ok(Ended::Signal(signal)),
                Ok(event) => obey(event, near, far)?,
                Err(_) => return Ok(Ended::Signal(libc::SIGHUP)),
            },
            recv(near.input) -> bytes => match bytes {
                Ok(bytes) => {
                    near.hook.typed();
                    (far.write)(&bytes)?;
                }
                Err(_) => return Ok(Ended::Signal(libc::SIGHUP)),
            },
            recv(far.changes) -> change => {
                let Ok(change) = change else { return Ok(Ended::Code(exit::FAILED)) };
                let line = change.line(far.tty.as_deref());
                if let Some(log) = &mut near.log {
                    json::write(log, &line)?;
                }
                near.hook.changed(line, change.verdict.waits_for_input());
                if let State::Stopped(_) = change.verdict.state {
                    stop_too(far)?;
                }
                if change.verdict.has_exited() {
                    far.output.try_iter().try_for_each(|bytes| show(&bytes, near.output))?;
                    let code = exit::of_verdict(&change.verdict).unwrap_or(exit::FAILED);
                    return Ok(Ended::Code(code));
                }
            }
            recv(near.hook.due()) -> _ => near.hook.run(),
            // Last: a command that prints without end must not keep its own ^C from it.
            recv(far.output) -> bytes => match bytes {
                Ok(bytes) => show(&bytes, near.output)?,
                Err(_) => far.output = never(),
            },
        }
    }
}

fn show(bytes: &[u8], sink: &mut dyn Write) -> io::Result<()> {
    sink.write_all(bytes)?;
    sink.flush()
}

fn obey(event: Event, near: &Near<'_>, far: &Far<'_>) -> io::Result<()> {
    match event {
        Event::Stop => {
            (near.suspend)();
            // The default action of SIGTSTP; this returns when we are continued.
            signal_hook::low_level::emulate_default_handler(libc::SIGTSTP)?;
        }
        Event::Continue => {
            // The shell has set its own modes meanwhile.
            (near.resume)()?;
            (far.resume)()?;
        }
        Event::Resized | Event::End(_) => {}
    }
    if let Some(size) = (near.size)() {
        (far.resize)(size)?;
    }
    Ok(())
}

/// The command was stopped, and no shell on its terminal has taken note: then ours has to. Our own
/// group stops as one, so that the shell sees a stopped job.
fn stop_too(far: &Far<'_>) -> io::Result<()> {
    if is_orphaned() { (far.resume)() } else { Ok(kill(Pid::from_raw(0), Signal::SIGTSTP)?) }
}

/// Nobody in our session could continue us (setpgid(2) on orphaned groups).
fn is_orphaned() -> bool {
    let parent = getppid();
    getsid(Some(parent)) != getsid(None) || getpgid(Some(parent)) == getpgid(None)
}

/// Reads `input` on a thread of its own, for [`Near::input`]; the channel closes at its end.
///
/// # Errors
/// As pthread_create(3).
pub fn read(mut input: impl Read + Send + 'static) -> io::Result<Receiver<Vec<u8>>> {
    // One at a time: what nobody takes stays in the terminal.
    let (sender, receiver) = bounded(1);
    thread::Builder::new().name("awaitty-input".to_owned()).spawn(move || {
        let mut buffer = [0; 4096];
        loop {
            match input.read(&mut buffer) {
                Ok(length @ 1..) => {
                    if sender.send(buffer[..length].to_vec()).is_err() {
                        return;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Ok(_) | Err(_) => return,
            }
        }
    })?;
    Ok(receiver)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use std::cell::RefCell;

    use crossbeam_channel::{Sender, unbounded};

    use super::*;
    use crate::verdict::{By, Exited, State, Verdict};

    #[derive(Default)]
    struct Typed {
        keys: RefCell<Vec<u8>>,
        sizes: RefCell<Vec<Size>>,
    }

    /// Passes what `behave` sends before it starts; tells how it ended and what was shown.
    fn passed(
        typed: &Typed,
        input: Receiver<Vec<u8>>,
        behave: impl FnOnce(&Sender<Event>, &Sender<Vec<u8>>, &Sender<Change>),
    ) -> (Ended, String) {
        let ((event, events), (byte, bytes), (change, changes)) =
            (unbounded(), unbounded(), unbounded());
        behave(&event, &byte, &change);
        let mut shown = Vec::new();
        let mut near = Near {
            input,
            output: &mut shown,
            events: &events,
            suspend: &|| {},
            resume: &|| Ok(()),
            size: &|| Some(Size { rows: 5, cols: 6 }),
            log: None,
            hook: Hook::new(None, std::time::Duration::ZERO),
        };
        let mut far = Far {
            output: bytes,
            changes,
            write: &|keys| {
                typed.keys.borrow_mut().extend_from_slice(keys);
                if keys.ends_with(b"\x04") {
                    change.send(ended()).unwrap();
                }
                Ok(())
            },
            resize: &|size| {
                typed.sizes.borrow_mut().push(size);
                Ok(())
            },
            resume: &|| Ok(()),
            tty: None,
        };
        let ended = pass(&mut near, &mut far).unwrap();
        (ended, String::from_utf8(shown).unwrap())
    }

    fn ended() -> Change {
        let state = State::Exited(Exited { code: Some(7), signal: None });
        let (evidence, job) = (Vec::new(), Vec::new());
        let verdict = Verdict { state, exact: true, by: By::Proc, confidence: 1.0, evidence, job };
        Change { seq: 1, t: std::time::Duration::ZERO, output: 0, verdict }
    }

    #[test]
    fn passes_both_ways() {
        let typed = Typed::default();
        let (keys, input) = unbounded();
        keys.send(b"exit\x04".to_vec()).unwrap();
        let (ended, shown) = passed(&typed, input, |events, output, _| {
            events.send(Event::Resized).unwrap();
            output.send(b"\x1b[6nhello".to_vec()).unwrap();
        });
        assert_eq!(ended, Ended::Code(7));
        assert_eq!(*typed.keys.borrow(), b"exit\x04");
        assert_eq!(*typed.sizes.borrow(), [Size { rows: 5, cols: 6 }]);
        assert_eq!(shown, "\x1b[6nhello", "the user's own terminal answers here");
    }

    #[test]
    fn a_terminal_that_has_gone_ends_it() {
        let (ended, _) = passed(&Typed::default(), read(&b""[..]).unwrap(), |_, _, _| {});
        assert_eq!(ended, Ended::Signal(libc::SIGHUP));
    }

    #[test]
    fn a_signal_ends_it() {
        let (code, _) = passed(&Typed::default(), never(), |events, _, _| {
            events.send(Event::End(libc::SIGTERM)).unwrap();
        });
        assert_eq!(code, Ended::Signal(libc::SIGTERM));
    }
}
