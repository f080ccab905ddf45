//! `/proc/locks`, proc_locks(5). The procfs crate reads it too, but takes those who wait for a
//! lock (`->`) for holders.

use crate::wait::LockKind;

/// One line: a lock that is held, or one that is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lock {
    /// Joins a lock with those who wait for it.
    pub id: u64,
    /// It is waited for, not held.
    pub blocked: bool,
    /// The family.
    pub kind: LockKind,
    /// It excludes readers too.
    pub write: bool,
    /// The process that took the lock (which may have ended, flock(2) locks pass to children), or
    /// waits for it. `None` where the kernel names none: locks of open file descriptions, and
    /// processes outside of our PID namespace.
    pub pid: Option<i32>,
    /// The file's device, as `st_dev` has it on most file systems; btrfs and overlayfs show
    /// another one there.
    pub dev: u64,
    /// The file's inode.
    pub ino: u64,
}

/// The locks of the three families; leases, delegations and lines that are cut off are left out.
pub fn locks(text: &str) -> impl Iterator<Item = Lock> {
    text.split_inclusive('\n').filter_map(|line| lock(line.strip_suffix('\n')?))
}

fn lock(line: &str) -> Option<Lock> {
    let mut fields = line.split_ascii_whitespace();
    let id = fields.next()?.strip_suffix(':')?.parse().ok()?;
    let mut family = fields.next()?;
    let blocked = family == "->";
    if blocked {
        family = fields.next()?;
    }
    let kind = match family {
        "FLOCK" => LockKind::Flock,
        "POSIX" => LockKind::Posix,
        "OFDLCK" => LockKind::Ofd,
        _ => return None,
    };
    let _advisory = fields.next()?;
    let write = fields.next()? == "WRITE";
    let pid: i32 = fields.next()?.parse().ok()?;
    let mut file = fields.next()?.splitn(3, ':');
    let major = u32::from_str_radix(file.next()?, 16).ok()?;
    let minor = u32::from_str_radix(file.next()?, 16).ok()?;
    let ino = file.next()?.parse().ok()?;
    let dev = libc::makedev(major, minor);
    Some(Lock { id, blocked, kind, write, pid: Some(pid).filter(|pid| *pid > 0), dev, ino })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "1: POSIX  ADVISORY  READ  6246 fe:00:10010702 5 14\n\
        2: OFDLCK ADVISORY  WRITE -1 fe:00:10010668 0 EOF\n\
        3: FLOCK  ADVISORY  WRITE 6246 00:1f:10010668 0 EOF\n\
        3: -> FLOCK  ADVISORY  WRITE 6289 00:1f:10010668 0 EOF\n\
        4: LEASE  ACTIVE    READ  77 fe:00:99 0 EOF\n";

    #[test]
    fn the_three_families() {
        let posix = Lock {
            id: 1,
            blocked: false,
            kind: LockKind::Posix,
            write: false,
            pid: Some(6246),
            dev: libc::makedev(0xfe, 0),
            ino: 10_010_702,
        };
        let ofd =
            Lock { id: 2, kind: LockKind::Ofd, write: true, pid: None, ino: 10_010_668, ..posix };
        let flock = Lock {
            id: 3,
            kind: LockKind::Flock,
            pid: Some(6246),
            dev: libc::makedev(0, 0x1f),
            ..ofd
        };
        let waiting = Lock { blocked: true, pid: Some(6289), ..flock };
        assert_eq!(locks(TEXT).collect::<Vec<_>>(), [posix, ofd, flock, waiting]);
    }

    #[test]
    fn skips_what_is_no_lock() {
        for text in
            ["", "\n", "1: POSIX", "1: -> \n", "x: FLOCK  ADVISORY  WRITE 1 fe:00:1 0 EOF\n"]
        {
            assert_eq!(locks(text).count(), 0, "{text:?}");
        }
        let huge = "1: POSIX  ADVISORY  WRITE 99999999999 fe:00:1 0 EOF\n";
        assert_eq!(locks(huge).count(), 0);
    }
}
