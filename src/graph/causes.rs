use super::{IdleReason, Index, TimerRole, WaitingOn};
use crate::observe::{
    Holder, Object, ObjectId, Pid, Process, Source, Task, TaskState, TtyId, Wait,
};
use crate::wait::{Children, Interest};

const SIGCHLD_BIT: u64 = 1 << (17 - 1);

/// What can end a wait.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cause {
    /// One of these tasks (positions in the observation).
    Tasks(Vec<usize>),
    /// Input from the job's own terminal.
    User,
    /// Input on a pipe (or the socket that stands for one) that only outsiders can write to.
    StdinPipe(ObjectId),
    /// Something outside of the job, or the task's own time: it will move by itself.
    Outside(WaitingOn),
    /// Nothing that moves by itself; with the reason where it is worth telling.
    Nothing(Option<IdleReason>),
    /// What ends it cannot be seen.
    Unseen,
}

/// Everything that can end what `task` does now. Of a relay outside of the job only what it relays
/// counts: its own timers and peers do not move the job.
pub(super) fn of(index: &Index<'_>, task: &Task, timer: &dyn Fn(&Task) -> TimerRole) -> Vec<Cause> {
    let mut causes = of_task(index, task, timer);
    let relay = index.process(task.id.pid).is_some_and(|process| process.relay);
    if relay && matches!(task.state, TaskState::Blocked(_)) {
        causes.retain(|cause| matches!(cause, Cause::User | Cause::Tasks(_)));
    }
    causes
}

fn of_task(index: &Index<'_>, task: &Task, timer: &dyn Fn(&Task) -> TimerRole) -> Vec<Cause> {
    match &task.state {
        TaskState::Runnable => vec![Cause::Outside(WaitingOn::Cpu)],
        TaskState::Disk { .. } => vec![Cause::Outside(WaitingOn::Disk)],
        TaskState::Opaque { .. } => vec![Cause::Unseen],
        TaskState::Zombie => vec![Cause::Nothing(None)],
        TaskState::Stopped { traced, .. } => vec![of_stop(index, task, *traced)],
        TaskState::Blocked(wait) => of_wait(index, task, wait, timer),
    }
}

/// A stopped task moves when its tracer lets it; without one, when somebody continues it.
fn of_stop(index: &Index<'_>, task: &Task, traced: bool) -> Cause {
    let tracer = index.process(task.id.pid).map_or(0, |process| process.tracer);
    match index.tasks_of(tracer) {
        tasks if traced && !tasks.is_empty() => Cause::Tasks(tasks.to_vec()),
        _ => Cause::Nothing(None),
    }
}

fn of_wait(
    index: &Index<'_>,
    task: &Task,
    wait: &Wait,
    timer: &dyn Fn(&Task) -> TimerRole,
) -> Vec<Cause> {
    let mut causes: Vec<Cause> = Vec::new();
    for source in &wait.sources {
        of_source(index, task, source, timer, &mut causes);
    }
    if wait.timeout.is_finite() && !wait.sources.contains(&Source::Time) {
        causes.push(of_timer(task, timer));
    }
    causes
}

fn of_timer(task: &Task, timer: &dyn Fn(&Task) -> TimerRole) -> Cause {
    match timer(task) {
        TimerRole::Moves => Cause::Outside(WaitingOn::Timer),
        TimerRole::Tick | TimerRole::Fallback => Cause::Nothing(None),
    }
}

fn of_source(
    index: &Index<'_>,
    task: &Task,
    source: &Source,
    timer: &dyn Fn(&Task) -> TimerRole,
    causes: &mut Vec<Cause>,
) {
    match source {
        Source::Object { interest, .. } if interest.none() => {
            causes.push(Cause::Nothing(Some(IdleReason::Events)));
        }
        Source::Object { object: Object::TimerFd { left }, .. } => causes.push(match left {
            Some(_) => of_timer(task, timer),
            None => Cause::Nothing(None),
        }),
        Source::Object { fd, interest, object } => {
            causes.push(of_object(index, task, *fd, *interest, object));
            if matches!(object, Object::Fifo(_)) {
                causes.push(Cause::Nothing(Some(IdleReason::Fifo)));
            }
            if matches!(object, Object::SignalFd { mask } if mask & SIGCHLD_BIT != 0) {
                causes.push(of_children(index, task, Children::Any, true));
            }
        }
        Source::Child(children) => causes.push(of_children(index, task, *children, false)),
        Source::Futex { private, .. } => causes.extend(of_futex(index, task, *private)),
        Source::Lock { holder, .. } => causes.push(of_lock(index, *holder)),
        Source::Fifo { .. } => causes.push(Cause::Nothing(Some(IdleReason::Fifo))),
        Source::Signal { set } => {
            causes.push(Cause::Nothing(Some(IdleReason::Signal)));
            if set.is_none_or(|set| set & SIGCHLD_BIT != 0) {
                causes.push(of_children(index, task, Children::Any, true));
            }
        }
        Source::Time => causes.push(of_timer(task, timer)),
        Source::Unknown { .. } => causes.push(Cause::Unseen),
    }
}

