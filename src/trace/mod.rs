//! A tree of processes under ptrace(2): every process's start, programs and end, and every wait with
//! its begin and end.
//!
//! One thread makes all ptrace calls, since those belong to the thread that attached. It makes the traced
//! command itself, so that this is its own child, and it waits with `__WNOTHREAD` for nobody but its
//! tracees and its child: the embedding program's children belong to other threads and are never
//! touched. (The reverse holds only if the embedding program waits for known children, too: its
//! `waitpid(-1)` would take ours.) waitid(2) with `WNOWAIT` tells which task has something to say, and
//! then that task is waited for by its number. To ask every task in turn costs in proportion to their
//! number for each stop; a signalfd for SIGCHLD belongs to the whole process; a pidfd tells of ends
//! alone.
//!
//! Tracees are let go when the thread ends, however that happens: `PTRACE_O_EXITKILL` is not set, and
//! the kernel lets them run on.

mod attach;
mod engine;
mod event;
mod let_go;
mod set_id;
mod tasks;

use std::ffi::CString;
use std::thread::JoinHandle;
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender, bounded, unbounded};
use nix::errno::Errno;

use crate::observe::Pid;
use crate::sys::bell::{self, Bell};
use crate::sys::spawn;
use engine::Engine;
pub use event::{Event, What};

/// Events that nobody has taken yet; then the tracees wait, as they would for a full pipe.
const MOST_EVENTS: usize = 4096;

/// What is traced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Processes alone: no waits, and no stops at system calls where that can be helped.
    pub lifecycle: bool,
    /// Waits for anything but a terminal are told if they last at least so long.
    pub longer: Duration,
}

/// A trace could not begin.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TraceError {
    /// No process has this number.
    #[error("no process {0}")]
    NoProcess(Pid),
    /// It is traced already, or there is no permission.
    #[error("process {0} cannot be traced")]
    Denied(Pid),
    /// It is a child of this process. The kernel would give its stops to whoever here waits for it, and
    /// its end to the tracer: a child of ours is traced from its start ([`Trace::command`]), or by
    /// another process.
    #[error(
        "process {0} is a child of this process, whose wait for it would take the tracer's stops"
    )]
    OwnChild(Pid),
    /// The command is empty, or has a NUL in it.
    #[error("that is no command")]
    NoCommand,
    /// A thread, a pipe or a process could not be made, or ptrace(2) is not offered.
    #[error("cannot trace: {0}")]
    System(#[from] Errno),
}

/// What others ask of the tracer's thread.
#[derive(Debug)]
enum Order {
    /// Trace this process, too.
    Attach(Pid),
    /// A process that was let go has ended.
    Ended(Pid),
    /// Let all go, and end.
    Stop,
}

/// A trace. It ends when this is dropped: what still runs is let go, and runs on. A command that ends
/// after that stays a zombie of this process, as that of a [`std::process::Child`] which was dropped.
#[derive(Debug)]
pub struct Trace {
    events: Receiver<Event>,
    orders: Sender<Order>,
    bell: Bell,
    thread: Option<JoinHandle<()>>,
    pid: Pid,
}

impl Trace {
    /// Starts a command and traces it and all of its descendants. It shares this process's terminal and
    /// group; `limit` is its limit of descriptors (soft, hard).
    ///
    /// # Errors
    /// [`TraceError`]. A program that cannot be executed is told as an event: [`What::NotExecuted`].
    pub fn command(
        command: &[CString],
        limit: Option<(u64, u64)>,
        options: Options,
    ) -> Result<Trace, TraceError> {
        let command = command.to_vec();
        if command.first().is_none_or(|program| program.is_empty()) {
            return Err(TraceError::NoCommand);
        }
        Trace::start(options, move |engine| {
            let held = spawn::held(&command, limit)?;
            engine.command(held, &command)
        })
    }

    /// Traces a process that runs, and all of its descendants.
    ///
    /// To see its calls, each of its tasks is interrupted once, which restarts the call it is blocked in
    /// unseen. A task in a call that would fail with `EINTR` is left alone ([`What::Untouched`]).
    ///
    /// # Errors
    /// [`TraceError`].
    pub fn attach(pid: Pid, options: Options) -> Result<Trace, TraceError> {
        Trace::start(options, move |engine| engine.attach(pid).map(|()| pid))
    }

    fn start(
        options: Options,
        begin: impl FnOnce(&mut Engine) -> Result<Pid, TraceError> + Send + 'static,
    ) -> Result<Trace, TraceError> {
        let (sender, events) = bounded(MOST_EVENTS);
        let (orders, receiver) = unbounded();
        let (begun, answer) = bounded(1);
        let own = orders.clone();
        let run = move || {
            let bell = match bell::listen() {
                Ok(bell) => bell,
                Err(errno) => {
                    let _ = begun.send(Err(TraceError::from(errno)));
                    return;
                }
            };
            let mut engine = Engine::new(options, sender, own, receiver, bell);
            let pid = begin(&mut engine);
            let works = pid.is_ok();
            let _ = begun.send(pid.map(|pid| (pid, bell)));
            if works {
                engine.run();
            }
        };
        let thread = std::thread::Builder::new().name("awaitty-trace".to_owned()).spawn(run);
        let thread = thread.map_err(|error| {
            TraceError::System(Errno::from_raw(error.raw_os_error().unwrap_or(libc::EAGAIN)))
        })?;
        match answer.recv() {
            Ok(Ok((pid, bell))) => Ok(Trace { events, orders, bell, thread: Some(thread), pid }),
            Ok(Err(error)) => Err(error),
            Err(_) => Err(TraceError::System(Errno::ECANCELED)),
        }
    }

    /// What happens, in order. The channel closes when everything that is traced has ended.
    #[must_use]
    pub fn events(&self) -> &Receiver<Event> {
        &self.events
    }

    /// The command, or the process that was attached to.
    #[must_use]
    pub fn pid(&self) -> Pid {
        self.pid
    }
}

impl Drop for Trace {
    fn drop(&mut self) {
        let _ = self.orders.send(Order::Stop);
        while let Some(thread) = self.thread.take_if(|thread| !thread.is_finished()) {
            self.bell.ring();
            // It may wait for room.
            while self.events.try_recv().is_ok() {}
            std::thread::sleep(Duration::from_millis(1));
            self.thread = Some(thread);
        }
    }
}
