//! Wakes a thread that is blocked in a wait for processes.
//!
//! waitid(2) has no timeout and no descriptor to poll beside it, so only a signal reaches a thread that
//! waits in it. One realtime signal that nobody in this process uses is taken for that: its handler does
//! nothing, and it is sent to one thread alone.

use std::os::unix::thread::JoinHandleExt;
use std::sync::OnceLock;
use std::thread::JoinHandle;

use nix::errno::Errno;

/// The signal, once it is taken; `None` where all are used.
static SIGNAL: OnceLock<Option<i32>> = OnceLock::new();

/// Lets the calling thread be woken.
///
/// # Errors
/// `EBUSY` when every realtime signal has a handler of somebody else's.
pub fn listen() -> nix::Result<()> {
    let signal = SIGNAL.get_or_init(take).ok_or(Errno::EBUSY)?;
    // SAFETY: sigset_t is plain data; sigemptyset initializes it before it is read.
    let mut set: libc::sigset_t = unsafe { std::mem::zeroed() };
    // SAFETY: the pointers are valid for the calls, and a null old set is allowed.
    Errno::result(unsafe {
        libc::sigemptyset(&raw mut set);
        libc::sigaddset(&raw mut set, signal);
        libc::pthread_sigmask(libc::SIG_UNBLOCK, &raw const set, std::ptr::null_mut())
    })
    .map(drop)
}

/// Interrupts the wait of a thread that listens. A thread that is only about to wait does not hear it:
/// ring until it has answered.
pub fn ring<T>(thread: &JoinHandle<T>) {
    if let Some(Some(signal)) = SIGNAL.get() {
        // SAFETY: a thread that has not been joined has a valid pthread_t; the handle proves it. The
        // signal has a handler, so it ends nothing.
        unsafe { libc::pthread_kill(thread.as_pthread_t(), *signal) };
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
        let thread = std::thread::spawn(|| {
            listen().unwrap();
            let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
            let woken = ptrace::peek(true);
            drop(child.stdin.take());
            child.wait().unwrap();
            woken
        });
        while !thread.is_finished() {
            ring(&thread);
            std::thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(thread.join().unwrap(), Err(Errno::EINTR));
    }
}
