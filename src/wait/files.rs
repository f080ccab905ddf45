//! Calls on one or two files: open(2), fcntl(2), ioctl(2), and those that carry data across.

use super::args::Args;
use super::{Arch, End, Interest, LockKind};

/// `PATH_MAX`, the NUL included.
const LONGEST_PATH: usize = 4096;

pub(super) fn fd(fd: i32, interest: Interest) -> Vec<End> {
    vec![End::Fd { fd, interest }]
}

/// Data goes from one descriptor to the other: splice(2), tee(2), sendfile(2). Which of them is
/// not ready, the kernel does not say.
pub(super) fn from_to(from: i32, to: i32) -> Vec<End> {
    vec![
        End::Fd { fd: from, interest: Interest::READ },
        End::Fd { fd: to, interest: Interest::WRITE },
    ]
}

/// An open(2) that sleeps until somebody opens the fifo's other end.
pub(super) fn open(args: &mut Args<'_>, dirfd: i32, path: u64, flags: u32) -> Option<Vec<End>> {
    let path = read_path(args, path)?;
    let read = flags & libc::O_ACCMODE as u32 == libc::O_RDONLY as u32;
    Some(vec![End::Open { path, dirfd, read }])
}

/// openat2(2), `(dirfd, path, open_how, size)`: the flags are the first field of `open_how`.
pub(super) fn openat2(args: &mut Args<'_>) -> Option<Vec<End>> {
    let flags = args.u64_at(args.word(2))?;
    open(args, args.int(0), args.word(1), flags as u32)
}

fn read_path(args: &mut Args<'_>, address: u64) -> Option<String> {
    let path = args.string(address, LONGEST_PATH)?;
    Some(String::from_utf8_lossy(&path).into_owned())
}

pub(super) fn lock(fd: i32, kind: LockKind) -> Vec<End> {
    vec![End::Lock { fd, kind }]
}

/// `F_SETLKW64` of 32-bit machines (`include/uapi/asm-generic/fcntl.h`); 64-bit ones lack it.
const F_SETLKW64: i32 = 14;

/// fcntl(2), `(fd, command, lock)`.
pub(super) fn fcntl(args: &Args<'_>) -> Option<Vec<End>> {
    let kind = match args.int(1) {
        libc::F_SETLKW => LockKind::Posix,
        F_SETLKW64 if args.arch() == Arch::I386 => LockKind::Posix,
        libc::F_OFD_SETLKW => LockKind::Ofd,
        _ => return None,
    };
    Some(lock(args.int(0), kind))
}

/// The requests of ioctl_tty(2) that first wait until all output was taken: tcdrain(3) and
/// tcsetattr(3) with `TCSADRAIN` or `TCSAFLUSH`. The numbers are those of
/// `include/uapi/asm-generic/ioctls.h`, which all three architectures share.
const DRAINING: [u32; 8] = [
    0x5403,      // TCSETSW
    0x5404,      // TCSETSF
    0x5407,      // TCSETAW
    0x5408,      // TCSETAF
    0x5409,      // TCSBRK
    0x5425,      // TCSBRKP
    0x402c_542c, // TCSETSW2
    0x402c_542d, // TCSETSF2
];

/// ioctl(2), `(fd, request, …)`: what a request waits for is its driver's affair, but for those.
pub(super) fn ioctl(args: &Args<'_>) -> Option<Vec<End>> {
    DRAINING.contains(&args.uint(1)).then(|| fd(args.int(0), Interest::WRITE))
}

/// socketcall(2) of i386, `(call, arguments)`: the name of the call it carries out, and the
/// descriptor, which all of them have first.
pub(super) fn socketcall(args: &mut Args<'_>) -> Option<(&'static str, u32)> {
    // include/uapi/linux/net.h
    let name = match args.int(0) {
        3 => "connect",
        5 => "accept",
        9 => "send",
        10 => "recv",
        11 => "sendto",
        12 => "recvfrom",
        16 => "sendmsg",
        17 => "recvmsg",
        18 => "accept4",
        19 => "recvmmsg",
        20 => "sendmmsg",
        _ => return None,
    };
    args.u32_at(args.word(1)).map(|fd| (name, fd))
}
