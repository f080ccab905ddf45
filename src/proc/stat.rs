//! `/proc/PID/stat` and `/proc/PID/task/TID/stat`, proc_pid_stat(5).

use std::borrow::Cow;

/// `PF_KTHREAD` of the kernel's `include/linux/sched.h`.
const PF_KTHREAD: u32 = 0x0020_0000;

/// The fields that matter here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stat<'a> {
    /// The thread's (or process's) own number.
    pub pid: i32,
    /// Its name. Anything but NUL may be in it, a newline and `) R 1 (` included.
    pub comm: Cow<'a, str>,
    /// The letter of its state: `R S D T t Z X I P`.
    pub state: u8,
    /// Its parent.
    pub ppid: i32,
    /// Its process group.
    pub pgrp: i32,
    /// Its session.
    pub session: i32,
    /// Its controlling terminal as an `st_rdev`, 0 for none.
    pub tty: u64,
    /// The foreground process group of that terminal, -1 for none.
    pub tpgid: i32,
    /// It is a kernel thread.
    pub kernel_thread: bool,
    /// The threads of its process; 0 for a zombie that lost its own.
    pub threads: i64,
    /// Start time in clock ticks since boot.
    pub start: u64,
    /// What it does with signals 1 to 31; `None` where the file ends before.
    pub signals: Option<Signals>,
}

/// Masks of the classic signals: bit `n - 1` stands for signal `n`. The manual page calls these
/// fields obsolete, since the realtime signals are missing (the kernel masks them out), and that is
/// all that is wrong with them; `status` has the rest, and costs twice as much.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Signals {
    /// Signals that the thread blocks.
    pub blocked: u64,
    /// Signals that the process ignores.
    pub ignored: u64,
    /// Signals that the process handles.
    pub caught: u64,
}

impl<'a> Stat<'a> {
    /// Parses the file.
    #[must_use]
    pub fn parse(text: &'a str) -> Option<Stat<'a>> {
        let (pid, rest) = text.split_once(' ')?;
        // No field after the name contains a parenthesis, so the last one ends it.
        let (comm, rest) = rest.strip_prefix('(')?.rsplit_once(')')?;
        let rest = rest.strip_prefix(' ')?;
        let mut fields = rest.split(' ');
        let state = *fields.next()?.as_bytes().first()?;
        let ppid = fields.next()?.parse().ok()?;
        let pgrp = fields.next()?.parse().ok()?;
        let session = fields.next()?.parse().ok()?;
        let tty: i32 = fields.next()?.parse().ok()?;
        let tpgid = fields.next()?.parse().ok()?;
        let flags: u32 = fields.next()?.parse().ok()?;
        // The ten between are faults, CPU times and priorities.
        let threads = fields.nth(10)?.parse().ok()?;
        let start = fields.nth(1)?.parse().ok()?;
        // The last field read may be cut off; that another one follows proves that it is not.
        fields.next()?;
        // The eight between are the size of memory, and addresses that are hidden from most.
        let mut masks = fields.skip(8).map_while(|field| field.parse().ok());
        let signals = match (masks.next(), masks.next(), masks.next(), masks.next()) {
            (Some(blocked), Some(ignored), Some(caught), Some(_)) => {
                Some(Signals { blocked, ignored, caught })
            }
            _ => None,
        };
        Some(Stat {
            pid: pid.parse().ok()?,
            comm: unescape(comm),
            state,
            ppid,
            pgrp,
            session,
            tty: rdev(tty),
            tpgid,
            kernel_thread: flags & PF_KTHREAD != 0,
            threads,
            start,
            signals,
        })
    }
}

/// The kernel prints `new_encode_dev()`, the layout that stat(2) has on 64-bit machines, but as a
/// signed number.
fn rdev(tty_nr: i32) -> u64 {
    u64::from(tty_nr.cast_unsigned())
}

/// The kernel escapes a newline and a backslash in the name, nothing else
/// (`proc_task_name()` in `fs/proc/array.c`).
fn unescape(comm: &str) -> Cow<'_, str> {
    if !comm.contains('\\') {
        return Cow::Borrowed(comm);
    }
    let mut name = String::with_capacity(comm.len());
    let mut chars = comm.chars();
    while let Some(char) = chars.next() {
        match (char, chars.as_str().chars().next()) {
            ('\\', Some(escaped @ ('n' | '\\'))) => {
                name.push(if escaped == 'n' { '\n' } else { escaped });
                chars.next();
            }
            _ => name.push(char),
        }
    }
    Cow::Owned(name)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;

