//! The only unsafe code of the probes: calls that nix does not wrap, or cannot wrap safely.

mod ring;

use std::fs;
use std::io;
use std::num::NonZeroUsize;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::ptr;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use libc::{c_int, c_long, c_void, timespec};
use nix::poll::{PollFd, PollFlags, PollTimeout};
use nix::sched::CloneFlags;
use nix::sys::mman::{self, MapFlags, ProtFlags};
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal};
use nix::unistd::{ForkResult, Pid};

pub(crate) use ring::Ring;

pub(crate) enum Fork {
    Parent(Pid),
    Child,
}

/// fork(2), which only a process with one thread may do here.
pub(crate) fn fork() -> io::Result<Fork> {
    require_one_thread()?;
    // SAFETY: this process has one thread, so the child inherits no lock that a
    // thread it lacks would have to release.
    Ok(match unsafe { nix::unistd::fork() }? {
        ForkResult::Parent { child } => Fork::Parent(child),
        ForkResult::Child => Fork::Child,
    })
}

fn require_one_thread() -> io::Result<()> {
    match fs::read_dir("/proc/self/task")?.count() {
        1 => Ok(()),
        _ => Err(io::Error::other("a probe must be run before any thread is started")),
    }
}

/// What vfork(2) does: the child runs in this process's memory, and this thread sleeps
/// uninterruptibly until it has ended. Returns the child's PID then.
pub(crate) fn vfork(child: fn() -> isize) -> io::Result<Pid> {
    let mut stack = vec![0; 256 * 1024];
    let flags = CloneFlags::CLONE_VM | CloneFlags::CLONE_VFORK;
    // SAFETY: CLONE_VFORK suspends this thread until the child has ended, so that the stack and
    // the shared memory outlive every use of them by the child.
    Ok(unsafe { nix::sched::clone(Box::new(child), &mut stack, flags, Some(libc::SIGCHLD)) }?)
}

/// fork(2) with the PID chosen by the caller: clone3(2) `set_tid`.
pub(crate) fn fork_as(pid: Pid) -> io::Result<Fork> {
    require_one_thread()?;
    let tid = pid.as_raw();
    // SAFETY: clone_args is plain integers, for which zero is the default.
    let mut args: libc::clone_args = unsafe { std::mem::zeroed() };
    args.exit_signal = libc::SIGCHLD as u64;
    args.set_tid = ptr::from_ref(&tid) as u64;
    args.set_tid_size = 1;
    // SAFETY: `args` and the one element of `set_tid` live across the call; without CLONE_VM and
    // with no stack given the child is a copy, as after fork(2), of a process with one thread.
    match result(unsafe { libc::syscall(libc::SYS_clone3, &args, size_of_val(&args)) })? {
        0 => Ok(Fork::Child),
        child => Ok(Fork::Parent(Pid::from_raw(child as i32))),
    }
}

/// _exit(2).
pub(crate) fn exit_now(code: i32) -> ! {
    // SAFETY: _exit has no preconditions; it runs no destructors and no exit handlers.
    unsafe { libc::_exit(code) }
}

/// Ends the calling thread alone by the system call, whatever thread it is. When it is the main
/// one, the process lives on behind a zombie leader.
pub(crate) fn exit_thread() -> ! {
    // SAFETY: SYS_exit ends the thread without unwinding; its stack stays mapped, so what other
    // threads borrow from it stays valid.
    unsafe { libc::syscall(libc::SYS_exit, 0) };
    unreachable!("exit(2) returned")
}

/// Installs a handler that does nothing.
pub(crate) fn handle(signal: Signal, flags: SaFlags) -> io::Result<()> {
    extern "C" fn nothing(_: c_int) {}
    let action = SigAction::new(SigHandler::Handler(nothing), flags, SigSet::empty());
    // SAFETY: the handler does nothing, which is async-signal-safe.
    unsafe { nix::sys::signal::sigaction(signal, &action) }?;
    Ok(())
}

/// Ignores a signal.
pub(crate) fn ignore(signal: Signal) -> io::Result<()> {
    // SAFETY: SIG_IGN runs no code of ours.
    unsafe { nix::sys::signal::signal(signal, SigHandler::SigIgn) }?;
    Ok(())
}

