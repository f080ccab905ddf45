//! ptrace(2) of tasks that were seized, and waitpid(2) on known tasks.
//!
//! nix has these calls for its own enumeration of signals, which has no realtime ones; so the status
//! of a wait is taken apart here, by the C library's macros.

use std::marker::PhantomData;

use nix::errno::Errno;

use crate::wait::{Arch, Registers};

/// `PTRACE_EVENT_STOP` (`include/uapi/linux/ptrace.h`); libc has it for some C libraries only.
const EVENT_STOP: i32 = 128;
/// Task numbers end with waitpid(2)'s answers to the calling thread alone, whatever signal a child
/// ends with.
const OWN: i32 = libc::__WALL | libc::__WNOTHREAD;

/// What the kernel tells of a tracee and of those it makes. `PTRACE_O_EXITKILL` is not among them: a
/// tracer that dies leaves its tracees running.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options(libc::c_int);

impl Options {
    /// New processes and threads, which are traced from their start, and every exec.
    pub const LIFECYCLE: Options = Options(
        libc::PTRACE_O_TRACESYSGOOD
            | libc::PTRACE_O_TRACEFORK
            | libc::PTRACE_O_TRACEVFORK
            | libc::PTRACE_O_TRACECLONE
            | libc::PTRACE_O_TRACEEXEC,
    );
}

/// What a wait for a task found.
#[derive(Debug)]
pub enum Waited {
    /// It is stopped for its tracer.
    Stopped(Stopped),
    /// It is gone, with this exit code.
    Exited(i32),
    /// It is gone, ended by this signal.
    Killed(i32),
}

/// Why a task is stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// At the entry of a system call or at its exit: [`Stopped::call`] tells.
    Call,
    /// It has made another task: fork(2), vfork(2), clone(2).
    Made,
    /// It has executed a program.
    Executed,
    /// It is new, was interrupted, or goes on after a group-stop.
    Trap,
    /// Its process is stopped by this signal; [`Stopped::listen`] leaves it so.
    Group(i32),
    /// This signal is about to be delivered.
    Signal(i32),
    /// Another event of ptrace(2), which was not asked for.
    Other,
}

/// A system call at which a task is stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallStop {
    /// It is about to be made; `None` for a convention that has no table here.
    Entry(Option<Arch>, Registers),
    /// It has been made.
    Exit,
    /// Neither.
    None,
}

/// How a task goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Until {
    /// To the next event.
    Event,
    /// To the next event, or entry or exit of a system call.
    Call,
}

/// A task that is stopped for this thread, its tracer. It stays so until one of the methods that
/// consume this lets it go; so nothing can be asked of one that runs. ptrace(2) belongs to the thread
/// that attached, so this does not leave it.
#[derive(Debug)]
#[must_use = "the task stays stopped"]
pub struct Stopped {
    tid: i32,
    stop: Stop,
    thread: PhantomData<*const ()>,
}

/// Attaches to a task without stopping it (`PTRACE_SEIZE`); it goes on as if nothing had happened.
///
/// # Errors
/// `EPERM` when it is traced already, or without permission; `ESRCH` when it is gone.
pub fn seize(tid: i32, options: Options) -> nix::Result<()> {
    request(libc::PTRACE_SEIZE, tid, 0, options.0 as usize)
}

/// Asks a seized task to stop; it does, with [`Stop::Trap`]. Calls that it is blocked in are restarted,
/// but for those that ptrace(2) and signal(7) name, which fail with `EINTR`.
///
/// # Errors
/// `ESRCH` when it is gone, or not a tracee of this thread.
pub fn interrupt(tid: i32) -> nix::Result<()> {
    request(libc::PTRACE_INTERRUPT, tid, 0, 0)
}

