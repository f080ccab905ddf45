//! What earlier looks tell about a task's timer: does the time move it on, or does it wake, look
//! round and return to the same wait?

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use crate::graph::TimerRole;
use crate::observe::{Instant, Observation, Source, Task, TaskId, TaskState, Wait};

/// A wait on the terminal with a timeout at least this long is taken for a wait for input at first
/// sight: no program that works between its looks at the keyboard looks as seldom as that.
const LONG_KEY_WAIT: Duration = Duration::from_millis(500);
/// Beside a task that reads the terminal, a timed futex at least this long is taken for a fallback:
/// the wait is for another thread (the JVM's compiler threads wait 5 s over and over, its cleaners
/// 60 s, its sweeper a day). A verdict that rests on this is not exact.
const LONG_FUTEX_WAIT: Option<Duration> = Some(Duration::from_secs(2));
/// Returns to the same wait that make a habit.
const HABIT: usize = 2;
/// A few more runs than the timer explains are no sign: a page fault, a signal.
const SLACK: f64 = 6.0;
/// Returns that are remembered.
const REMEMBERED: usize = 8;
/// The share of time a reader may compute and still be one that waits for keys.
const READER_DUTY: f64 = 0.10;
/// A reader with a long timeout may redraw much (top, htop).
const REDRAW_DUTY: f64 = 0.30;
/// The share of time a task without a terminal may spend on its ticks.
const TICK_DUTY: f64 = 0.02;

/// The past of the tasks of one job.
#[derive(Debug, Clone, Default)]
pub struct History {
    tasks: BTreeMap<TaskId, Past>,
    /// When a task without a timer was last seen to have run, or to have turned to another wait. Who
    /// is woken by another's tick does what the tick is for: then it is none.
    stirred: Instant,
}

#[derive(Debug, Clone)]
struct Past {
    start: u64,
    shape: Shape,
    /// The longest timeout it was seen with: of a point in time only what is left is seen.
    length: Option<Duration>,
    runs: Option<u64>,
    /// Since when the counter has stood still.
    since: Instant,
    /// When the counter was seen moved.
    returns: VecDeque<Return>,
    /// It once was seen to return for nothing, again and again, while nobody else ran.
    tick: bool,
}

#[derive(Debug, Clone, Copy)]
struct Return {
    at: Instant,
    /// The CPU time used by then.
    cpu: Duration,
    /// The run counter then.
    runs: u64,
    /// The timeout then, or what was left of it.
    length: Duration,
}

/// A wait without its times: what it means to return to the same one.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Shape {
    call: &'static str,
    fds: Vec<i32>,
    others: usize,
    /// A short timeout makes another habit than a long one.
    short: bool,
}

impl Shape {
    fn of(wait: &Wait) -> Shape {
        let mut fds: Vec<i32> = wait
            .sources
            .iter()
            .filter_map(|source| match source {
                Source::Object { fd, .. } => Some(*fd),
                _ => None,
            })
            .collect();
        fds.sort_unstable();
        let others = wait.sources.len() - fds.len();
        let short =
            others == 0 && wait.timeout.duration().is_some_and(|length| length < LONG_KEY_WAIT);
        Shape { call: wait.call, fds, others, short }
    }
}

impl History {
    /// Takes note of an observation.
    pub fn record(&mut self, observation: &Observation) {
        for task in &observation.tasks {
            let TaskState::Blocked(wait) = &task.state else { continue };
            let start = observation.processes.get(&task.id.pid).map_or(0, |process| process.start);
            let shape = Shape::of(wait);
            let timed = wait.is_timed();
            let seen = Return {
                at: observation.at,
                cpu: task.cpu.unwrap_or_default(),
                runs: task.runs.unwrap_or_default(),
                length: wait.timeout.duration().unwrap_or_default(),
            };
            match self.tasks.get_mut(&task.id) {
                Some(past) if past.start == start && past.shape == shape => {
                    past.length = past.length.max(wait.timeout.duration());
                    if past.runs != task.runs {
                        past.runs = task.runs;
                        past.since = observation.at;
                        past.returns.push_back(seen);
                        if !timed {
                            self.stirred = observation.at;
                        }
                        if past.returns.len() > REMEMBERED {
                            past.returns.pop_front();
                        }
                    }
                }
                _ => {
                    self.stirred = observation.at;
                    let past = Past {
                        start,
                        shape,
                        length: wait.timeout.duration(),
                        runs: task.runs,
                        since: observation.at,
                        returns: VecDeque::from([seen]),
                        tick: false,
                    };
                    self.tasks.insert(task.id, past);
                }
            }
        }
        let stirred = self.stirred;
        for past in self.tasks.values_mut() {
            past.tick |= past.undisturbed(stirred).is_some_and(|duty| duty < TICK_DUTY);
        }
        if observation.instant != crate::observe::Instantaneous::NotTried {
            let ids: std::collections::BTreeSet<TaskId> =
                observation.tasks.iter().map(|task| task.id).collect();
            self.tasks.retain(|id, _| ids.contains(id));
        }
    }

