//! System calls that a look makes.

use std::path::Path;

use nix::errno::Errno;

use super::Finding;
use crate::observe::Pid;
use crate::sys::inotify::TtyWatch;
use crate::sys::sock_diag::SockDiag;
use crate::sys::{epoll, pidfd};

/// Tried on a process of our own and its terminal.
pub(super) fn findings(pid: Pid, tty: Option<&str>) -> Vec<Finding> {
    vec![
        tried(
            "pidfd_open",
            "the end of a process is told at once",
            pidfd::open(pid).map(drop),
            "Linux 5.3 has it; without it foreign terminals cannot be watched",
        ),
        tried(
            "pidfd_getfd",
            "whether an inner terminal's output was read",
            pidfd::open(pid).and_then(|process| pidfd::get_fd(process, 0)).map(drop),
            "Linux 5.6 has it; a container needs --cap-add=SYS_PTRACE",
        ),
        tried(
            "epoll_pwait2",
            "looks less than a millisecond apart",
            if epoll::has_nanoseconds() { Ok(()) } else { Err(Errno::ENOSYS) },
            "Linux 5.11 has it; without it looks are at least a millisecond apart",
        ),
        tried(
            "sock_diag",
            "the peers of unix sockets",
            SockDiag::open().and_then(|mut diag| diag.try_unix()),
            "CONFIG_UNIX_DIAG; without it a wait on a unix socket is taken for one on a stranger",
        ),
        tried(
            "inotify on terminals",
            "reads and writes of foreign terminals are told at once",
            watch(tty),
            "fs.inotify.max_user_instances and max_user_watches; without it timers alone tell",
        ),
    ]
}

fn tried(layer: &'static str, what: &str, answer: nix::Result<()>, without: &str) -> Finding {
    match answer {
        Ok(()) => Finding::open(layer, what),
        Err(errno) => Finding::limited(layer, format!("{what}: {}", errno.desc()), without),
    }
}

fn watch(tty: Option<&str>) -> nix::Result<()> {
    TtyWatch::new()?.add(Path::new(tty.ok_or(Errno::ENOTTY)?)).map(drop)
}
