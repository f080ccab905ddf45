//! The way up from a session's leader, and the orphans of the session that hang there.
//!
//! A process whose parent has ended hangs below the nearest reaper above: an ancestor that called
//! PR_SET_CHILD_SUBREAPER(2const), or the init of its PID namespace, and there below the first thread
//! that lives (`find_alive_thread()` in kernel/exit.c).

use std::collections::BTreeSet;

use super::{Kernel, Look, Pid, ReadError, read_stat};
use crate::observe::members::{children_of, threads_of};

/// The ancestors of a session's leader. They stay the same until one of them ends, which its list of
/// children tells: the next one below is missing there.
#[derive(Debug, Default)]
pub(super) struct Above {
    ancestors: Vec<Ancestor>,
}

#[derive(Debug)]
struct Ancestor {
    pid: Pid,
    /// The thread that takes orphans, and that which the next process below hangs from.
    threads: Vec<Pid>,
    /// The children as they were last.
    children: Vec<Pid>,
    /// Those of another session: no process can enter one that exists.
    strangers: BTreeSet<Pid>,
}

impl Above {
    /// The processes of the session of `leader` that hang below its ancestors, `leader` aside.
    pub(super) fn orphans(&mut self, kernel: &mut dyn Kernel, leader: Pid) -> Vec<Pid> {
        if self.ancestors.is_empty() || !self.refresh(kernel, leader) {
            self.ancestors = climb(kernel, leader);
            self.refresh(kernel, leader);
        }
        let mut orphans = Vec::new();
        let mut below = leader;
        for ancestor in &mut self.ancestors {
            for &child in &ancestor.children {
                if child == below || ancestor.strangers.contains(&child) {
                    continue;
                }
                match read_stat(kernel, child) {
                    Some(read) if read.session == leader => orphans.push(child),
                    _ => drop(ancestor.strangers.insert(child)),
                }
            }
            below = ancestor.pid;
        }
        orphans
    }

    /// Reads the lists of children anew; false if this is the way up no more.
    fn refresh(&mut self, kernel: &mut dyn Kernel, leader: Pid) -> bool {
        let mut below = leader;
        for ancestor in &mut self.ancestors {
            let children = match children_of(kernel, ancestor.pid, &ancestor.threads) {
                Ok(children) => children,
                Err(ReadError::Gone) => return false,
                // Where the lists cannot be read there are no orphans to be found.
                Err(_) => Vec::new(),
            };
            if children != ancestor.children {
                ancestor.strangers.retain(|child| children.binary_search(child).is_ok());
                ancestor.children = children;
            }
            if ancestor.children.binary_search(&below).is_err() {
                return false;
            }
            below = ancestor.pid;
        }
        true
    }
}

impl Look<'_> {
    /// Adds the orphans of the session to the walk, after the walk down from the root: what was
    /// missed there because its parent ended on the way is an orphan by now. True if there are any:
    /// the members must be read anew then.
    pub(super) fn orphans(&mut self, foreground: Option<Pid>) -> bool {
        let orphans = self.looker.orphans(self.kernel);
        let some = !orphans.is_empty();
        if some {
            self.walk.go_on(self.kernel, &orphans);
            self.walk.mark_members(self.looker.scope.root, foreground);
            self.observation.tasks.clear();
            self.observation.processes.clear();
        }
        self.orphans = Some(orphans);
        some
    }
}

/// The way up by the parents that the processes name, nearest first.
fn climb(kernel: &mut dyn Kernel, leader: Pid) -> Vec<Ancestor> {
    let mut ancestors: Vec<Ancestor> = Vec::new();
    let mut below = leader;
    let mut here = read_stat(kernel, leader).map_or(0, |read| read.ppid);
    while here > 0 && ancestors.iter().all(|ancestor| ancestor.pid != here) {
        let Some(read) = read_stat(kernel, here) else { break };
        let mut threads = threads_of(kernel, here, &read).unwrap_or_default();
        if read.state != b'Z' {
            threads.retain(|&thread| {
                let hangs = |children: Vec<Pid>| children.contains(&below);
                thread == here || children_of(kernel, here, &[thread]).is_ok_and(hangs)
            });
        }
        let (children, strangers) = (Vec::new(), BTreeSet::new());
        ancestors.push(Ancestor { pid: here, threads, children, strangers });
        below = here;
        here = read.ppid;
    }
    ancestors
}
