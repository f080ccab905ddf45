//! Calls that wait for any of several descriptors: poll(2), select(2), io_uring_enter(2).

use super::args::Args;
use super::{End, Interest, Timeout};

/// A longer set is not read: no program that waits for a person has one, and a number this high
/// rather is a register that was misread.
const LONGEST_SET: usize = 65_536;

const POLLFD_SIZE: usize = 8;

// What of a `pollfd`'s events is read and what is write interest. `POLLRDHUP` only asks for the
// hang-up, which poll(2) reports unasked anyway.
const READ_EVENTS: i16 = libc::POLLIN | libc::POLLRDNORM | libc::POLLRDBAND;
const WRITE_EVENTS: i16 = libc::POLLOUT | libc::POLLWRNORM | libc::POLLWRBAND;

/// The set of poll(2) and ppoll(2): `(pollfds, nfds, …)`.
pub(super) fn pollfds(args: &mut Args<'_>) -> Option<Vec<End>> {
    let count = usize::try_from(args.uint(1)).ok().filter(|count| *count <= LONGEST_SET)?;
    let set = match count {
        0 => Vec::new(),
        _ => args.bytes(args.word(0), count * POLLFD_SIZE)?,
    };
    Some(set.chunks_exact(POLLFD_SIZE).filter_map(pollfd).collect())
}

/// One entry; a negative descriptor switches it off.
fn pollfd(entry: &[u8]) -> Option<End> {
    let (fd, events) = entry.split_first_chunk()?;
    let fd = i32::from_le_bytes(*fd);
    let events = i16::from_le_bytes(*events.first_chunk()?);
    let interest = Interest {
        read: events & READ_EVENTS != 0,
        write: events & WRITE_EVENTS != 0,
        priority: events & libc::POLLPRI != 0,
        connect: false,
    };
    (fd >= 0).then_some(End::Fd { fd, interest })
}

/// The arguments of select(2), wherever they lie.
pub(super) struct Select {
    nfds: i32,
    /// The addresses of the read, the write and the except set; 0 for none.
    sets: [u64; 3],
    /// The address of the timeval or timespec; 0 for none.
    pub(super) timeout: u64,
}

impl Select {
    /// In the registers: select(2) of 64-bit machines, `_newselect`, pselect6.
    pub(super) fn in_registers(args: &Args<'_>) -> Select {
        Select {
            nfds: args.int(0),
            sets: [args.word(1), args.word(2), args.word(3)],
            timeout: args.word(4),
        }
    }

    /// In a block of memory: the first select(2) of i386, number 82 (`struct sel_arg_struct`).
    pub(super) fn in_memory(args: &mut Args<'_>) -> Option<Select> {
        let block = args.bytes(args.word(0), 20)?;
        let mut words = block
            .chunks_exact(4)
            .filter_map(|word| word.first_chunk().map(|word| u32::from_le_bytes(*word)));
        let mut next = || words.next();
        Some(Select {
            nfds: next()? as i32,
            sets: [next()?.into(), next()?.into(), next()?.into()],
            timeout: next()?.into(),
        })
    }

    /// The descriptors of the three sets. The kernel writes its answer over them only when it
    /// returns, so a blocked task's memory holds what it asked for.
    pub(super) fn ends(&self, args: &mut Args<'_>) -> Option<Vec<End>> {
        let nfds = usize::try_from(self.nfds).ok().filter(|nfds| *nfds <= LONGEST_SET)?;
        let [read, write, except] = self.sets.map(|address| match address {
            0 => Some(Vec::new()),
            _ => args.bytes(address, nfds.div_ceil(8)),
        });
        let (read, write, except) = (read?, write?, except?);
        let ends = (0..self.nfds).zip(0..nfds).filter_map(|(fd, bit)| {
            let interest = Interest {
                read: is_set(&read, bit),
                write: is_set(&write, bit),
                priority: is_set(&except, bit),
                connect: false,
            };
            (!interest.none()).then_some(End::Fd { fd, interest })
        });
        Some(ends.collect())
    }
}

/// An `fd_set` is an array of `long`; little-endian, so the size of a `long` makes no difference.
fn is_set(set: &[u8], bit: usize) -> bool {
    set.get(bit / 8).is_some_and(|byte| byte & (1 << (bit % 8)) != 0)
}

// include/uapi/linux/io_uring.h; the libc crate has none of it.
const IORING_ENTER_GETEVENTS: u32 = 1 << 0;
const IORING_ENTER_EXT_ARG: u32 = 1 << 3;
const IORING_ENTER_REGISTERED_RING: u32 = 1 << 4;
const IORING_ENTER_ABS_TIMER: u32 = 1 << 5;
const IORING_ENTER_EXT_ARG_REG: u32 = 1 << 6;

/// The ring of io_uring_enter(2), `(fd, to_submit, min_complete, flags, arg, argsz)`. A call that
/// asks for no completion sleeps in what it submits; the first argument may be an index of the
/// rings that the task registered, which no file of `/proc` shows.
pub(super) fn uring(args: &Args<'_>) -> Option<Vec<End>> {
    let flags = args.uint(3);
    let waits = flags & IORING_ENTER_GETEVENTS != 0 && args.uint(2) > 0;
    let is_fd = flags & IORING_ENTER_REGISTERED_RING == 0;
    (waits && is_fd).then(|| vec![End::Uring { fd: args.int(0) }])
}

/// How long io_uring_enter(2) waits: its extended argument, `struct io_uring_getevents_arg`, ends
/// with the address of a timespec (Linux 5.11), which may be an absolute one (6.12) and the
/// argument itself be an offset into memory registered before (6.13).
pub(super) fn uring_timeout(args: &mut Args<'_>) -> Timeout {
    let flags = args.uint(3);
    if flags & IORING_ENTER_EXT_ARG == 0 {
        return Timeout::Never;
    }
    if flags & IORING_ENTER_EXT_ARG_REG != 0 {
        return Timeout::Some;
    }
    let Some(timespec) = args.word(4).checked_add(16).and_then(|at| args.u64_at(at)) else {
        return Timeout::Some;
    };
    match timespec {
        0 => Timeout::Never,
        _ if flags & IORING_ENTER_ABS_TIMER != 0 => Timeout::Some,
        _ => {
            args.widen_time();
            args.timespec_at(timespec)
        }
    }
}
