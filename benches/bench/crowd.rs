//! A probe with many tasks on a terminal that nobody watches, to be looked at by hand.

use std::os::fd::{AsFd, AsRawFd};
use std::time::Instant;

use anyhow::{Context, ensure};
use awaitty::observe::{Depth, Instantaneous, Live, Looker, Outer, Root, Scope, TtyAccess};
use awaitty::pty::{Pty, Size};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use crate::stage::probe;
use crate::stats::Sorted;

pub(crate) struct Crowd {
    terminal: Pty,
    scope: Scope,
}

impl Crowd {
    /// Starts `crowd-threads` or `crowd-processes`, with so many tasks in all.
    pub(crate) fn start(name: &str, tasks: usize) -> anyhow::Result<Crowd> {
        let command = probe(name, &[format!("--count={}", tasks - 1)]);
        let terminal = Pty::spawn(command, Size::default())?;
        let outer = Outer {
            id: terminal.id(),
            name: terminal.name().to_owned(),
            access: Some(TtyAccess::Master(terminal.as_fd().as_raw_fd())),
        };
        let scope = Scope { root: Root::Session(terminal.pid()), terminal: Some(outer) };
        let crowd = Crowd { terminal, scope };
        crowd.await_ready()?;
        Ok(crowd)
    }

    fn await_ready(&self) -> anyhow::Result<()> {
        let mut buffer = [0; 4096];
        loop {
            let mut master = [PollFd::new(self.terminal.as_fd(), PollFlags::POLLIN)];
            poll(&mut master, PollTimeout::NONE)?;
            let count = self.terminal.read(&mut buffer)?;
            ensure!(count > 0, "the probe ended");
            if buffer[..count].contains(&b'\n') {
                return Ok(());
            }
        }
    }

    /// Times in µs of first looks and of second ones, which find that nothing has run since. The
    /// kernel's files are open already, as they are in a watch that goes on.
    pub(crate) fn looks(&self, times: usize) -> anyhow::Result<[Sorted; 2]> {
        let mut kernel = Live::with_kept_tasks(1100);
        let mut first = Vec::with_capacity(times);
        let mut second = Vec::with_capacity(times);
        // The ready line is printed just before the probe blocks.
        let settled = (0..1000).any(|_| {
            let mut looker = Looker::new(self.scope.clone());
            let seen = looker.look(&mut kernel, Depth::Whole, &mut |_| false);
            seen.instant == Instantaneous::Proved
        });
        ensure!(settled, "the crowd never sleeps");
        for _ in 0..times {
            let mut looker = Looker::new(self.scope.clone());
            for samples in [&mut first, &mut second] {
                let began = Instant::now();
                let seen = looker.look(&mut kernel, Depth::Whole, &mut |_| false);
                samples.push(began.elapsed().as_secs_f64() * 1e6);
                let tasks = seen.tasks.len();
                (seen.instant == Instantaneous::Proved).then_some(()).with_context(|| {
                    format!("a look at {tasks} tasks asleep was {:?}", seen.instant)
                })?;
            }
        }
        Ok([Sorted::new(first), Sorted::new(second)])
    }
}
