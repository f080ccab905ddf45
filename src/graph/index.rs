use std::collections::BTreeMap;

use crate::observe::{Holder, ObjectId, Observation, Pid, Process, TtyId};

/// An observation, indexed by what edges are looked up by.
#[derive(Debug)]
pub struct Index<'a> {
    /// The observation.
    pub observation: &'a Observation,
    tasks: BTreeMap<Pid, Vec<usize>>,
}

impl<'a> Index<'a> {
    /// Indexes an observation.
    #[must_use]
    pub fn new(observation: &'a Observation) -> Index<'a> {
        let mut tasks: BTreeMap<Pid, Vec<usize>> = BTreeMap::new();
        for (at, task) in observation.tasks.iter().enumerate() {
            tasks.entry(task.id.pid).or_default().push(at);
        }
        Index { observation, tasks }
    }

    /// The tasks of a process; empty where they were not read.
    #[must_use]
    pub fn tasks_of(&self, pid: Pid) -> &[usize] {
        self.tasks.get(&pid).map_or(&[], Vec::as_slice)
    }

    /// The process, where it was seen.
    #[must_use]
    pub fn process(&self, pid: Pid) -> Option<&'a Process> {
        self.observation.processes.get(&pid)
    }

    /// Who among the processes seen holds an object.
    #[must_use]
    pub fn holders(&self, object: ObjectId) -> &'a [Holder] {
        self.observation.holders.get(&object).map_or(&[], Vec::as_slice)
    }

    /// Is this the job's own terminal?
    #[must_use]
    pub fn is_outer(&self, tty: TtyId) -> bool {
        self.observation.terminal.as_ref().is_some_and(|outer| outer.id.same(tty))
    }

    /// The tasks that have `tty` as their controlling terminal.
    #[must_use]
    pub fn tasks_on(&self, tty: TtyId) -> Vec<usize> {
        self.observation
            .processes
            .values()
            .filter(|process| process.tty == Some(tty.rdev))
            .flat_map(|process| self.tasks_of(process.pid).iter().copied())
            .collect()
    }
}
