//! Starts a program on a terminal.
//!
//! portable-pty 0.9.0 starts programs too, but between fork and exec it closes every descriptor above
//! 2, the pipe among them through which std hears of a failed exec: a program that cannot be executed
//! looks like one that was started, and leaves its error on the terminal. So the pair comes from
//! there and the start is made here, by std on the slave.

use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};

use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::sys::resource::{Resource, setrlimit};
use nix::sys::signal::Signal;
use nix::unistd::{ForkResult, execvp, fork, pipe2, read, write};

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

/// A child of the calling thread that waits before it executes its program, so that it can be traced
/// from the first call on. One that is dropped ends.
#[derive(Debug)]
pub struct Held {
    pid: Pid,
    go: OwnedFd,
    failure: OwnedFd,
}

/// Makes a child that will execute the program of `command`, looked for in `PATH`, with this limit of
/// descriptors. Signals are as std has them for its children: none blocked, SIGPIPE not ignored.
///
/// # Errors
/// As pipe2(2), fork(2).
pub fn held(command: &[CString], limit: Option<(u64, u64)>) -> nix::Result<Held> {
    let (word, go) = pipe2(OFlag::O_CLOEXEC)?;
    let (failure, tell) = pipe2(OFlag::O_CLOEXEC)?;
    // execvp takes a list of pointers, which nix makes on the heap; that is done here, and again in
    // the child, where glibc's allocator works after a fork, as its fork(3) sees to it.
    // SAFETY: the child runs `await_and_execute` alone, which never returns. It takes no lock of this
    // program's but the allocator's (see above).
    match unsafe { fork() }? {
        ForkResult::Parent { child } => Ok(Held { pid: child.as_raw(), go, failure }),
        ForkResult::Child => {
            drop((go, failure));
            await_and_execute(command, limit, &word, &tell)
        }
    }
}

fn await_and_execute(
    command: &[CString],
    limit: Option<(u64, u64)>,
    word: &OwnedFd,
    tell: &OwnedFd,
) -> ! {
    if let Some((soft, hard)) = limit {
        let _ = setrlimit(Resource::RLIMIT_NOFILE, soft, hard);
    }
    // SAFETY: sigset_t is plain data; sigemptyset initializes it before it is read. SIG_DFL installs
    // no handler.
    unsafe {
        let mut none: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut());
        libc::signal(libc::SIGPIPE, libc::SIG_DFL);
    }
    let mut byte = [0];
    let told = loop {
        match read(word, &mut byte) {
            Err(Errno::EINTR) => {}
            answer => break answer,
        }
    };
    if told == Ok(1) {
        let program: &CStr = command.first().map_or(c"", CString::as_c_str);
        let errno = match execvp(program, command) {
            Ok(never) => match never {},
            Err(errno) => errno,
        };
        let _ = write(tell, &(errno as i32).to_ne_bytes());
    }
    // SAFETY: _exit(2) runs no handlers of the parent's; nothing here needs to be dropped.
    unsafe { libc::_exit(127) }
}

impl Held {
    /// The child.
    #[must_use]
    pub fn pid(&self) -> Pid {
        self.pid
    }

    /// Lets it execute its program.
    ///
    /// # Errors
    /// `EPIPE` when it has ended already.
    pub fn release(self) -> nix::Result<Released> {
        write(&self.go, &[1])?;
        Ok(Released { failure: self.failure })
    }
}

/// A child that was let execute its program.
#[derive(Debug)]
pub struct Released {
    failure: OwnedFd,
}

impl Released {
    /// Why the program of a child that has ended was not executed; `None` if it was.
    #[must_use]
    pub fn failure(&self) -> Option<Errno> {
        let mut errno = [0; 4];
        let count = read(&self.failure, &mut errno).ok()?;
        (count == errno.len()).then(|| Errno::from_raw(i32::from_ne_bytes(errno)))
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
