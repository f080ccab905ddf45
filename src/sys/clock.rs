//! The clock that observations are dated by, and how late the kernel may wake a sleeper.

use std::time::Duration;

use nix::sys::prctl;
use nix::time::{ClockId, clock_gettime};

/// `CLOCK_MONOTONIC`: time since boot, suspend not counted.
#[must_use]
pub fn monotonic() -> Duration {
    // clock_gettime(2) fails on an unknown clock or a bad address only; this clock always exists.
    clock_gettime(ClockId::CLOCK_MONOTONIC).map(Duration::from).unwrap_or_default()
}

/// `CLOCK_THREAD_CPUTIME_ID`: the CPU time that the calling thread has used.
#[must_use]
pub fn thread_cpu() -> Duration {
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).map(Duration::from).unwrap_or_default()
}

/// Sets how much later than asked the kernel may end the sleeps of the calling thread
/// (`PR_SET_TIMERSLACK`, prctl(2)). The default of 50 µs is as long as the shortest interval
/// between two looks.
///
/// # Errors
/// None is documented for a thread's own slack; a seccomp filter may still refuse.
pub fn set_timer_slack(slack: Duration) -> nix::Result<()> {
    // 0 would mean "back to the default", not "none".
    let nanoseconds = libc::c_ulong::try_from(slack.as_nanos()).unwrap_or(libc::c_ulong::MAX);
    prctl::set_timerslack(nanoseconds.max(1))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;

    #[test]
    fn monotonic_does_not_go_back() {
        let first = monotonic();
        assert!(first > Duration::ZERO);
        assert!(monotonic() >= first);
    }

    #[test]
    fn slack_is_the_threads_own() {
        std::thread::spawn(|| {
            set_timer_slack(Duration::from_micros(1)).unwrap();
            assert_eq!(prctl::get_timerslack(), Ok(1000));
            set_timer_slack(Duration::ZERO).unwrap();
            assert_eq!(prctl::get_timerslack(), Ok(1));
        })
        .join()
        .unwrap();
    }
}
