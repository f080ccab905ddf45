//! The judge of one job: keeps what looks leave behind, and turns each observation into a verdict
//! and into whether that is news.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::Duration;

use super::{
    By, Decision, Evidence, Exited, History, Kind, Open, Output, Shells, State, Verdict, WaitingOn,
    decide, guess,
};
use crate::graph::{Graph, TimerRole};
use crate::observe::{
    Instant, Instantaneous, Observation, Task, TaskId, TaskState, Terminal, TtyId,
};
use crate::wait::Timeout;

/// A job that leaves `input` for less than this, without having been given any, only redraws.
const REDRAW: Duration = Duration::from_millis(100);
/// A reader that was seen between slices of work is one for this long after.
const READER_SEEN: Duration = Duration::from_secs(3);
/// A write to a full terminal that sleeps this long is not merely behind its reader.
const UNDRAINED: Duration = Duration::from_millis(250);

/// Judges one job.
#[derive(Debug, Clone, Default)]
pub struct Judge {
    history: History,
    shells: Shells,
    /// The verdict that was told last.
    last: Option<Verdict>,
    /// Counters of opaque tasks, and since when they and the output stand still.
    counters: BTreeMap<TaskId, Option<u64>>,
    quiet_since: Instant,
    /// Since when the job has been away from `input` without news.
    away_since: Option<Instant>,
    /// When a reader was last seen beside live tasks.
    reader_seen: Option<Instant>,
    /// What the job was waiting on at the last whole look, told or not.
    waiting_on: Option<WaitingOn>,
}

/// What an observation comes to.
#[derive(Debug, Clone, PartialEq)]
pub struct Judgement {
    /// The verdict.
    pub verdict: Verdict,
    /// It says something that the last one did not.
    pub news: bool,
    /// The wait's own end, where it has one: something will happen then without any event.
    pub ends: Option<Instant>,
    /// The job has left its wait, perhaps only to redraw: the verdict is the one before, and the job
    /// may be back at any moment.
    pub held: bool,
}

impl Judge {
    /// A judge that has seen nothing; `now` is when the watch (or the command) began.
    #[must_use]
    pub fn new(now: Instant) -> Judge {
        Judge { quiet_since: now, ..Judge::default() }
    }

    /// Is a task live by itself, whatever the others do? What a look ends at.
    #[must_use]
    pub fn is_live(&self, task: &Task) -> bool {
        match &task.state {
            TaskState::Runnable | TaskState::Disk { .. } => true,
            TaskState::Blocked(wait) => {
                let alone = |source| matches!(source, &crate::observe::Source::Time);
                wait.sources.iter().all(alone)
                    && self.history.timer(&Observation::default(), task) == TimerRole::Moves
            }
            _ => false,
        }
    }

    /// The verdict on an observation. `consumed`: input was given since the last one and is gone.
    /// `guess_only` keeps the kernel's waits out of it.
    pub fn judge(
        &mut self,
        observation: &Observation,
        output: Option<&Output>,
        consumed: bool,
        guess_only: bool,
    ) -> Judgement {
        let now = observation.at;
        let mut observation = with_read_timeouts(observation);
        self.history.record(&observation);
        let ran = self.counters_moved(&observation);
        let printed = output.and_then(|output| output.last).unwrap_or_default();
        if ran {
            self.quiet_since = now;
        }
        self.quiet_since = self.quiet_since.max(printed);
        if self.is_behind(&observation) {
            // Whoever drains the terminal may only be slow: not yet a reason to call it stuck.
            if let Some(terminal) = observation.to_mut().terminal.as_mut() {
                terminal.writable = Some(true);
            }
        }
        let roles: BTreeMap<TaskId, TimerRole> = observation
            .tasks
            .iter()
            .filter(|task| matches!(&task.state, TaskState::Blocked(wait) if wait.is_timed()))
            .map(|task| (task.id, self.history.timer(&observation, task)))
            .collect();
        if observation.instant == Instantaneous::Returned {
            let tick = |task: &TaskId| roles.get(task) == Some(&TimerRole::Tick);
            let only_ticks = observation.returned.iter().all(tick);
            observation.to_mut().instant =
                if only_ticks { Instantaneous::Proved } else { Instantaneous::Moved };
        }
        let role = |task: &Task| roles.get(&task.id).copied().unwrap_or(TimerRole::Moves);
        let graph = Graph::build(&observation, &role);
        let decision = match guess_only {
            true => Decision::Closed { why: "only guesses were asked for".to_owned() },
            false => decide(&graph, &roles, &mut self.shells, output),
        };
        let open = |why, remote| Open {
            observation: &observation,
            output,
            quiet: now.saturating_sub(self.quiet_since),
            ran,
            why,
            remote,
        };
        let verdict = match decision {
            Decision::Verdict(verdict) => self.completed(*verdict, &observation),
            Decision::Closed { why } => guess(&open(&why, false)),
            Decision::Remote => guess(&open("the other end is on another machine", true)),
        };
        let ends = ends(&observation, &verdict);
        let whole = observation.whole;
        self.settle(verdict, now, consumed, ends, whole)
    }

    /// The verdict when the job's process has ended.
    pub fn exited(&mut self, exited: Exited) -> Judgement {
        let verdict = Verdict {
            state: State::Exited(exited),
            exact: true,
            by: By::Proc,
            confidence: 1.0,
            evidence: vec![Evidence::Syscalls],
            job: Vec::new(),
        };
        self.last = Some(verdict.clone());
        Judgement { verdict, news: true, ends: None, held: false }
    }

