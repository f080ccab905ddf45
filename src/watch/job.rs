//! One watched job: its looks, its judge, its schedule, and what it publishes.

use std::collections::VecDeque;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::sys::epoll::EpollFlags;
use nix::sys::inotify::WatchDescriptor;
use nix::sys::termios::LocalFlags;
use serde::{Deserialize, Serialize};

use super::examiner::{Drained, Examiner};
use super::handle::Shared;
use super::schedule::{Posture, Schedule};
use super::tap::{Event, Tap};
use crate::observe::{
    Depth, Instant, Kernel, Observation, Outer, Pid, Root, Scope, SourceName, TtyAccess,
};
use crate::pty::{Pty, Screen, Size};
use crate::sys::tty;
use crate::verdict::{Exited, Judgement, State};

/// Read at once from a master: n_tty_read() hands out at most 4 KiB a call.
const READ: usize = 4 << 10;
/// Output that is read in one turn, so that a program that prints without end starves no other.
const TURN: usize = 256 << 10;

/// Which engine decides, and what it may see.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sight {
    /// Sources that are hidden, to see what is said without them.
    pub hidden: Vec<SourceName>,
    /// Only guesses: flags, groups, counters, output.
    pub heuristic: bool,
}

/// Where a job's terminal comes from.
pub(super) enum Origin {
    /// A terminal of our own.
    Own(Box<Own>),
    /// Somebody else's.
    Foreign {
        ends_with: Pid,
        /// Readable when that process has ended.
        end: OwnedFd,
        watch: Option<WatchDescriptor>,
    },
}

/// A terminal of our own: what comes out of it, and what still has to go in.
pub(super) struct Own {
    pub(super) pty: Pty,
    pub(super) screen: Screen,
    /// Queries are answered here, and not by whoever shows the output.
    pub(super) answers: bool,
    pub(super) end: Option<OwnedFd>,
    pub(super) input: VecDeque<u8>,
    pub(super) output: Option<crossbeam_channel::Sender<Vec<u8>>>,
    /// A chunk that the reader of the output had no room for yet.
    pub(super) held: Option<Vec<u8>>,
    pub(super) hung_up: bool,
    /// What its master is listened to for.
    pub(super) listens: EpollFlags,
    /// Hears all of it.
    pub(super) tap: Option<Box<dyn Tap>>,
}

pub(super) struct Job {
    pub(super) origin: Origin,
    pub(super) schedule: Schedule,
    pub(super) shared: Arc<Shared>,
    pub(super) over: bool,
    examiner: Examiner,
}

/// What a turn with a master came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pumped {
    Nothing,
    Output,
    /// Output with a query in it, which was answered: there is input now.
    Answered,
}

impl Own {
    /// Reads what there is, as far as whoever takes the output has room.
    pub(super) fn pump(&mut self, now: Instant) -> Pumped {
        let mut buffer = [0; READ];
        let (mut total, mut answered) = (0, false);
        while total < TURN && self.deliver_held() {
            match self.pty.read(&mut buffer) {
                Ok(0) => {
                    self.hung_up = true;
                    break;
                }
                Ok(count) => {
                    total += count;
                    self.tell(now, Event::Output(&buffer[..count]));
                    let replies = self.screen.feed(&buffer[..count], now);
                    if self.answers {
                        answered |= !replies.is_empty();
                        self.input.extend(replies);
                    }
                    if self.output.is_some() {
                        self.held = Some(buffer[..count].to_vec());
                    }
                }
                Err(Errno::EINTR) => {}
                Err(_) => break,
            }
        }
        self.deliver_held();
        self.flush(now);
        match total {
            _ if answered => Pumped::Answered,
            0 => Pumped::Nothing,
            _ => Pumped::Output,
        }
    }

    /// Hands the held chunk on; false while there is no room for it.
    fn deliver_held(&mut self) -> bool {
        let (Some(chunk), Some(output)) = (self.held.take(), self.output.as_ref()) else {
            return true;
        };
        match output.try_send(chunk) {
            Ok(()) => true,
            Err(crossbeam_channel::TrySendError::Full(chunk)) => {
                self.held = Some(chunk);
                false
            }
            // Nobody takes the output: the program runs on all the same.
            Err(crossbeam_channel::TrySendError::Disconnected(_)) => {
                self.output = None;
                true
            }
        }
    }