fn of_object(
    index: &Index<'_>,
    task: &Task,
    fd: i32,
    interest: Interest,
    object: &Object,
) -> Cause {
    match object {
        Object::Terminal(tty) => of_terminal(index, task, *tty, interest),
        Object::Master(tty) => of_master(index, *tty),
        Object::Pipe(id) | Object::Fifo(id) => of_pipe(index, task, ObjectId::Pipe(*id), interest),
        Object::Unix { listening: true, .. } => Cause::Nothing(Some(IdleReason::Server)),
        Object::Unix { peer: 0, connected: true, .. } => Cause::Outside(WaitingOn::Pipe),
        Object::Unix { peer: 0, name: Some(_), .. } => Cause::Nothing(Some(IdleReason::Server)),
        Object::Unix { peer: 0, .. } => Cause::Nothing(Some(IdleReason::Events)),
        Object::Unix { peer, name, .. } => {
            let peer = ObjectId::Socket(*peer);
            match of_holders(index, task, index.holders(peer)) {
                None if fd == 0 && name.is_none() && interest.read => Cause::StdinPipe(peer),
                None => Cause::Outside(WaitingOn::Pipe),
                Some(cause) => cause,
            }
        }
        Object::Inet { listening: true, .. } => Cause::Nothing(Some(IdleReason::Server)),
        Object::Inet { peer: 0, .. } => Cause::Outside(WaitingOn::Network),
        Object::Inet { peer, .. } => {
            of_holders(index, task, index.holders(ObjectId::Socket(*peer)))
                .unwrap_or(Cause::Outside(WaitingOn::Network))
        }
        Object::EventFd { id } => of_eventfd(index, task, *id),
        Object::PidFd { pid } => of_pidfd(index, *pid),
        Object::SignalFd { .. } => Cause::Nothing(Some(IdleReason::Signal)),
        Object::Inotify => Cause::Nothing(Some(IdleReason::Files)),
        Object::Socket { .. } => Cause::Nothing(Some(IdleReason::Events)),
        Object::TimerFd { .. } => Cause::Nothing(None),
        // A disk is waited for in state D. What sleeps on a file otherwise sleeps on its file system's
        // own terms: a message queue, a trace pipe, FUSE.
        Object::File { .. }
        | Object::Epoll
        | Object::Uring
        | Object::Other { .. }
        | Object::Unknown => Cause::Unseen,
    }
}

/// A read of the outer terminal waits for the user, one of an inner terminal for whoever holds its
/// master. A write waits for the terminal's other side to take what was written.
fn of_terminal(index: &Index<'_>, task: &Task, tty: TtyId, interest: Interest) -> Cause {
    let outer = index.is_outer(tty);
    if interest.priority && !interest.read && !interest.write {
        return Cause::Nothing(None);
    }
    if interest.read && outer {
        return Cause::User;
    }
    if outer {
        let terminal = index.observation.terminal.as_ref();
        return match terminal.and_then(|terminal| terminal.writable) {
            Some(false) => Cause::Nothing(Some(IdleReason::Output)),
            _ => Cause::Outside(WaitingOn::Output),
        };
    }
    of_holders(index, task, index.holders(ObjectId::Master(tty)))
        .unwrap_or(Cause::Outside(WaitingOn::Other))
}

/// A master becomes readable when something writes to its terminal: whoever sits on it, or has it
/// open without.
fn of_master(index: &Index<'_>, tty: TtyId) -> Cause {
    let mut tasks = index.tasks_on(tty);
    for holder in index.holders(ObjectId::Terminal(tty)) {
        tasks.extend_from_slice(index.tasks_of(holder.pid));
    }
    if tasks.is_empty() { Cause::Outside(WaitingOn::Child) } else { Cause::Tasks(tasks) }
}

