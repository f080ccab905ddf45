//! Whose input it is, and how it is read.

use super::Case;
use crate::graph::Cause;
use crate::observe::{Modes, Object, ObjectId, Process, Source, Task, TaskState, Terminal, Wait};
use crate::verdict::shell::{self, Shells};
use crate::verdict::{Evidence, Input, Kind, Party, Reader, State, Verdict, seconds};

/// A task that the user's input moves, and the terminal that it reads.
pub(super) struct Receiver<'a> {
    task: &'a Task,
    process: &'a Process,
    wait: &'a Wait,
    fd: i32,
    terminal: &'a Terminal,
}

impl<'a> Case<'a> {
    /// Whose input it is: the readers of the outer terminal, or, behind relays, the readers of the
    /// inner one.
    pub(super) fn receivers(&self, readers: &[usize]) -> Vec<Receiver<'a>> {
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
        let inner = self.relayed(task);
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

    /// The inner terminals that a task relays to: its process waits on their masters too, in this
    /// wait or in another thread. To hold a master is not enough: children inherit it.
    fn relayed(&self, task: &Task) -> Vec<&'a Terminal> {
        let observation = self.observation();
        let waits_on = |wait: &Wait, terminal: &Terminal| {
            wait.sources.iter().any(|source| {
                matches!(source, Source::Object { object: Object::Master(id), .. }
                    if id.same(terminal.id))
            })
        };
        let relays = |terminal: &&Terminal| {
            observation.tasks.iter().filter(|other| other.id.pid == task.id.pid).any(|other| {
                matches!(&other.state, TaskState::Blocked(wait) if waits_on(wait, terminal))
            })
        };
        observation.inner.iter().filter(relays).collect()
    }

    pub(super) fn input(
        &self,
        receiver: &Receiver<'_>,
        alone: bool,
        shells: &mut Shells,
    ) -> Verdict {
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
            // Where the cursor stands on a full screen is no question.
            prompt: self.output.filter(|_| kind != Kind::Screen).map(|output| output.line.clone()),
            exclusive: alone,
            timeout: receiver.wait.timeout.duration().map(seconds),
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
    pub(super) fn stdin_pipe(&self) -> Option<Verdict> {
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
            timeout: wait.timeout.duration().map(seconds),
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
                .filter(|outsider| outsider.holds.contains(&object))
                .map(|outsider| Party { pid: outsider.pid, comm: outsider.comm.clone() })
                .collect(),
        };
        Some(self.verdict(State::Input(input), exact, evidence))
    }
}
