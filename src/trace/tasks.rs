//! The tasks that are traced.

use std::collections::BTreeMap;

use crate::observe::{Instant, Pid, TaskId, Wait};
use crate::wait::Call;

/// A call that a task is in.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Open {
    pub(super) began: Instant,
    pub(super) call: Call,
    pub(super) stack: u64,
    /// What it waits for, where that was read at the entry.
    pub(super) wait: Option<Wait>,
    /// It waits for input on a terminal, and that was told.
    pub(super) terminal: bool,
}

/// A task.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Task {
    pub(super) pid: Pid,
    pub(super) open: Option<Open>,
    /// The call before: what a restart_syscall(2) stands for.
    pub(super) last: Option<Open>,
}

/// All tasks, by number.
#[derive(Debug, Default)]
pub(super) struct Tasks(BTreeMap<Pid, Task>);

impl Tasks {
    pub(super) fn is_known(&self, tid: Pid) -> bool {
        self.0.contains_key(&tid)
    }

    pub(super) fn add(&mut self, id: TaskId) {
        self.0.insert(id.tid, Task { pid: id.pid, ..Task::default() });
    }

    pub(super) fn id(&self, tid: Pid) -> Option<TaskId> {
        self.0.get(&tid).map(|task| TaskId { pid: task.pid, tid })
    }

    pub(super) fn open(&mut self, tid: Pid, open: Open) {
        if let Some(task) = self.0.get_mut(&tid) {
            task.open = Some(open);
        }
    }

    /// The call that a task was in is over.
    pub(super) fn close(&mut self, tid: Pid) -> Option<Open> {
        let task = self.0.get_mut(&tid)?;
        let open = task.open.take()?;
        // Long sets need not be kept of calls that are not restarted.
        task.last = open.call.timeout.is_finite().then(|| open.clone());
        Some(open)
    }

    /// The call that a task was in when it was attached to, and which may be restarted.
    pub(super) fn remember(&mut self, tid: Pid, open: Open) {
        if let Some(task) = self.0.get_mut(&tid) {
            task.last = Some(open);
        }
    }

    /// The call that was closed last, if it can be what is restarted.
    pub(super) fn last(&self, tid: Pid) -> Option<&Open> {
        self.0.get(&tid)?.last.as_ref()
    }

    pub(super) fn remove(&mut self, tid: Pid) -> Option<Task> {
        self.0.remove(&tid)
    }

    /// The tasks of a process.
    pub(super) fn of(&self, pid: Pid) -> Vec<Pid> {
        self.0.iter().filter(|(_, task)| task.pid == pid).map(|(tid, _)| *tid).collect()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use std::time::Duration;

    use super::*;
    use crate::wait::{End, Timeout};

    fn open(timeout: Timeout) -> Open {
        let call = Call { name: "poll", ends: vec![End::Time], timeout };
        Open { began: Duration::ZERO, call, stack: 0, wait: None, terminal: false }
    }

    #[test]
    fn a_timed_call_can_be_restarted() {
        let mut tasks = Tasks::default();
        tasks.add(TaskId { pid: 7, tid: 8 });
        tasks.open(8, open(Timeout::After(Duration::from_secs(1))));
        assert!(tasks.close(8).is_some());
        assert_eq!(tasks.close(8), None);
        assert_eq!(tasks.last(8).unwrap().call.name, "poll");
        tasks.open(8, open(Timeout::Never));
        tasks.close(8);
        assert_eq!(tasks.last(8), None);
        assert_eq!((tasks.of(7), tasks.of(8)), (vec![8], vec![]));
    }
}
