//! What stands behind a descriptor.

use std::os::fd::RawFd;

use nix::sys::stat::{SFlag, major, makedev, minor};

use super::sockets::Sockets;
use super::{FdStat, FileId, Kernel, Object, Pid, TtyId};
use crate::proc::fdinfo;

const AT_FDCWD: RawFd = nix::libc::AT_FDCWD;
/// Major number of the auxiliary tty devices: 5:0 is /dev/tty, 5:2 /dev/ptmx (devices.txt).
const TTYAUX_MAJOR: u64 = 5;
/// Majors of Unix98 pty slaves; 256 terminals each.
const PTS_MAJORS: std::ops::RangeInclusive<u64> = 136..=143;
/// Majors of consoles and serial lines: tty/ttyS, ttyAMA and the like, ttyUSB, ttyACM, hvc.
const LINE_MAJORS: [u64; 5] = [4, 204, 188, 166, 229];
/// Epoll sets nest at most this deep (`EP_MAX_NESTS` in fs/eventpoll.c).
pub(super) const EPOLL_NESTS: usize = 5;

/// The controlling terminal of a process, as [`resolve`] needs it for `/dev/tty`.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Controlling {
    pub(super) tty: Option<TtyId>,
}

/// Resolves descriptors.
pub(super) struct Resolver<'k> {
    pub(super) kernel: &'k mut dyn Kernel,
    /// As in [`super::blocked::Reading`].
    pub(super) sockets: Option<&'k mut Sockets>,
    pub(super) controlling: Controlling,
}

impl Resolver<'_> {
    /// What stands behind a descriptor; [`Object::Unknown`] where it cannot be read.
    pub(super) fn resolve(&mut self, pid: Pid, fd: RawFd) -> Object {
        match self.kernel.fd_stat(pid, fd) {
            Ok(stat) => match of_stat(self.kernel, pid, fd, stat, self.controlling) {
                Object::Socket { ino, netlink } => match &mut self.sockets {
                    Some(sockets) => sockets.resolve(self.kernel, pid, ino),
                    None => Object::Socket { ino, netlink },
                },
                object => object,
            },
            Err(_) => Object::Unknown,
        }
    }
}

/// Resolves a descriptor whose stat(2) is at hand; of a socket, no more than that it is one.
pub(super) fn of_stat(
    kernel: &mut dyn Kernel,
    pid: Pid,
    fd: RawFd,
    stat: FdStat,
    controlling: Controlling,
) -> Object {
    let file = FileId { dev: stat.dev, ino: stat.ino };
    match SFlag::from_bits_truncate(stat.mode & SFlag::S_IFMT.bits()) {
        SFlag::S_IFIFO if is_fifo(kernel, pid, fd) => Object::Fifo(file),
        SFlag::S_IFIFO => Object::Pipe(file),
        SFlag::S_IFSOCK => Object::Socket { ino: stat.ino, netlink: false },
        SFlag::S_IFCHR => of_device(kernel, pid, fd, stat, controlling),
        _ => of_link(kernel, pid, fd, file),
    }
}

/// A fifo has a path, a pipe only a number.
fn is_fifo(kernel: &mut dyn Kernel, pid: Pid, fd: RawFd) -> bool {
    kernel.fd_link(pid, fd).is_ok_and(|link| !link.starts_with("pipe:["))
}

fn of_device(
    kernel: &mut dyn Kernel,
    pid: Pid,
    fd: RawFd,
    stat: FdStat,
    controlling: Controlling,
) -> Object {
    let line = LINE_MAJORS.contains(&major(stat.rdev));
    match (major(stat.rdev), minor(stat.rdev)) {
        (TTYAUX_MAJOR, 0) => controlling.tty.map_or(Object::Unknown, Object::Terminal),
        (TTYAUX_MAJOR, 2) => of_master(kernel, pid, fd),
        (main, _) if PTS_MAJORS.contains(&main) || line || main == TTYAUX_MAJOR => {
            Object::Terminal(TtyId { dev: stat.dev, rdev: stat.rdev })
        }
        _ if controlling.tty.is_some_and(|tty| tty.rdev == stat.rdev) => {
            Object::Terminal(TtyId { dev: stat.dev, rdev: stat.rdev })
        }
        _ => Object::Other { name: kernel.fd_link(pid, fd).unwrap_or_default() },
    }
}

/// A master opened through `/dev/ptmx` shows the device of devtmpfs, one through `/dev/pts/ptmx`
/// that of its devpts; the slave's own node, as the process names it, tells for both.
fn of_master(kernel: &mut dyn Kernel, pid: Pid, fd: RawFd) -> Object {
    let Some(index) = kernel.fdinfo(pid, fd).ok().and_then(|text| fdinfo::tty_index(&text)) else {
        return Object::Unknown;
    };
    let rdev = makedev(PTS_MAJORS.start() + u64::from(index) / 256, u64::from(index) % 256);
    let slave = kernel.path_stat(pid, AT_FDCWD, &format!("/dev/pts/{index}"));
    let dev = slave.ok().filter(|slave| slave.rdev == rdev).map_or(0, |slave| slave.dev);
    Object::Master(TtyId { dev, rdev })
}

fn of_link(kernel: &mut dyn Kernel, pid: Pid, fd: RawFd, file: FileId) -> Object {
    let Ok(link) = kernel.fd_link(pid, fd) else { return Object::Unknown };
    let Some(kind) = anonymous(&link) else { return Object::File { file, path: link } };
    let info = |kernel: &mut dyn Kernel| kernel.fdinfo(pid, fd).unwrap_or_default();
    match kind {
        "eventpoll" => Object::Epoll,
        "io_uring" => Object::Uring,
        "inotify" | "fanotify" => Object::Inotify,
        "eventfd" => Object::EventFd { id: fdinfo::eventfd_id(&info(kernel)) },
        "signalfd" => fdinfo::signal_mask(&info(kernel))
            .map_or(Object::Unknown, |mask| Object::SignalFd { mask }),
        "timerfd" => fdinfo::timer(&info(kernel))
            .map_or(Object::Unknown, |timer| Object::TimerFd { left: timer.left() }),
        "pidfd" => fdinfo::pid(&info(kernel)).map_or(Object::Unknown, |pid| Object::PidFd { pid }),
        _ => Object::Other { name: link },
    }
}

/// The kind of an anonymous inode: `anon_inode:[eventpoll]`, `anon_inode:inotify`, `pidfd:[812]`
/// (pidfs, since 6.9).
fn anonymous(link: &str) -> Option<&str> {
    if link.starts_with("pidfd:") {
        return Some("pidfd");
    }
    let kind = link.strip_prefix("anon_inode:")?;
    Some(kind.trim_start_matches('[').trim_end_matches(']'))
}
