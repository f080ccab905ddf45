//! Graph → verdict: the table of the design, row by row.

use std::collections::BTreeMap;

use super::shell::{self, Shells};
use super::{
    By, Evidence, Idle, IdleReason, Input, Kind, Output, Party, Reader, Running, State, StopReason,
    Stopped, Verdict, WaitingOn, words,
};
use crate::graph::{Cause, Graph, Liveness, TimerRole};
use crate::observe::{
    Instantaneous, Modes, Object, ObjectId, Observation, Process, Source, Task, TaskId, TaskState,
    Terminal, Wait,
};

/// What the kernel's own data say, or that they do not suffice.
#[derive(Debug, Clone, PartialEq)]
pub enum Decision {
    /// Decided.
    Verdict(Verdict),
    /// Some task cannot be seen into, and nothing that can be seen is live.
    Closed {
        /// What cannot be seen.
        why: String,
    },
    /// Input goes on to another machine, or to whoever sits behind a socket.
    Remote,
}

/// Decides by the graph. `ticks` says which timers were judged not to move their tasks.
#[must_use]
pub fn decide(
    graph: &Graph<'_>,
    roles: &BTreeMap<TaskId, TimerRole>,
    shells: &mut Shells,
    output: Option<&Output>,
) -> Decision {
    let case = Case { graph, roles, output };
    if graph.observation.instant == Instantaneous::Moved || graph.observation.in_flight {
        return Decision::Verdict(case.running(None, WaitingOn::Cpu));
    }
    match graph.job() {
        Liveness::Live => case.live(),
        Liveness::Unknown => case.closed(),
        Liveness::Inert => case.inert(shells),
    }
}

struct Case<'a> {
    graph: &'a Graph<'a>,
    roles: &'a BTreeMap<TaskId, TimerRole>,
    output: Option<&'a Output>,
}

/// A task that the user's input moves, and the terminal that it reads.
struct Receiver<'a> {
    task: &'a Task,
    process: &'a Process,
    wait: &'a Wait,
    fd: i32,
    terminal: &'a Terminal,
}