/// Which task has something to wait for: a tracee of this thread, or a child that it made. Nothing is
/// consumed (`WNOWAIT`), and nobody else's children are seen (`__WNOTHREAD`). Without `block`, `None`
/// where there is none.
///
/// # Errors
/// `ECHILD` when this thread has neither tracees nor children, `EINTR` after a signal.
pub fn peek(block: bool) -> nix::Result<Option<i32>> {
    let no_hang = if block { 0 } else { libc::WNOHANG };
    let flags = OWN | libc::WEXITED | libc::WSTOPPED | libc::WNOWAIT | no_hang;
    // SAFETY: siginfo_t is plain data, and zeros are what waitid(2) advises for telling "not yet".
    let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
    // SAFETY: the kernel writes one siginfo_t to the pointer, which is valid for that.
    Errno::result(unsafe { libc::waitid(libc::P_ALL, 0, &raw mut info, flags) })?;
    // SAFETY: waitid(2) has filled the fields of a SIGCHLD, or left them zero.
    let tid = unsafe { info.si_pid() };
    Ok((tid != 0).then_some(tid))
}

/// What there is to know of this task; `None` where it runs.
///
/// # Errors
/// `ECHILD` when it is neither a tracee nor a child of this thread, or has been waited for.
pub fn wait(tid: i32) -> nix::Result<Option<Waited>> {
    let mut status = 0;
    // SAFETY: the kernel writes one int to the pointer, which is valid for that.
    let found = unsafe { libc::waitpid(tid, &raw mut status, OWN | libc::WNOHANG) };
    Ok((Errno::result(found)? != 0).then(|| decode(tid, status)))
}

fn decode(tid: i32, status: i32) -> Waited {
    if libc::WIFEXITED(status) {
        return Waited::Exited(libc::WEXITSTATUS(status));
    }
    if libc::WIFSIGNALED(status) {
        return Waited::Killed(libc::WTERMSIG(status));
    }
    Waited::Stopped(Stopped { tid, stop: stop(status), thread: PhantomData })
}

fn stop(status: i32) -> Stop {
    match (status >> 16, libc::WSTOPSIG(status)) {
        (0, signal) if signal == libc::SIGTRAP | 0x80 => Stop::Call,
        (0, signal) => Stop::Signal(signal),
        (libc::PTRACE_EVENT_FORK | libc::PTRACE_EVENT_VFORK | libc::PTRACE_EVENT_CLONE, _) => {
            Stop::Made
        }
        (libc::PTRACE_EVENT_EXEC, _) => Stop::Executed,
        (EVENT_STOP, libc::SIGTRAP) => Stop::Trap,
        (EVENT_STOP, signal) => Stop::Group(signal),
        _ => Stop::Other,
    }
}

impl Stopped {
    /// Which task.
    #[must_use]
    pub fn tid(&self) -> i32 {
        self.tid
    }

    /// Why it is stopped.
    #[must_use]
    pub fn stop(&self) -> Stop {
        self.stop
    }

    /// What came with the event (`PTRACE_GETEVENTMSG`): the task that was made, or the number that the
    /// one which executed a program had before.
    ///
    /// # Errors
    /// `ESRCH` when it was killed meanwhile, as for every method here.
    pub fn message(&self) -> nix::Result<i32> {
        let mut message: libc::c_ulong = 0;
        let place = (&raw mut message).expose_provenance();
        request(libc::PTRACE_GETEVENTMSG, self.tid, 0, place)?;
        i32::try_from(message).map_err(|_| Errno::ERANGE)
    }

    /// The system call (`PTRACE_GET_SYSCALL_INFO`, Linux 5.3). This tells the convention too, and an
    /// entry from an exit.
    ///
    /// # Errors
    /// `ESRCH`; `EIO` or `EINVAL` from an older kernel.
    pub fn call(&self) -> nix::Result<CallStop> {
        // SAFETY: the structure is integers and a union of integers, for which zeros are valid.
        let mut info: libc::ptrace_syscall_info = unsafe { std::mem::zeroed() };
        let place = (&raw mut info).expose_provenance();
        request(libc::PTRACE_GET_SYSCALL_INFO, self.tid, size_of_val(&info), place)?;
        if info.op == libc::PTRACE_SYSCALL_INFO_EXIT {
            return Ok(CallStop::Exit);
        }
        if info.op != libc::PTRACE_SYSCALL_INFO_ENTRY {
            return Ok(CallStop::None);
        }
        // SAFETY: for an entry the kernel has filled this member of the union, and any bits are
        // valid integers.
        let entry = unsafe { info.u.entry };
        let registers = Registers { nr: entry.nr, args: entry.args, stack: info.stack_pointer };
        Ok(CallStop::Entry(arch(info.arch), registers))
    }

