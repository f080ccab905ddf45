//! From looks to changes of the verdict: what a live watch and a replay have in common. Whatever a
//! look learns comes through the [`Kernel`], and the clock with it.

use serde::{Deserialize, Serialize};

use super::Change;
use super::job::Sight;
use crate::observe::{Depth, Hidden, Instant, Kernel, Looker, Observation, Scope};
use crate::verdict::{Exited, Judge, Judgement, Output};

/// Looks at one job, judges, and counts what is told.
#[derive(Debug)]
pub struct Examiner {
    looker: Looker,
    judge: Judge,
    sight: Sight,
    began: Instant,
    seq: u64,
    /// Input was given since the last verdict.
    given: bool,
}

/// What reading a terminal of our own to the end came to, after a look that saw everything asleep.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Drained {
    /// There is still output in it that was not read.
    pub undrained: bool,
    /// The output had a query in it, which was answered.
    pub answered: bool,
    /// Whoever takes the output has no room for more.
    pub held: bool,
}

impl Examiner {
    /// Prepares to look at a job that began (or whose watch began) at this time.
    #[must_use]
    pub fn new(scope: Scope, sight: Sight, began: Instant) -> Examiner {
        Examiner {
            looker: Looker::new(scope),
            judge: Judge::new(began),
            sight,
            began,
            seq: 0,
            given: false,
        }
    }

    /// Input was given, by us or by somebody else.
    pub fn given(&mut self) {
        self.given = true;
    }

    /// Makes a look.
    pub fn look(&mut self, kernel: &mut dyn Kernel, depth: Depth) -> Observation {
        let judge = &self.judge;
        let mut live = |task: &crate::observe::Task| judge.is_live(task);
        if self.sight.hidden.is_empty() {
            return self.looker.look(kernel, depth, &mut live);
        }
        let hidden = self.sight.hidden.iter().copied();
        self.looker.look(&mut Hidden::new(kernel, hidden), depth, &mut live)
    }

    /// As [`Looker::take_scan_cost`].
    pub fn take_scan_cost(&mut self) -> std::time::Duration {
        self.looker.take_scan_cost()
    }

    /// Judges what a look saw. `drained` is there for a terminal of our own and a whole look;
    /// `output` for a terminal of our own.
    pub fn judge(
        &mut self,
        mut observation: Observation,
        drained: Option<Drained>,
        output: Option<&Output>,
    ) -> Judgement {
        let drained = drained.unwrap_or(Drained { held: true, ..Drained::default() });
        if let Some(terminal) = &mut observation.terminal {
            if drained.answered {
                // The program waited for us, and does no more.
                terminal.readable = Some(true);
            }
            if terminal.undrained == Some(true) && !drained.held {
                // The terminal was full because we had not come to read it yet.
                terminal.writable = Some(true);
            }
        }
        let read = observation.terminal.as_ref().is_none_or(|tty| tty.readable != Some(true));
        let consumed = self.given && read && observation.whole && !drained.undrained;
        let judgement = self.judge.judge(&observation, output, consumed, self.sight.heuristic);
        if consumed && judgement.verdict.waits_for_input() {
            self.given = false;
        }
        judgement
    }

    /// The job has ended.
    pub fn exited(&mut self, exited: Exited) -> Judgement {
        self.judge.exited(exited)
    }

    /// A judgement that is news, as it is told. `output` is the number of bytes put out so far.
    pub fn change(&mut self, judgement: Judgement, at: Instant, output: u64) -> Change {
        self.seq += 1;
        let t = at.saturating_sub(self.began);
        Change { seq: self.seq, t, output, verdict: judgement.verdict }
    }
}
