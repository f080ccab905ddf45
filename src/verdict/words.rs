//! Waits in words, for people: `read 0 </dev/pts/3>`.

use crate::observe::{Object, Observation, Source, Task, TaskState, TtyId, Wait};
use crate::proc::tty_name;
use crate::wait::{Children, LockKind};

use super::{JobTask, TaskClass};

/// More sources than this are counted, not named.
const NAMED: usize = 4;

/// The tasks of a job for a verdict's reader; members only.
#[must_use]
pub(super) fn job(observation: &Observation) -> Vec<JobTask> {
    observation
        .tasks
        .iter()
        .filter(|task| observation.processes.get(&task.id.pid).is_some_and(|p| p.member))
        .map(|task| JobTask {
            pid: task.id.pid,
            tid: task.id.tid,
            comm: task.comm.clone(),
            state: class(observation, task),
            wait: of_state(observation, &task.state),
        })
        .collect()
}

fn class(observation: &Observation, task: &Task) -> TaskClass {
    match &task.state {
        TaskState::Runnable => TaskClass::Runnable,
        TaskState::Blocked(wait) if reads(observation, wait) => TaskClass::TtyRead,
        TaskState::Blocked(_) => TaskClass::OtherIo,
        TaskState::Disk { .. } => TaskClass::OtherIo,
        TaskState::Stopped { .. } => TaskClass::Stopped,
        TaskState::Zombie => TaskClass::Zombie,
        TaskState::Opaque { .. } => TaskClass::Opaque,
    }
}

/// Does the wait end by input on any terminal of the job?
pub(super) fn reads(observation: &Observation, wait: &Wait) -> bool {
    let mut terminals = observation.terminal.iter().chain(&observation.inner);
    terminals.any(|terminal| wait.reads(terminal.id).is_some())
}

fn of_state(observation: &Observation, state: &TaskState) -> Option<String> {
    match state {
        TaskState::Blocked(wait) | TaskState::Stopped { wait: Some(wait), .. } => {
            Some(of_wait(observation, wait))
        }
        TaskState::Disk { at } => at.clone().filter(|at| at != "0"),
        _ => None,
    }
}

/// A wait: the call, what it is on, how long.
#[must_use]
pub fn of_wait(observation: &Observation, wait: &Wait) -> String {
    let mut parts: Vec<String> = wait
        .sources
        .iter()
        .take(NAMED)
        .filter_map(|source| of_source(observation, source))
        .collect();
    if wait.sources.len() > NAMED {
        parts.push(format!("{} more", wait.sources.len() - NAMED));
    }
    if let Some(length) = wait.timeout.duration() {
        parts.push(format!("{length:?}"));
    }
    format!("{} {}", wait.call, parts.join(", ")).trim_end().to_owned()
}

fn of_source(observation: &Observation, source: &Source) -> Option<String> {
    Some(match source {
        Source::Object { fd, object, .. } => format!("{fd} <{}>", of_object(observation, object)),
        Source::Child(Children::Pid(pid) | Children::PidFd(pid)) => format!("child {pid}"),
        Source::Child(Children::Group(group)) => format!("children of group {group}"),
        Source::Child(Children::Any | Children::Vfork) => "child".to_owned(),
        Source::Futex { addr, .. } => format!("{addr:#x}"),
        Source::Lock { kind, path, holder, .. } => {
            let family = match kind {
                LockKind::Flock => "flock",
                LockKind::Posix => "posix",
                LockKind::Ofd => "ofd",
            };
            match holder {
                Some(pid) => format!("{family} <{path}> held by {pid}"),
                None => format!("{family} <{path}>"),
            }
        }
        Source::Fifo { path, .. } => format!("fifo <{path}>"),
        Source::Signal { .. } => "signal".to_owned(),
        Source::Time => return None,
        Source::Unknown { what } => format!("unknown ({what})"),
    })
}

fn of_object(observation: &Observation, object: &Object) -> String {
    match object {
        Object::Terminal(tty) => name_of(observation, *tty),
        Object::Master(tty) => format!("master of {}", name_of(observation, *tty)),
        Object::Pipe(id) => format!("pipe:[{}]", id.ino),
        Object::Fifo(id) => format!("fifo:[{}]", id.ino),
        Object::Unix { ino, name, .. } => match name {
            Some(name) => format!("unix:{name}"),
            None => format!("unix:[{ino}]"),
        },
        Object::Inet { local, listening: true, .. } => format!("listening on {local}"),
        Object::Inet { local, remote, .. } => format!("{local} -> {remote}"),
        Object::Socket { ino, .. } => format!("socket:[{ino}]"),
        Object::EventFd { .. } => "eventfd".to_owned(),
        Object::SignalFd { .. } => "signalfd".to_owned(),
        Object::TimerFd { .. } => "timerfd".to_owned(),
        Object::Inotify => "inotify".to_owned(),
        Object::PidFd { pid } => format!("pidfd of {pid}"),
        Object::Epoll => "epoll".to_owned(),
        Object::Uring => "io_uring".to_owned(),
        Object::File { path, .. } | Object::Other { name: path } => path.clone(),
        Object::Unknown => "unknown".to_owned(),
    }
}

/// A terminal's name; of one that is not the job's own, by its device number.
#[must_use]
pub(super) fn name_of(observation: &Observation, tty: TtyId) -> String {
    observation
        .terminal
        .iter()
        .chain(&observation.inner)
        .find(|terminal| terminal.id.same(tty))
        .map_or_else(|| tty_name(tty.rdev), |terminal| terminal.name.clone())
}
