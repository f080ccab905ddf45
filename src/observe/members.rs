//! Who belongs to the job: the walk from a root down the children lists, and the foreground test.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Kernel, Pid, Process, ReadError, Signals, TaskFile, TaskId};
use crate::proc::{Schedstat, Stat, Status, children};

/// Where a job hangs in the process tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Root {
    /// A session: its leader, and the terminal's foreground group decides who is a member.
    Session(Pid),
    /// A process without a terminal: it and all its descendants are members.
    Tree(Pid),
}

/// The processes below a root, with the run counters as they were before anything else was read.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Walk {
    pub(super) processes: BTreeMap<Pid, Process>,
    pub(super) threads: BTreeMap<Pid, Vec<Pid>>,
    pub(super) counters: BTreeMap<TaskId, Counter>,
    /// Parents before their children.
    pub(super) order: Vec<Pid>,
}

/// What proc_pid_stat(5) says of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Identity {
    pub(super) comm: String,
    /// The state letter.
    pub(super) state: u8,
    pub(super) ppid: Pid,
    pub(super) pgrp: Pid,
    pub(super) session: Pid,
    pub(super) tty: Option<u64>,
    pub(super) tpgid: Pid,
    pub(super) threads: usize,
    pub(super) start: u64,
    pub(super) signals: Option<Signals>,
}

impl Identity {
    pub(super) fn read(kernel: &mut dyn Kernel, task: TaskId) -> Result<Identity, ReadError> {
        let text = kernel.task_file(task, TaskFile::Stat)?;
        let stat = Stat::parse(&text).ok_or(ReadError::Gone)?;
        Ok(Identity {
            comm: stat.comm.into_owned(),
            state: stat.state,
            ppid: stat.ppid,
            pgrp: stat.pgrp,
            session: stat.session,
            tty: (stat.tty != 0).then_some(stat.tty),
            tpgid: stat.tpgid,
            threads: usize::try_from(stat.threads).unwrap_or(0),
            start: stat.start,
            signals: stat.signals,
        })
    }

    pub(super) fn into_process(self, pid: Pid) -> Process {
        Process {
            pid,
            start: self.start,
            ppid: self.ppid,
            pgrp: self.pgrp,
            session: self.session,
            tty: self.tty,
            tpgid: self.tpgid,
            comm: self.comm,
            member: false,
            relay: false,
            timers: false,
            children: Vec::new(),
            signals: self.signals,
            tracer: 0,
        }
    }
}

/// What the scheduler counted for a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Counter {
    /// Times it was put on a CPU.
    pub(super) runs: Option<u64>,
    /// CPU time.
    pub(super) cpu: Option<Duration>,
}

/// Reads a task's counter: `schedstat`, or where a kernel prints zeros there, the context switches
/// of `status`.
pub(super) fn counter(kernel: &mut dyn Kernel, task: TaskId) -> Result<Counter, ReadError> {
    let first = kernel.task_file(task, TaskFile::Schedstat);
    if let Ok(text) = &first
        && let Some(read) = Schedstat::parse(text)
        && read.counts()
    {
        return Ok(Counter { runs: Some(read.runs), cpu: Some(read.cpu) });
    }
    if first == Err(ReadError::Gone) {
        return Err(ReadError::Gone);
    }
    match kernel.task_file(task, TaskFile::Status) {
        Ok(text) => Ok(Counter { runs: Status::parse(&text).map(|read| read.switches), cpu: None }),
        Err(ReadError::Gone) => Err(ReadError::Gone),
        Err(_) => Ok(Counter::default()),
    }
}

/// The threads of a process. Its own `stat` tells of a single one without a directory being listed,
/// which takes eight system calls; a leader that has ended counts as one beside others.
pub(super) fn threads_of(
    kernel: &mut dyn Kernel,
    pid: Pid,
    leader: &Identity,
) -> Result<Vec<Pid>, ReadError> {
    if leader.threads == 1 && leader.state != b'Z' { Ok(vec![pid]) } else { kernel.threads(pid) }
}

/// The children of a process, all its threads together, sorted.
///
/// A child that ends while the kernel walks the list can hide a sibling (proc_pid_task(5)), which
/// is why the second pass reads it again.
pub(super) fn children_of(
    kernel: &mut dyn Kernel,
    pid: Pid,
    threads: &[Pid],
) -> Result<Vec<Pid>, ReadError> {
    let mut all = Vec::new();
    for &tid in threads {
        match kernel.task_file(TaskId { pid, tid }, TaskFile::Children) {
            Ok(text) => all.extend(children(&text)),
            Err(ReadError::Gone) => {}
            Err(error) => return Err(error),
        }
    }
    all.sort_unstable();
    Ok(all)
}

impl Walk {
    /// Walks from `roots` down. What vanishes meanwhile is left out: its parent's counter or
    /// children list has moved then, and the second pass sees it.
    pub(super) fn down(kernel: &mut dyn Kernel, roots: &[Pid]) -> Walk {
        let mut walk = Walk::default();
        walk.go_on(kernel, roots);
        walk
    }