/// Makes the terminal the controlling one of this session: TIOCSCTTY.
pub(crate) fn take_terminal(terminal: impl AsFd) -> io::Result<()> {
    let fd = terminal.as_fd().as_raw_fd();
    // SAFETY: TIOCSCTTY takes an integer and touches no memory of ours.
    result(unsafe { libc::ioctl(fd, libc::TIOCSCTTY, 0) }.into()).map(drop)
}

/// Lets the slave of this master be opened: TIOCSPTLCK.
pub(crate) fn unlock_pty(master: impl AsFd) -> io::Result<()> {
    let locked: c_int = 0;
    // SAFETY: TIOCSPTLCK reads one int, which lives across the call.
    result(unsafe { libc::ioctl(master.as_fd().as_raw_fd(), libc::TIOCSPTLCK, &locked) }.into())
        .map(drop)
}

/// poll(2) without waiting.
pub(crate) fn readable_now(fd: impl AsFd) -> io::Result<bool> {
    let mut set = [PollFd::new(fd.as_fd(), PollFlags::POLLIN)];
    Ok(nix::poll::poll(&mut set, PollTimeout::ZERO)? > 0)
}

/// poll(2) of a descriptor for reading, beside an entry of -1, which the kernel skips.
pub(crate) fn poll_with_ignored(fd: impl AsFd) -> io::Result<()> {
    let entry = |fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
    let mut set = [entry(-1), entry(fd.as_fd().as_raw_fd())];
    // SAFETY: two entries, as said.
    result(unsafe { libc::poll(set.as_mut_ptr(), 2, -1) }.into()).map(drop)
}

/// dup2(2): the number stays, the file behind it changes.
pub(crate) fn replace(number: &OwnedFd, by: impl AsFd) -> io::Result<()> {
    // SAFETY: both are open, and `number` owns what it names before and after.
    result(unsafe { libc::dup2(by.as_fd().as_raw_fd(), number.as_raw_fd()) }.into()).map(drop)
}

/// select(2) for reading fd 0, by its own system call where the machine has one: the C
/// library may make it pselect6.
pub(crate) fn select_stdin(timeout: Option<Duration>) -> io::Result<bool> {
    let mut timeout = timeout.map(|length| libc::timeval {
        tv_sec: length.as_secs() as libc::time_t,
        tv_usec: length.subsec_micros().into(),
    });
    let timeout = timeout.as_mut().map_or(ptr::null_mut(), ptr::from_mut);
    // SAFETY: fd_set is a plain bit array, empty when zeroed.
    let mut set: libc::fd_set = unsafe { std::mem::zeroed() };
    // SAFETY: fd 0 is below FD_SETSIZE, so its bit lies in the set.
    unsafe { libc::FD_SET(libc::STDIN_FILENO, &mut set) };
    let null = ptr::null_mut::<libc::fd_set>();
    #[cfg(target_arch = "x86_64")]
    // SAFETY: set and timeout are valid for writing across the call.
    let count = unsafe { libc::syscall(libc::SYS_select, 1, &mut set, null, null, timeout) };
    #[cfg(not(target_arch = "x86_64"))]
    // SAFETY: as above.
    let count = unsafe { libc::select(1, &mut set, null, null, timeout) }.into();
    result(count).map(|count| count > 0)
}

/// nanosleep(2) by its own system call; the C library makes it clock_nanosleep.
pub(crate) fn nanosleep(length: Duration) -> io::Result<()> {
    let length = to_timespec(length);
    let null = ptr::null_mut::<timespec>();
    // SAFETY: `length` lives across the call; a null second argument asks for no remainder.
    result(unsafe { libc::syscall(libc::SYS_nanosleep, &length, null) }).map(drop)
}

