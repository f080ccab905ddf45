//! One look at a job: who belongs to it, what each task does, and the proof that all of it held at
//! one instant.

mod above;
mod context;
mod gather;
mod outside;
mod prove;

use std::collections::BTreeMap;
use std::os::fd::RawFd;

use serde::{Deserialize, Serialize};

use self::above::Above;
use crate::observe::blocked::Reading;
use crate::observe::holders::{self, Table};
use crate::observe::members::{Counter, Identity, Root, Walk, children_of, counter};
use crate::observe::objects::Controlling;
use crate::observe::sockets::{Inet, Sockets, Transit};
use crate::observe::{
    Instantaneous, Kernel, Object, ObjectId, Observation, Outsider, Pid, Process, ReadError,
    Source, Task, TaskId, TaskState, Terminal, TtyAccess, TtyId, Wait,
};
use crate::wait::Children;

/// How much a look has to find out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Depth {
    /// End at the first member that is live by itself.
    FirstLive,
    /// See every task.
    Whole,
}

/// What is looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scope {
    /// Where the job hangs in the process tree.
    pub root: Root,
    /// The job's own terminal.
    pub terminal: Option<Outer>,
}

impl Scope {
    /// The foreground group of the job's own terminal, as the `stat` of a process of its session
    /// names it.
    fn front(&self, tty: Option<u64>, tpgid: Pid) -> Option<Pid> {
        let outer = self.terminal.as_ref()?;
        (matches!(self.root, Root::Session(_)) && tty == Some(outer.id.rdev) && tpgid > 0)
            .then_some(tpgid)
    }
}

/// The job's own terminal, and a way to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outer {
    /// Which.
    pub id: TtyId,
    /// A path for people.
    pub name: String,
    /// A way to it; `None` where none was found.
    pub access: Option<TtyAccess>,
}

/// Looks at one job again and again; remembers what cannot have changed since.
#[derive(Debug)]
pub struct Looker {
    scope: Scope,
    /// The task that was live at the last look, as it was then; asked first at the next one.
    hot: Option<Task>,
    /// The last proved observation with what a second pass over it needs.
    proved: Option<Proved>,
    /// The foreground group at the last look.
    front: Option<Pid>,
    /// What was read of a process, for as long as none of its tasks runs.
    known: BTreeMap<Pid, Known>,
    /// What the last scan of the machine found.
    outside: outside::Outside,
    above: Above,
    sockets: Sockets,
}

#[derive(Debug)]
struct Known {
    counters: Vec<(TaskId, Counter)>,
    tasks: Vec<Task>,
    table: Option<Result<Table, ReadError>>,
    tracer: Option<Pid>,
    timers: Option<bool>,
}

#[derive(Debug)]
struct Proved {
    observation: Observation,
    walk: Walk,
    foreground: Option<Pid>,
    ways: Vec<Way>,
}

/// The ways to an inner terminal: its slave through a process that has it open, its master through
/// the process that holds it.
#[derive(Debug, Clone, Copy)]
struct Way {
    slave: TtyAccess,
    master: (Pid, RawFd),
}

/// A look at work.
struct Look<'a> {
    looker: &'a mut Looker,
    kernel: &'a mut dyn Kernel,
    walk: Walk,
    observation: Observation,
    /// In the order of `observation.inner`.
    ways: Vec<Way>,
    /// Processes of the session that hang below an ancestor of its leader; `None` while nobody has
    /// asked.
    orphans: Option<Vec<Pid>>,
    moved: bool,
    /// It is a second pass over what was proved before: what has moved is read anew anyway.
    again: bool,
    /// Some children list cannot be read here.
    unlisted: bool,
}

impl Looker {
    /// Prepares to look at a job.
    #[must_use]
    pub fn new(scope: Scope) -> Looker {
        Looker {
            scope,
            hot: None,
            proved: None,
            front: None,
            known: BTreeMap::new(),
            outside: outside::Outside::default(),
            above: Above::default(),
            sockets: Sockets::default(),
        }
    }

    /// What is looked at.
    #[must_use]
    pub fn scope(&self) -> &Scope {
        &self.scope
    }

    /// The time that was spent since the last call on what is paced by itself and is no part of a
    /// look's cost: scans of the whole machine.
    pub fn take_scan_cost(&mut self) -> std::time::Duration {
        self.outside.take_cost()
    }

    /// Looks. `live` says whether a task moves by itself, whatever the others do; with
    /// [`Depth::FirstLive`] the look ends at the first member of which it is true.
    pub fn look(
        &mut self,
        kernel: &mut dyn Kernel,
        depth: Depth,
        live: &mut dyn FnMut(&Task) -> bool,
    ) -> Observation {
        self.sockets.ask_anew();
        if depth == Depth::FirstLive
            && let Some(hot) = self.still_hot(kernel, live)
        {
            return hot;
        }
        if let Some(same) = self.unchanged(kernel) {
            return same;
        }
        self.proved = None;
        let at = kernel.now();
        let (Root::Session(root) | Root::Tree(root)) = self.scope.root;
        let mut walk = Walk::down(kernel, &[root]);
        let foreground = walk
            .processes
            .get(&root)
            .and_then(|leader| self.scope.front(leader.tty, leader.tpgid))
            .or_else(|| foreground_of(&self.scope, kernel, &Observation::default()));
        self.front = foreground;
        let marked = walk.mark_members(self.scope.root, foreground);
        let mut look = Look {
            observation: Observation { at, ..Observation::default() },
            kernel,
            walk,
            ways: Vec::new(),
            orphans: None,
            moved: false,
            again: false,
            unlisted: false,
            looker: self,
        };
        look.terminal(foreground);
        // Orphans are looked for only where nothing else is live: there are few, and the way to
        // them leads past every ancestor.
        if marked && look.members(depth, live) {
            return look.end_early();
        }
        if (look.orphans(foreground) || !marked) && look.members(depth, live) {
            return look.end_early();
        }
        look.context();
        look.queues();
        look.second_pass(foreground);
        look.observation.whole = true;
        look.finish(foreground)
    }

