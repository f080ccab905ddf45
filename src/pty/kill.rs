//! Ends what runs on a terminal.
//!
//! A process is held by a pidfd and compared with what was found before it is signalled, so that one
//! which has taken over the number of another is left alone. One race remains: a process that forks
//! while it is being killed. Its child has the same session or an ancestor that is still there, so
//! another look finds it; a few rounds end all but a fork bomb.

use std::collections::{BTreeMap, BTreeSet};

use nix::sys::signal::{Signal, killpg};
use procfs::process::{Process, Stat};

use crate::observe::Pid;
use crate::sys;

/// Looks at the most; a family that is not done by then grows faster than it is cut.
const ROUNDS: usize = 8;

/// Signals a process group. That it is gone is no error.
pub(super) fn group(group: nix::unistd::Pid, signal: Signal) {
    let _ = killpg(group, signal);
}

/// Sends `signals`, in this order, to every process of a session.
pub(super) fn session(leader: Pid, signals: &[Signal]) {
    for stat in everyone().iter().filter(|stat| stat.session == leader) {
        signals.iter().for_each(|signal| send(stat, *signal));
    }
}

/// The session that `leader` leads and the leader's descendants, each with its start time.
pub(super) fn family(leader: Pid) -> BTreeMap<Pid, u64> {
    let everyone = everyone();
    let members = members(&everyone, leader, &BTreeMap::new());
    let found = everyone.iter().filter(|stat| members.contains(&stat.pid));
    found.map(|stat| (stat.pid, stat.starttime)).collect()
}

/// Kills the family of `leader`. `known` is how it was before it was hung up: a child in a session of
/// its own whose parent ended of that is nobody's descendant any more.
pub(super) fn all(leader: Pid, known: &BTreeMap<Pid, u64>) {
    for _ in 0..ROUNDS {
        let everyone = everyone();
        let doomed = members(&everyone, leader, known);
        if doomed.is_empty() {
            break;
        }
        for stat in everyone.iter().filter(|stat| doomed.contains(&stat.pid)) {
            send(stat, Signal::SIGKILL);
        }
    }
}

fn members(everyone: &[Stat], leader: Pid, known: &BTreeMap<Pid, u64>) -> BTreeSet<Pid> {
    let found = everyone.iter().filter(|stat| known.get(&stat.pid) == Some(&stat.starttime));
    let mut members: BTreeSet<Pid> = found.map(|stat| stat.pid).collect();
    loop {
        let before = members.len();
        for stat in everyone {
            if stat.pid == leader || stat.session == leader || members.contains(&stat.ppid) {
                members.insert(stat.pid);
            }
        }
        if members.len() == before {
            return members;
        }
    }
}

/// All processes that are alive. The whole of `/proc` is read, because a process of the session whose
/// parent has ended is nobody's descendant any more.
fn everyone() -> Vec<Stat> {
    let Ok(processes) = procfs::process::all_processes() else { return Vec::new() };
    processes
        .filter_map(|process| process.ok()?.stat().ok())
        .filter(|stat| !matches!(stat.state, 'Z' | 'X'))
        .collect()
}

fn send(found: &Stat, signal: Signal) {
    let Ok(pidfd) = sys::pidfd::open(found.pid) else { return };
    let now = Process::new(found.pid).and_then(|process| process.stat());
    if now.is_ok_and(|now| now.starttime == found.starttime) {
        let _ = sys::spawn::signal(&pidfd, signal);
    }
}
