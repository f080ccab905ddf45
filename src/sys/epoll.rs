//! epoll_wait(2) in nanoseconds. Looks begin 50 µs apart, and epoll_wait counts milliseconds.

use std::os::fd::AsRawFd;
use std::ptr;
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::epoll::{Epoll, EpollEvent, EpollTimeout};

/// Waits for events, for at most `timeout` (`None`: for ever), and says how many there are.
///
/// epoll_pwait2(2) came with Linux 5.11; before that, the timeout is rounded up to milliseconds.
///
/// # Errors
/// As epoll_wait(2); `EINTR` when a signal was handled meanwhile.
pub fn wait(
    epoll: &Epoll,
    events: &mut [EpollEvent],
    timeout: Option<Duration>,
) -> nix::Result<usize> {
    // The call takes the kernel's 64-bit timespec on every architecture.
    let limit = timeout
        .map(|t| [i64::try_from(t.as_secs()).unwrap_or(i64::MAX), i64::from(t.subsec_nanos())]);
    let capacity = libc::c_int::try_from(events.len()).unwrap_or(libc::c_int::MAX);
    // SAFETY: `EpollEvent` is a transparent `epoll_event`, and the kernel writes no more than
    // `capacity` of them into the slice. `limit` outlives the call and is two 64-bit words as
    // `__kernel_timespec` is. Without a mask the last two arguments are not read.
    let count = unsafe {
        libc::syscall(
            libc::SYS_epoll_pwait2,
            epoll.0.as_raw_fd(),
            events.as_mut_ptr(),
            capacity,
            limit.as_ref().map_or(ptr::null(), ptr::from_ref),
            ptr::null::<libc::sigset_t>(),
            0usize,
        )
    };
    match Errno::result(count) {
        Ok(count) => Ok(usize::try_from(count).unwrap_or(0)),
        Err(Errno::ENOSYS) => epoll.wait(events, milliseconds(timeout)),
        Err(errno) => Err(errno),
    }
}

/// Does this kernel (and sandbox) have epoll_pwait2(2)?
#[must_use]
pub fn has_nanoseconds() -> bool {
    // SAFETY: the kernel refuses the descriptor -1 before it looks at the pointers, which are null.
    let answer = unsafe {
        let null = ptr::null_mut::<libc::epoll_event>();
        libc::syscall(libc::SYS_epoll_pwait2, -1, null, 1, ptr::null::<i64>(), null, 0usize)
    };
    Errno::result(answer) == Err(Errno::EBADF)
}

fn milliseconds(timeout: Option<Duration>) -> EpollTimeout {
    let Some(timeout) = timeout else { return EpollTimeout::NONE };
    let whole = timeout.as_nanos().div_ceil(1_000_000);
    i32::try_from(whole)
        .ok()
        .and_then(|ms| EpollTimeout::try_from(ms).ok())
        .unwrap_or(EpollTimeout::MAX)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use std::io::Write;

    use nix::sys::epoll::{EpollCreateFlags, EpollFlags};

    use super::*;

    #[test]
    fn tells_a_timeout_from_an_event() {
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC).unwrap();
        let (reader, mut writer) = std::io::pipe().unwrap();
        epoll.add(&reader, EpollEvent::new(EpollFlags::EPOLLIN, 7)).unwrap();
        let mut events = [EpollEvent::empty(); 2];
        assert_eq!(wait(&epoll, &mut events, Some(Duration::from_nanos(1))), Ok(0));
        writer.write_all(b"x").unwrap();
        assert_eq!(wait(&epoll, &mut events, None), Ok(1));
        assert_eq!(events[0].data(), 7);
    }

    #[test]
    fn milliseconds_round_up() {
        assert_eq!(milliseconds(None), EpollTimeout::NONE);
        assert_eq!(milliseconds(Some(Duration::from_nanos(1))), EpollTimeout::from(1u8));
        assert_eq!(milliseconds(Some(Duration::MAX)), EpollTimeout::MAX);
    }
}
