//! The first pass: tasks, the processes they wait for, terminals.

use super::{
    Controlling, Depth, Identity, Known, Look, Object, Pid, ReadError, Reading, Source, Task,
    TaskId, TaskState, Terminal, TtyAccess, TtyId, Wait, task_of,
};
use crate::observe::TtyState;

impl Look<'_> {
    /// The outer terminal: modes and groups.
    pub(super) fn terminal(&mut self, foreground: Option<Pid>) {
        let Some(outer) = self.looker.scope.terminal.clone() else { return };
        let leader = match self.looker.scope.root {
            super::Root::Session(leader) => Some(leader),
            super::Root::Tree(_) => None,
        };
        self.observation.terminal = Some(Terminal {
            id: outer.id,
            name: outer.name,
            foreground,
            session: leader,
            modes: None,
            readable: None,
            writable: None,
            undrained: None,
        });
    }

    /// Asks for the modes: a program sets them before it sleeps, so they must be those of the instant
    /// between the passes.
    pub(super) fn modes(&mut self) {
        let state = self.outer_state();
        if let Some(terminal) = self.observation.terminal.as_mut() {
            terminal.modes = state.and_then(|state| state.modes);
        }
        for (terminal, way) in self.observation.inner.iter_mut().zip(&self.ways) {
            if let Ok(state) = self.kernel.terminal(way.slave) {
                terminal.modes = state.modes;
            }
        }
    }

    /// The way to the outer terminal that was good last.
    pub(super) fn outer_access(&self) -> Option<TtyAccess> {
        self.looker.scope.terminal.as_ref()?.access
    }

    /// The outer terminal's state; where the known way to it has closed, another is looked for among
    /// the job's descriptors.
    fn outer_state(&mut self) -> Option<TtyState> {
        if let Some(access) = self.outer_access()
            && let Ok(state) = self.kernel.terminal(access)
        {
            return Some(state);
        }
        let id = self.looker.scope.terminal.as_ref()?.id;
        let pids: Vec<Pid> = self.walk.order.clone();
        let access = pids.into_iter().find_map(|pid| self.open_by(pid, id))?;
        self.looker.scope.terminal.as_mut()?.access = Some(access);
        self.kernel.terminal(access).ok()
    }

    fn open_by(&mut self, pid: Pid, tty: TtyId) -> Option<TtyAccess> {
        let fds = self.kernel.fds(pid).ok()?;
        fds.into_iter().find_map(|fd| {
            let stat = self.kernel.fd_stat(pid, fd).ok()?;
            let id = TtyId { dev: stat.dev, rdev: stat.rdev };
            (stat.rdev != 0 && id.same(tty)).then_some(TtyAccess::Process { pid, fd, id })
        })
    }

    /// Reads the members' tasks, the youngest processes first: there the work is. True if the look
    /// may end here.
    pub(super) fn members(&mut self, depth: Depth, live: &mut dyn FnMut(&Task) -> bool) -> bool {
        let members: Vec<Pid> = self.walk.order.iter().rev().copied().collect();
        let mut found = false;
        for pid in members {
            if !self.walk.processes.get(&pid).is_some_and(|process| process.member) {
                continue;
            }
            let from = self.observation.tasks.len();
            self.process(pid);
            if let Some(task) = self.observation.tasks[from..].iter().find(|task| live(task)) {
                self.looker.hot = Some(task.clone());
                found = true;
                if depth == Depth::FirstLive {
                    return true;
                }
            }
        }
        if !found {
            self.looker.hot = None;
        }
        false
    }

    /// Reads the tasks of one process into the observation.
    pub(super) fn process(&mut self, pid: Pid) {
        let Some(process) = self.walk.processes.get(&pid).cloned() else { return };
        self.observation.processes.insert(pid, process);
        let counters = self.counters(pid);
        let counted = counters.iter().all(|(_, counter)| counter.runs.is_some());
        let tasks = match self.looker.known.get(&pid) {
            Some(known) if known.counters == counters && counted => {
                if known.tasks.iter().all(|task| lasts(&task.state)) {
                    self.observation.tasks.extend(known.tasks.iter().cloned());
                    return;
                }
                self.read_tasks(&counters)
            }
            _ => self.read_tasks(&counters),
        };
        self.observation.tasks.extend(tasks.iter().cloned());
        let known = Known { counters, tasks, table: None, tracer: None, timers: None };
        self.looker.known.insert(pid, known);
    }

    pub(super) fn counters(&self, pid: Pid) -> Vec<(TaskId, super::Counter)> {
        let threads = self.walk.threads.get(&pid).map_or(&[][..], Vec::as_slice);
        threads
            .iter()
            .map(|&tid| TaskId { pid, tid })
            .map(|task| (task, self.walk.counters.get(&task).copied().unwrap_or_default()))
            .collect()
    }

    fn read_tasks(&mut self, counters: &[(TaskId, super::Counter)]) -> Vec<Task> {
        let mut tasks = Vec::with_capacity(counters.len());
        for (task, counter) in counters {
            if let Some(same) = self.slept_on(*task, *counter) {
                tasks.push(same);
                continue;
            }
            match self.read_state(*task) {
                Ok((comm, state)) => tasks.push(task_of(*task, comm, state, *counter)),
                Err(_) => self.moved = true,
            }
        }
        tasks
    }

    /// A task that has not run since. Its siblings may have put other files behind its descriptors
    /// meanwhile; the call keeps those that it began with.
    fn slept_on(&self, task: TaskId, counter: super::Counter) -> Option<Task> {
        let known = self.looker.known.get(&task.pid)?;
        let at = known.counters.iter().position(|entry| *entry == (task, counter))?;
        let same = known.tasks.get(at).filter(|same| same.id == task)?;
        let asleep = matches!(same.state, TaskState::Blocked(_)) && lasts(&same.state);
        (counter.runs.is_some() && asleep).then(|| same.clone())
    }

    /// What one task does now.
    pub(super) fn read_state(&mut self, task: TaskId) -> Result<(String, TaskState), ReadError> {
        let controlling = self.controlling(task.pid);
        let thread = self.living_thread(task.pid);
        let former = self.former(task);
        let sockets = Some(&mut self.looker.sockets);
        let mut reading = Reading { kernel: &mut *self.kernel, sockets, thread };
        reading.state(task, controlling, former.as_ref())
    }

    /// A thread of the process that shows its files: a leader that has ended shows none.
    pub(super) fn living_thread(&mut self, pid: Pid) -> Pid {
        let threads = self.walk.threads.get(&pid).cloned().unwrap_or_default();
        let alive = |tid: &Pid| {
            Identity::read(self.kernel, TaskId { pid, tid: *tid })
                .is_ok_and(|read| !matches!(read.state, b'Z' | b'X'))
        };
        if threads.len() <= 1 { pid } else { threads.into_iter().find(alive).unwrap_or(pid) }
    }

    /// The wait that a task was last seen in: what a `restart_syscall` stands for.
    fn former(&self, task: TaskId) -> Option<Wait> {
        let known = self.looker.known.get(&task.pid)?;
        known.tasks.iter().find(|known| known.id == task).and_then(|known| match &known.state {
            TaskState::Blocked(wait) => Some(wait.clone()),
            _ => None,
        })
    }

    /// The controlling terminal by device and file system: `tty_nr` has no file system, so one of
    /// the session's descriptors lends it.
    pub(super) fn controlling(&mut self, pid: Pid) -> Controlling {
        let Some(process) = self.walk.processes.get(&pid) else { return Controlling::default() };
        let Some(rdev) = process.tty else { return Controlling::default() };
        let outer = self.looker.scope.terminal.as_ref().map(|outer| outer.id);
        let leader = match self.looker.scope.root {
            super::Root::Session(leader) | super::Root::Tree(leader) => leader,
        };
        if let Some(outer) = outer
            && outer.rdev == rdev
            && process.session == leader
        {
            return Controlling { tty: Some(outer) };
        }
        let thread = self.living_thread(pid);
        let dev = (0..3)
            .find_map(|fd| self.kernel.fd_stat(thread, fd).ok().filter(|stat| stat.rdev == rdev))
            .map_or(0, |stat| stat.dev);
        Controlling { tty: Some(TtyId { dev, rdev }) }
    }
}

/// What can end a task's wait, be it asleep or stopped in it.
pub(super) fn sources(state: &TaskState) -> &[Source] {
    match state {
        TaskState::Blocked(wait) | TaskState::Stopped { wait: Some(wait), .. } => &wait.sources,
        _ => &[],
    }
}

/// Does what was read stay true for as long as the task does not run? A lock changes its holder, a
/// timer its rest, a connection is accepted, and an epoll set grows by whoever has it too, all
/// without the sleeper's doing.
fn lasts(state: &TaskState) -> bool {
    let lasting = |wait: &Wait| {
        !wait.sources.iter().any(|source| {
            matches!(
                source,
                Source::Lock { .. }
                    | Source::Unknown { .. }
                    | Source::Object {
                        object: Object::TimerFd { .. }
                            | Object::Unknown
                            | Object::Unix { peer: 0, .. },
                        ..
                    }
            )
        }) && !wait.call.starts_with("epoll")
    };
    match state {
        TaskState::Blocked(wait) => lasting(wait),
        TaskState::Stopped { .. } | TaskState::Zombie => true,
        TaskState::Runnable | TaskState::Disk { .. } | TaskState::Opaque { .. } => false,
    }
}