    /// The last proved observation, if a second pass shows that nothing has run since.
    fn unchanged(&mut self, kernel: &mut dyn Kernel) -> Option<Observation> {
        let proved = self.proved.take()?;
        if self.outside.is_due(kernel.now()) {
            return None;
        }
        // What happens on a terminal begins with who reads it: asked first, that says at once that
        // the rest need not be asked.
        let mut readers = proved.observation.tasks.iter().filter(|task| task.reads_terminal());
        if readers.any(|task| counter(kernel, task.id).ok().and_then(|now| now.runs) != task.runs) {
            return None;
        }
        if foreground_of(&self.scope, kernel, &proved.observation) != proved.foreground {
            return None;
        }
        let mut look = Look {
            observation: proved.observation,
            kernel,
            walk: proved.walk,
            ways: proved.ways,
            orphans: None,
            moved: false,
            again: true,
            unlisted: false,
            looker: self,
        };
        look.observation.at = look.kernel.now();
        let before = look.observation.terminal.as_ref().and_then(|terminal| terminal.readable);
        look.queues();
        // Input has come: its reader is being woken.
        if look.observation.terminal.as_ref().and_then(|terminal| terminal.readable) != before {
            return None;
        }
        look.second_pass(proved.foreground);
        if look.observation.instant != Instantaneous::Proved {
            return None;
        }
        Some(look.finish(proved.foreground))
    }

    /// The task that was live last, if it still is on a CPU, or sleeps as it did, and is in the
    /// foreground.
    fn still_hot(
        &mut self,
        kernel: &mut dyn Kernel,
        live: &mut dyn FnMut(&Task) -> bool,
    ) -> Option<Observation> {
        let hot = self.hot.take()?;
        let read = Identity::read(kernel, hot.id).ok()?;
        if read.tpgid > 0 && read.pgrp != read.tpgid {
            return None;
        }
        let own = match self.scope.root {
            Root::Session(leader) if read.session == leader => {
                self.scope.front(read.tty, read.tpgid)
            }
            _ => None,
        };
        let front = own.or_else(|| foreground_of(&self.scope, kernel, &Observation::default()));
        if front != self.front {
            return None;
        }
        let now = counter(kernel, hot.id).unwrap_or_default();
        if now.runs != hot.runs {
            self.proved = None;
        }
        let sleeps = read.state == b'S' && now.runs.is_some() && now.runs == hot.runs;
        let task = match hot.state {
            state @ TaskState::Blocked(_) if sleeps => task_of(hot.id, hot.comm, state, now),
            _ if read.state == b'R' => task_of(hot.id, read.comm.clone(), TaskState::Runnable, now),
            _ => return None,
        };
        if !live(&task) {
            return None;
        }
        self.hot = Some(task.clone());
        let mut observation = Observation { at: kernel.now(), ..Observation::default() };
        let pid = task.id.pid;
        observation.tasks.push(task);
        let process = Process { member: true, ..read.into_process(pid) };
        observation.processes.insert(pid, process);
        Some(observation)
    }

    fn orphans(&mut self, kernel: &mut dyn Kernel) -> Vec<Pid> {
        match self.scope.root {
            Root::Session(leader) => self.above.orphans(kernel, leader),
            Root::Tree(_) => Vec::new(),
        }
    }
}

fn read_stat(kernel: &mut dyn Kernel, pid: Pid) -> Option<Identity> {
    Identity::read(kernel, TaskId { pid, tid: pid }).ok()
}

/// The foreground group: the session leader's `tpgid`; once that has ended, what the master says
/// where it is ours, or any process that was seen on the terminal.
fn foreground_of(scope: &Scope, kernel: &mut dyn Kernel, seen: &Observation) -> Option<Pid> {
    let outer = scope.terminal.as_ref()?;
    let Root::Session(leader) = scope.root else { return None };
    let named = |read: Identity| scope.front(read.tty, read.tpgid);
    if let Some(group) = read_stat(kernel, leader).and_then(named) {
        return Some(group);
    }
    if let Some(access @ TtyAccess::Master(_)) = outer.access
        && let Ok(state) = kernel.terminal(access)
    {
        return state.foreground.filter(|group| *group > 0);
    }
    let on_it = seen.processes.values().filter(|process| process.session == leader);
    on_it.filter_map(|process| read_stat(kernel, process.pid)).find_map(named)
}

fn task_of(id: TaskId, comm: String, state: TaskState, counter: Counter) -> Task {
    Task { id, comm, state, runs: counter.runs, cpu: counter.cpu }
}