    /// Types as much as the terminal takes.
    pub(super) fn flush(&mut self, now: Instant) {
        while !self.input.is_empty() {
            let echoed = self.tap.is_some() && self.echoes();
            let (front, _) = self.input.as_slices();
            match self.pty.write(front) {
                Ok(count) => {
                    let taken: Vec<u8> = self.input.drain(..count).collect();
                    // Before and after: a program that turns ECHO off just now asks for a secret.
                    if echoed && self.echoes() {
                        self.tell(now, Event::Echoed(&taken));
                    }
                }
                Err(Errno::EINTR) => {}
                Err(Errno::EAGAIN) => return,
                Err(_) => self.input.clear(),
            }
        }
    }

    /// Is ECHO on, for everything that was written so far?
    fn echoes(&self) -> bool {
        let flags = OFlag::O_RDWR | OFlag::O_NOCTTY | OFlag::O_NONBLOCK;
        // Input is echoed when the line discipline gets it, and poll(2) makes that be now.
        tty::open_peer(&self.pty, flags).and_then(tty::ready).is_ok()
            && tty::modes(&self.pty).is_ok_and(|modes| modes.local_flags.contains(LocalFlags::ECHO))
    }

    fn tell(&mut self, now: Instant, event: Event<'_>) {
        if let Some(tap) = &mut self.tap {
            tap.hear(now, event);
        }
    }

    /// Is there output that we did not read?
    fn undrained(&self) -> bool {
        self.held.is_some() || tty::has_data(&self.pty).unwrap_or(false)
    }
}

impl Job {
    pub(super) fn own(
        mut own: Own,
        size: Size,
        sight: Sight,
        shared: Arc<Shared>,
        now: Instant,
    ) -> Job {
        let terminal = Outer {
            id: own.pty.id(),
            name: own.pty.name().to_owned(),
            access: Some(TtyAccess::Master(std::os::fd::AsFd::as_fd(&own.pty).as_raw_fd())),
        };
        let scope = Scope { root: Root::Session(own.pty.pid()), terminal: Some(terminal) };
        own.tell(now, Event::Began { scope: &scope, sight: &sight, size });
        Job::new(Origin::Own(Box::new(own)), scope, sight, shared, now)
    }

    pub(super) fn new(
        origin: Origin,
        scope: Scope,
        sight: Sight,
        shared: Arc<Shared>,
        now: Instant,
    ) -> Job {
        let examiner = Examiner::new(scope, sight, now);
        Job { origin, schedule: Schedule::new(now), shared, over: false, examiner }
    }

    /// We gave input.
    pub(super) fn input_given(&mut self, now: Instant) {
        self.examiner.given();
        self.tell(now, Event::Given);
        self.schedule.given(now);
    }

    /// The job read input, as inotify says: somebody else gave it.
    pub(super) fn input_read(&mut self, now: Instant) {
        self.examiner.given();
        self.schedule.event(now);
    }

    pub(super) fn resize(&mut self, size: Size, now: Instant) {
        if let Origin::Own(own) = &mut self.origin {
            own.screen.resize(size);
            own.tell(now, Event::Resized(size));
            // A terminal that is gone has no size.
            let _ = own.pty.resize(size);
        }
    }

    fn tell(&mut self, now: Instant, event: Event<'_>) {
        if let Origin::Own(own) = &mut self.origin {
            own.tell(now, event);
        }
    }

