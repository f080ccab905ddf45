//! What the tracer's thread does.

use std::ffi::CString;

use crossbeam_channel::{Receiver, Sender};
use nix::errno::Errno;

use super::event::{Event, What};
use super::let_go::Watcher;
use super::tasks::{Open, Tasks};
use super::{Options, Order, TraceError, set_id};
use crate::observe::{Calls, Instant, Kernel, Pid, TaskFile, TaskId};
use crate::proc::{Stat, Status};
use crate::sys::bell::Bell;
use crate::sys::clock;
use crate::sys::ptrace::{self, CallStop, Stop, Stopped, Until, Waited};
use crate::sys::spawn::{Held, Released};
use crate::wait::{Call, End};

/// The kernel's name of the call that goes on with another one after a stop.
const RESTART: &str = "restart_syscall";

/// The state of a trace. Only the thread that made it has the right to its tracees.
pub(super) struct Engine {
    pub(super) options: Options,
    events: Sender<Event>,
    orders: Receiver<Order>,
    pub(super) tasks: Tasks,
    pub(super) calls: Calls,
    /// What is traced keeps the rights that set-id files give.
    pub(super) privileged: bool,
    command: Option<(Pid, Released)>,
    watcher: Watcher,
    /// Nobody listens any more, or all shall be let go.
    over: bool,
}

impl Engine {
    pub(super) fn new(
        options: Options,
        events: Sender<Event>,
        own: Sender<Order>,
        orders: Receiver<Order>,
        bell: Bell,
    ) -> Engine {
        Engine {
            options,
            events,
            orders,
            tasks: Tasks::default(),
            calls: Calls::default(),
            privileged: set_id::is_privileged(),
            command: None,
            watcher: Watcher::new(own, bell),
            over: false,
        }
    }

    /// Traces a child from before its program.
    pub(super) fn command(&mut self, held: Held, line: &[CString]) -> Result<Pid, TraceError> {
        let pid = held.pid();
        ptrace::seize(pid, ptrace::Options::LIFECYCLE).map_err(|errno| match errno {
            Errno::EPERM => TraceError::Denied(pid),
            other => TraceError::System(other),
        })?;
        // It stops before it returns from the wait that it is held in, so nothing of it is missed.
        ptrace::interrupt(pid)?;
        self.tasks.add(TaskId { pid, tid: pid });
        let cmdline = line.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        let ppid = nix::unistd::getpid().as_raw();
        self.tell(pid, pid, What::Start { ppid, cmdline, attached: false });
        self.command = Some((pid, held.release()?));
        Ok(pid)
    }

    /// Follows the tracees until all have ended.
    pub(super) fn run(mut self) {
        while !self.over {
            while let Ok(order) = self.orders.try_recv() {
                self.obey(order);
            }
            match ptrace::peek(true) {
                Ok(Some(first)) => self.round(first),
                Ok(None) | Err(Errno::EINTR) => {}
                Err(_) if self.watcher.is_idle() => return,
                // Only processes that were let go are left.
                Err(_) => match self.orders.recv() {
                    Ok(order) => self.obey(order),
                    Err(_) => return,
                },
            }
        }
    }

    /// All who wait are collected before the first goes on: a busy task that stops again at once would
    /// hide the others behind it.
    fn round(&mut self, first: Pid) {
        let mut waiting = Vec::new();
        let mut next = Some(first);
        while let Some(tid) = next {
            // It can be killed between the two.
            if let Ok(Some(waited)) = ptrace::wait(tid) {
                waiting.push((tid, waited));
            }
            next = ptrace::peek(false).ok().flatten();
        }
        for (tid, waited) in waiting {
            match waited {
                // A tracee that was killed in its stop (ESRCH) tells of its end later.
                Waited::Stopped(stopped) => drop(self.stopped(stopped)),
                Waited::Exited(code) => self.gone(tid, Some(code), None),
                Waited::Killed(signal) => self.gone(tid, None, Some(signal)),
            }
        }
    }

    fn obey(&mut self, order: Order) {
        match order {
            Order::Stop => self.over = true,
            // It may have ended, or taken other rights, in between.
            Order::Attach(pid) => drop(self.attach(pid)),
            Order::Ended(pid) => {
                if self.watcher.forget(pid) {
                    self.tell(pid, pid, What::Exit { code: None, signal: None });
                }
            }
        }
    }

    fn stopped(&mut self, stopped: Stopped) -> nix::Result<()> {
        let tid = stopped.tid();
        // A new task's first stop can come before the stop of the one that made it.
        self.adopt(tid);
        let until = self.until();
        match stopped.stop() {
            Stop::Call => self.at_call(stopped),
            Stop::Made => {
                if let Ok(made) = stopped.message() {
                    self.adopt(made);
                }
                stopped.resume(until, 0)
            }
            Stop::Executed => {
                let former = stopped.message().unwrap_or(tid);
                self.executed(tid, former);
                stopped.resume(until, 0)
            }
            Stop::Group(_) => stopped.listen(),
            Stop::Signal(signal) => stopped.resume(until, signal),
            Stop::Trap | Stop::Other => stopped.resume(until, 0),
        }
    }

    /// An ordinary user's tracer must see the entry of execve(2), even if nothing else is asked for.
    pub(super) fn until(&self) -> Until {
        if self.options.lifecycle && self.privileged { Until::Event } else { Until::Call }
    }