    /// The verdict that was told last.
    #[must_use]
    pub fn last(&self) -> Option<&Verdict> {
        self.last.as_ref()
    }

    /// A look that ended early saw one live task; whether another takes input is as it was. A
    /// program that works between its looks at the keyboard takes input all the while.
    fn completed(&mut self, mut verdict: Verdict, observation: &Observation) -> Verdict {
        let State::Running(running) = &mut verdict.state else {
            self.reader_seen = None;
            return verdict;
        };
        // A look that ended early does not know the relays either: what reads the terminal there may
        // only pass it on.
        if observation.whole {
            let lately = |seen: &Instant| observation.at.saturating_sub(*seen) < READER_SEEN;
            let now = running.accepts_input.then_some(observation.at);
            self.reader_seen = now.or(self.reader_seen.filter(lately));
        }
        running.accepts_input = self.reader_seen.is_some();
        verdict
    }

    fn settle(
        &mut self,
        verdict: Verdict,
        now: Instant,
        consumed: bool,
        ends: Option<Instant>,
        whole: bool,
    ) -> Judgement {
        if consumed {
            self.away_since = None;
        }
        let turned = whole && self.turned(&verdict);
        let Some(last) = &self.last else {
            self.last = Some(verdict.clone());
            return Judgement { verdict, news: true, ends, held: false };
        };
        let leaves = last.waits_for_input() && matches!(verdict.state, State::Running(_));
        if leaves && !consumed {
            let since = *self.away_since.get_or_insert(now);
            if now.saturating_sub(since) < REDRAW {
                let held = last.clone();
                let ends = Some(since + REDRAW);
                return Judgement { verdict: held, news: false, ends, held: true };
            }
        }
        self.away_since = None;
        let news = (consumed && verdict.waits_for_input()) || differs(last, &verdict) || turned;
        if news {
            self.last = Some(verdict.clone());
        }
        Judgement { verdict, news, ends, held: false }
    }

    /// A live job turned to another kind of wait and is at it still: worth a line although what it
    /// waits on for the moment is not.
    fn turned(&mut self, verdict: &Verdict) -> bool {
        let on = match &verdict.state {
            State::Running(running) => Some(running.waiting_on),
            _ => None,
        };
        let still = std::mem::replace(&mut self.waiting_on, on) == on;
        let told = match self.last.as_ref().map(|last| &last.state) {
            Some(State::Running(running)) => Some(running.waiting_on),
            _ => None,
        };
        still && on.is_some() && told.is_some() && told != on
    }

    fn counters_moved(&mut self, observation: &Observation) -> bool {
        let now: BTreeMap<TaskId, Option<u64>> =
            observation.tasks.iter().map(|task| (task.id, task.runs)).collect();
        let moved = self.counters != now || observation.instant == Instantaneous::Moved;
        self.counters = now;
        moved
    }

    fn is_behind(&self, observation: &Observation) -> bool {
        // A terminal that is stopped (^S), not full, has nothing to be drained.
        let stuck = |terminal: &Terminal| {
            terminal.writable == Some(false) && terminal.undrained != Some(false)
        };
        observation.terminal.as_ref().is_some_and(stuck)
            && !observation
                .tasks
                .iter()
                .any(|task| self.history.asleep(task, observation.at) >= UNDRAINED)
    }
}

/// A terminal's modes may give its reads a timeout that no argument of the call shows.
fn with_read_timeouts(observation: &Observation) -> Cow<'_, Observation> {
    let timeouts: Vec<(TtyId, Duration)> = observation
        .terminal
        .iter()
        .chain(&observation.inner)
        .filter_map(|terminal| Some((terminal.id, terminal.modes?.read_timeout?)))
        .collect();
    let mut observation = Cow::Borrowed(observation);
    for (tty, length) in timeouts {
        for task in &mut observation.to_mut().tasks {
            if let TaskState::Blocked(wait) = &mut task.state
                && matches!(wait.call, "read" | "readv")
                && wait.reads(tty).is_some()
            {
                wait.timeout = Timeout::After(length);
            }
        }
    }
    observation
}

/// When the reader's own wait ends by the time.
fn ends(observation: &Observation, verdict: &Verdict) -> Option<Instant> {
    let timeout = verdict.input()?.timeout?;
    let length = Duration::try_from_secs_f64(timeout).ok()?;
    observation.at.checked_add(length)
}

/// Is the new verdict worth a line? What a live job waits on changes all the time and is none.
fn differs(old: &Verdict, new: &Verdict) -> bool {
    match (&old.state, &new.state) {
        (State::Running(old), State::Running(new)) => old.accepts_input != new.accepts_input,
        (State::Prompt(a), State::Prompt(b)) | (State::Input(a), State::Input(b)) => {
            let screen = a.kind == Kind::Screen && b.kind == Kind::Screen;
            a.kind != b.kind
                || a.reader.as_ref().map(|reader| reader.pid)
                    != b.reader.as_ref().map(|reader| reader.pid)
                || a.exclusive != b.exclusive
                || (a.prompt != b.prompt && !screen)
                || old.exact != new.exact
        }
        (a, b) => a != b,
    }
}