fn of_pipe(index: &Index<'_>, task: &Task, pipe: ObjectId, interest: Interest) -> Cause {
    let wanted = |holder: &&Holder| if interest.read { holder.write } else { holder.read };
    let others: Vec<Holder> = index.holders(pipe).iter().filter(wanted).copied().collect();
    match of_holders(index, task, &others) {
        Some(cause) => cause,
        // A reader that sleeps on a pipe has a writer somewhere: without one, read returns 0.
        None if interest.read && index.observation.tables_hidden => Cause::Unseen,
        None if interest.read => Cause::StdinPipe(pipe),
        None => Cause::Outside(WaitingOn::Pipe),
    }
}

/// The tasks of those who hold the other end, without the waiting task itself; `None` where nobody
/// that was seen holds it.
fn of_holders(index: &Index<'_>, task: &Task, holders: &[Holder]) -> Option<Cause> {
    if holders.is_empty() {
        return None;
    }
    let mut tasks = Vec::new();
    for holder in holders {
        let theirs = index.tasks_of(holder.pid);
        if theirs.is_empty() {
            return Some(Cause::Unseen);
        }
        tasks
            .extend(theirs.iter().copied().filter(|&at| index.observation.tasks[at].id != task.id));
    }
    Some(Cause::Tasks(tasks))
}

fn of_eventfd(index: &Index<'_>, task: &Task, id: Option<u64>) -> Cause {
    let own = [Holder { pid: task.id.pid, read: true, write: true }];
    let holders = match id.map(|id| index.holders(ObjectId::EventFd(id))) {
        Some(holders) if !holders.is_empty() => holders,
        _ => own.as_slice(),
    };
    of_holders(index, task, holders).unwrap_or(Cause::Nothing(None))
}

fn of_pidfd(index: &Index<'_>, pid: Pid) -> Cause {
    match index.tasks_of(pid) {
        [] => Cause::Outside(WaitingOn::Child),
        tasks => Cause::Tasks(tasks.to_vec()),
    }
}

/// A wait for children ends when one of them does; `optional`: it is a wait for signals, of which
/// SIGCHLD is one, so that having no child is no reason to return.
fn of_children(index: &Index<'_>, task: &Task, which: Children, optional: bool) -> Cause {
    let Some(parent) = index.process(task.id.pid) else { return Cause::Unseen };
    if let Children::PidFd(pid) = which {
        return of_pidfd(index, pid);
    }
    let mut tasks = Vec::new();
    let mut any = false;
    for child in waited_for(index, parent, which) {
        any = true;
        let theirs = index.tasks_of(child.pid);
        if theirs.is_empty() {
            return Cause::Unseen;
        }
        let ended = |&at: &usize| index.observation.tasks[at].state == TaskState::Zombie;
        if theirs.iter().all(ended) && !optional {
            return Cause::Outside(WaitingOn::Cpu);
        }
        tasks.extend_from_slice(theirs);
    }
    match (any, optional) {
        (true, _) => Cause::Tasks(tasks),
        (false, true) => Cause::Nothing(None),
        // It is about to return (ECHILD), or waits for what it traces outside of the job.
        (false, false) => Cause::Outside(WaitingOn::Child),
    }
}

/// The children (and tracees: wait4(2) reports those too) that a wait is for.
fn waited_for<'i>(
    index: &'i Index<'_>,
    parent: &'i Process,
    which: Children,
) -> impl Iterator<Item = &'i Process> {
    let group = if which == Children::Group(0) { Children::Group(parent.pgrp) } else { which };
    index.observation.processes.values().filter(move |process| {
        let related = parent.children.contains(&process.pid) || process.tracer == parent.pid;
        related
            && match group {
                Children::Pid(pid) => process.pid == pid,
                Children::Group(pgrp) => process.pgrp == pgrp,
                Children::Any | Children::Vfork | Children::PidFd(_) => true,
            }
    })
}

fn of_futex(index: &Index<'_>, task: &Task, private: bool) -> Vec<Cause> {
    let other = |at: &usize| index.observation.tasks[*at].id != task.id;
    if private {
        let siblings = index.tasks_of(task.id.pid).iter().copied().filter(other).collect();
        return vec![Cause::Tasks(siblings)];
    }
    // In memory shared with others: any of the job's tasks may wake it, and outsiders as well.
    let all = (0..index.observation.tasks.len()).filter(other).collect();
    vec![Cause::Tasks(all), Cause::Unseen]
}

fn of_lock(index: &Index<'_>, holder: Option<Pid>) -> Cause {
    match holder.map(|pid| index.tasks_of(pid)) {
        Some(tasks) if !tasks.is_empty() => Cause::Tasks(tasks.to_vec()),
        _ => Cause::Outside(WaitingOn::Lock),
    }
}
