//! When to look next. Pure: the clock is an argument.
//!
//! Looking costs microseconds, not looking costs latency. After an event the interval doubles up to
//! 1.4 ms: a program that prints a prompt blocks at once or has something else to do. From then on it
//! grows with the quiet time, so that a wait that begins after T of silence is seen within 2 % of T
//! and 2 ms, its own look included, and a ten-second silence costs some 300 looks. What looks may cost
//! in all is a budget of CPU time: a job that prints without end earns no more looks than a quiet one.

use std::time::Duration;

use crate::observe::Instant;

/// The interval is this part of the quiet time (2 %).
const PART_OF_QUIET: u32 = 50;
/// The shortest interval: less than a context switch and a look take together.
const SHORTEST: Duration = Duration::from_micros(50);
/// Up to here the interval is as long as the quiet time.
const DOUBLED: Duration = Duration::from_micros(1400);
/// The longest interval while the job moves.
const LONGEST: Duration = Duration::from_millis(250);
/// While the job waits for input, events tell everything but a death in silence.
const HEARTBEAT: Duration = Duration::from_millis(250);
/// Where only guesses are possible, the thresholds of the quiet time must be met in time.
const GUESSING: Duration = Duration::from_millis(50);
/// The CPU time that looks may take in the long run: this part of the elapsed time (0.8 %).
const PART_OF_TIME: u32 = 125;
/// After an event another task may take input than before: a look is made whole within this time.
const SOON: Duration = Duration::from_millis(100);
/// What a look is taken to cost before any was made.
const TYPICAL: Duration = Duration::from_micros(100);
/// What may be saved up for a burst of looks.
const SAVINGS: Duration = Duration::from_millis(4);
/// What input buys: somebody waits for the answer. The looks of a silence of 0.1 s take 2 to 6 ms on a
/// virtual machine, by how much of it its host gives to others.
const BOUGHT: Duration = Duration::from_millis(8);

/// What the last look found, as far as the next one depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Posture {
    /// Something moves.
    Moving,
    /// Nothing will move by itself, but for the wait's own end.
    Settled {
        /// When the wait ends by the time.
        ends: Option<Instant>,
    },
    /// Something moves, and that it does is not told yet.
    Held {
        /// When it will be.
        ends: Option<Instant>,
    },
    /// Only guesses are possible.
    Guessing,
}

/// The next look of one job.
#[derive(Debug, Clone)]
pub struct Schedule {
    quiet_since: Instant,
    next: Instant,
    /// CPU time that may be spent; negative amounts are held in `debt`.
    savings: Duration,
    debt: Duration,
    /// What a look has cost lately.
    typical: Duration,
    earned_at: Instant,
    whole_at: Instant,
}

impl Schedule {
    /// The first look is due at once.
    #[must_use]
    pub fn new(now: Instant) -> Schedule {
        Schedule {
            quiet_since: now,
            next: now,
            savings: SAVINGS,
            debt: Duration::ZERO,
            typical: TYPICAL,
            earned_at: now,
            whole_at: now,
        }
    }

    /// When the next look is due.
    #[must_use]
    pub fn due(&self) -> Instant {
        self.next
    }

    /// Something was printed, typed, read, or ended: look as soon as the budget allows.
    pub fn event(&mut self, now: Instant) {
        self.earn(now);
        self.quiet_since = now;
        self.next = now + self.penance();
        self.whole_at = self.whole_at.min(now + SOON);
    }

    /// Input was given by whoever watches: that buys looks. They have an end, since the job is looked
    /// at until it waits again, and somebody waits for that.
    pub fn given(&mut self, now: Instant) {
        self.earn(now);
        (self.savings, self.debt) = (BOUGHT, Duration::ZERO);
        self.event(now);
    }

    /// Should the look that is due see every task? Partial looks tell that something is live, not
    /// whether anything else would take input.
    #[must_use]
    pub fn wants_whole(&self, now: Instant) -> bool {
        now >= self.whole_at
    }

