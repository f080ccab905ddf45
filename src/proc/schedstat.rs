use std::time::Duration;

/// `/proc/PID/task/TID/schedstat` (`Documentation/scheduler/sched-stats.rst`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Schedstat {
    /// Time on a CPU.
    pub cpu: Duration,
    /// Time runnable but not on a CPU.
    pub waited: Duration,
    /// How often it was put on a CPU. All three are 0 where the kernel does not count
    /// (no `CONFIG_SCHED_INFO`, or accounting switched off).
    pub runs: u64,
}

impl Schedstat {
    /// Parses the file.
    #[must_use]
    pub fn parse(text: &str) -> Option<Schedstat> {
        // A number that is cut off is still a number: only the newline says that it is whole.
        let mut fields = text.strip_suffix('\n')?.split(' ').map(str::parse::<u64>);
        let mut next = || fields.next()?.ok();
        Some(Schedstat {
            cpu: Duration::from_nanos(next()?),
            waited: Duration::from_nanos(next()?),
            runs: next()?,
        })
    }

    /// Does the kernel count? A task that exists has been on a CPU.
    #[must_use]
    pub fn counts(&self) -> bool {
        self.runs != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples() {
        let kthreadd = Schedstat {
            cpu: Duration::from_nanos(4_669_410),
            waited: Duration::from_nanos(6_673_435),
            runs: 61,
        };
        assert_eq!(Schedstat::parse("4669410 6673435 61\n"), Some(kthreadd));
        assert_eq!(Schedstat::parse("0 0 0\n").map(|s| s.counts()), Some(false));
    }

    #[test]
    fn refuses_what_is_cut_off() {
        for text in ["", "\n", "1 2", "1 2\n", "1 2 61", "1 2 x\n", "1 2 99999999999999999999\n"] {
            assert_eq!(Schedstat::parse(text), None, "{text:?}");
        }
    }
}
