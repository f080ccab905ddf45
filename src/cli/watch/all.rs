//! `awaitty watch --all`.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Select, TryRecvError, at};

use super::line;
use crate::observe::{Live, Pid};
use crate::watch::{Change, Monitor, Session, Sight, Target, Watched, sessions};

/// How often new terminals are looked for. A terminal becomes one of a session by an ioctl, of which
/// no event tells, and terminals of containers have no place in `/dev/pts`.
const RESCAN: Duration = Duration::from_secs(1);

/// A terminal that is watched. It is the session that makes it another one.
type Key = (u64, u64, Pid);

struct Followed {
    watched: Watched,
    changes: Receiver<Change>,
}

/// Tells the changes of all terminals until nobody reads them.
pub(super) fn tell(
    monitor: &Monitor,
    sight: &Sight,
    closed: &Receiver<()>,
    json: bool,
    sink: &mut dyn Write,
) -> io::Result<()> {
    let mut live = Live::new();
    let mut all = BTreeMap::new();
    loop {
        follow_new(monitor, sight, &mut live, &mut all);
        let rescan = at(Instant::now() + RESCAN);
        loop {
            let key = match next(&all, &rescan, closed) {
                Ready::Of(key) => key,
                Ready::Rescan => break,
                Ready::Closed => return Ok(()),
            };
            tell_one(&mut all, key, json, sink)?;
        }
    }
}

fn tell_one(
    all: &mut BTreeMap<Key, Followed>,
    key: Key,
    json: bool,
    sink: &mut dyn Write,
) -> io::Result<()> {
    let Some(Followed { watched, changes }) = all.get(&key) else { return Ok(()) };
    match changes.try_recv() {
        Ok(change) => {
            let tty = watched.tty();
            let name = tty.map(|tty| tty.strip_prefix("/dev/").unwrap_or(tty));
            line(&change, json, tty, name.or(Some("-")), sink)
        }
        Err(TryRecvError::Empty) => Ok(()),
        Err(TryRecvError::Disconnected) => {
            all.remove(&key);
            Ok(())
        }
    }
}

fn follow_new(
    monitor: &Monitor,
    sight: &Sight,
    live: &mut Live,
    all: &mut BTreeMap<Key, Followed>,
) {
    for Session { leader, id } in sessions(live) {
        let key = (id.rdev, id.dev, leader);
        // One that has ended meanwhile is no loss.
        if !all.contains_key(&key)
            && let Ok(watched) = monitor.attach(&Target::Pid(leader), sight.clone())
        {
            let changes = watched.changes();
            all.insert(key, Followed { watched, changes });
        }
    }
}

enum Ready {
    /// A change of this one, or it has ended.
    Of(Key),
    /// It is time to look for new terminals.
    Rescan,
    /// Nobody reads.
    Closed,
}

/// The next thing that happens.
fn next(all: &BTreeMap<Key, Followed>, rescan: &Receiver<Instant>, closed: &Receiver<()>) -> Ready {
    let mut select = Select::new_biased();
    select.recv(closed);
    select.recv(rescan);
    for followed in all.values() {
        select.recv(&followed.changes);
    }
    match select.ready() {
        0 => Ready::Closed,
        index => index
            .checked_sub(2)
            .and_then(|index| all.keys().nth(index))
            .map_or(Ready::Rescan, |key| Ready::Of(*key)),
    }
}
