//! `awaitty watch --all`.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::time::Duration;

use crossbeam_channel::{Receiver, Select, at};

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
        let rescan = at(std::time::Instant::now() + RESCAN);
        while let Some(ready) = next(&all, &rescan, closed) {
            let Ready::Change(key, change) = ready else { return Ok(()) };
            let Some(followed) = all.get(&key) else { continue };
            let Some(change) = change else {
                all.remove(&key);
                continue;
            };
            let tty = followed.watched.tty();
            let name = tty.map(|tty| tty.strip_prefix("/dev/").unwrap_or(tty));
            line(&change, json, tty, name.or(Some("-")), sink)?;
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
    /// A change of one, or `None`: it has ended.
    Change(Key, Option<Change>),
    /// Nobody reads.
    Closed,
}

/// The next thing that happens; `None` when it is time to look for new terminals.
fn next(
    all: &BTreeMap<Key, Followed>,
    rescan: &Receiver<std::time::Instant>,
    closed: &Receiver<()>,
) -> Option<Ready> {
    let keys: Vec<&Key> = all.keys().collect();
    let mut select = Select::new_biased();
    select.recv(closed);
    select.recv(rescan);
    for followed in all.values() {
        select.recv(&followed.changes);
    }
    let operation = select.select();
    match operation.index() {
        0 => {
            let _ = operation.recv(closed);
            Some(Ready::Closed)
        }
        1 => {
            let _ = operation.recv(rescan);
            None
        }
        index => {
            let key = *keys.get(index - 2)?;
            let change = operation.recv(&all.get(key)?.changes).ok();
            Some(Ready::Change(*key, change))
        }
    }
}