    const TAIL: &str = "S 6178 6226 4125 34816 6226 4194304 101 0 0 0 0 0 0 0 20 0 3 0 136267 \
                        3133440 393 18446744073709551615 94090465656832 0\n";

    #[test]
    fn a_program_on_a_terminal() {
        let text = format!("6226 (cat) {TAIL}");
        let stat = Stat::parse(&text).unwrap();
        assert_eq!((stat.pid, &*stat.comm, stat.state), (6226, "cat", b'S'));
        assert_eq!((stat.ppid, stat.pgrp, stat.session, stat.tpgid), (6178, 6226, 4125, 6226));
        assert_eq!(stat.tty, libc::makedev(136, 0));
        assert_eq!((stat.threads, stat.start, stat.kernel_thread), (3, 136_267, false));
    }

    #[test]
    fn what_a_shell_does_with_signals() {
        // Of a bash at its prompt, 6.18; its `status` has SigIgn 384004 and SigCgt 4b813efb.
        let text = "6473 (bash) S 6432 6473 6473 34816 6473 4194304 554 0 0 0 0 0 0 0 20 0 1 0 \
                    443267 4734976 892 18446744073709551615 1 1 0 0 0 0 0 3686404 1266761467 1 0 0 \
                    17 1 0 0 0 0 0 0 0 0 0 0 0 0 0\n";
        let signals = Signals { blocked: 0, ignored: 0x38_4004, caught: 0x4b81_3efb };
        assert_eq!(Stat::parse(text).unwrap().signals, Some(signals));
        assert_eq!(Stat::parse(&format!("6226 (cat) {TAIL}")).unwrap().signals, None);
    }

    #[test]
    fn a_kernel_thread() {
        let text =
            "2 (kthreadd) S 0 0 0 0 -1 2129984 0 0 0 0 0 0 0 0 20 0 1 0 25 0 0 18446744073\n";
        let stat = Stat::parse(text).unwrap();
        assert!(stat.kernel_thread);
        assert_eq!((stat.tty, stat.tpgid), (0, -1));
    }

    #[test]
    fn hostile_names() {
        for name in [") R 1 (", "a) S 1 2 3 4 5 6 (b", "", " ", "((", "\u{fffd}\u{fffd}", "né"] {
            let text = format!("7 ({name}) {TAIL}");
            let stat = Stat::parse(&text).unwrap();
            assert_eq!((&*stat.comm, stat.state, stat.ppid), (name, b'S', 6178), "{name:?}");
        }
        for (shown, name) in [("a\\nb", "a\nb"), ("a\\\\nb\\", "a\\nb\\"), ("\\x", "\\x")] {
            let text = format!("7 ({shown}) {TAIL}");
            assert_eq!(Stat::parse(&text).unwrap().comm, name);
        }
    }

    #[test]
    fn terminal_numbers_are_those_of_stat() {
        assert_eq!(rdev(0x10_8888 & !0xff00 | 0x8800), libc::makedev(136, 0x188));
        assert_eq!(rdev(-1), 0xffff_ffff, "a device number with the sign bit set");
    }

    #[test]
    fn refuses_what_is_cut_off() {
        let text = format!("6226 (cat) {TAIL}");
        let end = text.find("136267").unwrap() + "136267".len();
        for length in 0..=end {
            assert_eq!(Stat::parse(&text[..length]), None, "{length}");
        }
        assert!(Stat::parse(&text[..end + 1]).is_some());
        assert_eq!(Stat::parse(&text.replace("6178", "99999999999")), None);
    }
}