/// clock_nanosleep(2) until a time on CLOCK_MONOTONIC.
pub(crate) fn sleep_until(time: Duration) -> io::Result<()> {
    let time = to_timespec(time);
    let (clock, absolute) = (libc::CLOCK_MONOTONIC, libc::TIMER_ABSTIME);
    // SAFETY: `time` lives across the call; an absolute sleep has no remainder.
    match unsafe { libc::clock_nanosleep(clock, absolute, &time, ptr::null_mut()) } {
        0 => Ok(()),
        errno => Err(io::Error::from_raw_os_error(errno)),
    }
}

/// preadv2(2) at the current position, which is what a terminal allows.
pub(crate) fn preadv2(fd: impl AsFd, buffer: &mut [u8]) -> io::Result<usize> {
    let vector = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
    // SAFETY: one vector, over a buffer that is borrowed mutably across the call.
    let count = unsafe { libc::preadv2(fd.as_fd().as_raw_fd(), &vector, 1, -1, 0) };
    result(count as c_long).map(|count| count as usize)
}

/// epoll_pwait(2) with a signal mask, waiting for one event.
pub(crate) fn epoll_pwait(epoll: impl AsFd, mask: &SigSet) -> io::Result<()> {
    let fd = epoll.as_fd().as_raw_fd();
    let mut event = libc::epoll_event { events: 0, u64: 0 };
    // SAFETY: room for one event, as said; the mask lives across the call.
    result(unsafe { libc::epoll_pwait(fd, &mut event, 1, -1, mask.as_ref()) }.into()).map(drop)
}

/// epoll_pwait2(2), waiting for one event.
pub(crate) fn epoll_pwait2(epoll: impl AsFd, timeout: Option<Duration>) -> io::Result<()> {
    let fd = epoll.as_fd().as_raw_fd();
    let mut event = libc::epoll_event { events: 0, u64: 0 };
    let timeout = timeout.map(to_timespec);
    let timeout = timeout.as_ref().map_or(ptr::null(), ptr::from_ref);
    let no_mask = ptr::null::<c_void>();
    // SAFETY: room for one event, as said; timeout and the null mask are valid for reading.
    let count = unsafe {
        libc::syscall(libc::SYS_epoll_pwait2, fd, &mut event, 1, timeout, no_mask, 0usize)
    };
    result(count).map(drop)
}

/// sigtimedwait(2).
pub(crate) fn sigtimedwait(set: &SigSet, timeout: Option<Duration>) -> io::Result<()> {
    let timeout = timeout.map(to_timespec);
    let timeout = timeout.as_ref().map_or(ptr::null(), ptr::from_ref);
    // SAFETY: both live across the call; a null siginfo asks for none.
    result(unsafe { libc::sigtimedwait(set.as_ref(), ptr::null_mut(), timeout) }.into()).map(drop)
}

/// futex_waitv(2) on a word of our own that nobody wakes.
pub(crate) fn futex_waitv() -> io::Result<()> {
    /// `FUTEX2_SIZE_U32 | FUTEX2_PRIVATE` of linux/futex.h.
    const U32_PRIVATE: u32 = 0x02 | 0x80;
    #[repr(C)]
    struct Waiter {
        val: u64,
        uaddr: u64,
        flags: u32,
        reserved: u32,
    }
    let word: u32 = 0;
    let uaddr = ptr::from_ref(&word) as u64;
    let waiter = Waiter { val: 0, uaddr, flags: U32_PRIVATE, reserved: 0 };
    let no_timeout = ptr::null::<timespec>();
    // SAFETY: one waiter in the kernel's layout (struct futex_waitv); the word outlives the call.
    result(unsafe { libc::syscall(libc::SYS_futex_waitv, &waiter, 1, 0, no_timeout, 0) }).map(drop)
}

/// pidfd_open(2).
pub(crate) fn pidfd_open(pid: Pid) -> io::Result<OwnedFd> {
    // SAFETY: pidfd_open takes two integers.
    let fd = result(unsafe { libc::syscall(libc::SYS_pidfd_open, pid.as_raw(), 0) })?;
    // SAFETY: the kernel has just made this descriptor for us, and nobody else knows it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as RawFd) })
}

/// A System V semaphore of value 0 (semget(2)).
pub(crate) struct Semaphore(c_int);

