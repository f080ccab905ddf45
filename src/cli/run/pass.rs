use std::fs::File;
use std::io::{self, Read, Write};
use std::thread;

use crossbeam_channel::{Receiver, bounded, never, select_biased};

use super::{Event, Hook, RawMode};
use crate::cli::{exit, json};
use crate::pty::Size;
use crate::verdict::Line;
use crate::watch::Change;

/// End of file as a terminal types it: the default of `VEOF` (termios(3)).
const EOT: u8 = 0x04;

/// The user's side.
pub struct Near<'a> {
    /// Keys, or the bytes of a file.
    pub input: Receiver<Vec<u8>>,
    /// Where the command's output goes.
    pub output: &'a mut dyn Write,
    /// What signals ask.
    pub events: &'a Receiver<Event>,
    /// The raw mode of the user's terminal, where standard input is one.
    pub raw: Option<&'a RawMode>,
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
    pub resize: &'a dyn Fn(Size),
    /// Its terminal.
    pub tty: Option<String>,
}

/// How it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// The command has ended, or cannot be seen any more: the exit code.
    Code(u8),
    /// A signal asked us to end: end the command, and then ourselves by the same signal.
    Signal(i32),
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
            recv(far.output) -> bytes => match bytes {
                Ok(bytes) => show(&bytes, near.output)?,
                Err(_) => far.output = never(),
            },
            recv(near.input) -> bytes => match bytes {
                Ok(bytes) => {
                    near.hook.typed();
                    (far.write)(&bytes)?;
                }
                // The user's terminal has gone: the kernel sends SIGHUP too, but only to its session.
                Err(_) if near.raw.is_some() => return Ok(Ended::Signal(libc::SIGHUP)),
                Err(_) => near.input = never(),
            },
            recv(far.changes) -> change => {
                let Ok(change) = change else { return Ok(Ended::Code(exit::FAILED)) };
                if let Some(log) = &mut near.log {
                    let line = Line::new(change.seq, change.t.as_secs_f64(), far.tty.clone(), &change.verdict);
                    json::write(log, &line)?;
                }
                near.hook.changed(&change.verdict);
                if change.verdict.has_exited() {
                    far.output.try_iter().try_for_each(|bytes| show(&bytes, near.output))?;
                    let code = exit::of_verdict(&change.verdict).unwrap_or(exit::FAILED);
                    return Ok(Ended::Code(code));
                }
            }
            recv(near.hook.due()) -> _ => near.hook.run(),
        }
    }
}

fn show(bytes: &[u8], sink: &mut dyn Write) -> io::Result<()> {
    sink.write_all(bytes)?;
    sink.flush()
}

fn obey(event: Event, near: &Near<'_>, far: &Far<'_>) -> io::Result<()> {
    if event == Event::Stop {
        if let Some(raw) = near.raw {
            raw.suspend();
        }
        // The default action of SIGTSTP; this returns when we are continued.
        signal_hook::low_level::emulate_default_handler(libc::SIGTSTP)?;
    } else if let (Event::Continue, Some(raw)) = (event, near.raw) {
        // The shell has set its own modes meanwhile.
        raw.resume()?;
    }
    if let Some(size) = (near.size)() {
        (far.resize)(size);
    }
    Ok(())
}

/// Reads `input` on a thread of its own, for [`Near::input`]; the channel closes at its end.
///
/// A file that has ended is typed as end of file, so that a command that reads until then ends; on an
/// unfinished line the first such key only hands over the line (termios(3)).
///
/// # Errors
/// As pthread_create(3).
pub fn read(mut input: impl Read + Send + 'static, is_file: bool) -> io::Result<Receiver<Vec<u8>>> {
    // One at a time: a file must not be read faster than the command takes it.
    let (sender, receiver) = bounded(1);
    thread::Builder::new().name("awaitty-input".to_owned()).spawn(move || {
        let mut buffer = [0; 4096];
        let mut in_line = false;
        loop {
            match input.read(&mut buffer) {
                Ok(length @ 1..) => {
                    in_line = buffer[length - 1] != b'\n';
                    if sender.send(buffer[..length].to_vec()).is_err() {
                        return;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Ok(_) | Err(_) => break,
            }
        }
        if is_file {
            let keys: &[u8] = if in_line { &[EOT, EOT] } else { &[EOT] };
            let _ = sender.send(keys.to_vec());
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
            raw: None,
            size: &|| Some(Size { rows: 5, cols: 6 }),
            log: None,
            hook: Hook::new(None, None),
        };
        let mut far = Far {
            output: bytes,
            changes,
            write: &|keys| {
                typed.keys.borrow_mut().extend_from_slice(keys);
                if keys.ends_with(&[EOT]) {
                    change.send(ended()).unwrap();
                }
                Ok(())
            },
            resize: &|size| typed.sizes.borrow_mut().push(size),
            tty: None,
        };
        let ended = pass(&mut near, &mut far).unwrap();
        (ended, String::from_utf8(shown).unwrap())
    }

    fn ended() -> Change {
        let state = State::Exited(Exited { code: Some(7), signal: None });
        let (evidence, job) = (Vec::new(), Vec::new());
        let verdict = Verdict { state, exact: true, by: By::Proc, confidence: 1.0, evidence, job };
        Change { seq: 1, t: std::time::Duration::ZERO, verdict }
    }

    #[test]
    fn a_file_is_typed_with_its_end() {
        let typed = Typed::default();
        let input = read(&b"one\ntwo"[..], true).unwrap();
        let (code, shown) = passed(&typed, input, |events, output, _| {
            events.send(Event::Resized).unwrap();
            output.send(b"\x1b[6nhello".to_vec()).unwrap();
        });
        assert_eq!(code, Ended::Code(7));
        assert_eq!(*typed.keys.borrow(), b"one\ntwo\x04\x04");
        assert_eq!(*typed.sizes.borrow(), [Size { rows: 5, cols: 6 }]);
        assert_eq!(shown, "\x1b[6nhello", "the user's own terminal answers here");
    }

    #[test]
    fn a_signal_ends_it() {
        let (code, _) = passed(&Typed::default(), never(), |events, _, _| {
            events.send(Event::End(libc::SIGTERM)).unwrap();
        });
        assert_eq!(code, Ended::Signal(libc::SIGTERM));
    }
}