    /// How long a task has been seen asleep without a run in between.
    #[must_use]
    pub fn asleep(&self, task: &Task, now: Instant) -> Duration {
        match self.tasks.get(&task.id) {
            Some(past) if past.runs == task.runs => now.saturating_sub(past.since),
            _ => Duration::ZERO,
        }
    }

    /// What the timer of `task` means.
    #[must_use]
    pub fn timer(&self, observation: &Observation, task: &Task) -> TimerRole {
        let TaskState::Blocked(wait) = &task.state else { return TimerRole::Moves };
        let past = self.tasks.get(&task.id);
        let longest = past.and_then(|past| past.length);
        let duty = past.and_then(|past| past.undisturbed(self.stirred));
        let tick = if super::words::reads(observation, wait) {
            match wait.timeout.duration() {
                Some(length) if length >= LONG_KEY_WAIT => duty.is_none_or(|d| d < REDRAW_DUTY),
                _ => duty.is_some_and(|duty| duty < READER_DUTY),
            }
        } else {
            // A tick that is known stays one when others have had work, unless it shared in that.
            let duty = duty.or(past.filter(|past| past.tick).and_then(Past::latest));
            duty.is_some_and(|duty| duty < TICK_DUTY)
        };
        match tick {
            true => TimerRole::Tick,
            false if is_futex(wait) && longest >= LONG_FUTEX_WAIT && has_reader(observation) => {
                TimerRole::Fallback
            }
            false => TimerRole::Moves,
        }
    }
}

impl Past {
    /// The share of the time between its returns since `stirred` that a task computed; `None` before
    /// a habit shows.
    fn undisturbed(&self, stirred: Instant) -> Option<f64> {
        let habit: Vec<Return> =
            self.returns.iter().filter(|seen| seen.at >= stirred).copied().collect();
        if habit.len() > HABIT { duty(&habit) } else { None }
    }

    /// The same of its latest return alone.
    fn latest(&self) -> Option<f64> {
        let from = self.returns.len().checked_sub(2)?;
        duty(&self.returns.iter().skip(from).copied().collect::<Vec<_>>())
    }
}

/// The share of the time between returns that a task computed; `None` when it was woken more often
/// than its timer explains.
fn duty(habit: &[Return]) -> Option<f64> {
    let [first, .., last] = habit else { return None };
    let elapsed = last.at.saturating_sub(first.at).as_secs_f64();
    let computed = last.cpu.saturating_sub(first.cpu).as_secs_f64();
    // Of a point in time half of the whole is left on average, so this allows twice as many.
    let lengths: Duration = habit.iter().map(|seen| seen.length).sum();
    if !lengths.is_zero() {
        let average = lengths.as_secs_f64() / habit.len() as f64;
        let explained = 1.5 * elapsed / average + SLACK;
        let runs = u32::try_from(last.runs.saturating_sub(first.runs)).unwrap_or(u32::MAX);
        if f64::from(runs) > explained {
            return None;
        }
    }
    (elapsed > 0.0).then(|| computed / elapsed)
}

fn has_reader(observation: &Observation) -> bool {
    observation.tasks.iter().any(
        |task| matches!(&task.state, TaskState::Blocked(wait) if super::words::reads(observation, wait)),
    )
}

fn is_futex(wait: &Wait) -> bool {
    wait.sources.iter().all(|source| matches!(source, Source::Futex { .. }))
}
