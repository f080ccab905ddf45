//! Graph → verdict: the table of the design, row by row.

mod idle;
mod input;

use std::collections::BTreeMap;

use crate::graph::{Cause, Graph, Liveness, TimerRole};
use crate::observe::{
    Instantaneous, Object, ObjectId, Observation, Protocol, Source, TaskId, TaskState, Terminal,
};
use crate::verdict::shell::Shells;
use crate::verdict::{By, Evidence, Output, Party, Running, State, Verdict, WaitingOn, words};

/// What the kernel's own data say, or that they do not suffice.
#[derive(Debug, Clone, PartialEq)]
pub enum Decision {
    /// Decided.
    Verdict(Box<Verdict>),
    /// Some task cannot be seen into, and nothing that can be seen is live.
    Closed {
        /// What cannot be seen.
        why: String,
    },
    /// Input goes on to another machine, or to whoever sits behind a socket.
    Remote,
}

/// Decides by the graph. `roles` says what each task's timer was
/// judged to mean.
#[must_use]
pub fn decide(
    graph: &Graph<'_>,
    roles: &BTreeMap<TaskId, TimerRole>,
    shells: &mut Shells,
    output: Option<&Output>,
) -> Decision {
    let case = Case { graph, roles, output };
    if graph.observation.instant == Instantaneous::Moved || graph.observation.in_flight {
        return decided(case.running(None, WaitingOn::Cpu));
    }
    match graph.job() {
        Liveness::Live => case.live(),
        Liveness::Unknown => case.closed(),
        Liveness::Inert => case.inert(shells),
    }
}

fn decided(verdict: Verdict) -> Decision {
    Decision::Verdict(Box::new(verdict))
}

/// The lower end of `net.ipv4.ip_local_port_range`, as it is unless changed (ip(7)).
const FIRST_EPHEMERAL_PORT: u16 = 32_768;
/// Confidence where every call was read and decoded, but something short of proof decided.
const UNPROVED: f64 = 0.9;
/// Confidence where several terminals answer and one is meant.
const AMBIGUOUS: f64 = 0.6;

struct Case<'a> {
    graph: &'a Graph<'a>,
    roles: &'a BTreeMap<TaskId, TimerRole>,
    output: Option<&'a Output>,
}

