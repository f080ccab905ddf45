//! Starts a program on a terminal.
//!
//! portable-pty 0.9.0 starts programs too, but between fork and exec it closes every descriptor above
//! 2, the pipe among them through which std hears of a failed exec: a program that cannot be executed
//! looks like one that was started, and leaves its error on the terminal. So the pair comes from
//! there and the start is made here, by std on the slave.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};

use nix::errno::Errno;
use nix::sys::resource::{Resource, setrlimit};
use nix::sys::signal::Signal;

use crate::observe::Pid;
use crate::verdict::Exited;

/// Starts `command` with `slave` as its standard input, output and error and as the controlling
/// terminal of a session of its own, every signal at its default and none blocked.
///
/// # Errors
/// That of dup(2), fork(2), chdir(2), `setsid`, `TIOCSCTTY` or execve(2), whichever failed.
pub fn on_terminal(mut command: Command, slave: OwnedFd) -> io::Result<Child> {
    command.stdin(slave.try_clone()?).stdout(slave.try_clone()?).stderr(slave);
    // SAFETY: `become_leader` runs in the child of a process that may have other threads, so it
    // allocates nothing, takes no lock and makes only calls that are async-signal-safe
    // (signal-safety(7); ioctl(2) is a bare system call).
    unsafe { command.pre_exec(become_leader) };
    command.spawn()
}

/// Runs between fork and exec, when std has put the slave on descriptors 0 to 2.
fn become_leader() -> io::Result<()> {
    for signal in 1..=libc::SIGRTMAX() {
        // What cannot be set is at its default: SIGKILL, SIGSTOP and the two that the C library
        // keeps for itself. Ignored signals live through an exec (signal(7)), and a shell whose
        // parent ignores SIGINT could never be interrupted.
        // SAFETY: SIG_DFL installs no handler; no memory is involved.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
    // SAFETY: sigset_t is plain data; sigemptyset initializes it before it is read.
    let mut none: libc::sigset_t = unsafe { std::mem::zeroed() };
    // SAFETY: both pointers are valid for the calls, and a null old set is allowed.
    Errno::result(unsafe {
        libc::sigemptyset(&raw mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut())
    })?;
    // SAFETY: no memory; the child of a fork is no group leader, so setsid(2) is allowed.
    Errno::result(unsafe { libc::setsid() })?;
    // SAFETY: TIOCSCTTY takes its argument by value: 0, do not steal the terminal from others.
    Errno::result(unsafe { libc::ioctl(libc::STDIN_FILENO, libc::TIOCSCTTY, 0) })?;
    Ok(())
}

/// Has `command` start with this limit of descriptors (soft, hard), whatever that of this process is.
pub fn limit_descriptors(command: &mut Command, limit: (u64, u64)) {
    // SAFETY: the closure runs between fork and exec and makes one system call, which is
    // async-signal-safe; it owns its numbers and allocates nothing.
    unsafe {
        command.pre_exec(move || Ok(setrlimit(Resource::RLIMIT_NOFILE, limit.0, limit.1)?));
    }
}

/// Sends a signal to the process behind a pidfd, and never to one that has taken its number.
///
/// # Errors
/// `ESRCH` when it has ended, `EPERM` when it is somebody else's.
pub fn signal<Fd: AsFd>(pidfd: Fd, signal: Signal) -> nix::Result<()> {
    let pidfd: BorrowedFd<'_> = pidfd.as_fd();
    // SAFETY: two integers, a null siginfo (which pidfd_send_signal(2) allows) and no flags.
    Errno::result(unsafe {
        libc::syscall(
            libc::SYS_pidfd_send_signal,
            pidfd.as_raw_fd(),
            signal as libc::c_int,
            std::ptr::null::<libc::siginfo_t>(),
            0,
        )
    })
    .map(drop)
}

/// How a child of ours ended, if it has, without reaping it: its number stays taken.
///
/// # Errors
/// `ECHILD` when it is no child of ours, or was reaped.
pub fn peek_end(pid: Pid) -> nix::Result<Option<Exited>> {
    let id = libc::id_t::try_from(pid).map_err(|_| Errno::ECHILD)?;
    let flags = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
    // SAFETY: siginfo_t is plain data, and zeros are what waitid(2) advises for telling "not yet".
    let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
    // SAFETY: the kernel writes one siginfo_t to the pointer, which is valid for that.
    Errno::result(unsafe { libc::waitid(libc::P_PID, id, &raw mut info, flags) })?;
    // SAFETY: waitid(2) has filled the fields of a SIGCHLD, or left them zero.
    let (child, status) = unsafe { (info.si_pid(), info.si_status()) };
    let exited = match info.si_code {
        libc::CLD_EXITED => Exited { code: Some(status), signal: None },
        _ => Exited { code: None, signal: Some(status) },
    };
    Ok(Some(exited).filter(|_| child != 0))
}
