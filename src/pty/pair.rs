use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::process::{Child, Command};
use std::sync::{Mutex, MutexGuard, PoisonError};

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::pty::Winsize;
use nix::sys::signal::Signal;
use nix::sys::stat::fstat;
use nix::unistd::{read, ttyname, write};
use portable_pty::{PtySize, native_pty_system};

use super::{Size, kill};
use crate::observe::{Pid, TtyId};
use crate::sys;
use crate::verdict::Exited;

/// One pair is opened and put to use at a time.
///
/// `openpty` has no close-on-exec of its own: portable-pty sets it right after, and a program started
/// by another thread in between would inherit the descriptors and keep the terminal from ever hanging
/// up. Programs that the embedding process starts by itself are beyond this lock.
static OPENING: Mutex<()> = Mutex::new(());

/// A program on a pseudo-terminal of our own.
///
/// Dropping it hangs the terminal up and kills what is left on it ([`Pty::kill_tree`]).
#[derive(Debug)]
pub struct Pty {
    master: OwnedFd,
    child: Child,
    id: TtyId,
    name: String,
    /// What is left on it lives on when this is dropped.
    left: bool,
    /// Who was on it, by start time, when it was hung up.
    family: Mutex<BTreeMap<Pid, u64>>,
}

/// A terminal could not be opened or set up.
#[derive(Debug, thiserror::Error)]
pub enum PtyError {
    /// openpty(3) failed; too many terminals (`/proc/sys/kernel/pty/max`) or no devpts mounted.
    #[error("cannot open a pseudo-terminal: {0}")]
    Open(String),
    /// The kernel refused something on the new pair.
    #[error("cannot set up the pseudo-terminal: {0}")]
    Setup(#[from] Errno),
}

/// As it was given, and in quotes where that would not be seen.
fn quoted(program: &OsString) -> String {
    let plain = program.display().to_string();
    if plain.is_empty() || plain.contains(char::is_whitespace) {
        format!("'{plain}'")
    } else {
        plain
    }
}

/// A program could not be started on a terminal of its own.
#[derive(Debug, thiserror::Error)]
pub enum SpawnError {
    /// No such program (`ENOENT`, `ENOTDIR`), or none for the interpreter that its first line names.
    #[error("cannot execute {}: not found", quoted(.program))]
    NotFound {
        /// As it was asked for.
        program: OsString,
    },
    /// It exists and may not be executed (`EACCES`, `EPERM`).
    #[error("cannot execute {}: {}", quoted(.program), .errno.desc())]
    Denied {
        /// As it was asked for.
        program: OsString,
        /// Which of the two.
        errno: Errno,
    },
    /// The directory that it should start in cannot be entered.
    #[error("cannot start {} in {}: {source}", .program.display(), .directory.display())]
    Directory {
        /// As it was asked for.
        program: OsString,
        /// The directory.
        directory: std::path::PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// Something else failed: `E2BIG`, `ENOEXEC`, `EAGAIN`, `ENOMEM`, …
    #[error("cannot execute {}: {source}", quoted(.program))]
    Other {
        /// As it was asked for.
        program: OsString,
        /// The error of fork(2) or execve(2).
        source: io::Error,
    },
    /// There is no terminal for it.
    #[error(transparent)]
    Terminal(#[from] PtyError),
}

impl SpawnError {
    /// The errno, where there is one.
    #[must_use]
    pub fn errno(&self) -> Option<Errno> {
        match self {
            SpawnError::NotFound { .. } => Some(Errno::ENOENT),
            SpawnError::Denied { errno, .. } => Some(*errno),
            SpawnError::Directory { source, .. } | SpawnError::Other { source, .. } => {
                source.raw_os_error().map(Errno::from_raw)
            }
            SpawnError::Terminal(PtyError::Setup(errno)) => Some(*errno),
            SpawnError::Terminal(PtyError::Open(_)) => None,
        }
    }
}

impl Pty {
    /// Starts `command` on a new terminal of this size, as the leader of a session of its own.
    ///
    /// Environment and directory are the command's; its standard streams are replaced. `TERM` becomes
    /// `xterm-256color` where neither the command nor our own environment sets it.
    ///
    /// # Errors
    /// [`SpawnError`]; nothing is left behind then.
    pub fn spawn(mut command: Command, size: Size) -> Result<Pty, SpawnError> {
        let named = command.get_envs().any(|(name, _)| name == "TERM");
        if !named && std::env::var_os("TERM").is_none() {
            command.env("TERM", "xterm-256color");
        }
        let program = command.get_program().to_owned();
        let directory = command.get_current_dir().map(ToOwned::to_owned);

        let _alone = OPENING.lock().unwrap_or_else(PoisonError::into_inner);
        let (master, slave) = open(size)?;
        let stat = fstat(&slave).map_err(PtyError::Setup)?;
        let name = ttyname(&slave).map_err(PtyError::Setup)?;
        let child = sys::spawn::on_terminal(command, slave).map_err(|source| {
            if let Some(directory) = directory
                && let Err(source) = std::fs::read_dir(&directory)
            {
                return SpawnError::Directory { program: program.clone(), directory, source };
            }
            failed(program, source)
        })?;
        Ok(Pty {
            master,
            child,
            id: TtyId { dev: stat.st_dev, rdev: stat.st_rdev },
            name: name.to_string_lossy().into_owned(),
            left: false,
            family: Mutex::default(),
        })
    }

    /// The slave, by the device that it is.
    #[must_use]
    pub fn id(&self) -> TtyId {
        self.id
    }

    /// The slave's path (`/dev/pts/3`).
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The program that was started: its process, its session and its first process group. The number
    /// is its own as long as the `Pty` lives.
    #[must_use]
    pub fn pid(&self) -> Pid {
        self.child.id().cast_signed()
    }

    /// Reads output without waiting. 0: the terminal is hung up, nobody has the slave open any more
    /// (`EIO`, after all output was read).
    ///
    /// # Errors
    /// `EAGAIN` when there is nothing to read now.
    pub fn read(&self, buffer: &mut [u8]) -> nix::Result<usize> {
        match read(&self.master, buffer) {
            Err(Errno::EIO) => Ok(0),
            answer => answer,
        }
    }

    /// Types, without waiting, and says how many bytes were taken.
    ///
    /// # Errors
    /// `EAGAIN` when the terminal's input queue is full, `EIO` when it is hung up.
    pub fn write(&self, bytes: &[u8]) -> nix::Result<usize> {
        write(&self.master, bytes)
    }

    /// Gives the window another size; the foreground group gets `SIGWINCH` if it differs.
    ///
    /// # Errors
    /// As ioctl_tty(2).
    pub fn resize(&self, size: Size) -> nix::Result<()> {
        let size = Winsize { ws_row: size.rows, ws_col: size.cols, ws_xpixel: 0, ws_ypixel: 0 };
        sys::tty::set_window_size(&self.master, &size)
    }

    /// How the program ended, if it has. Others of its session may live on.
    ///
    /// It stays a zombie until the `Pty` is dropped, so that nobody else can get its number, which is
    /// that of the session too.
    ///
    /// # Errors
    /// `ECHILD` when somebody else in this process has waited for it, or `SIGCHLD` is ignored.
    pub fn try_wait(&self) -> nix::Result<Option<Exited>> {
        sys::spawn::peek_end(self.pid())
    }

    /// Sends a signal to the foreground group, as the terminal does for ^C. Without one, or when it
    /// has just ended, nothing is sent.
    pub fn signal_foreground(&self, signal: Signal) {
        if let Ok(Some(group)) = sys::tty::foreground(&self.master) {
            kill::group(group, signal);
        }
    }

    /// Tells the foreground group and every process of the session that the terminal is gone, as the
    /// kernel does when a line drops: `SIGHUP`, and `SIGCONT` for those that are stopped.
    pub fn hang_up(&self) {
        self.known().extend(kill::family(self.pid()));
        let lost = [Signal::SIGHUP, Signal::SIGCONT];
        // A group is signalled as a whole, members that /proc hides from us (hidepid) included.
        if let Ok(Some(group)) = sys::tty::foreground(&self.master) {
            lost.iter().for_each(|signal| kill::group(group, *signal));
        }
        kill::session(self.pid(), &lost);
    }

    /// Hangs up, and then kills whatever still is there: the processes of the session, and the
    /// descendants of the program that made sessions of their own (`sudo`, `script`). A daemon, which
    /// has left both the session and the family, lives on.
    ///
    /// This does not wait: `SIGKILL` follows `SIGHUP` at once. Call [`Pty::hang_up`] some time before
    /// to let programs clean up.
    pub fn kill_tree(&self) {
        self.hang_up();
        kill::all(self.pid(), &self.known());
    }

    fn known(&self) -> MutexGuard<'_, BTreeMap<Pid, u64>> {
        self.family.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets the terminal go without killing anything: when its master closes, the kernel hangs it up
    /// (`SIGHUP` to the session's leader and the foreground group), and what survives lives on.
    pub fn leave(mut self) {
        self.left = true;
    }
}

impl AsFd for Pty {
    /// The master: nonblocking, close-on-exec.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.master.as_fd()
    }
}

impl Drop for Pty {
    fn drop(&mut self) {
        if !self.left {
            self.kill_tree();
        }
        // A killed process is gone at its next return to user mode, unless a driver holds it (state
        // D). Nothing else would reap it, so wait for it on a thread that may take its time.
        if !matches!(self.child.try_wait(), Ok(None)) {
            return;
        }
        let pid = nix::unistd::Pid::from_raw(self.pid());
        let reap = move || {
            let _ = nix::sys::wait::waitpid(pid, None);
        };
        let _ = std::thread::Builder::new().name("awaitty-reap".to_owned()).spawn(reap);
    }
}

/// Opens the pair: the master nonblocking, both ends close-on-exec.
fn open(size: Size) -> Result<(OwnedFd, OwnedFd), PtyError> {
    let size = PtySize { rows: size.rows, cols: size.cols, pixel_width: 0, pixel_height: 0 };
    let pair = native_pty_system()
        .openpty(size)
        .map_err(|error| PtyError::Open(error.root_cause().to_string()))?;
    // portable-pty gives neither end away, so take a duplicate of the master, open the slave through
    // it, and let the pair go.
    let number = pair.master.as_raw_fd().ok_or(Errno::EBADF)?;
    let master = sys::fd::duplicate(number)?;
    let slave = sys::tty::open_peer(&master, OFlag::O_RDWR)?;
    fcntl(&master, FcntlArg::F_SETFL(OFlag::O_RDWR | OFlag::O_NONBLOCK))?;
    Ok((master, slave))
}

fn failed(program: OsString, source: io::Error) -> SpawnError {
    match source.raw_os_error().map(Errno::from_raw) {
        Some(Errno::ENOENT | Errno::ENOTDIR) => SpawnError::NotFound { program },
        Some(errno @ (Errno::EACCES | Errno::EPERM)) => SpawnError::Denied { program, errno },
        _ => SpawnError::Other { program, source },
    }
}

#[cfg(test)]
mod tests;
