use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Mutex, Once, PoisonError};

use nix::sys::termios::{SetArg, Termios, cfmakeraw, tcgetattr, tcsetattr};

/// The user's terminal as it was: what a panic, a signal or the end has to bring back.
static SAVED: Mutex<Option<Saved>> = Mutex::new(None);

struct Saved {
    terminal: OwnedFd,
    termios: Termios,
}

/// The user's terminal in raw mode, as long as this lives.
///
/// The old modes come back when it is dropped, before the message of a panic on any thread is shown,
/// and whenever [`RawMode::suspend`] is called. Only one can be there at a time.
#[derive(Debug)]
pub struct RawMode(());

impl RawMode {
    /// Puts a terminal into raw mode (cfmakeraw(3)).
    ///
    /// # Errors
    /// `ENOTTY` when this is no terminal; `EBUSY` when another guard is alive.
    pub fn enter(terminal: &impl AsFd) -> io::Result<RawMode> {
        let terminal = terminal.as_fd().try_clone_to_owned()?;
        let termios = tcgetattr(&terminal)?;
        {
            let mut saved = saved();
            if saved.is_some() {
                return Err(io::Error::from_raw_os_error(libc::EBUSY));
            }
            *saved = Some(Saved { terminal, termios });
        }
        let guard = RawMode(());
        guard.resume()?;
        restore_on_panic();
        Ok(guard)
    }

    /// Raw mode again, after [`RawMode::suspend`].
    ///
    /// # Errors
    /// `EIO` when the terminal has gone.
    pub fn resume(&self) -> io::Result<()> {
        if let Some(Saved { terminal, termios }) = &*saved() {
            let mut raw = termios.clone();
            cfmakeraw(&mut raw);
            // What was typed ahead is kept: it is meant for the command.
            tcsetattr(terminal, SetArg::TCSANOW, &raw)?;
        }
        Ok(())
    }

    /// The modes that the terminal had before.
    pub fn suspend(&self) {
        restore();
    }
}

impl Drop for RawMode {
    fn drop(&mut self) {
        restore();
        *saved() = None;
    }
}

fn saved() -> std::sync::MutexGuard<'static, Option<Saved>> {
    SAVED.lock().unwrap_or_else(PoisonError::into_inner)
}

fn restore() {
    // Not TCSADRAIN: where nobody drains the terminal (^S), that would wait for ever.
    if let Some(Saved { terminal, termios }) = &*saved() {
        let _ = tcsetattr(terminal, SetArg::TCSANOW, termios);
    }
}

/// The message of a panic is written before anything is dropped, and would run off in steps on a raw
/// terminal.
fn restore_on_panic() {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let former = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            restore();
            former(panic);
        }));
    });
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use nix::pty::openpty;
    use nix::sys::termios::LocalFlags;

    use super::*;

    fn canonical(terminal: &impl AsFd) -> bool {
        tcgetattr(terminal).unwrap().local_flags.contains(LocalFlags::ICANON)
    }

    // One test: there is one guard at a time in a process.
    #[test]
    fn the_old_modes_come_back() {
        let pty = openpty(None, None).unwrap();
        let guard = RawMode::enter(&pty.slave).unwrap();
        assert!(!canonical(&pty.slave));
        assert_eq!(RawMode::enter(&pty.slave).unwrap_err().raw_os_error(), Some(libc::EBUSY));
        guard.suspend();
        assert!(canonical(&pty.slave));
        guard.resume().unwrap();
        assert!(!canonical(&pty.slave));
        drop(guard);
        assert!(canonical(&pty.slave));

        let guard = RawMode::enter(&pty.slave).unwrap();
        let slave = pty.slave.try_clone().unwrap();
        let other = std::thread::spawn(move || {
            assert!(!canonical(&slave));
            panic!("on purpose");
        });
        assert!(other.join().is_err());
        assert!(canonical(&pty.slave), "before anything was dropped");
        drop(guard);

        let null = std::fs::File::open("/dev/null").unwrap();
        assert_eq!(RawMode::enter(&null).unwrap_err().raw_os_error(), Some(libc::ENOTTY));
    }
}