    /// A look was made, at this cost of CPU time.
    pub fn looked(&mut self, now: Instant, cost: Duration, posture: Posture, whole: bool) {
        self.earn(now);
        self.spend(cost);
        let quiet = now.saturating_sub(self.quiet_since);
        if whole {
            self.whole_at = now + quiet.clamp(Duration::from_millis(20), Duration::from_secs(2));
        }
        let interval = (quiet.clamp(SHORTEST, DOUBLED) + quiet / PART_OF_QUIET).min(LONGEST);
        let interval = match posture {
            Posture::Moving => interval,
            Posture::Held { ends } => {
                let ends = ends.map_or(LONGEST, |ends| ends.saturating_sub(now));
                interval.min(ends.max(SHORTEST))
            }
            Posture::Guessing => interval.min(GUESSING),
            Posture::Settled { ends } => {
                let ends = ends.map_or(HEARTBEAT, |ends| ends.saturating_sub(now));
                ends.clamp(SHORTEST, HEARTBEAT)
            }
        };
        self.next = now + interval.max(self.penance());
    }

    fn earn(&mut self, now: Instant) {
        let earned = now.saturating_sub(self.earned_at) / PART_OF_TIME;
        self.earned_at = now;
        let rest = earned.saturating_sub(self.debt);
        self.debt = self.debt.saturating_sub(earned);
        self.savings = (self.savings + rest).min(self.savings.max(SAVINGS));
    }

    /// Charges a look. One that cost many times what looks of this job do was interrupted: a host
    /// that takes the CPU away from a guest charges the thread for it (an outlier of 2 ms would
    /// forbid looks for 250 ms).
    fn spend(&mut self, cost: Duration) {
        let most = self.typical * 4;
        self.typical = (self.typical * 7 + cost) / 8;
        let cost = cost.min(most);
        let owed = cost.saturating_sub(self.savings);
        self.savings = self.savings.saturating_sub(cost);
        self.debt += owed;
    }

    /// How long until the debt is paid.
    fn penance(&self) -> Duration {
        (self.debt * PART_OF_TIME).min(LONGEST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COST: Duration = Duration::from_micros(10);

    /// Looks at a job that moves in silence for `length`; the times of the looks.
    fn silence(length: Duration) -> Vec<Instant> {
        let mut schedule = Schedule::new(Duration::ZERO);
        let mut times = Vec::new();
        while schedule.due() < length {
            let now = schedule.due();
            times.push(now);
            schedule.looked(now, COST, Posture::Moving, false);
        }
        times
    }

    #[test]
    fn a_silence_of_ten_seconds_costs_some_hundreds_of_looks() {
        let looks = silence(Duration::from_secs(10)).len();
        assert!((200..400).contains(&looks), "{looks}");
    }

    #[test]
    fn the_gap_between_looks_is_two_percent_of_the_quiet_time() {
        for pair in silence(Duration::from_secs(10)).windows(2) {
            let gap = pair[1] - pair[0];
            assert!(gap <= pair[1] / 50 + Duration::from_millis(2), "{gap:?} at {:?}", pair[1]);
        }
    }

    #[test]
    fn endless_events_stay_within_the_budget() {
        let mut schedule = Schedule::new(Duration::ZERO);
        let (mut spent, mut now) = (Duration::ZERO, Duration::ZERO);
        let end = Duration::from_secs(20);
        while now < end {
            schedule.event(now);
            now = schedule.due().max(now + Duration::from_micros(5));
            spent += COST;
            schedule.looked(now, COST, Posture::Moving, false);
        }
        assert!(spent < end / 100, "{spent:?}");
    }

    #[test]
    fn input_is_followed_by_a_look_at_once_whatever_was_spent_before() {
        let mut schedule = Schedule::new(Duration::ZERO);
        for _ in 0..50 {
            schedule.looked(Duration::ZERO, SAVINGS, Posture::Moving, true);
        }
        let now = Duration::from_millis(1);
        schedule.event(now);
        assert!(schedule.due() > now + Duration::from_millis(100));
        schedule.given(now);
        assert_eq!(schedule.due(), now);
    }

    #[test]
    fn one_look_that_was_interrupted_does_not_forbid_the_next() {
        let mut schedule = Schedule::new(Duration::ZERO);
        schedule.looked(Duration::ZERO, SAVINGS, Posture::Moving, true);
        assert!(schedule.due() < Duration::from_millis(1), "{:?}", schedule.due());
    }

    #[test]
    fn a_wait_is_looked_at_when_it_ends_and_four_times_a_second() {
        let mut schedule = Schedule::new(Duration::ZERO);
        let ends = Some(Duration::from_millis(100));
        schedule.looked(Duration::ZERO, COST, Posture::Settled { ends }, true);
        assert_eq!(schedule.due(), Duration::from_millis(100));
        schedule.looked(schedule.due(), COST, Posture::Settled { ends: None }, true);
        assert_eq!(schedule.due(), Duration::from_millis(350));
    }
}