impl Semaphore {
    pub(crate) fn new() -> io::Result<Semaphore> {
        // SAFETY: semget takes integers.
        let id = result(unsafe { libc::semget(libc::IPC_PRIVATE, 1, 0o600) }.into())?;
        Ok(Semaphore(id as c_int))
    }

    /// semop(2): waits until somebody raises it. The C library would make it semtimedop.
    pub(crate) fn take(&self) -> io::Result<()> {
        let down = libc::sembuf { sem_num: 0, sem_op: -1, sem_flg: 0 };
        // SAFETY: one operation, which lives across the call.
        result(unsafe { libc::syscall(libc::SYS_semop, self.0, &down, 1) }).map(drop)
    }

    pub(crate) fn remove(&self) -> io::Result<()> {
        // SAFETY: IPC_RMID ignores the fourth argument.
        result(unsafe { libc::semctl(self.0, 0, libc::IPC_RMID) }.into()).map(drop)
    }
}

/// An empty System V message queue (msgget(2)).
pub(crate) struct Queue(c_int);

impl Queue {
    pub(crate) fn new() -> io::Result<Queue> {
        // SAFETY: msgget takes integers.
        let id = result(unsafe { libc::msgget(libc::IPC_PRIVATE, 0o600) }.into())?;
        Ok(Queue(id as c_int))
    }

    /// msgrcv(2): waits until somebody sends.
    pub(crate) fn receive(&self) -> io::Result<()> {
        let mut message = [0u8; 64];
        let room = message.len() - size_of::<c_long>();
        // SAFETY: the buffer holds the type and `room` bytes of text.
        let length = unsafe { libc::msgrcv(self.0, message.as_mut_ptr().cast(), room, 0, 0) };
        result(length as c_long).map(drop)
    }

    pub(crate) fn remove(&self) -> io::Result<()> {
        // SAFETY: IPC_RMID ignores the buffer.
        result(unsafe { libc::msgctl(self.0, libc::IPC_RMID, ptr::null_mut()) }.into()).map(drop)
    }
}

/// io_getevents(2) on a context in which nothing was submitted.
pub(crate) fn io_getevents() -> io::Result<()> {
    let mut context: libc::c_ulong = 0;
    // SAFETY: io_setup writes one word, the context.
    result(unsafe { libc::syscall(libc::SYS_io_setup, 1, &mut context) })?;
    let mut event = [0u64; 4];
    let no_timeout = ptr::null::<timespec>();
    // SAFETY: room for one struct io_event, four 64-bit words (linux/aio_abi.h).
    let count = unsafe {
        libc::syscall(libc::SYS_io_getevents, context, 1, 1, event.as_mut_ptr(), no_timeout)
    };
    result(count).map(drop)
}

/// Maps two counters at the beginning of a file, shared with other processes. They stay mapped
/// until the process ends.
pub(crate) fn map_counters(file: &fs::File) -> io::Result<&'static [AtomicU64; 2]> {
    let length = size_of::<[AtomicU64; 2]>();
    file.set_len(length as u64)?;
    let length = NonZeroUsize::new(length).ok_or(io::ErrorKind::InvalidInput)?;
    let access = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
    // SAFETY: a new mapping at an address of the kernel's choice hides nothing that exists.
    let address = unsafe { mman::mmap(None, length, access, MapFlags::MAP_SHARED, file, 0) }?;
    // SAFETY: page-aligned, as long as the file was just made, never unmapped, and reached only
    // through atomics.
    Ok(unsafe { address.cast().as_ref() })
}

fn to_timespec(length: Duration) -> timespec {
    timespec {
        tv_sec: length.as_secs() as libc::time_t,
        tv_nsec: c_long::from(length.subsec_nanos() as i32),
    }
}

fn result(value: c_long) -> io::Result<c_long> {
    if value < 0 { Err(io::Error::last_os_error()) } else { Ok(value) }
}

/// The descriptor of standard input, whatever is open there.
pub(crate) fn stdin() -> BorrowedFd<'static> {
    // SAFETY: no probe leaves fd 0 closed; those that replace what is open there use dup2(2).
    unsafe { BorrowedFd::borrow_raw(libc::STDIN_FILENO) }
}
