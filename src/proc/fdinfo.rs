//! `/proc/PID/fdinfo/FD`, proc_pid_fdinfo(5): what stands behind a descriptor, in the words of its
//! driver. Each function answers `None`, or nothing, for a descriptor of another kind.

use std::time::Duration;

use super::status::mask;
use crate::wait::LockKind;

/// One descriptor in an epoll set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EpollEntry {
    /// Its number when it was added. It may have been closed or reused since, while the set goes
    /// on to watch the old file: compare `dev` and `ino`.
    pub fd: i32,
    /// `EPOLL*` flags; a one-shot that has fired keeps none but those above `1 << 27`.
    pub events: u32,
    /// The file's device, as `st_dev`. It and `ino` are 0 before Linux 5.4.
    pub dev: u64,
    /// The file's inode.
    pub ino: u64,
}

/// The set of an epoll descriptor.
pub fn epoll_entries(text: &str) -> impl Iterator<Item = EpollEntry> {
    text.split_inclusive('\n').filter_map(|line| epoll_entry(line.strip_suffix('\n')?))
}

fn epoll_entry(line: &str) -> Option<EpollEntry> {
    let mut fields = line.strip_prefix("tfd:")?.split_ascii_whitespace();
    let fd = fields.next()?.parse().ok()?;
    let events = fields.by_ref().skip_while(|field| *field != "events:").nth(1)?;
    let mut tail = fields.skip_while(|field| !field.starts_with("ino:"));
    let ino = tail.next().and_then(|field| mask(field.strip_prefix("ino:")?));
    let dev = tail.next().and_then(|field| mask(field.strip_prefix("sdev:")?));
    Some(EpollEntry {
        fd,
        events: u32::from_str_radix(events, 16).ok()?,
        dev: dev.map_or(0, st_dev),
        ino: ino.unwrap_or(0),
    })
}

/// The kernel's internal device number has twenty bits of minor number below the major one
/// (`include/linux/kdev_t.h`).
fn st_dev(kernel: u64) -> u64 {
    let major = u32::try_from(kernel >> 20).unwrap_or(u32::MAX);
    let minor = u32::try_from(kernel & 0xf_ffff).unwrap_or(u32::MAX);
    libc::makedev(major, minor)
}

/// The number of the slave that a pty master drives: `/dev/pts/N` in the master's own devpts.
#[must_use]
pub fn tty_index(text: &str) -> Option<u32> {
    value(text, "tty-index")?.parse().ok()
}

/// The process of a pidfd; -1 once it has ended and was reaped, 0 when it lies outside of our PID
/// namespace.
#[must_use]
pub fn pid(text: &str) -> Option<i32> {
    value(text, "Pid")?.parse().ok()
}

/// The signals that a signalfd takes, bit `n - 1` for signal `n`.
#[must_use]
pub fn signal_mask(text: &str) -> Option<u64> {
    mask(value(text, "sigmask")?)
}

/// The identity of an eventfd, whose inode all of them share. Linux 5.2 and later.
#[must_use]
pub fn eventfd_id(text: &str) -> Option<u64> {
    value(text, "eventfd-id")?.parse().ok()
}

/// Does an inotify or fanotify descriptor watch anything? Without a mark it cannot wake.
#[must_use]
pub fn watches_files(text: &str) -> bool {
    text.lines().any(|line| {
        ["inotify wd:", "fanotify ino:", "fanotify mnt_id:", "fanotify sdev:"]
            .iter()
            .any(|mark| line.starts_with(mark))
    })
}

/// A timerfd.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timer {
    /// Its clock, as in `<time.h>`: 1 is `CLOCK_MONOTONIC`.
    pub clock: i32,
    /// Expirations that nobody has read.
    pub ticks: u64,
    /// `it_value`: time left until the next one; 0 when disarmed or expired.
    pub value: Duration,
    /// `it_interval`: the period; 0 for a timer that fires once.
    pub interval: Duration,
}

impl Timer {
    /// Time left until a read returns; `None` when the timer is disarmed.
    #[must_use]
    pub fn left(&self) -> Option<Duration> {
        if self.ticks > 0 {
            Some(Duration::ZERO)
        } else {
            Some(self.value).filter(|value| !value.is_zero())
        }
    }
}

/// The state of a timerfd.
#[must_use]
pub fn timer(text: &str) -> Option<Timer> {
    Some(Timer {
        clock: value(text, "clockid")?.parse().ok()?,
        ticks: value(text, "ticks")?.parse().ok()?,
        value: seconds(value(text, "it_value")?)?,
        interval: seconds(value(text, "it_interval")?)?,
    })
}

fn seconds(pair: &str) -> Option<Duration> {
    let (seconds, nanoseconds) = pair.strip_prefix('(')?.strip_suffix(')')?.split_once(", ")?;
    let nanoseconds = nanoseconds.parse().ok().filter(|n| *n < 1_000_000_000)?;
    Some(Duration::new(seconds.parse().ok()?, nanoseconds))
}

/// An io_uring.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Uring {
    /// Opcodes (`IORING_OP_*`) of the requests that wait for their file to become ready. The
    /// kernel does not say for which file.
    pub pending: Vec<u32>,
    /// Completions that nobody has taken.
    pub ready: u32,
    /// The thread that submits on the ring's behalf (`IORING_SETUP_SQPOLL`).
    pub submitter: Option<i32>,
}

/// The state of an io_uring; `None` also while another task holds the ring's lock, when Linux
/// leaves out most of it.
#[must_use]
pub fn uring(text: &str) -> Option<Uring> {
    let head: u32 = value(text, "CqHead")?.parse().ok()?;
    let tail: u32 = value(text, "CqTail")?.parse().ok()?;
    let (_, list) = text.split_once("PollList:\n")?;
    let pending = list
        .lines()
        .map_while(|line| line.trim_ascii_start().strip_prefix("op=")?.split(',').next())
        .filter_map(|opcode| opcode.parse().ok())
        .collect();
    let submitter = value(text, "SqThread").and_then(|tid| tid.parse().ok());
    Some(Uring {
        pending,
        ready: tail.wrapping_sub(head),
        submitter: submitter.filter(|tid| *tid > 0),
    })
}

/// Does the open file description hold a lock of this kind? (`lock:` lines, in the form of
/// `/proc/locks`; one that only waits has an arrow.)
#[must_use]
pub fn holds_lock(text: &str, kind: LockKind) -> bool {
    let family = match kind {
        LockKind::Flock => "FLOCK",
        LockKind::Posix => "POSIX",
        LockKind::Ofd => "OFDLCK",
    };
    text.lines().filter_map(|line| line.strip_prefix("lock:")).any(|lock| {
        // After the number and its colon: `->` or the family.
        lock.split_ascii_whitespace().nth(1) == Some(family)
    })
}

/// The value of a line `key: value`. A line without its newline is cut off, and its value with it.
fn value<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    text.split_inclusive('\n').find_map(|line| {
        let value = line.strip_suffix('\n')?.strip_prefix(key)?.strip_prefix(':')?;
        Some(value.trim_ascii())
    })
}

#[cfg(test)]
mod tests;
