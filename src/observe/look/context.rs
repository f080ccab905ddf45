//! What the members wait for: background children, the holders of their pipes, sockets and locks,
//! the terminals behind their masters.

use std::collections::{BTreeMap, BTreeSet};

use super::gather::sources;
use super::{Children, Known, Look, Table, Way, holders, read_stat};
use crate::observe::{
    FileId, Kernel, Object, ObjectId, Pid, ReadError, Source, Task, TaskFile, TaskId, TaskState,
    Terminal, TtyAccess, TtyId,
};
use crate::proc::{Status, fdinfo};

impl Look<'_> {
    /// Adds what members wait for: background children, holders of their pipes and sockets, and so
    /// on until nothing new comes.
    pub(super) fn context(&mut self) {
        let mut wanted = self.wants_tables();
        let mut tables = BTreeMap::new();
        loop {
            if wanted {
                tables = self.tables();
            }
            self.observation.holders = holders::by_object(tables.values());
            self.outside(&mut tables);
            self.lock_holders();
            self.expand();
            // What came in by its parent may wait on something that is held.
            if wanted || !self.wants_tables() {
                break;
            }
            wanted = true;
        }
        self.tracers();
        self.timers();
        self.inner_terminals(&tables);
    }

    /// Takes in what the tasks wait for, and what those wait for.
    fn expand(&mut self) {
        let mut seen = 0;
        let mut told = BTreeSet::new();
        while seen < self.observation.tasks.len() {
            let task = self.observation.tasks[seen].clone();
            seen += 1;
            for pid in self.related(&task, &mut told) {
                if self.walk.processes.contains_key(&pid)
                    && !self.observation.processes.contains_key(&pid)
                {
                    self.process(pid);
                }
            }
        }
    }

    /// Does the answer depend on who holds what? Where somebody reads the job's own terminal, and
    /// what the others wait for has no descriptor, it does not, and the tables are most of what a
    /// look costs.
    fn wants_tables(&self) -> bool {
        let Some(outer) = self.observation.terminal.as_ref().map(|outer| outer.id) else {
            return true;
        };
        let mut read = false;
        for source in self.observation.tasks.iter().flat_map(|task| sources(&task.state)) {
            match source {
                Source::Object { interest, object: Object::Terminal(tty), .. }
                    if tty.same(outer) && interest.read =>
                {
                    read = true;
                }
                Source::Child(Children::PidFd(_)) => return true,
                Source::Time | Source::Child(_) | Source::Signal { .. } => {}
                Source::Futex { private: true, .. } => {}
                _ => return true,
            }
        }
        !read
    }

    fn tables(&mut self) -> BTreeMap<Pid, Table> {
        let mut tables = BTreeMap::new();
        for pid in self.walk.order.clone() {
            match self.table(pid) {
                Ok(table) => drop(tables.insert(pid, table)),
                Err(_) => self.observation.tables_hidden = true,
            }
        }
        tables
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
        named.retain(|pid| read_stat(self.kernel, *pid).is_none());
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
                if files.contains(&file) {
                    let info = self.kernel.fdinfo(pid, fd).unwrap_or_default();
                    self.name_holder(file, pid, &info);
                }
            }
        }
    }

    /// `info` is the fdinfo of a descriptor that `pid` has on the file.
    fn name_holder(&mut self, locked: FileId, pid: Pid, info: &str) {
        for task in &mut self.observation.tasks {
            let TaskState::Blocked(wait) = &mut task.state else { continue };
            for source in &mut wait.sources {
                if let Source::Lock { kind, file, holder: holder @ None, .. } = source
                    && *file == locked
                    && fdinfo::holds_lock(info, *kind)
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

    /// The processes that a task's wait leads to; the holders of an object are told once, since all of
    /// a thousand processes may wait on one pipe.
    fn related(&mut self, task: &Task, told: &mut BTreeSet<ObjectId>) -> Vec<Pid> {
        let mut pids = Vec::new();
        if matches!(task.state, TaskState::Stopped { traced: true, .. }) {
            pids.push(self.tracer(task.id.pid));
        }
        let mut holders = |object: ObjectId| {
            let anew = told.insert(object);
            let holders = self.observation.holders.get(&object).filter(|_| anew);
            holders.into_iter().flatten().map(|holder| holder.pid)
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
                    Object::Master(tty) => {
                        pids.extend(holders(ObjectId::Terminal(*tty)));
                        pids.extend(self.on_terminal(*tty));
                    }
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

    /// Who traces the processes in the graph, where somebody may wait for them as a tracer does: a
    /// wait for children that they are none of.
    fn tracers(&mut self) {
        let waiting: BTreeSet<Pid> = self
            .observation
            .tasks
            .iter()
            .filter(|task| sources(&task.state).iter().any(|it| matches!(it, Source::Child(_))))
            .map(|task| task.id.pid)
            .collect();
        let fathered = |parent: &Pid, pid: Pid| {
            let parent = self.observation.processes.get(parent);
            parent.is_some_and(|parent| parent.pid == pid || parent.children.contains(&pid))
        };
        let stopped = |pid: Pid| {
            let traced =
                |state: &TaskState| matches!(state, TaskState::Stopped { traced: true, .. });
            self.observation.tasks.iter().any(|task| task.id.pid == pid && traced(&task.state))
        };
        let pids: Vec<Pid> = self
            .observation
            .processes
            .keys()
            .copied()
            .filter(|&pid| stopped(pid) || !waiting.iter().all(|parent| fathered(parent, pid)))
            .collect();
        for pid in pids {
            let tracer = self.tracer(pid);
            if let Some(process) = self.observation.processes.get_mut(&pid) {
                process.tracer = tracer;
            }
        }
    }

    /// Who traces a process; 0 for nobody.
    fn tracer(&mut self, pid: Pid) -> Pid {
        self.once(
            pid,
            |known| &mut known.tracer,
            |kernel, leader| {
                let text = kernel.task_file(leader, TaskFile::Status);
                text.ok().and_then(|text| Status::parse(&text)).map_or(0, |status| status.tracer)
            },
        )
    }

    /// Which processes have timers of their own. Where somebody reads a terminal, they decide
    /// nothing.
    fn timers(&mut self) {
        if self.observation.tasks.iter().any(Task::reads_terminal) {
            return;
        }
        let pids: Vec<Pid> = self.observation.processes.keys().copied().collect();
        for pid in pids {
            let timers = self.once(
                pid,
                |known| &mut known.timers,
                |kernel, leader| {
                    kernel.task_file(leader, TaskFile::Timers).is_ok_and(|text| !text.is_empty())
                },
            );
            if let Some(process) = self.observation.processes.get_mut(&pid) {
                process.timers = timers;
            }
        }
    }

    /// What is read of a process once for as long as it sleeps.
    fn once<T: Copy>(
        &mut self,
        pid: Pid,
        place: impl Fn(&mut Known) -> &mut Option<T>,
        read: impl FnOnce(&mut dyn Kernel, TaskId) -> T,
    ) -> T {
        let counters = self.counters(pid);
        let known = self.looker.known.get_mut(&pid).filter(|known| known.counters == counters);
        if let Some(value) = known.and_then(|known| *place(known)) {
            return value;
        }
        let value = read(self.kernel, TaskId { pid, tid: pid });
        if let Some(known) = self.looker.known.get_mut(&pid)
            && known.counters == counters
        {
            *place(known) = Some(value);
        }
        value
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
