//! No reader, nothing live: why not.

use super::Case;
use crate::graph::{Cause, TimerRole};
use crate::observe::{Object, Source, TaskState, Wait};
use crate::verdict::{Idle, IdleReason, Party, State, StopReason, Stopped, Verdict, WaitingOn};

impl Case<'_> {
    pub(super) fn no_reader(&self) -> Verdict {
        let (exact, evidence) = self.proof();
        // timeout(1) has a timer that ends what seems to be at rest; /proc does not say when.
        let timers = self.observation().processes.values().any(|it| it.member && it.timers);
        let exact = exact && !timers;
        if let Some(stopped) = self.stopped() {
            return self.verdict(State::Stopped(stopped), exact, evidence);
        }
        let reasons = self.graph.idle_reasons();
        let ticking = self.graph.members().any(|at| self.only_ticks(at));
        let lasting = reasons.iter().find(|reason| **reason != IdleReason::Signal);
        if ticking && lasting.is_none() {
            // Nothing but timers: it does little, but by itself.
            return self.running(None, WaitingOn::Timer);
        }
        let cycle = self.graph.cycle();
        let reason = match (lasting, cycle.is_empty(), reasons.first()) {
            (Some(reason), ..) => *reason,
            (None, true, Some(signal)) => *signal,
            (None, ..) => IdleReason::Deadlock,
        };
        let mut parties: Vec<Party> = Vec::new();
        if reason == IdleReason::Deadlock {
            for at in cycle {
                let party = self.party(at);
                if parties.last() != Some(&party) {
                    parties.push(party);
                }
            }
        }
        let exact = exact && !(reason == IdleReason::Signal && self.alarm_possible());
        let idle = Idle { reason, listening: self.listening(reason), cycle: parties };
        self.verdict(State::Idle(idle), exact, evidence)
    }

    /// Does the task wait for the time alone, over and over?
    fn only_ticks(&self, at: usize) -> bool {
        let task = &self.observation().tasks[at];
        let time = |source: &Source| {
            matches!(source, Source::Time | Source::Object { object: Object::TimerFd { .. }, .. })
        };
        self.roles.get(&task.id) == Some(&TimerRole::Tick)
            && matches!(&task.state, TaskState::Blocked(wait) if wait.sources.iter().all(time))
    }

    /// A pending alarm(2) is shown nowhere: a process that handles SIGALRM may be waiting for it.
    fn alarm_possible(&self) -> bool {
        const SIGALRM_BIT: u64 = 1 << (14 - 1);
        self.observation().processes.values().any(|process| {
            process.member
                && process.signals.is_none_or(|signals| signals.caught & SIGALRM_BIT != 0)
        })
    }

    fn listening(&self, reason: IdleReason) -> Vec<String> {
        if reason != IdleReason::Server {
            return Vec::new();
        }
        let mut addresses: Vec<String> = self
            .observation()
            .tasks
            .iter()
            .filter_map(|task| match &task.state {
                TaskState::Blocked(wait) => Some(&wait.sources),
                _ => None,
            })
            .flatten()
            .filter_map(|source| match source {
                Source::Object { object: Object::Inet { local, listening: true, .. }, .. } => {
                    Some(local.to_string())
                }
                Source::Object { object: Object::Unix { name, listening: true, .. }, .. } => {
                    name.clone()
                }
                _ => None,
            })
            .collect();
        addresses.sort_unstable();
        addresses.dedup();
        addresses
    }

    /// Everything that is not stopped waits, in the end, for what is.
    fn stopped(&self) -> Option<Stopped> {
        let tasks = &self.observation().tasks;
        let at =
            (0..tasks.len()).find(|&at| matches!(tasks[at].state, TaskState::Stopped { .. }))?;
        let others = self.graph.members().any(|at| {
            !matches!(tasks[at].state, TaskState::Stopped { .. })
                && self.graph.causes[at]
                    .iter()
                    .any(|cause| matches!(cause, Cause::Nothing(Some(reason)) if *reason != IdleReason::Signal))
        });
        if others {
            return None;
        }
        let TaskState::Stopped { traced, wait } = &tasks[at].state else { return None };
        let process = self.observation().processes.get(&tasks[at].id.pid)?;
        let on_terminal = |wait: &Wait, read: bool| {
            wait.sources.iter().any(|source| {
                matches!(source, Source::Object { interest, object: Object::Terminal(_), .. }
                    if (read && interest.read) || (!read && interest.write))
            })
        };
        let background = process.tty.is_some() && process.pgrp != process.tpgid;
        let reason = match wait {
            _ if *traced => StopReason::Traced,
            Some(wait) if background && on_terminal(wait, true) => StopReason::TerminalInput,
            Some(wait) if background && on_terminal(wait, false) => StopReason::TerminalOutput,
            _ => StopReason::JobControl,
        };
        let tracer = self
            .observation()
            .processes
            .get(&process.tracer)
            .map(|tracer| Party { pid: tracer.pid, comm: tracer.comm.clone() })
            .filter(|_| *traced);
        Some(Stopped { reason, tracer })
    }
}