    fn at_call(&mut self, stopped: Stopped) -> nix::Result<()> {
        let now = clock::monotonic();
        let tid = stopped.tid();
        self.close(tid, now);
        if let CallStop::Entry(Some(arch), registers) = stopped.call()?
            && let Some(task) = self.tasks.id(tid)
        {
            if !self.privileged
                && let Some(program) = set_id::gives_rights(&mut self.calls, task, arch, registers)
            {
                return self.let_go(stopped, task, program);
            }
            if !self.options.lifecycle {
                let call = self.calls.decode(task, arch, registers);
                self.open(task, call, registers.stack, now);
            }
        }
        stopped.resume(self.until(), 0)
    }

    fn open(&mut self, task: TaskId, call: Call, stack: u64, now: Instant) {
        // It only asks, and never waits.
        if call.timeout.duration().is_some_and(|length| length.is_zero()) {
            return;
        }
        let (call, wait) = match self.tasks.last(task.tid) {
            Some(last) if call.name == RESTART => (last.call.clone(), last.wait.clone()),
            // Others are read when they have lasted; most never do.
            _ => {
                let wait = may_read(&call).then(|| self.calls.resolve(task, call.clone(), stack));
                (call, wait)
            }
        };
        let terminal = wait.as_ref().is_some_and(|wait| wait.reads_any_terminal());
        if let Some(wait) = wait.as_ref().filter(|_| terminal) {
            self.tell_at(now, task, What::Waits(wait.clone()));
        }
        self.tasks.open(task.tid, Open { began: now, call, stack, wait, terminal });
    }

    fn close(&mut self, tid: Pid, now: Instant) {
        let Some(task) = self.tasks.id(tid) else { return };
        let Some(open) = self.tasks.close(tid) else { return };
        self.closed(task, open, now);
    }

    fn closed(&mut self, task: TaskId, open: Open, now: Instant) {
        let length = now.saturating_sub(open.began);
        if !open.terminal && length < self.options.longer {
            return;
        }
        let wait = open.wait.unwrap_or_else(|| self.calls.resolve(task, open.call, open.stack));
        let mut wait = wait;
        self.calls.name_sockets(task, &mut wait);
        self.tell_at(now, task, What::Waited { wait, terminal: open.terminal, length });
    }

    /// Takes in a task that the kernel traces for us.
    fn adopt(&mut self, tid: Pid) {
        if self.tasks.is_known(tid) {
            return;
        }
        let id = TaskId { pid: self.process_of(tid), tid };
        self.tasks.add(id);
        if id.pid == tid {
            self.tell_start(tid, false);
        }
    }

    fn process_of(&mut self, tid: Pid) -> Pid {
        let text = self.calls.kernel.task_file(TaskId { pid: tid, tid }, TaskFile::Status);
        let status = text.ok().and_then(|text| Status::parse(&text));
        status.map_or(tid, |status| status.tgid)
    }

    pub(super) fn parent(&mut self, pid: Pid) -> Option<Pid> {
        let text = self.calls.kernel.task_file(TaskId { pid, tid: pid }, TaskFile::Stat).ok()?;
        Stat::parse(&text).map(|stat| stat.ppid)
    }

    pub(super) fn tell_start(&mut self, pid: Pid, attached: bool) {
        let ppid = self.parent(pid).unwrap_or(0);
        let cmdline = self.cmdline(pid);
        self.tell(pid, pid, What::Start { ppid, cmdline, attached });
    }

    fn cmdline(&mut self, pid: Pid) -> Vec<String> {
        let text = self.calls.kernel.task_file(TaskId { pid, tid: pid }, TaskFile::Cmdline);
        let text = text.unwrap_or_default();
        let text = text.strip_suffix('\0').unwrap_or(&text);
        if text.is_empty() { Vec::new() } else { text.split('\0').map(str::to_owned).collect() }
    }

    /// At an exec the other threads vanish, and the one that did it takes the leader's number.
    fn executed(&mut self, pid: Pid, by: Pid) {
        let now = clock::monotonic();
        for tid in self.tasks.of(pid) {
            self.close(tid, now);
            if tid != pid {
                self.tasks.remove(tid);
            }
        }
        let cmdline = self.cmdline(pid);
        self.tell(pid, pid, What::Exec { cmdline, by });
    }

    fn let_go(&mut self, stopped: Stopped, task: TaskId, program: String) -> nix::Result<()> {
        stopped.detach(0)?;
        for tid in self.tasks.of(task.pid) {
            self.tasks.remove(tid);
        }
        self.tell(task.pid, task.tid, What::LetGo { program });
        let child = self.command.as_ref().is_some_and(|(pid, _)| *pid == task.pid);
        self.watcher.watch(task.pid, child);
        Ok(())
    }

    fn gone(&mut self, tid: Pid, code: Option<i32>, signal: Option<i32>) {
        let now = clock::monotonic();
        self.close(tid, now);
        let known = self.tasks.remove(tid).is_some_and(|task| task.pid == tid);
        // A child of ours that was let go tells its end as any child does.
        if !known && !self.watcher.forget(tid) {
            return;
        }
        if let Some((_, released)) = self.command.take_if(|(pid, _)| *pid == tid)
            && let Some(errno) = released.failure()
        {
            self.tell(tid, tid, What::NotExecuted(errno));
        }
        self.tell(tid, tid, What::Exit { code, signal });
    }

    pub(super) fn tell(&mut self, pid: Pid, tid: Pid, what: What) {
        self.tell_at(clock::monotonic(), TaskId { pid, tid }, what);
    }

    fn tell_at(&mut self, at: Instant, task: TaskId, what: What) {
        let event = Event { at, pid: task.pid, tid: task.tid, what };
        self.over |= self.events.send(event).is_err();
    }
}

/// Can input on a terminal be among what ends it?
fn may_read(call: &Call) -> bool {
    call.ends.iter().any(|end| match end {
        End::Fd { interest, .. } => interest.read,
        End::Epoll { .. } => true,
        _ => false,
    })
}
