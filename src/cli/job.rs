//! A command on a terminal of its own, from its start to its end.

use std::ffi::OsString;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, poll};
use nix::sys::wait::{WaitPidFlag, waitpid};
use nix::unistd::Pid;

use super::limits;
use crate::sys::pidfd;
use crate::watch::{Monitor, OpenOptions, WatchError, Watched};

/// What hears that its terminal is gone may clean up for so long before it is killed.
const GRACE: Duration = Duration::from_millis(300);
/// A killed process is gone within microseconds, unless a driver holds it.
const DEATH: u16 = 1000;

/// A command that runs. Dropping it kills it; [`Job::end`] lets it clean up before.
#[derive(Debug)]
pub struct Job {
    /// The watch on it.
    pub watched: Watched,
    monitor: Keeper,
}

/// Keeps this process, even one that panics, from being gone before the thread that ends the command.
#[derive(Debug)]
struct Keeper(Option<Monitor>);

impl Drop for Keeper {
    fn drop(&mut self) {
        if let Some(monitor) = self.0.take() {
            monitor.shutdown();
        }
    }
}

impl Job {
    /// Starts a command on a new terminal.
    ///
    /// # Errors
    /// [`WatchError`].
    pub fn start(command: &[OsString], options: OpenOptions) -> Result<Job, WatchError> {
        let (program, args) = command.split_first().ok_or(WatchError::Ended)?;
        let mut command = limits::command(program);
        command.args(args);
        let monitor = Monitor::start()?;
        let watched = monitor.open(command, options)?;
        Ok(Job { watched, monitor: Keeper(Some(monitor)) })
    }

    /// Ends whatever still runs on the terminal, and returns when it has ended.
    pub fn end(self) {
        let Job { watched, monitor } = self;
        let pid = watched.pid();
        let end = pidfd::open(pid);
        if watched.hang_up().is_ok() {
            wait_for_end(&watched, Instant::now() + GRACE);
        }
        drop(watched);
        drop(monitor);
        if let Ok(end) = end {
            let _ = poll(&mut [PollFd::new(end.as_fd(), PollFlags::POLLIN)], DEATH);
        }
        // A container's first process may never reap what we leave; ECHILD: it was reaped.
        let _ = waitpid(Pid::from_raw(pid), Some(WaitPidFlag::WNOHANG));
    }

    /// Hangs the terminal up and lets live what survives that.
    pub fn leave(self) {
        // A monitor that is gone has ended the job.
        let _ = self.watched.leave();
        drop(self.monitor);
    }
}

/// A program's end is told behind its output, so somebody has to take that.
fn wait_for_end(watched: &Watched, deadline: Instant) {
    let mut output = watched.output().unwrap_or_else(crossbeam_channel::never);
    let changes = watched.changes();
    loop {
        crossbeam_channel::select! {
            recv(output) -> piece => if piece.is_err() { output = crossbeam_channel::never() },
            recv(changes) -> change => match change {
                Ok(change) if !change.verdict.has_exited() => {}
                _ => return,
            },
            recv(crossbeam_channel::at(deadline)) -> _ => return,
        }
    }
}
