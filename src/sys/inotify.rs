//! inotify(7) on terminals that are not ours: a read of a pts gives `IN_ACCESS` when it returns, a
//! write `IN_MODIFY` (seen on Linux 6.18; no document promises it, so timers must back it up).

use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;

use nix::errno::Errno;
use nix::sys::inotify::{AddWatchFlags, InitFlags, Inotify, WatchDescriptor};

/// A set of watched terminals behind one pollable descriptor.
#[derive(Debug)]
pub struct TtyWatch {
    inotify: Inotify,
}

/// Something happened on a watched terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TtyEvent {
    /// A read returned.
    Read(WatchDescriptor),
    /// Something was written.
    Written(WatchDescriptor),
    /// The terminal is no more; its descriptor has been retired.
    Vanished(WatchDescriptor),
    /// The queue overflowed and events were lost: anything may have happened on any of them.
    Lost,
}

impl TtyWatch {
    /// An empty set; reads of it do not block.
    ///
    /// # Errors
    /// `EMFILE` at the user's limit of instances (`fs.inotify.max_user_instances`).
    pub fn new() -> nix::Result<TtyWatch> {
        let inotify = Inotify::init(InitFlags::IN_CLOEXEC | InitFlags::IN_NONBLOCK)?;
        Ok(TtyWatch { inotify })
    }

    /// Watches a terminal. `/proc/PID/fd/FD` serves as a path where the terminal has none here.
    ///
    /// # Errors
    /// `EACCES` without read permission, `ENOSPC` at `fs.inotify.max_user_watches`.
    pub fn add(&self, terminal: &Path) -> nix::Result<WatchDescriptor> {
        self.inotify.add_watch(terminal, AddWatchFlags::IN_ACCESS | AddWatchFlags::IN_MODIFY)
    }

    /// Ends a watch.
    ///
    /// # Errors
    /// `EINVAL` when it has ended already, because the terminal is gone.
    pub fn remove(&self, watch: WatchDescriptor) -> nix::Result<()> {
        self.inotify.rm_watch(watch)
    }

    /// Everything that has happened since the last call; empty when nothing has.
    ///
    /// # Errors
    /// As read(2).
    pub fn drain(&self) -> nix::Result<Vec<TtyEvent>> {
        let mut happened = Vec::new();
        loop {
            match self.inotify.read_events() {
                Ok(events) => {
                    happened
                        .extend(events.iter().filter_map(|event| event_of(event.mask, event.wd)));
                }
                Err(Errno::EAGAIN) => return Ok(happened),
                Err(Errno::EINTR) => {}
                Err(errno) => return Err(errno),
            }
        }
    }
}

impl AsFd for TtyWatch {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.inotify.as_fd()
    }
}

fn event_of(mask: AddWatchFlags, watch: WatchDescriptor) -> Option<TtyEvent> {
    if mask.contains(AddWatchFlags::IN_Q_OVERFLOW) {
        Some(TtyEvent::Lost)
    } else if mask.contains(AddWatchFlags::IN_IGNORED) {
        Some(TtyEvent::Vanished(watch))
    } else if mask.contains(AddWatchFlags::IN_ACCESS) {
        Some(TtyEvent::Read(watch))
    } else if mask.contains(AddWatchFlags::IN_MODIFY) {
        Some(TtyEvent::Written(watch))
    } else {
        None
    }
}
