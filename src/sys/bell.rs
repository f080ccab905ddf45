//! Wakes a thread that is blocked in a wait for processes.
//!
//! waitid(2) has no timeout and no descriptor to poll beside it, so only a signal reaches a thread that
//! waits in it. One realtime signal that nobody in this process uses is taken for that: its handler does
//! nothing, and it is sent to one thread alone.

use std::sync::OnceLock;

use nix::errno::Errno;
use nix::unistd::{Pid, getpid, gettid};

/// The signal, once it is taken; `None` where all are used.
static SIGNAL: OnceLock<Option<i32>> = OnceLock::new();

/// Wakes one thread.
#[derive(Debug, Clone, Copy)]
pub struct Bell {
    thread: Pid,
    signal: i32,
}

/// Lets the calling thread be woken.
///
/// # Errors
/// `EBUSY` when every realtime signal has a handler of somebody else's.
pub fn listen() -> nix::Result<Bell> {
    let signal = SIGNAL.get_or_init(take).ok_or(Errno::EBUSY)?;
    // SAFETY: sigset_t is plain data; sigemptyset initializes it before it is read.
    let mut set: libc::sigset_t = unsafe { std::mem::zeroed() };
    // SAFETY: the pointers are valid for the calls, and a null old set is allowed.
    Errno::result(unsafe {
        libc::sigemptyset(&raw mut set);
        libc::sigaddset(&raw mut set, signal);
        libc::pthread_sigmask(libc::SIG_UNBLOCK, &raw const set, std::ptr::null_mut())
    })?;
    Ok(Bell { thread: gettid(), signal })
}

impl Bell {
    /// Interrupts the thread's wait. One that is only about to wait does not hear it: ring until it has
    /// answered. A thread that has ended hears nothing.
    pub fn ring(self) {
        // SAFETY: three integers; tgkill(2) reaches a thread of this process or none, and the signal
        // has a handler that does nothing.
        unsafe {
            libc::syscall(libc::SYS_tgkill, getpid().as_raw(), self.thread.as_raw(), self.signal)
        };
    }
}

extern "C" fn nothing(_: libc::c_int) {}

fn take() -> Option<i32> {
    (libc::SIGRTMIN()..=libc::SIGRTMAX()).rev().find(|&signal| {
        // SAFETY: sigaction is plain data, for which zeros are valid: an empty mask, no flags, and
        // the default action.
        let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
        // SAFETY: the pointer is valid for the call, which only writes the old action to it.
        let asked = unsafe { libc::sigaction(signal, std::ptr::null(), &raw mut action) };
        if asked != 0 || action.sa_sigaction != libc::SIG_DFL {
            return false;
        }
        let handler: extern "C" fn(libc::c_int) = nothing;
        action.sa_sigaction = handler as libc::sighandler_t;
        // No SA_RESTART: the wait shall end.
        action.sa_flags = 0;
        // SAFETY: the handler touches nothing, so it is async-signal-safe; the pointers are valid.
        unsafe { libc::sigaction(signal, &raw const action, std::ptr::null_mut()) == 0 }
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use std::process::{Command, Stdio};
    use std::time::Duration;

    use super::*;
    use crate::sys::ptrace;

    #[test]
    fn a_wait_is_interrupted() {
        let (sender, receiver) = crossbeam_channel::bounded(1);
        let thread = std::thread::spawn(move || {
            sender.send(listen().unwrap()).unwrap();
            let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
            let woken = ptrace::peek(true);
            drop(child.stdin.take());
            child.wait().unwrap();
            woken
        });
        let bell = receiver.recv().unwrap();
        while !thread.is_finished() {
            bell.ring();
            std::thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(thread.join().unwrap(), Err(Errno::EINTR));
    }
}