impl<'a> Case<'a> {
    fn observation(&self) -> &'a Observation {
        self.graph.observation
    }

    fn verdict(&self, state: State, exact: bool, evidence: Vec<Evidence>) -> Verdict {
        Verdict {
            state,
            exact: exact && !self.is_ambiguous(),
            by: By::Proc,
            confidence: if !exact {
                0.9
            } else if self.is_ambiguous() {
                0.6
            } else {
                1.0
            },
            evidence,
            job: words::job(self.observation()),
        }
    }

    /// Behind an outside relay lie several terminals, and the kernel does not say which of them is
    /// shown (tmux's panes).
    fn is_ambiguous(&self) -> bool {
        self.observation().inner.len() > 1
            && self.observation().processes.values().any(|process| process.relay)
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
            accepts_input: !self.receivers(&self.readers().collect::<Vec<_>>()).is_empty(),
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
            return Decision::Verdict(self.running(None, WaitingOn::Other));
        };
        Decision::Verdict(self.running(Some(root), on))
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
                        crate::observe::Opacity::Undecided => "the kernel does not say",
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
            return Decision::Verdict(self.running(None, WaitingOn::Child));
        }
        let unread = |terminal: &Terminal| terminal.readable == Some(true);
        let readers: Vec<usize> = self.readers().collect();
        let outer_unread = self.observation().terminal.as_ref().is_some_and(unread);
        if outer_unread && !readers.is_empty() {
            // Typed input has just come through, and its reader is about to be woken.
            return Decision::Verdict(self.running(readers.first().copied(), WaitingOn::Cpu));
        }
        if self
            .observation()
            .inner
            .iter()
            .any(|inner| unread(inner) || inner.undrained == Some(true))
        {
            return Decision::Verdict(self.running(None, WaitingOn::Cpu));
        }
        let receivers = self.receivers(&readers);
        if let Some(receiver) = receivers.first() {
            return Decision::Verdict(self.input(receiver, receivers.len() == 1, shells));
        }
        if let Some(verdict) = self.stdin_pipe() {
            return Decision::Verdict(verdict);
        }
        Decision::Verdict(self.no_reader())
    }

    fn proof(&self) -> (bool, Vec<Evidence>) {
        let mut evidence = vec![Evidence::Syscalls];
        let proved = self.observation().instant == Instantaneous::Proved;
        if proved {
            evidence.push(Evidence::TwoPasses);
        }
        let assumed = self.roles.values().any(|role| *role == TimerRole::Fallback);
        if assumed || self.roles.values().any(|role| *role == TimerRole::Tick) {
            evidence.push(Evidence::History);
        }
        (proved && !assumed, evidence)
    }

    /// Whose input it is: the readers of the outer terminal, or, behind relays, the readers of the
    /// inner one.
    fn receivers(&self, readers: &[usize]) -> Vec<Receiver<'a>> {
        let Some(outer) = self.observation().terminal.as_ref() else { return Vec::new() };
        let mut found = Vec::new();
        let mut seen = Vec::new();
        for &at in readers {
            self.follow(at, outer, &mut seen, &mut found);
        }
        found
    }

    fn follow(
        &self,
        at: usize,
        terminal: &'a Terminal,
        seen: &mut Vec<usize>,
        found: &mut Vec<Receiver<'a>>,
    ) {
        if seen.contains(&at) {
            return;
        }
        seen.push(at);
        let observation = self.observation();
        let task = &observation.tasks[at];
        let TaskState::Blocked(wait) = &task.state else { return };
        let Some(process) = observation.processes.get(&task.id.pid) else { return };
        let inner = self.relayed(task, wait);
        if inner.is_empty() {
            if let Some(fd) = wait.reads(terminal.id) {
                found.push(Receiver { task, process, wait, fd, terminal });
            }
            return;
        }
        for inner in inner {
            for next in self.graph.members() {
                if let TaskState::Blocked(wait) = &observation.tasks[next].state
                    && wait.reads(inner.id).is_some()
                {
                    self.follow(next, inner, seen, found);
                }
            }
        }
    }

    /// The inner terminals that a task relays to: its process holds their masters, it waits on
    /// one, and a job sits there.
    fn relayed(&self, task: &Task, wait: &Wait) -> Vec<&'a Terminal> {
        let observation = self.observation();
        let holds = |terminal: &&Terminal| {
            let holders = observation.holders.get(&ObjectId::Master(terminal.id));
            let direct = wait.sources.iter().any(|source| {
                matches!(source, Source::Object { object: Object::Master(id), .. }
                    if id.same(terminal.id))
            });
            direct || holders.is_some_and(|all| all.iter().any(|holder| holder.pid == task.id.pid))
        };
        observation.inner.iter().filter(holds).collect()
    }

    fn input(&self, receiver: &Receiver<'_>, alone: bool, shells: &mut Shells) -> Verdict {
        let (mut exact, mut evidence) = self.proof();
        let observation = self.observation();
        exact &= receiver.terminal.readable == Some(false)
            && observation.terminal.as_ref().is_some_and(|outer| outer.readable == Some(false));
        if exact {
            evidence.push(Evidence::EmptyInput);
        }
        let mut kind = self.kind(receiver.terminal.modes);
        let mut at_prompt = false;
        if shell::is_shell(receiver.process) {
            let reading = shells.reading(
                receiver.process,
                receiver.wait,
                receiver.fd,
                receiver.terminal.modes,
                self.output,
            );
            exact &= reading.exact;
            evidence.extend(reading.evidence);
            kind = reading.kind.unwrap_or(kind);
            at_prompt = reading.kind == Some(Kind::Command);
        }
        let input = Input {
            kind,
            prompt: self.output.map(|output| output.line.clone()),
            exclusive: alone,
            timeout: receiver.wait.timeout.duration().map(super::seconds),
            reader: Some(self.reader(receiver.task, receiver.wait, receiver.fd, receiver.terminal)),
            writers: Vec::new(),
        };
        let state = if at_prompt { State::Prompt(input) } else { State::Input(input) };
        self.verdict(state, exact, evidence)
    }

    fn kind(&self, modes: Option<Modes>) -> Kind {
        match modes {
            Some(Modes { canonical: true, echo: false, .. }) => Kind::Secret,
            Some(Modes { canonical: true, .. }) | None => Kind::Line,
            Some(_) if self.output.is_some_and(|output| output.full_screen) => Kind::Screen,
            Some(_) => Kind::Key,
        }
    }

    fn reader(&self, task: &Task, wait: &Wait, fd: i32, terminal: &Terminal) -> Reader {
        Reader {
            pid: task.id.pid,
            tid: task.id.tid,
            comm: task.comm.clone(),
            call: wait.call.to_owned(),
            fd,
            tty: terminal.name.clone(),
        }
    }

    /// A task that reads a pipe on whose other end only outsiders sit.
    fn stdin_pipe(&self) -> Option<Verdict> {
        let mut readers = self.graph.members().filter_map(|at| {
            let object = self.graph.causes[at].iter().find_map(|cause| match cause {
                Cause::StdinPipe(object) => Some(*object),
                _ => None,
            })?;
            Some((at, object))
        });
        let (at, object) = readers.next()?;
        let alone = readers.next().is_none();
        let task = &self.observation().tasks[at];
        let TaskState::Blocked(wait) = &task.state else { return None };
        let (fd, name) = wait.sources.iter().find_map(|source| match (source, object) {
            (
                Source::Object { fd, object: Object::Pipe(id) | Object::Fifo(id), .. },
                ObjectId::Pipe(pipe),
            ) if *id == pipe => Some((*fd, format!("pipe:[{}]", id.ino))),
            (
                Source::Object { fd, object: Object::Unix { ino, peer, .. }, .. },
                ObjectId::Socket(end),
            ) if *peer == end => Some((*fd, format!("socket:[{ino}]"))),
            _ => None,
        })?;
        let (exact, evidence) = self.proof();
        let input = Input {
            kind: Kind::Pipe,
            prompt: self.output.map(|output| output.line.clone()),
            exclusive: alone,
            timeout: wait.timeout.duration().map(super::seconds),
            reader: Some(Reader {
                pid: task.id.pid,
                tid: task.id.tid,
                comm: task.comm.clone(),
                call: wait.call.to_owned(),
                fd,
                tty: name,
            }),
            writers: self
                .observation()
                .outsiders
                .values()
                .map(|outsider| Party { pid: outsider.pid, comm: outsider.comm.clone() })
                .collect(),
        };
        Some(self.verdict(State::Input(input), exact, evidence))
    }

    fn no_reader(&self) -> Verdict {
        let (exact, evidence) = self.proof();
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