    /// Walks from more roots down.
    pub(super) fn go_on(&mut self, kernel: &mut dyn Kernel, roots: &[Pid]) {
        let mut by_parent: Option<BTreeMap<Pid, Vec<Pid>>> = None;
        let mut open: VecDeque<Pid> = roots.iter().copied().collect();
        while let Some(pid) = open.pop_front() {
            if self.processes.contains_key(&pid) {
                continue;
            }
            let Ok(process) = self.visit(kernel, pid, &mut by_parent) else { continue };
            open.extend(process.children.iter().copied());
            self.processes.insert(pid, process);
            self.order.push(pid);
        }
    }

    fn visit(
        &mut self,
        kernel: &mut dyn Kernel,
        pid: Pid,
        by_parent: &mut Option<BTreeMap<Pid, Vec<Pid>>>,
    ) -> Result<Process, ReadError> {
        let identity = Identity::read(kernel, TaskId { pid, tid: pid })?;
        let threads = threads_of(kernel, pid, &identity)?;
        for &tid in &threads {
            let task = TaskId { pid, tid };
            if let Ok(read) = counter(kernel, task) {
                self.counters.insert(task, read);
            }
        }
        let children = match children_of(kernel, pid, &threads) {
            Ok(children) => children,
            Err(ReadError::Gone) => return Err(ReadError::Gone),
            // Without CONFIG_PROC_CHILDREN the parents of all processes tell.
            Err(_) => by_parent
                .get_or_insert_with(|| children_by_parent(kernel))
                .get(&pid)
                .cloned()
                .unwrap_or_default(),
        };
        self.threads.insert(pid, threads);
        Ok(Process { children, ..identity.into_process(pid) })
    }

    /// Marks what runs in the foreground of the terminals behind an outside relay.
    pub(super) fn mark_behind(&mut self, relay: Pid) {
        let mut connected: BTreeMap<Pid, bool> = BTreeMap::new();
        for pid in &self.order {
            let Some(process) = self.processes.get(pid) else { continue };
            let above = process.ppid == relay
                || self.processes.get(&process.ppid).is_some_and(|parent| parent.member);
            let together = *connected.entry(process.session).or_insert(above);
            let front = process.tty.is_none() || process.pgrp == process.tpgid;
            let (own, on_terminal) =
                (*pid == relay, process.tty.is_some() || process.ppid != relay);
            if let Some(process) = self.processes.get_mut(pid) {
                process.relay = own;
                process.member = !own && together && front && on_terminal;
            }
        }
    }

    /// Adds another walk's processes.
    pub(super) fn join(&mut self, other: Walk) {
        self.order.extend(other.order.iter().filter(|pid| !self.processes.contains_key(pid)));
        self.threads.extend(other.threads);
        self.counters.extend(other.counters);
        for (pid, process) in other.processes {
            self.processes.entry(pid).or_insert(process);
        }
    }

    /// Marks the members: the foreground groups of every session that hangs together with the
    /// root's through members, and what those started without a terminal. False if there are none,
    /// and the leader stands for them.
    pub(super) fn mark_members(&mut self, root: Root, foreground: Option<Pid>) -> bool {
        let outer = match root {
            Root::Tree(_) => {
                self.processes.values_mut().for_each(|process| process.member = true);
                return true;
            }
            Root::Session(leader) => self.processes.get(&leader).map_or(leader, |p| p.session),
        };
        let mut connected: BTreeMap<Pid, bool> = BTreeMap::from([(outer, true)]);
        for pid in &self.order {
            let Some(process) = self.processes.get(pid) else { continue };
            let session = process.session;
            let parent = self.processes.get(&process.ppid).is_some_and(|parent| parent.member);
            let together = *connected.entry(session).or_insert(parent);
            let front = match (process.tty, foreground) {
                (Some(_), Some(group)) if session == outer => process.pgrp == group,
                (Some(_), _) => process.tpgid <= 0 || process.pgrp == process.tpgid,
                (None, _) => true,
            };
            if let Some(process) = self.processes.get_mut(pid) {
                process.member = together && front;
            }
        }
        // The group in the foreground has ended and the shell has not taken the terminal back yet,
        // or nobody ever will: what the leader does is the answer.
        let some = self.processes.values().any(|process| process.member);
        if !some
            && let Some(leader) = self.order.first().and_then(|pid| self.processes.get_mut(pid))
        {
            leader.member = true;
        }
        some
    }
}

/// Children by parent, from the `stat` of every process.
fn children_by_parent(kernel: &mut dyn Kernel) -> BTreeMap<Pid, Vec<Pid>> {
    let mut by_parent: BTreeMap<Pid, Vec<Pid>> = BTreeMap::new();
    for pid in kernel.processes().unwrap_or_default() {
        if let Ok(read) = Identity::read(kernel, TaskId { pid, tid: pid }) {
            by_parent.entry(read.ppid).or_default().push(pid);
        }
    }
    by_parent.values_mut().for_each(|list| list.sort_unstable());
    by_parent
}
