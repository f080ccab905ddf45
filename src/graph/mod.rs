//! Observation → wait-for graph → live or inert. Pure.
//!
//! Nodes are tasks; what ends a task's wait ([`Cause`]) is another task, the user, something
//! outside of the job, or nothing that moves by itself. A task is live if any of its causes is:
//! waits are disjunctions, so one fixpoint over the edges settles it, and one graph serves both the
//! verdict (is anything live?) and the explanation (the path to the culprit).

mod causes;
mod cycle;
mod index;
mod reason;

pub use causes::Cause;
pub use index::Index;
pub use reason::{IdleReason, WaitingOn};

use crate::observe::{Observation, Task};

/// Can something other than terminal input still move a task?
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Liveness {
    /// No.
    Inert,
    /// The kernel does not let us see.
    Unknown,
    /// Yes.
    Live,
}

/// What a task's own timer means; history decides (see [`crate::verdict`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TimerRole {
    /// It will move the task on: `sleep 3`.
    Moves,
    /// The task wakes, looks round and returns to the same wait: seen, and more than once.
    Tick,
    /// Taken for a fallback of a wait for another thread; not yet seen to come to nothing.
    Fallback,
}

/// The graph of one observation.
#[derive(Debug)]
pub struct Graph<'a> {
    /// The observation it was built from.
    pub observation: &'a Observation,
    /// What can end each task's wait, in the order of `observation.tasks`.
    pub causes: Vec<Vec<Cause>>,
    /// What each task is, likewise.
    pub liveness: Vec<Liveness>,
}

impl<'a> Graph<'a> {
    /// Builds the graph and settles who is live. `timer` tells what a task's own timer means.
    #[must_use]
    pub fn build(observation: &'a Observation, timer: &dyn Fn(&Task) -> TimerRole) -> Graph<'a> {
        let index = Index::new(observation);
        let causes: Vec<Vec<Cause>> =
            observation.tasks.iter().map(|task| causes::of(&index, task, timer)).collect();
        let liveness = settle(&causes);
        Graph { observation, causes, liveness }
    }

    /// The positions of the tasks of member processes.
    pub fn members(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.observation.tasks.len()).filter(|&at| self.is_member(at))
    }

    /// Does this task belong to the job?
    #[must_use]
    pub fn is_member(&self, at: usize) -> bool {
        self.observation
            .tasks
            .get(at)
            .and_then(|task| self.observation.processes.get(&task.id.pid))
            .is_some_and(|process| process.member)
    }

    /// The liveness of the whole job: that of its liveliest member.
    #[must_use]
    pub fn job(&self) -> Liveness {
        self.members().map(|at| self.liveness[at]).max().unwrap_or(Liveness::Inert)
    }

    /// The root that keeps task `at` live: the last task of the chain, and what moves it.
    #[must_use]
    pub fn root_of(&self, at: usize) -> Option<(usize, WaitingOn)> {
        let mut seen = vec![false; self.causes.len()];
        let mut open = vec![at];
        while let Some(here) = open.pop() {
            if std::mem::replace(&mut seen[here], true) || self.liveness[here] != Liveness::Live {
                continue;
            }
            for cause in &self.causes[here] {
                match cause {
                    Cause::Outside(on) => return Some((here, *on)),
                    Cause::Tasks(tasks) => open.extend(tasks),
                    _ => {}
                }
            }
        }
        None
    }

    /// The reasons why members are inert, without those that wait for other tasks.
    #[must_use]
    pub fn idle_reasons(&self) -> Vec<IdleReason> {
        let mut reasons: Vec<IdleReason> = self
            .members()
            .flat_map(|at| &self.causes[at])
            .filter_map(|cause| match cause {
                Cause::Nothing(reason) => *reason,
                _ => None,
            })
            .collect();
        reasons.sort_unstable_by_key(|reason| *reason as u8);
        reasons.dedup();
        reasons
    }

    /// The tasks of a deadlock among the members, each waiting for the next.
    #[must_use]
    pub fn cycle(&self) -> Vec<usize> {
        cycle::find(&self.causes, self.members())
    }
}

/// Liveness as the least fixpoint: whatever can be ended by a live task is live.
fn settle(causes: &[Vec<Cause>]) -> Vec<Liveness> {
    let mut waiters: Vec<Vec<usize>> = vec![Vec::new(); causes.len()];
    let mut liveness = vec![Liveness::Inert; causes.len()];
    for (at, list) in causes.iter().enumerate() {
        for cause in list {
            match cause {
                Cause::Outside(_) => liveness[at] = Liveness::Live,
                Cause::Unseen => liveness[at] = liveness[at].max(Liveness::Unknown),
                Cause::Tasks(tasks) => tasks.iter().for_each(|&task| waiters[task].push(at)),
                Cause::User | Cause::StdinPipe(_) | Cause::Nothing(_) => {}
            }
        }
    }
    for level in [Liveness::Live, Liveness::Unknown] {
        let mut open: Vec<usize> = (0..causes.len()).filter(|&at| liveness[at] == level).collect();
        while let Some(at) = open.pop() {
            for &waiter in &waiters[at] {
                if liveness[waiter] < level {
                    liveness[waiter] = level;
                    open.push(waiter);
                }
            }
        }
    }
    liveness
}
