//! Processes that were let go, watched from outside: their ends, and descendants that have rights no
//! greater than ours again.

use std::os::fd::OwnedFd;
use std::thread;
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, unbounded};
use nix::unistd::geteuid;

use super::Order;
use crate::observe::{Kernel, Live, Pid, TaskFile, TaskId};
use crate::proc::{Status, children};
use crate::sys::bell::Bell;
use crate::sys::pidfd;

/// How often descendants are looked for. What one does before it is found is not seen.
const INTERVAL: Duration = Duration::from_millis(20);

/// The engine's side.
#[derive(Debug)]
pub(super) struct Watcher {
    orders: Sender<Order>,
    bell: Bell,
    watched: Vec<Pid>,
    thread: Option<Sender<(Pid, bool)>>,
}

impl Watcher {
    pub(super) fn new(orders: Sender<Order>, bell: Bell) -> Watcher {
        Watcher { orders, bell, watched: Vec::new(), thread: None }
    }

    /// Is nobody watched?
    pub(super) fn is_idle(&self) -> bool {
        self.watched.is_empty()
    }

    /// Watches a process. The end of a `child` of the engine's thread is that thread's to tell.
    pub(super) fn watch(&mut self, pid: Pid, child: bool) {
        let sender = match &self.thread {
            Some(sender) => sender,
            None => {
                let (sender, receiver) = unbounded();
                let (orders, bell) = (self.orders.clone(), self.bell);
                let run = move || Rounds::new(orders, bell).run(&receiver);
                // Without it nothing tells when it ends, so nothing waits for it either.
                let name = "awaitty-let-go".to_owned();
                let Ok(_) = thread::Builder::new().name(name).spawn(run) else { return };
                self.thread.insert(sender)
            }
        };
        if sender.send((pid, child)).is_ok() {
            self.watched.push(pid);
        }
    }

    /// Was it watched? It is no more.
    pub(super) fn forget(&mut self, pid: Pid) -> bool {
        let before = self.watched.len();
        self.watched.retain(|watched| *watched != pid);
        self.watched.len() < before
    }
}

/// The thread's side.
struct Rounds {
    orders: Sender<Order>,
    bell: Bell,
    kernel: Live,
    watched: Vec<(Pid, bool, OwnedFd)>,
}

impl Rounds {
    fn new(orders: Sender<Order>, bell: Bell) -> Rounds {
        Rounds { orders, bell, kernel: Live::new(), watched: Vec::new() }
    }

    /// Ends with the engine.
    fn run(mut self, news: &Receiver<(Pid, bool)>) {
        loop {
            match news.recv_timeout(INTERVAL) {
                Ok((pid, child)) => match pidfd::open(pid) {
                    Ok(end) => self.watched.push((pid, child, end)),
                    Err(_) => self.order(Order::Ended(pid)),
                },
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            self.round();
            // A bell can go unheard.
            if !self.orders.is_empty() {
                self.bell.ring();
            }
        }
    }

    fn round(&mut self) {
        for (pid, child, end) in std::mem::take(&mut self.watched) {
            if pidfd::ends_within(&end, Duration::ZERO).unwrap_or(true) {
                if !child {
                    self.order(Order::Ended(pid));
                }
                continue;
            }
            self.look_below(pid);
            self.watched.push((pid, child, end));
        }
    }

    fn look_below(&mut self, pid: Pid) {
        for tid in self.kernel.threads(pid).unwrap_or_default() {
            let text = self.kernel.task_file(TaskId { pid, tid }, TaskFile::Children);
            for child in children(&text.unwrap_or_default()) {
                match self.status(child) {
                    Some(status) if is_ours(&status) => self.order(Order::Attach(child)),
                    // Whoever is traced brings its own descendants.
                    Some(status) if status.tracer != 0 => {}
                    _ => self.look_below(child),
                }
            }
        }
    }

    fn status(&mut self, pid: Pid) -> Option<Status> {
        let text = self.kernel.task_file(TaskId { pid, tid: pid }, TaskFile::Status).ok()?;
        Status::parse(&text)
    }

    fn order(&mut self, order: Order) {
        // An engine that has ended needs none.
        let _ = self.orders.send(order);
        self.bell.ring();
    }
}

fn is_ours(status: &Status) -> bool {
    let own = geteuid().as_raw();
    status.tracer == 0 && status.uid == own && status.euid == own
}
