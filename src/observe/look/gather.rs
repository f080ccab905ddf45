//! The first pass: tasks, the processes they wait for, terminals.

use std::collections::BTreeMap;

use super::{
    BTreeSet, Children, Controlling, Depth, FileId, Identity, Known, Look, Object, ObjectId, Pid,
    ReadError, Reading, Source, Status, Table, Task, TaskFile, TaskId, TaskState, Terminal,
    TtyAccess, TtyId, Wait, Way, holders, task_of,
};
use crate::observe::{Signals, TtyState};

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

    /// Adds the orphans of the session to the walk, after the walk down from the root: what was
    /// missed there because its parent ended on the way is an orphan by now. True if there are any:
    /// the members must be read anew then.
    pub(super) fn orphans(&mut self, foreground: Option<Pid>) -> bool {
        let orphans = self.looker.orphans(self.kernel);
        let some = !orphans.is_empty();
        if some {
            self.walk.go_on(self.kernel, &orphans);
            self.walk.mark_members(self.looker.scope.root, foreground);
            self.observation.tasks.clear();
            self.observation.processes.clear();
        }
        self.orphans = Some(orphans);
        some
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
        let known = Known { counters, tasks, table: None, status: None };
        self.looker.known.insert(pid, known);
    }

    fn counters(&self, pid: Pid) -> Vec<(TaskId, super::Counter)> {
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

    /// A task that has not run since and waits for nothing that its siblings could exchange under
    /// it, as they could a descriptor.
    fn slept_on(&self, task: TaskId, counter: super::Counter) -> Option<Task> {
        let known = self.looker.known.get(&task.pid)?;
        let at = known.counters.iter().position(|entry| *entry == (task, counter))?;
        let same = known.tasks.get(at).filter(|same| same.id == task)?;
        let TaskState::Blocked(wait) = &same.state else { return None };
        let alone = |source: &Source| matches!(source, Source::Futex { .. } | Source::Child(_));
        (counter.runs.is_some() && wait.sources.iter().all(alone)).then(|| same.clone())
    }

    /// What one task does now.
    pub(super) fn read_state(&mut self, task: TaskId) -> Result<(String, TaskState), ReadError> {
        let controlling = self.controlling(task.pid);
        let thread = self.living_thread(task.pid);
        let arch = self.kernel.arch(thread);
        let former = self.former(task);
        let mut reading = Reading { kernel: &mut *self.kernel, arch };
        reading.state(task, controlling, former.as_ref())
    }

    /// A thread of the process that shows its files: a leader that has ended shows none.
    fn living_thread(&mut self, pid: Pid) -> Pid {
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

    /// Adds what members wait for: background children, holders of their pipes and sockets, and so
    /// on until nothing new comes.
    pub(super) fn context(&mut self) {
        let pids: Vec<Pid> = self.walk.order.clone();
        let mut tables = BTreeMap::new();
        for pid in pids {
            if let Ok(table) = self.table(pid) {
                tables.insert(pid, table);
            } else if let Some(process) = self.observation.processes.get_mut(&pid) {
                process.fds_visible = false;
            }
        }
        self.observation.holders = holders::by_object(tables.values());
        self.outside(&mut tables);
        self.lock_holders();
        let mut seen = 0;
        while seen < self.observation.tasks.len() {
            let task = self.observation.tasks[seen].clone();
            seen += 1;
            for pid in self.related(&task) {
                if self.walk.processes.contains_key(&pid)
                    && !self.observation.processes.contains_key(&pid)
                {
                    self.process(pid);
                }
            }
        }
        self.statuses();
        self.inner_terminals(&tables);
    }

    /// `/proc/locks` names no holder of an open file description's lock (-1), and of a flock(2) it
    /// names who asked for it, who may have ended and left the description to others (`flock 3` in
    /// a script). The `fdinfo` of a description tells its locks.
    fn lock_holders(&mut self) {
        let mut named: BTreeSet<Pid> = BTreeSet::new();
        for task in &self.observation.tasks {
            named.extend(sources(&task.state).iter().filter_map(|source| match source {
                Source::Lock { holder, .. } => *holder,
                _ => None,
            }));
        }
        named.retain(|pid| super::read_stat(self.kernel, *pid).is_none());
        for task in &mut self.observation.tasks {
            let TaskState::Blocked(wait) = &mut task.state else { continue };
            for source in &mut wait.sources {
                if let Source::Lock { holder, .. } = source
                    && holder.is_some_and(|pid| named.contains(&pid))
                {
                    *holder = None;
                }
            }
        }
        let files: BTreeSet<FileId> = self
            .observation
            .tasks
            .iter()
            .flat_map(|task| sources(&task.state))
            .filter_map(|source| match source {
                Source::Lock { holder: None, file, .. } => Some(*file),
                _ => None,
            })
            .collect();
        if files.is_empty() {
            return;
        }
        for pid in self.walk.order.clone() {
            for fd in self.kernel.fds(pid).unwrap_or_default() {
                let Ok(stat) = self.kernel.fd_stat(pid, fd) else { continue };
                let file = FileId { dev: stat.dev, ino: stat.ino };
                let holds = files.contains(&file)
                    && self.kernel.fdinfo(pid, fd).is_ok_and(|text| text.contains("\nlock:"));
                if holds {
                    self.name_holder(file, pid);
                }
            }
        }
    }

    fn name_holder(&mut self, locked: FileId, pid: Pid) {
        for task in &mut self.observation.tasks {
            let TaskState::Blocked(wait) = &mut task.state else { continue };
            for source in &mut wait.sources {
                if let Source::Lock { file, holder: holder @ None, .. } = source
                    && *file == locked
                {
                    *holder = Some(pid);
                }
            }
        }
    }

    /// The table of a process, read once for as long as it sleeps.
    pub(super) fn table(&mut self, pid: Pid) -> Result<Table, ReadError> {
        let counters = self.counters(pid);
        let known = self.looker.known.get(&pid).filter(|known| known.counters == counters);
        if let Some(table) = known.and_then(|known| known.table.clone()) {
            return table;
        }
        let thread = self.living_thread(pid);
        let table = holders::table(self.kernel, pid, thread);
        if let Some(known) = self.looker.known.get_mut(&pid)
            && known.counters == counters
        {
            known.table = Some(table.clone());
        }
        table
    }

    /// The processes that a task's wait leads to.
    fn related(&mut self, task: &Task) -> Vec<Pid> {
        let mut pids = Vec::new();
        if matches!(task.state, TaskState::Stopped { traced: true, .. }) {
            pids.extend(self.status(task.id.pid).map(|status| status.tracer));
        }
        let holders = |object: ObjectId| {
            self.observation.holders.get(&object).into_iter().flatten().map(|holder| holder.pid)
        };
        for source in sources(&task.state) {
            match source {
                Source::Child(Children::PidFd(pid)) | Source::Lock { holder: Some(pid), .. } => {
                    pids.push(*pid);
                }
                Source::Child(_) | Source::Signal { .. } => {
                    let parent = self.walk.processes.get(&task.id.pid);
                    pids.extend(parent.into_iter().flat_map(|parent| parent.children.clone()));
                }
                Source::Object { object, .. } => match object {
                    Object::Pipe(id) | Object::Fifo(id) => {
                        pids.extend(holders(ObjectId::Pipe(*id)))
                    }
                    Object::Unix { peer, .. } | Object::Inet { peer, .. } => {
                        pids.extend(holders(ObjectId::Socket(*peer)));
                    }
                    Object::EventFd { id: Some(id) } => {
                        pids.extend(holders(ObjectId::EventFd(*id)))
                    }
                    Object::Terminal(tty) => pids.extend(holders(ObjectId::Master(*tty))),
                    Object::Master(tty) => pids.extend(self.on_terminal(*tty)),
                    Object::PidFd { pid } => pids.push(*pid),
                    Object::SignalFd { .. } => {
                        let parent = self.walk.processes.get(&task.id.pid);
                        pids.extend(parent.into_iter().flat_map(|parent| parent.children.clone()));
                    }
                    _ => {}
                },
                _ => {}
            }
        }
        pids
    }

    fn on_terminal(&self, tty: TtyId) -> impl Iterator<Item = Pid> + '_ {
        self.walk
            .processes
            .values()
            .filter(move |process| process.tty == Some(tty.rdev))
            .map(|process| process.pid)
    }

    /// Signal dispositions and tracers of the processes in the graph.
    fn statuses(&mut self) {
        let pids: Vec<Pid> = self.observation.processes.keys().copied().collect();
        for pid in pids {
            let Some(read) = self.status(pid) else { continue };
            if let Some(process) = self.observation.processes.get_mut(&pid) {
                process.tracer = read.tracer;
                process.signals = Some(Signals {
                    blocked: read.blocked,
                    ignored: read.ignored,
                    caught: read.caught,
                });
            }
        }
    }

    fn status(&mut self, pid: Pid) -> Option<Status> {
        let counters = self.counters(pid);
        let known = self.looker.known.get(&pid).filter(|known| known.counters == counters);
        if let Some(read) = known.and_then(|known| known.status.clone()) {
            return Some(read);
        }
        let text = self.kernel.task_file(TaskId { pid, tid: pid }, TaskFile::Status).ok()?;
        let read = Status::parse(&text)?;
        if let Some(known) = self.looker.known.get_mut(&pid)
            && known.counters == counters
        {
            known.status = Some(read.clone());
        }
        Some(read)
    }

    /// The terminals whose masters processes of the graph hold, and on which others sit.
    fn inner_terminals(&mut self, tables: &BTreeMap<Pid, Table>) {
        let outer = self.looker.scope.terminal.as_ref().map(|outer| outer.id);
        let mut found: BTreeSet<TtyId> = BTreeSet::new();
        for (&pid, table) in tables {
            if !self.observation.processes.contains_key(&pid) {
                continue;
            }
            for &(fd, tty) in &table.masters {
                if outer.is_some_and(|outer| outer.same(tty)) || !found.insert(tty) {
                    continue;
                }
                let slave = tables.iter().find_map(|(&pid, table)| {
                    let (fd, id) = table.terminals.iter().find(|(_, id)| id.same(tty))?;
                    Some(TtyAccess::Process { pid, fd: *fd, id: *id })
                });
                let Some(slave) = slave else { continue };
                let front = self.walk.processes.values().find(|p| p.tty == Some(tty.rdev));
                let (foreground, session) =
                    front.map_or((None, None), |p| (Some(p.tpgid), Some(p.session)));
                self.observation.inner.push(Terminal {
                    id: tty,
                    name: crate::proc::tty_name(tty.rdev),
                    foreground,
                    session,
                    modes: self.kernel.terminal(slave).ok().and_then(|state| state.modes),
                    readable: None,
                    writable: None,
                    undrained: None,
                });
                self.ways.push(Way { slave, master: (pid, fd) });
            }
        }
    }
}

/// What can end a task's wait, be it asleep or stopped in it.
fn sources(state: &TaskState) -> &[Source] {
    match state {
        TaskState::Blocked(wait) | TaskState::Stopped { wait: Some(wait), .. } => &wait.sources,
        _ => &[],
    }
}

/// Does what was read stay true for as long as the task does not run? A lock changes its holder and
/// a timer its rest without the sleeper's doing.
fn lasts(state: &TaskState) -> bool {
    let lasting = |wait: &Wait| {
        !wait.sources.iter().any(|source| {
            matches!(
                source,
                Source::Lock { .. }
                    | Source::Unknown { .. }
                    | Source::Object { object: Object::TimerFd { .. } | Object::Unknown, .. }
            )
        })
    };
    match state {
        TaskState::Blocked(wait) => lasting(wait),
        TaskState::Stopped { .. } | TaskState::Zombie => true,
        TaskState::Runnable | TaskState::Disk { .. } | TaskState::Opaque { .. } => false,
    }
}