impl<'a> Case<'a> {
    fn observation(&self) -> &'a Observation {
        self.graph.observation
    }

    fn verdict(&self, state: State, exact: bool, evidence: Vec<Evidence>) -> Verdict {
        let exact = exact && !self.has_guest();
        Verdict {
            state,
            exact: exact && !self.is_ambiguous(),
            by: By::Proc,
            confidence: match (self.is_ambiguous(), exact) {
                (true, _) => AMBIGUOUS,
                (false, false) => UNPROVED,
                (false, true) => 1.0,
            },
            evidence,
            job: words::job(self.observation()),
        }
    }

    /// Somebody outside of the job reads its terminal. What the job has to do with that cannot be
    /// seen: it may wait for the answer, or they may be two who take the same input.
    fn has_guest(&self) -> bool {
        let outer = self.observation().terminal.as_ref().map(|outer| outer.id);
        let reads = |object: &ObjectId| match object {
            ObjectId::Terminal(tty) => outer.is_some_and(|outer| outer.same(*tty)),
            _ => false,
        };
        self.observation().outsiders.values().any(|outsider| outsider.holds.iter().any(reads))
    }

    /// Behind an outside relay lie several terminals, and the kernel does not say which of them is
    /// shown (tmux's panes).
    fn is_ambiguous(&self) -> bool {
        self.observation().inner.len() > 1
            && self.observation().processes.values().any(|process| process.relay)
    }

    /// A socket that is taken for one that serves, or waits for the kernel, and may be one that waits
    /// for a peer: a client that sends UDP without connect(2) from a port of the kernel's choice, a
    /// raw socket, one of another network namespace.
    fn has_doubtful_socket(&self) -> bool {
        let doubtful = |source: &Source| match source {
            Source::Object { object: Object::Socket { netlink, .. }, .. } => !netlink,
            Source::Object { object: Object::Inet { listening, protocol, local, .. }, .. } => {
                *listening && *protocol == Protocol::Udp && local.port() >= FIRST_EPHEMERAL_PORT
            }
            _ => false,
        };
        self.observation().tasks.iter().any(|task| {
            matches!(&task.state, TaskState::Blocked(wait) if wait.sources.iter().any(doubtful))
        })
    }

    fn party(&self, at: usize) -> Party {
        let task = &self.observation().tasks[at];
        Party { pid: task.id.pid, comm: task.comm.clone() }
    }

    /// Tasks that read the job's own terminal.
    fn readers(&self) -> impl Iterator<Item = usize> + '_ {
        let tasks = &self.observation().tasks;
        let relay = |at: usize| {
            self.observation().processes.get(&tasks[at].id.pid).is_some_and(|it| it.relay)
        };
        (0..tasks.len())
            .filter(move |&at| self.graph.is_member(at) || relay(at))
            .filter(|&at| self.graph.causes[at].contains(&Cause::User))
    }

    fn running(&self, root: Option<usize>, on: WaitingOn) -> Verdict {
        let state = State::Running(Running {
            waiting_on: on,
            accepts_input: self.has_guest()
                || !self.receivers(&self.readers().collect::<Vec<_>>()).is_empty(),
            task: root.map(|at| self.party(at)),
        });
        self.verdict(state, true, vec![Evidence::Syscalls])
    }

    fn live(&self) -> Decision {
        let mut roots: Vec<(WaitingOn, usize, usize)> = self
            .graph
            .members()
            .filter_map(|at| self.graph.root_of(at).map(|(root, on)| (on, root, at)))
            .collect();
        roots.sort_unstable_by_key(|(on, ..)| *on as u8);
        let remote = |at: usize| {
            let causes = &self.graph.causes[at];
            let outside = |cause: &Cause| {
                matches!(cause, Cause::Outside(WaitingOn::Network | WaitingOn::Pipe))
            };
            causes.contains(&Cause::User)
                && causes.iter().any(outside)
                && !causes.iter().any(|cause| matches!(cause, Cause::Outside(_)) && !outside(cause))
        };
        if !roots.is_empty() && roots.iter().all(|&(_, root, _)| remote(root)) {
            return Decision::Remote;
        }
        let Some(&(on, root, _)) = roots.first() else {
            return decided(self.running(None, WaitingOn::Other));
        };
        decided(self.running(Some(root), on))
    }

    fn closed(&self) -> Decision {
        let hidden = self.graph.members().find_map(|at| {
            let task = &self.observation().tasks[at];
            match &task.state {
                TaskState::Opaque { why } => Some(format!(
                    "{} ({}) cannot be seen into: {}",
                    task.comm,
                    task.id.pid,
                    match why {
                        crate::observe::Opacity::Denied => "permission denied",
                        crate::observe::Opacity::Unsupported => "not offered here",
                        crate::observe::Opacity::Held => "frozen, or held by a filter",
                    }
                )),
                TaskState::Blocked(wait) if self.graph.causes[at].contains(&Cause::Unseen) => {
                    Some(format!(
                        "what ends {} of {} ({}) cannot be seen",
                        words::of_wait(self.observation(), wait),
                        task.comm,
                        task.id.pid
                    ))
                }
                _ => None,
            }
        });
        Decision::Closed { why: hidden.unwrap_or_else(|| "nothing can be seen".to_owned()) }
    }

    fn inert(&self, shells: &mut Shells) -> Decision {
        if self.observation().tasks.is_empty() {
            return Decision::Closed { why: "the job has no task that can be seen".to_owned() };
        }
        let ended = |at: usize| self.observation().tasks[at].state == TaskState::Zombie;
        if self.graph.members().all(ended) {
            // Whoever waits for them is about to be told.
            return decided(self.running(None, WaitingOn::Child));
        }
        let unread = |terminal: &Terminal| terminal.readable == Some(true);
        let readers: Vec<usize> = self.readers().collect();
        let outer_unread = self.observation().terminal.as_ref().is_some_and(unread);
        if outer_unread && !readers.is_empty() {
            // Typed input has just come through, and its reader is about to be woken.
            return decided(self.running(readers.first().copied(), WaitingOn::Cpu));
        }
        if self
            .observation()
            .inner
            .iter()
            .any(|inner| unread(inner) || inner.undrained == Some(true))
        {
            return decided(self.running(None, WaitingOn::Cpu));
        }
        let receivers = self.receivers(&readers);
        if let Some(receiver) = receivers.first() {
            return decided(self.input(receiver, receivers.len() == 1, shells));
        }
        if let Some(verdict) = self.stdin_pipe() {
            return decided(verdict);
        }
        decided(self.no_reader())
    }

    fn proof(&self) -> (bool, Vec<Evidence>) {
        let mut evidence = vec![Evidence::Syscalls];
        let proved = self.observation().instant == Instantaneous::Proved;
        if proved {
            evidence.push(Evidence::TwoPasses);
        }
        let observation = self.observation();
        let reads = |id: &TaskId| {
            observation.tasks.iter().any(|task| {
                task.id == *id
                    && matches!(&task.state, TaskState::Blocked(wait) if words::reads(observation, wait))
            })
        };
        // A habit of the reader itself is no matter: it waits for input now, whatever comes. Another
        // task's may end.
        let by_habit = self.roles.iter().any(|(id, role)| *role != TimerRole::Moves && !reads(id));
        if self.roles.values().any(|role| *role != TimerRole::Moves) {
            evidence.push(Evidence::History);
        }
        (proved && !by_habit && !self.has_doubtful_socket(), evidence)
    }
}