    /// Lets it go on, with a signal to be delivered (0 for none).
    ///
    /// # Errors
    /// `ESRCH`.
    pub fn resume(self, until: Until, signal: i32) -> nix::Result<()> {
        let how = match until {
            Until::Event => libc::PTRACE_CONT,
            Until::Call => libc::PTRACE_SYSCALL,
        };
        request(how, self.tid, 0, word(signal))
    }

    /// Leaves it in its group-stop (`PTRACE_LISTEN`): it goes on when its process is continued.
    ///
    /// # Errors
    /// `ESRCH`.
    pub fn listen(self) -> nix::Result<()> {
        request(libc::PTRACE_LISTEN, self.tid, 0, 0)
    }

    /// Lets it go for good, with a signal to be delivered (0 for none).
    ///
    /// # Errors
    /// `ESRCH`.
    pub fn detach(self, signal: i32) -> nix::Result<()> {
        request(libc::PTRACE_DETACH, self.tid, 0, word(signal))
    }
}

/// The numbers of `include/uapi/linux/audit.h`: the ELF machine, and bits for 64 and little-endian.
fn arch(audit: u32) -> Option<Arch> {
    match audit {
        0xc000_003e => Some(Arch::X86_64),
        0x4000_0003 => Some(Arch::I386),
        0xc000_00b7 => Some(Arch::Aarch64),
        _ => None,
    }
}

fn word(signal: i32) -> usize {
    usize::try_from(signal).unwrap_or(0)
}

/// One request. `address` and `data` are integers for all of them but two, for which `data` is the
/// address of a place that is exclusively borrowed for the call and as large as `address` says
/// (`PTRACE_GET_SYSCALL_INFO`), or holds a long (`PTRACE_GETEVENTMSG`).
fn request(request: libc::c_uint, tid: i32, address: usize, data: usize) -> nix::Result<()> {
    let address: *mut libc::c_void = std::ptr::without_provenance_mut(address);
    let data: *mut libc::c_void = std::ptr::with_exposed_provenance_mut(data);
    // SAFETY: only this module calls, and as described above; no request here writes to this
    // process's memory but the two, and what they write fits. A tid that is no stopped tracee of
    // this thread is answered with ESRCH.
    Errno::result(unsafe { libc::ptrace(request, tid, address, data) }).map(drop)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;

    #[test]
    fn statuses() {
        let stopped = |signal: i32, event: i32| stop(event << 16 | signal << 8 | 0x7f);
        assert_eq!(stopped(libc::SIGTRAP | 0x80, 0), Stop::Call);
        assert_eq!(stopped(libc::SIGTRAP, 0), Stop::Signal(libc::SIGTRAP));
        assert_eq!(stopped(64, 0), Stop::Signal(64), "a realtime signal");
        assert_eq!(stopped(libc::SIGTRAP, libc::PTRACE_EVENT_VFORK), Stop::Made);
        assert_eq!(stopped(libc::SIGTRAP, libc::PTRACE_EVENT_EXEC), Stop::Executed);
        assert_eq!(stopped(libc::SIGTRAP, EVENT_STOP), Stop::Trap);
        assert_eq!(stopped(libc::SIGTSTP, EVENT_STOP), Stop::Group(libc::SIGTSTP));
        assert_eq!(stopped(libc::SIGTRAP, libc::PTRACE_EVENT_EXIT), Stop::Other);
        assert!(matches!(decode(1, 3 << 8), Waited::Exited(3)));
        assert!(matches!(decode(1, libc::SIGKILL), Waited::Killed(libc::SIGKILL)));
        assert!(matches!(decode(1, 40 | 0x80), Waited::Killed(40)));
    }

    #[test]
    fn a_thread_without_children_has_nobody_to_wait_for() {
        // A child of another thread of this process is none of this one's.
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let seen = std::thread::spawn(|| (peek(true), wait(1).map(drop))).join().unwrap();
        assert_eq!(seen, (Err(Errno::ECHILD), Err(Errno::ECHILD)));
        assert!(child.wait().unwrap().success());
    }

    #[test]
    fn strangers_are_refused() {
        assert_eq!(seize(i32::MAX, Options::LIFECYCLE), Err(Errno::ESRCH));
        assert_eq!(interrupt(1), Err(Errno::ESRCH));
    }
}
