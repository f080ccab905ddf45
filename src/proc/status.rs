//! `/proc/PID/status`, proc_pid_status(5).

/// The fields that matter here. A field that an older kernel or a sandbox leaves out is 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Status {
    /// The process that it belongs to: a thread's differs from its own number.
    pub tgid: i32,
    /// Who traces it, 0 for nobody.
    pub tracer: i32,
    /// Its real user.
    pub uid: u32,
    /// Its effective user.
    pub euid: u32,
    /// Its effective group.
    pub egid: u32,
    /// `SigIgn`: the signals that it ignores, bit `n - 1` for signal `n`.
    pub ignored: u64,
    /// Voluntary and other context switches together: stands in for the run counter of
    /// `schedstat` where that is not kept.
    pub switches: u64,
}

impl Status {
    /// Parses the file; `None` when it ends before the signal masks.
    #[must_use]
    pub fn parse(text: &str) -> Option<Status> {
        let mut status = Status::default();
        let mut complete = false;
        // A newline in a name is escaped, so every line is the kernel's own.
        for line in text.split_inclusive('\n') {
            let Some((key, value)) = line.strip_suffix('\n').and_then(|line| line.split_once(':'))
            else {
                continue;
            };
            let value = value.trim_ascii_start();
            match key {
                "Tgid" => status.tgid = value.parse().ok()?,
                "TracerPid" => status.tracer = value.parse().ok()?,
                "Uid" => (status.uid, status.euid) = users(value)?,
                "Gid" => (_, status.egid) = users(value)?,
                "SigIgn" => status.ignored = mask(value)?,
                "SigCgt" => complete = true,
                "voluntary_ctxt_switches" | "nonvoluntary_ctxt_switches" => {
                    status.switches = status.switches.saturating_add(value.parse().ok()?);
                }
                _ => {}
            }
        }
        complete.then_some(status)
    }
}

fn users(value: &str) -> Option<(u32, u32)> {
    let mut ids = value.split('\t').map(str::parse);
    Some((ids.next()?.ok()?, ids.next()?.ok()?))
}

pub(super) fn mask(value: &str) -> Option<u64> {
    u64::from_str_radix(value, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "Name:\tTracerPid:\\n9\nUmask:\t0022\nState:\tS (sleeping)\nTgid:\t6246\n\
        TracerPid:\t812\nUid:\t1000\t0\t0\t0\nGid:\t1000\t7\t7\t7\nGroups:\t \nSigQ:\t0/96365\n\
        SigPnd:\t0000000000000000\nShdPnd:\t0000000000010000\nSigBlk:\t0000000000000004\n\
        SigIgn:\t0000000001001000\nSigCgt:\tffffffff00000002\nCapInh:\t0000000000000000\n\
        voluntary_ctxt_switches:\t106\nnonvoluntary_ctxt_switches:\t4\n";

    #[test]
    fn a_process() {
        let (tgid, tracer, ignored) = (6246, 812, 0x100_1000);
        let expected = Status { tgid, tracer, uid: 1000, euid: 0, egid: 7, ignored, switches: 110 };
        assert_eq!(Status::parse(TEXT), Some(expected));
    }

    #[test]
    fn refuses_what_is_cut_off() {
        let end = TEXT.find("\nCapInh").unwrap_or_default();
        for length in 0..=end {
            assert_eq!(Status::parse(&TEXT[..length]), None, "{length}");
        }
        assert_eq!(Status::parse(&TEXT.replace("812", "8120000000000")), None);
    }
}