    /// Looks, judges, publishes. `cost` is the CPU time that the turn has taken so far.
    pub(super) fn look(&mut self, kernel: &mut dyn Kernel, spent: &mut dyn FnMut() -> Duration) {
        let now = kernel.now();
        if let Some(exited) = self.ended() {
            self.publish_end(exited, now);
            return;
        }
        let whole = self.schedule.wants_whole(now);
        let depth = if whole { Depth::Whole } else { Depth::FirstLive };
        let observation = self.observed(kernel, depth, now);
        let drained = self.drained(&observation, now);
        let ended = match observation.whole {
            true => self.ended().or(self.has_vanished(&observation).then(Exited::default)),
            false => None,
        };
        if let Some(exited) = ended {
            // A leader that has just ended is no news but that.
            self.publish_end(exited, now);
            return;
        }
        let output = match &self.origin {
            Origin::Own(own) => Some(own.screen.output()),
            Origin::Foreign { .. } => None,
        };
        let at = observation.at;
        let judgement = self.examiner.judge(observation, drained, output.as_ref());
        self.tell(now, Event::Judged(drained));
        let posture = posture(&judgement);
        if judgement.news {
            self.publish(judgement, at, now);
        } else {
            self.shared.refresh(judgement.verdict);
        }
        let now = kernel.now();
        let cost = spent().saturating_sub(self.examiner.take_scan_cost());
        self.schedule.looked(now, cost, posture, whole);
    }

    fn observed(&mut self, kernel: &mut dyn Kernel, depth: Depth, now: Instant) -> Observation {
        let Origin::Own(own) = &mut self.origin else { return self.examiner.look(kernel, depth) };
        let Some(tap) = &mut own.tap else { return self.examiner.look(kernel, depth) };
        let mut seen = Observation::default();
        tap.look(now, depth, kernel, &mut |kernel| seen = self.examiner.look(kernel, depth));
        seen
    }

    /// Everything sleeps, so what is still in the terminal is all that there will be: the prompt must
    /// be read before it is told.
    fn drained(&mut self, observation: &Observation, now: Instant) -> Option<Drained> {
        let Origin::Own(own) = &mut self.origin else { return None };
        if !observation.whole {
            return None;
        }
        let undrained = own.undrained();
        let answered = undrained && own.pump(now) == Pumped::Answered;
        if answered && observation.terminal.is_some() {
            self.schedule.event(now);
        }
        let undrained = undrained && own.undrained();
        Some(Drained { undrained, answered, held: own.held.is_some() })
    }

    /// Has the process ended with which the watch ends?
    fn ended(&mut self) -> Option<Exited> {
        match &mut self.origin {
            Origin::Own(own) => own.pty.try_wait().unwrap_or(Some(Exited::default())),
            Origin::Foreign { end, .. } => {
                tty::has_data(&*end).unwrap_or(true).then(Exited::default)
            }
        }
    }

    /// A foreign terminal that was hung up is nobody's any more, even if the job lives on.
    fn has_vanished(&self, observation: &Observation) -> bool {
        let Some(terminal) = &observation.terminal else { return false };
        let on_it = |tty: Option<u64>| tty == Some(terminal.id.rdev);
        matches!(self.origin, Origin::Foreign { .. })
            && observation.whole
            && !observation.processes.is_empty()
            && !observation.processes.values().any(|process| on_it(process.tty))
    }

    fn publish_end(&mut self, exited: Exited, now: Instant) {
        if let Origin::Own(own) = &mut self.origin {
            // What the program printed last is in the terminal, and comes before its end.
            own.pump(now);
            if own.undrained() && own.output.is_some() {
                self.schedule.event(now);
                return;
            }
            own.output = None;
        }
        self.tell(now, Event::Ended(exited));
        let judgement = self.examiner.exited(exited);
        self.publish(judgement, now, now);
        self.over = true;
        self.shared.close();
    }

    fn publish(&mut self, judgement: Judgement, at: Instant, now: Instant) {
        let output = match &self.origin {
            Origin::Own(own) => own.screen.bytes(),
            Origin::Foreign { .. } => 0,
        };
        let change = self.examiner.change(judgement, at, output);
        self.tell(now, Event::Told(&change));
        self.shared.publish(change);
    }
}

fn posture(judgement: &Judgement) -> Posture {
    let verdict = &judgement.verdict;
    match (&verdict.state, verdict.exact) {
        _ if judgement.held => Posture::Held { ends: judgement.ends },
        (State::Running(_), true) => Posture::Moving,
        (State::Running(_) | State::Unknown(_), false) => Posture::Guessing,
        _ => Posture::Settled { ends: judgement.ends },
    }
}
