//! `/proc/PID/task/TID/sched`: the scheduler's own account of a task (`proc_sched_show_task()` in
//! `kernel/sched/debug.c`).

use std::time::Duration;

/// `se.exec_start`: when the task was last accounted for on a CPU; for one that sleeps, when it
/// went to sleep.
///
/// It is a reading of the *run queue's* clock, which is not `CLOCK_MONOTONIC`: it starts with the
/// kernel's `sched_clock()` and leaves out the time that a hypervisor (or, with
/// `CONFIG_IRQ_TIME_ACCOUNTING`, an interrupt) took, so it lags by another amount on each CPU, and
/// the lag grows. A guest on Linux 6.18 that was up for 26 minutes showed a lag of 284 ms on one
/// CPU and of 252 ms on the other, steady to 0.05 ms over a second. Two readings of one task on
/// one CPU may be subtracted; a date on `CLOCK_MONOTONIC` is only as good as the lag is known.
#[must_use]
pub fn exec_start(text: &str) -> Option<Duration> {
    let value = text.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key.trim_ascii_end() == "se.exec_start").then_some(value.trim_ascii_start())
    })?;
    // Milliseconds, a point, and six digits of nanoseconds (`SPLIT_NS()`).
    let (milliseconds, nanoseconds) = value.split_once('.')?;
    if nanoseconds.len() != 6 {
        return None;
    }
    let milliseconds = Duration::from_millis(milliseconds.parse().ok()?);
    milliseconds.checked_add(Duration::from_nanos(nanoseconds.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "python3 (6246, #threads: 1)\n\
        -------------------------------------------------------------------\n\
        se.exec_start                                :       1376924.107862\n\
        se.vruntime                                  :           421.064372\n";

    #[test]
    fn a_task() {
        assert_eq!(exec_start(TEXT), Some(Duration::from_nanos(1_376_924_107_862)));
    }

    #[test]
    fn refuses_what_is_cut_off() {
        let end = TEXT.find("107862").unwrap_or_default() + 5;
        for length in 0..=end {
            assert_eq!(exec_start(&TEXT[..length]), None, "{length}");
        }
        assert_eq!(exec_start("se.exec_start: 99999999999999999999.000000\n"), None);
        assert_eq!(exec_start("se.exec_start (1, #threads: 1)\n"), None, "a name");
    }
}
