//! The proof: what can be under way is asked between the passes, then the second pass shows that
//! every task slept, unwoken, through that instant.
//!
//! Pass 1 read each run counter before the call. Pass 2 reads each state letter, which must be `S`,
//! and then the counter, which must not have moved. A task that ran in between has a higher
//! counter; one that was woken and has not run yet is TASK_WAKING, which `stat` shows as `R` while
//! `syscall` still shows the old call. So whatever passes slept at the instant between the passes.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    Children, Counter, Identity, Inet, Instantaneous, Look, Observation, Pid, Process, Proved,
    Root, Source, Task, TaskId, TaskState, Transit, children_of, counter, foreground_of, read_stat,
};

impl Look<'_> {
    /// Asks, between the passes, for everything that may be on its way although all sleep: typed
    /// input, output of inner terminals, bytes in loopback connections.
    pub(super) fn queues(&mut self) {
        self.modes();
        if let Some(access) = self.outer_access()
            && let Some(terminal) = self.observation.terminal.as_mut()
        {
            let ready = self.kernel.tty_ready(access).ok();
            terminal.readable = ready.map(|ready| ready.readable);
            terminal.writable = ready.map(|ready| ready.writable);
            terminal.undrained = ready.and_then(|ready| ready.undrained);
        }
        for (terminal, way) in self.observation.inner.iter_mut().zip(&self.ways) {
            let ready = self.kernel.tty_ready(way.slave).ok();
            terminal.readable = ready.map(|ready| ready.readable);
            terminal.writable = ready.map(|ready| ready.writable);
            let (pid, fd) = way.master;
            terminal.undrained = self.kernel.master_readable(pid, fd).ok();
        }
        self.observation.in_flight = self.in_flight();
    }

    /// Bytes of a loopback connection are handed over by a softirq, so both ends can sleep while
    /// some are under way. A connection that is not as it was remembered is looked at anew.
    fn in_flight(&mut self) -> bool {
        let ends: Vec<(Pid, Inet)> = self
            .observation
            .tasks
            .iter()
            .filter_map(|task| match &task.state {
                TaskState::Blocked(wait) => Some((task.id.pid, wait)),
                _ => None,
            })
            .flat_map(|(pid, wait)| wait.sources.iter().map(move |source| (pid, source)))
            .filter_map(|(pid, source)| Some((pid, Inet::read_from(source)?)))
            .collect();
        self.looker.sockets.ask_anew();
        let mut asked = BTreeSet::new();
        let mut in_flight = false;
        for (pid, end) in ends {
            if !asked.insert(end.ino) {
                continue;
            }
            match self.looker.sockets.transit(self.kernel, pid, &end) {
                Transit::Empty => {}
                Transit::Bytes => in_flight = true,
                Transit::Changed => {
                    if let Some(known) = self.looker.known.get_mut(&pid) {
                        known.counters.clear();
                    }
                    self.moved = true;
                }
            }
        }
        in_flight
    }

    /// The second pass.
    pub(super) fn second_pass(&mut self, foreground: Option<Pid>) {
        let awake =
            |state: &TaskState| matches!(state, TaskState::Runnable | TaskState::Disk { .. });
        if self.observation.tasks.iter().any(|task| awake(&task.state)) {
            self.observation.instant = Instantaneous::NotTried;
            return;
        }
        // Lent out for the pass: nothing below asks for them, and a heartbeat need not copy them.
        let tasks = std::mem::take(&mut self.observation.tasks);
        let mut counted = !tasks.is_empty();
        self.observation.returned.clear();
        let mut leaders = BTreeMap::new();
        for Task { id, state, .. } in &tasks {
            let before = self.walk.counters.get(id).copied().unwrap_or_default();
            counted &= before.runs.is_some();
            let read = Identity::read(self.kernel, *id).ok();
            if read.as_ref().is_some_and(|read| self.slept(*id, state, read.state, before)) {
                leaders.extend(read.filter(|_| id.tid == id.pid).map(|read| (id.pid, read)));
                continue;
            }
            if !self.again && self.is_back(*id, state) {
                self.observation.returned.push(*id);
            } else {
                self.moved = true;
                break;
            }
        }
        self.observation.tasks = tasks;
        let mut processes = std::mem::take(&mut self.observation.processes);
        if !self.moved && !processes.values_mut().all(|process| self.same_family(process, &leaders))
        {
            self.moved = true;
        }
        self.observation.processes = processes;
        if !self.moved && self.front(&leaders) != foreground {
            self.moved = true;
        }
        // An orphan that ended after it was listed may have left one of its own. Where nothing has
        // run since a proof, there cannot be a new one.
        if !self.moved
            && let Some(orphans) = &self.orphans
            && *orphans != self.looker.orphans(self.kernel)
        {
            self.moved = true;
        }
        // Without the lists of children a new one may have run unseen.
        let counted = counted && !self.unlisted;
        self.observation.instant = match (self.moved, counted) {
            (true, _) => Instantaneous::Moved,
            (false, true) if !self.observation.returned.is_empty() => Instantaneous::Returned,
            (false, true) => Instantaneous::Proved,
            (false, false) => Instantaneous::Unavailable,
        };
    }

    /// The foreground group, by what the leader's `stat` said in this pass.
    fn front(&mut self, leaders: &BTreeMap<Pid, Identity>) -> Option<Pid> {
        let scope = &self.looker.scope;
        let leader = match scope.root {
            Root::Session(leader) => leaders.get(&leader),
            Root::Tree(_) => None,
        };
        let named = leader.and_then(|leader| scope.front(leader.tty, leader.tpgid));
        named.or_else(|| foreground_of(scope, self.kernel, &self.observation))
    }

    fn slept(&mut self, task: TaskId, state: &TaskState, letter: u8, before: Counter) -> bool {
        let same = match state {
            // The parent of a vfork(2) alone waits in D for something else than a disk.
            TaskState::Blocked(wait) if wait.sources.contains(&Source::Child(Children::Vfork)) => {
                matches!(letter, b'S' | b'D')
            }
            TaskState::Blocked(_) => letter == b'S',
            TaskState::Opaque { .. } => matches!(letter, b'S' | b'D'),
            TaskState::Stopped { .. } => matches!(letter, b'T' | b't'),
            TaskState::Zombie => matches!(letter, b'Z' | b'X'),
            TaskState::Runnable | TaskState::Disk { .. } => false,
        };
        same && counter(self.kernel, task).is_ok_and(|after| after.runs == before.runs)
    }

    /// Did a task that ran meanwhile go back to sleep in the same wait?
    fn is_back(&mut self, task: TaskId, before: &TaskState) -> bool {
        let TaskState::Blocked(before) = before else { return false };
        match self.read_state(task) {
            Ok((_, TaskState::Blocked(now))) => {
                now.call == before.call && now.sources == before.sources
            }
            _ => false,
        }
    }

    /// The same threads, children and group as in the first pass? What it does with signals may have
    /// been read before it last ran; now it sleeps.
    fn same_family(&mut self, process: &mut Process, leaders: &BTreeMap<Pid, Identity>) -> bool {
        let threads = self.walk.threads.get(&process.pid).cloned().unwrap_or_default();
        let read = leaders.get(&process.pid).cloned();
        let Some(read) = read.or_else(|| read_stat(self.kernel, process.pid)) else { return false };
        if read.pgrp != process.pgrp || read.session != process.session {
            return false;
        }
        process.signals = read.signals;
        // A zombie leader counts as one thread although its others are listed no more.
        if read.threads != threads.len() && read.state != b'Z' {
            return false;
        }
        match children_of(self.kernel, process.pid, &threads) {
            Ok(children) => children == process.children,
            Err(super::ReadError::Gone) => false,
            Err(_) => {
                self.unlisted = true;
                true
            }
        }
    }

    /// The observation of a look that ended at a live task.
    pub(super) fn end_early(self) -> Observation {
        self.observation
    }

    /// The observation of a whole look; kept, if it was proved, for the next second pass.
    pub(super) fn finish(self, foreground: Option<Pid>) -> Observation {
        if self.observation.instant == Instantaneous::Proved {
            self.looker.proved = Some(Proved {
                observation: self.observation.clone(),
                walk: self.walk,
                foreground,
                ways: self.ways,
            });
        }
        let alive = &self.observation.processes;
        self.looker.known.retain(|pid, _| alive.contains_key(pid));
        self.observation
    }
}
