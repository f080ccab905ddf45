//! Calls that wait for no file: futexes, children, signals.

use super::args::Args;
use super::{Children, End, Timeout};

/// `FUTEX_WAITV_MAX`.
const MOST_WAITERS: u32 = 128;
/// The size of `struct futex_waitv`.
const WAITER_SIZE: usize = 24;

/// futex(2), `(uaddr, operation, value, timeout, uaddr2, value3)`.
pub(super) fn futex(args: &Args<'_>) -> Option<Vec<End>> {
    let private = is_private(args.uint(1));
    let end = |addr| End::Futex { addr, private };
    match futex_command(args) {
        libc::FUTEX_WAIT | libc::FUTEX_WAIT_BITSET | libc::FUTEX_LOCK_PI | libc::FUTEX_LOCK_PI2 => {
            Some(vec![end(args.word(0))])
        }
        // The waker moves the waiter over to the second futex, whose owner then ends the wait.
        libc::FUTEX_WAIT_REQUEUE_PI => Some(vec![end(args.word(0)), end(args.word(4))]),
        _ => None,
    }
}

/// Only `FUTEX_WAIT` counts from now on; the others name a point in time, on `CLOCK_MONOTONIC`
/// unless the flag or the operation says otherwise (futex(2)). Operations that do not wait have
/// another number in this register.
pub(super) fn futex_timeout(args: &mut Args<'_>) -> Timeout {
    match futex_command(args) {
        libc::FUTEX_WAIT => args.timespec(3),
        libc::FUTEX_WAIT_BITSET | libc::FUTEX_LOCK_PI2 | libc::FUTEX_WAIT_REQUEUE_PI
            if args.int(1) & libc::FUTEX_CLOCK_REALTIME == 0 =>
        {
            args.monotonic(3)
        }
        libc::FUTEX_WAIT_BITSET
        | libc::FUTEX_LOCK_PI
        | libc::FUTEX_LOCK_PI2
        | libc::FUTEX_WAIT_REQUEUE_PI => args.deadline(3),
        _ => Timeout::Never,
    }
}

fn futex_command(args: &Args<'_>) -> i32 {
    args.int(1) & libc::FUTEX_CMD_MASK
}

/// `FUTEX2_PRIVATE` of the newer calls is the same bit.
fn is_private(flags: u32) -> bool {
    flags & libc::FUTEX_PRIVATE_FLAG as u32 != 0
}

/// futex_wait, `(uaddr, value, mask, flags, timeout, clock)`, of Linux 6.7.
pub(super) fn futex_wait(args: &Args<'_>) -> Vec<End> {
    vec![End::Futex { addr: args.word(0), private: is_private(args.uint(3)) }]
}

/// futex_waitv, `(waiters, count, flags, timeout, clock)`, of Linux 5.16.
pub(super) fn futex_waitv(args: &mut Args<'_>) -> Option<Vec<End>> {
    let count = args.uint(1);
    if !(1..=MOST_WAITERS).contains(&count) {
        return None;
    }
    let waiters = args.bytes(args.word(0), count as usize * WAITER_SIZE)?;
    waiters.chunks_exact(WAITER_SIZE).map(waiter).collect()
}

/// `struct futex_waitv`: value, address, flags, reserved; the same on all architectures.
fn waiter(entry: &[u8]) -> Option<End> {
    let addr = u64::from_le_bytes(*entry.get(8..)?.first_chunk()?);
    let flags = u32::from_le_bytes(*entry.get(16..)?.first_chunk()?);
    Some(End::Futex { addr, private: is_private(flags) })
}

pub(super) fn children(of: Children) -> Vec<End> {
    vec![End::Child(of)]
}

/// wait4(2), waitpid(2): `(pid, …)`.
pub(super) fn wait4(args: &Args<'_>) -> Option<Vec<End>> {
    let of = match args.int(0) {
        -1 => Children::Any,
        pid @ 1.. => Children::Pid(pid),
        group => Children::Group(group.checked_neg()?),
    };
    Some(children(of))
}

/// waitid(2): `(idtype, id, …)`.
pub(super) fn waitid(args: &Args<'_>) -> Option<Vec<End>> {
    let id = args.int(1);
    let of = match args.uint(0) {
        libc::P_ALL => Children::Any,
        libc::P_PID => Children::Pid(id),
        libc::P_PGID => Children::Group(id),
        libc::P_PIDFD => Children::PidFd(id),
        _ => return None,
    };
    Some(children(of))
}

/// clone(2) and clone3(2) sleep only as vfork(2) does, until the child gives the memory back.
pub(super) fn clone(flags: u64) -> Option<Vec<End>> {
    (flags & libc::CLONE_VFORK as u64 != 0).then(|| children(Children::Vfork))
}

/// clone3(2), `(clone_args, size)`: the flags are the first field.
pub(super) fn clone3(args: &mut Args<'_>) -> Option<Vec<End>> {
    clone(args.u64_at(args.word(0))?)
}

pub(super) fn signal(set: Option<u64>) -> Vec<End> {
    vec![End::Signal { set }]
}

/// rt_sigsuspend(2), `(mask, size)`: the mask names the signals that stay blocked.
pub(super) fn rt_sigsuspend(args: &mut Args<'_>) -> Vec<End> {
    let blocked = args.u64_at(args.word(0));
    signal(blocked.map(|blocked| !blocked))
}

/// sigsuspend of i386: the mask is the third argument itself and has no place for the realtime
/// signals, which stay unblocked.
pub(super) fn sigsuspend(args: &Args<'_>) -> Vec<End> {
    signal(Some(!u64::from(args.uint(2))))
}

/// rt_sigtimedwait(2), `(set, info, timeout, size)`.
pub(super) fn rt_sigtimedwait(args: &mut Args<'_>) -> Option<Vec<End>> {
    args.u64_at(args.word(0)).map(|set| signal(Some(set)))
}
