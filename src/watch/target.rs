//! What a watch is aimed at, and where that hangs in the process tree.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::sys::stat::{SFlag, major, stat};

use super::WatchError;
use crate::observe::{Kernel, Outer, Pid, Root, Scope, TaskFile, TaskId, TtyId};
use crate::proc::{Stat, tty_name};

/// What to watch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// The terminal that this process sits on, until the process ends; without a terminal, the
    /// process and its descendants.
    Pid(Pid),
    /// This terminal, for as long as anybody sits on it.
    Tty(PathBuf),
}

/// A target that was found.
#[derive(Debug, Clone)]
pub(super) struct Found {
    pub(super) scope: Scope,
    /// The process with which the watch ends.
    pub(super) ends_with: Pid,
}

/// What proc_pid_stat(5) says of a process that matters here.
struct Seat {
    session: Pid,
    tty: Option<u64>,
    kernel_thread: bool,
}

fn seat(kernel: &mut dyn Kernel, pid: Pid) -> Option<Seat> {
    let text = kernel.task_file(TaskId { pid, tid: pid }, TaskFile::Stat).ok()?;
    let stat = Stat::parse(&text)?;
    // A main thread that has ended is a zombie for as long as others live.
    let ended = stat.state == b'X' || (stat.state == b'Z' && stat.threads <= 1);
    (!ended).then_some(Seat {
        session: stat.session,
        tty: (stat.tty != 0).then_some(stat.tty),
        kernel_thread: stat.kernel_thread,
    })
}

impl Target {
    pub(super) fn find(&self, kernel: &mut dyn Kernel) -> Result<Found, WatchError> {
        match self {
            Target::Pid(pid) => by_pid(kernel, *pid),
            Target::Tty(path) => by_path(kernel, path),
        }
    }
}

fn by_pid(kernel: &mut dyn Kernel, pid: Pid) -> Result<Found, WatchError> {
    // A thread's number is looked up as its process (`/proc/TID` exists, though it is not listed).
    let seat = seat(kernel, pid).ok_or(WatchError::NoProcess(pid))?;
    if seat.kernel_thread {
        return Err(WatchError::KernelThread(pid));
    }
    let Some(rdev) = seat.tty else {
        return Ok(Found {
            scope: Scope { root: Root::Tree(pid), terminal: None },
            ends_with: pid,
        });
    };
    let leader = leader_of(kernel, pid, seat.session);
    let id = file_system_of(kernel, [pid, leader], rdev);
    Ok(Found { scope: on_terminal(leader, id), ends_with: pid })
}

/// The session's leader, or where that is not to be seen (another PID namespace shows 0, or it has
/// ended), the topmost ancestor in the session.
fn leader_of(kernel: &mut dyn Kernel, pid: Pid, session: Pid) -> Pid {
    if session > 0 && seat(kernel, session).is_some() {
        return session;
    }
    let mut top = pid;
    loop {
        let text = kernel.task_file(TaskId { pid: top, tid: top }, TaskFile::Stat);
        let parent = text.ok().and_then(|text| Stat::parse(&text).map(|stat| stat.ppid));
        match parent.and_then(|parent| seat(kernel, parent).map(|seat| (parent, seat))) {
            Some((parent, seat)) if seat.session == session => top = parent,
            _ => return top,
        }
    }
}

/// `tty_nr` names the device and not the file system that it lies on; a descriptor of the session
/// does.
fn file_system_of(kernel: &mut dyn Kernel, pids: [Pid; 2], rdev: u64) -> TtyId {
    for pid in pids {
        for fd in kernel.fds(pid).unwrap_or_default() {
            if let Ok(stat) = kernel.fd_stat(pid, fd)
                && stat.rdev == rdev
            {
                return TtyId { dev: stat.dev, rdev };
            }
        }
    }
    TtyId { dev: 0, rdev }
}

fn on_terminal(leader: Pid, id: TtyId) -> Scope {
    let terminal = Outer { id, name: tty_name(id.rdev), access: None };
    Scope { root: Root::Session(leader), terminal: Some(terminal) }
}

fn by_path(kernel: &mut dyn Kernel, path: &Path) -> Result<Found, WatchError> {
    let found = stat(path).map_err(|errno| WatchError::Path { path: path.to_owned(), errno })?;
    let character = found.st_mode & SFlag::S_IFMT.bits() == SFlag::S_IFCHR.bits();
    if !character || !is_terminal(path, found.st_rdev) {
        return Err(WatchError::NotATerminal { path: path.to_owned() });
    }
    let id = TtyId { dev: found.st_dev, rdev: found.st_rdev };
    sessions(kernel)
        .into_iter()
        .find(|session| session.id.same(id))
        .map(|session| Found { scope: on_terminal(session.leader, id), ends_with: session.leader })
        .ok_or_else(|| WatchError::NoSession { path: path.to_owned() })
}

/// /dev/null is a character device too; a terminal answers tcgetattr(3).
fn is_terminal(path: &Path, rdev: u64) -> bool {
    use nix::fcntl::{OFlag, open};
    let flags = OFlag::O_RDONLY | OFlag::O_NOCTTY | OFlag::O_NONBLOCK | OFlag::O_CLOEXEC;
    match open(path, flags, nix::sys::stat::Mode::empty()) {
        Ok(fd) => nix::sys::termios::tcgetattr(&fd).is_ok(),
        // Not ours to open: the number tells (136-143 are pts, 4 consoles and serial lines).
        Err(Errno::EACCES | Errno::EPERM | Errno::EBUSY) => {
            matches!(major(rdev), 4 | 5 | 136..=143)
        }
        Err(_) => false,
    }
}

/// A session that has a terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    /// Its leader; where that has ended, the eldest process of the session.
    pub leader: Pid,
    /// Its terminal.
    pub id: TtyId,
}

/// Every session of this machine that has a terminal, in the order of their terminals.
#[must_use]
pub fn sessions(kernel: &mut dyn Kernel) -> Vec<Session> {
    let mut found: BTreeMap<(Pid, u64), Pid> = BTreeMap::new();
    for pid in kernel.processes().unwrap_or_default() {
        if let Some(Seat { session, tty: Some(rdev), .. }) = seat(kernel, pid) {
            let leader = found.entry((session, rdev)).or_insert(pid);
            if pid == session {
                *leader = pid;
            }
        }
    }
    let mut sessions: Vec<Session> = found
        .into_iter()
        .map(|((_, rdev), leader)| Session {
            leader,
            id: file_system_of(kernel, [leader, leader], rdev),
        })
        .collect();
    sessions.sort_unstable_by_key(|session| (session.id.rdev, session.id.dev, session.leader));
    sessions
}
