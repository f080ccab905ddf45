//! What a job depends on outside of itself: who holds the other end of its pipes and sockets, and
//! who else reads its terminal.
//!
//! tmux's server reads the terminal that its client was started on, through a descriptor that the
//! client sent it; screen's opens the terminal by its path. Such a process is a relay: a path from
//! the outer terminal to the inner ones whose masters it holds, and never a live task.
//!
//! Only a scan of every process on the machine finds them. So it is made only where the answer
//! depends on it, and again only after a time in proportion to what it cost.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::{
    Kernel, Look, Object, ObjectId, Outsider, Pid, Source, Table, TaskId, TaskState, TtyId, Walk,
    holders, read_stat,
};
use crate::observe::{Holder, Instant};

/// The next scan comes after this many times the last one's cost…
const COST_FACTOR: u32 = 500;
/// …or this many, once the answer has not depended on it for a while…
const COST_FACTOR_ANEW: u32 = 100;
/// …and no sooner than this, doubled each time it finds the same.
const SOONEST: Duration = Duration::from_millis(200);
/// However often it found the same, it is made again after this.
const LATEST: Duration = Duration::from_secs(30);

/// What the table of a process costs, measured with ten descriptors. A clock would count the time of
/// others as well: with ten busy processes on two CPUs the next scan came half a minute late.
const TABLE: Duration = Duration::from_micros(60);

/// What is looked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Wanted {
    /// A terminal that no member reads.
    tty: Option<TtyId>,
    /// Pipes and sockets whose other end nobody inside holds.
    objects: BTreeSet<ObjectId>,
    /// Those of them that a reader of the terminal waits on as well: its input may go there.
    partners: BTreeSet<ObjectId>,
    /// The job's own terminal.
    outer: Option<TtyId>,
}

impl Wanted {
    fn is_nothing(&self) -> bool {
        self.tty.is_none() && self.objects.is_empty()
    }
}

/// What the last scan found.
#[derive(Debug, Default)]
pub(super) struct Outside {
    wanted: Wanted,
    found: Found,
    next: Instant,
    pause: Duration,
    /// When it was made, and what it cost.
    made: (Instant, Duration),
    /// The answer does not depend on it now.
    rests: bool,
    /// What scans have cost that nobody was told of.
    unpaid: Duration,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Found {
    holders: BTreeMap<Pid, Vec<ObjectId>>,
    relays: BTreeSet<Pid>,
    /// They have the terminal open, and no other behind which its input could go.
    guests: BTreeSet<Pid>,
}

impl Outside {
    /// The time that scans took since the last call. They are paced by their own cost.
    pub(super) fn take_cost(&mut self) -> Duration {
        std::mem::take(&mut self.unpaid)
    }

    /// Outsiders come and go without the job's doing: is it time to look for them again?
    pub(super) fn is_due(&self, now: Instant) -> bool {
        !self.rests && !self.wanted.is_nothing() && now >= self.next
    }

    /// Nothing is wanted for the moment. A job that waits for the network falls asleep and runs in
    /// turn, so what was found is kept, but not for as long as in a job that sleeps on.
    fn rest(&mut self) {
        let (at, cost) = self.made;
        self.rests = true;
        self.pause = SOONEST;
        self.next = self.next.min(at + SOONEST.max(cost * COST_FACTOR_ANEW));
    }

    fn ask(&mut self, kernel: &mut dyn Kernel, wanted: Wanted, inside: &Walk) -> Found {
        let now = kernel.now();
        let same = self.wanted == wanted;
        self.rests = false;
        if same && now < self.next {
            return self.found.clone();
        }
        let (found, asked) = scan(kernel, &wanted, inside);
        let cost = TABLE * asked;
        let unchanged = same && found == self.found;
        self.pause = if unchanged { self.pause * 2 } else { SOONEST };
        self.pause = self.pause.max(cost * COST_FACTOR).min(LATEST);
        (self.wanted, self.found) = (wanted, found.clone());
        (self.next, self.made) = (now + self.pause, (now, cost));
        self.unpaid += cost;
        found
    }
}

/// What was found, and how many processes were asked.
fn scan(kernel: &mut dyn Kernel, wanted: &Wanted, inside: &Walk) -> (Found, u32) {
    let mut found = Found::default();
    let mut asked = 0;
    for pid in kernel.processes().unwrap_or_default() {
        if inside.processes.contains_key(&pid) {
            continue;
        }
        asked += 1;
        let Ok(table) = holders::table(kernel, pid, pid) else { continue };
        let on_tty =
            wanted.tty.is_some_and(|tty| table.terminals.iter().any(|(_, id)| id.same(tty)));
        // Of a pipe only its writers matter; a socket has no such sides.
        let far = |(object, holder): &(ObjectId, Holder)| {
            let side = holder.write || !matches!(object, ObjectId::Pipe(_));
            (side && wanted.objects.contains(object)).then_some(*object)
        };
        let ends: Vec<ObjectId> = table.holds.iter().filter_map(far).collect();
        if !ends.is_empty() {
            found.holders.insert(pid, ends);
        }
        // Whoever drives the job's own terminal is no relay of its input.
        let drives =
            wanted.outer.is_some_and(|outer| table.masters.iter().any(|(_, id)| id.same(outer)));
        let talks = table.holds.iter().any(|(object, _)| wanted.partners.contains(object));
        match table.masters.is_empty() {
            _ if drives => {}
            false if on_tty || talks => drop(found.relays.insert(pid)),
            true if on_tty => drop(found.guests.insert(pid)),
            _ => {}
        }
    }
    (found, asked)
}

impl Look<'_> {
    /// Looks for outsiders where the verdict depends on them; those that relay are taken in, with
    /// the jobs behind them.
    pub(super) fn outside(&mut self, tables: &mut BTreeMap<Pid, Table>) {
        let wanted = self.wanted();
        if wanted.is_nothing() {
            self.looker.outside.rest();
            return;
        }
        let found = self.looker.outside.ask(self.kernel, wanted, &self.walk);
        for (pid, holds) in found.holders {
            if let Some(identity) = read_stat(self.kernel, pid) {
                let outsider = Outsider { pid, comm: identity.comm, holds };
                self.observation.outsiders.insert(pid, outsider);
            }
        }
        for relay in found.relays {
            self.adopt(relay, tables);
        }
        for guest in found.guests {
            self.entertain(guest);
        }
    }

