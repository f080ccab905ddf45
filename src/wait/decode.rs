use super::args::Args;
use super::poll::Select;
use super::{Arch, Call, Children, End, Interest, LockKind, Memory, Registers, Timeout};
use super::{files, poll, sync, table};

/// What the arguments of a call say: what can end it, `None` where they do not say, and how long it
/// waits. No end at all is a wait for the time alone, or for a signal where there is no limit.
pub(super) type Shape = (Option<Vec<End>>, Timeout);

/// Reads from a blocked call's number and arguments what it waits for.
///
/// What cannot be told, or lies in memory that cannot be read, becomes [`End::Unknown`]: there is at
/// least one end in any case, and none of them is guessed. i386's socketcall(2) goes by the name of
/// the call it carries out.
#[must_use]
pub fn decode(arch: Arch, registers: Registers, memory: &mut dyn Memory) -> Call {
    let mut name = table::name(arch, registers.nr);
    let mut args = Args::new(arch, registers.args, memory);
    if name == "socketcall"
        && let Some((carried_out, fd)) = files::socketcall(&mut args)
    {
        name = carried_out;
        args.replace(0, fd);
    }
    let shape = shape(name, &mut args);
    call(name, shape)
}

/// Names the ends of a call that has none of its own.
pub(super) fn call(name: &'static str, (ends, timeout): Shape) -> Call {
    let ends = match ends {
        None => vec![End::Unknown],
        Some(ends) if !ends.is_empty() => ends,
        Some(_) if timeout.is_finite() => vec![End::Time],
        Some(_) => sync::signal(None),
    };
    Call { name, ends, timeout }
}

/// The table of calls. A name stands for one shape on all architectures, but for i386's old
/// `select`; the `*_time64` twins differ from their elders only in the size of a timespec.
pub(super) fn shape(name: &str, args: &mut Args<'_>) -> Shape {
    use Timeout::Never;
    let name = match name.strip_suffix("_time64") {
        Some(elder) => {
            args.widen_time();
            elder
        }
        None => name,
    };
    match name {
        // recvmmsg(2), BUGS: it looks at its timeout only after a datagram has come.
        "read" | "readv" | "pread64" | "preadv" | "preadv2" | "recv" | "recvfrom" | "recvmsg"
        | "recvmmsg" | "accept" | "accept4" => {
            (Some(files::fd(args.int(0), Interest::READ)), Never)
        }
        "write" | "writev" | "pwrite64" | "pwritev" | "pwritev2" | "send" | "sendto"
        | "sendmsg" | "sendmmsg" => (Some(files::fd(args.int(0), Interest::WRITE)), Never),
        "connect" => {
            let interest = Interest { connect: true, ..Interest::default() };
            (Some(files::fd(args.int(0), interest)), Never)
        }

        "poll" => (poll::pollfds(args), args.milliseconds(2)),
        "ppoll" => (poll::pollfds(args), args.timespec(2)),
        "select" if args.arch() == Arch::I386 => match Select::in_memory(args) {
            Some(select) => (select.ends(args), args.timeval_at(select.timeout)),
            None => (None, Timeout::Some),
        },
        "select" | "_newselect" => {
            let select = Select::in_registers(args);
            (select.ends(args), args.timeval_at(select.timeout))
        }
        "pselect6" => {
            let select = Select::in_registers(args);
            (select.ends(args), args.timespec_at(select.timeout))
        }
        "epoll_wait" | "epoll_pwait" => (epoll(args), args.milliseconds(3)),
        "epoll_pwait2" => {
            args.widen_time();
            (epoll(args), args.timespec(3))
        }
        "io_uring_enter" => (poll::uring(args), poll::uring_timeout(args)),

        "wait4" | "waitpid" => (sync::wait4(args), Never),
        "waitid" => (sync::waitid(args), Never),
        "futex" => (sync::futex(args), sync::futex_timeout(args)),
        "futex_wait" => (Some(sync::futex_wait(args)), args.deadline(4)),
        "futex_waitv" => (sync::futex_waitv(args), args.deadline(3)),
        "nanosleep" => (Some(Vec::new()), args.timespec(0)),
        "clock_nanosleep" if args.int(1) & libc::TIMER_ABSTIME != 0 => {
            let monotonic = args.int(0) == libc::CLOCK_MONOTONIC;
            (Some(Vec::new()), if monotonic { args.monotonic(2) } else { Timeout::Some })
        }
        "clock_nanosleep" => (Some(Vec::new()), args.timespec(2)),

        _ => rarer(name, args),
    }
}

/// The rest of the table: calls that are seldom seen asleep.
fn rarer(name: &str, args: &mut Args<'_>) -> Shape {
    use Timeout::Never;
    match name {
        "open" => (files::open(args, libc::AT_FDCWD, args.word(0), args.uint(1)), Never),
        "openat" => (files::open(args, args.int(0), args.word(1), args.uint(2)), Never),
        "openat2" => (files::openat2(args), Never),
        "creat" => {
            let flags = libc::O_WRONLY as u32;
            (files::open(args, libc::AT_FDCWD, args.word(0), flags), Never)
        }
        "splice" | "copy_file_range" => (Some(files::from_to(args.int(0), args.int(2))), Never),
        "tee" => (Some(files::from_to(args.int(0), args.int(1))), Never),
        "sendfile" | "sendfile64" => (Some(files::from_to(args.int(1), args.int(0))), Never),
        // Which way the data goes depends on which end of the pipe the descriptor is.
        "vmsplice" => {
            let interest = Interest { read: true, write: true, ..Interest::default() };
            (Some(files::fd(args.int(0), interest)), Never)
        }
        "flock" => (Some(files::lock(args.int(0), LockKind::Flock)), Never),
        "fcntl" | "fcntl64" => (files::fcntl(args), Never),
        "ioctl" => (files::ioctl(args), Never),
        // A message queue is a descriptor on Linux: mq_overview(7).
        "mq_timedreceive" => (Some(files::fd(args.int(0), Interest::READ)), args.deadline(4)),
        "mq_timedsend" => (Some(files::fd(args.int(0), Interest::WRITE)), args.deadline(4)),

        "vfork" => (Some(sync::children(Children::Vfork)), Never),
        "clone" => (sync::clone(args.word(0)), Never),
        "clone3" => (sync::clone3(args), Never),
        "pause" => (Some(sync::signal(None)), Never),
        "rt_sigsuspend" => (Some(sync::rt_sigsuspend(args)), Never),
        "sigsuspend" => (Some(sync::sigsuspend(args)), Never),
        "rt_sigtimedwait" => (sync::rt_sigtimedwait(args), args.timespec(2)),

        // No descriptor names these objects, so what ends the wait is not seen; its length is.
        "semtimedop" => (None, args.timespec(3)),
        "ipc" if args.uint(0) & 0xffff == SEMTIMEDOP => (None, args.timespec(5)),
        "io_getevents" | "io_pgetevents" => (None, args.timespec(4)),
        "restart_syscall" => (None, Timeout::Some),
        _ => (None, Never),
    }
}

/// The semtimedop(2) of ipc(2), whose upper half is a version (`include/uapi/linux/ipc.h`).
const SEMTIMEDOP: u32 = 4;

fn epoll(args: &Args<'_>) -> Option<Vec<End>> {
    Some(vec![End::Epoll { fd: args.int(0) }])
}
