//! Processes that run already.

use std::collections::BTreeSet;

use nix::errno::Errno;

use super::TraceError;
use super::engine::Engine;
use super::event::What;
use super::tasks::Open;
use crate::observe::{Kernel, Pid, TaskFile, TaskId, Wait};
use crate::proc::children;
use crate::sys::clock;
use crate::sys::ptrace::{self, Options, Until};
use crate::wait::{Call, Timeout};

/// Calls that fail with `EINTR` when the task is interrupted, whatever its signal handlers (signal(7),
/// and measured on Linux 6.18). Those on sockets do so if a timeout was set (`SO_RCVTIMEO`).
const BREAKS: [&str; 9] = [
    "epoll_wait",
    "epoll_pwait",
    "epoll_pwait2",
    "io_uring_enter",
    "io_getevents",
    "io_pgetevents",
    "rt_sigtimedwait",
    "semop",
    "semtimedop",
];

const ON_SOCKETS: [&str; 6] = ["accept", "accept4", "recv", "recvfrom", "recvmsg", "recvmmsg"];

impl Engine {
    /// Attaches to a process and its descendants; of these, who cannot be traced is told and left.
    pub(super) fn attach(&mut self, pid: Pid) -> Result<(), TraceError> {
        self.attach_process(pid)?;
        let mut seen = BTreeSet::from([pid]);
        let mut next = self.children(pid);
        while let Some(child) = next.pop() {
            if !seen.insert(child) || self.tasks.is_known(child) {
                continue;
            }
            let attached = self.attach_process(child);
            if let Err(TraceError::Denied(_) | TraceError::OwnChild(_)) = attached {
                self.tell(child, child, What::Refused);
            }
            next.extend(self.children(child));
        }
        Ok(())
    }

    fn children(&mut self, pid: Pid) -> Vec<Pid> {
        let mut found = Vec::new();
        for tid in self.calls.kernel.threads(pid).unwrap_or_default() {
            let text = self.calls.kernel.task_file(TaskId { pid, tid }, TaskFile::Children);
            found.extend(children(&text.unwrap_or_default()));
        }
        found
    }

    /// Threads that are made meanwhile are traced by the kernel if their maker is, so this ends.
    fn attach_process(&mut self, pid: Pid) -> Result<(), TraceError> {
        // wait(2) treats the tracee of any thread of its parent's process as the caller's own
        // (`wait_consider_task()` in kernel/exit.c).
        if self.parent(pid) == Some(std::process::id().cast_signed()) {
            return Err(TraceError::OwnChild(pid));
        }
        let mut first = true;
        loop {
            let threads = self.calls.kernel.threads(pid).map_err(|_| TraceError::NoProcess(pid))?;
            let new: Vec<Pid> =
                threads.into_iter().filter(|tid| !self.tasks.is_known(*tid)).collect();
            if new.is_empty() {
                return Ok(());
            }
            for tid in new {
                match ptrace::seize(tid, Options::LIFECYCLE) {
                    Ok(()) => self.tasks.add(TaskId { pid, tid }),
                    // It has ended, or the kernel has attached to it for us already; the task that
                    // made it tells.
                    Err(_) if !first => continue,
                    Err(Errno::EPERM) => return Err(TraceError::Denied(pid)),
                    Err(Errno::ESRCH) => return Err(TraceError::NoProcess(pid)),
                    Err(errno) => return Err(TraceError::System(errno)),
                }
                if first {
                    self.tell_start(pid, true);
                    first = false;
                }
                self.begin_calls(TaskId { pid, tid });
            }
        }
    }

    /// Calls are shown from the first stop on.
    fn begin_calls(&mut self, task: TaskId) {
        if self.until() == Until::Event {
            return;
        }
        let wait = self.calls.blocked(task);
        if let Some(call) = wait.as_ref().and_then(breaks) {
            self.tell(task.pid, task.tid, What::Untouched { call });
            return;
        }
        if let Some(wait) = wait {
            let call = Call { name: wait.call, ends: Vec::new(), timeout: wait.timeout };
            let (began, stack) = (clock::monotonic(), wait.stack);
            let open = Open { began, call, stack, wait: Some(wait), terminal: false };
            self.tasks.remember(task.tid, open);
        }
        // One that has ended meanwhile tells of it.
        let _ = ptrace::interrupt(task.tid);
    }
}

/// The call, if an interruption makes it fail.
fn breaks(wait: &Wait) -> Option<&'static str> {
    let timed_receive = ON_SOCKETS.contains(&wait.call) && wait.timeout != Timeout::Never;
    (timed_receive || BREAKS.contains(&wait.call)).then_some(wait.call)
}