    /// Takes note of a process that reads the terminal without being of its session: a daemon that
    /// asks for a pass phrase where its client runs (pinentry). Most that have it open do not.
    fn entertain(&mut self, guest: Pid) {
        let Some(outer) = self.observation.terminal.as_ref().map(|outer| outer.id) else { return };
        self.walk.join(Walk::down(self.kernel, &[guest]));
        let threads = self.walk.threads.get(&guest).cloned().unwrap_or_default();
        let reads = |state: &TaskState| match state {
            TaskState::Blocked(wait) => wait.reads(outer).is_some(),
            _ => false,
        };
        let asks = threads.into_iter().any(|tid| {
            self.read_state(TaskId { pid: guest, tid }).is_ok_and(|(_, state)| reads(&state))
        });
        if asks && let Some(identity) = read_stat(self.kernel, guest) {
            let outsider = self.observation.outsiders.entry(guest);
            let outsider =
                outsider.or_insert(Outsider { pid: guest, comm: identity.comm, holds: Vec::new() });
            outsider.holds.push(ObjectId::Terminal(outer));
        }
    }

    fn wanted(&self) -> Wanted {
        let outer = self.observation.terminal.as_ref().map(|terminal| terminal.id);
        let mut wanted = Wanted { outer, ..Wanted::default() };
        let mut read = false;
        for task in &self.observation.tasks {
            match &task.state {
                // Nobody outside makes a sleep end sooner.
                TaskState::Blocked(wait) if wait.sources == [Source::Time] => {
                    return Wanted::default();
                }
                TaskState::Blocked(wait) => {
                    let reads = outer.is_some_and(|outer| wait.reads(outer).is_some());
                    let ends = wait.sources.iter().filter_map(|source| self.far_end(source));
                    for end in ends {
                        wanted.objects.insert(end);
                        if reads {
                            wanted.partners.insert(end);
                        }
                    }
                    read |= reads;
                }
                TaskState::Runnable | TaskState::Disk { .. } => return Wanted::default(),
                _ => {}
            }
        }
        wanted.tty = outer.filter(|_| !read);
        wanted
    }

    /// The other end of what a source is on, if nobody inside holds it.
    fn far_end(&self, source: &Source) -> Option<ObjectId> {
        let Source::Object { interest, object, .. } = source else { return None };
        let holders = |object: ObjectId| self.observation.holders.get(&object);
        match object {
            Object::Pipe(id) | Object::Fifo(id) if interest.read => {
                let pipe = ObjectId::Pipe(*id);
                let written = holders(pipe).is_some_and(|all| all.iter().any(|one| one.write));
                (!written).then_some(pipe)
            }
            Object::Unix { peer, .. } if *peer != 0 => {
                let end = ObjectId::Socket(*peer);
                holders(end).is_none().then_some(end)
            }
            _ => None,
        }
    }

    /// Takes a relay and what runs on its inner terminals into the look.
    fn adopt(&mut self, relay: Pid, tables: &mut BTreeMap<Pid, Table>) {
        let mut behind = Walk::down(self.kernel, &[relay]);
        behind.mark_behind(relay);
        let members: Vec<Pid> =
            behind.processes.values().filter(|it| it.member).map(|it| it.pid).collect();
        self.walk.join(behind);
        for pid in std::iter::once(relay).chain(members) {
            self.process(pid);
        }
        for pid in self.walk.order.clone() {
            if !tables.contains_key(&pid)
                && let Ok(table) = self.table(pid)
            {
                tables.insert(pid, table);
            }
        }
        self.observation.holders = holders::by_object(tables.values());
    }
}
