//! The limit of open files: kept files of many tasks and terminals soon pass the usual soft limit of
//! 1,024, which is low only for the sake of programs that call select(2).

use std::ffi::OsStr;
use std::process::Command;
use std::sync::OnceLock;

use nix::sys::resource::{Resource, getrlimit, rlim_t, setrlimit};

use crate::sys;

/// The limit as we were started with.
static INHERITED: OnceLock<(rlim_t, rlim_t)> = OnceLock::new();

/// Raises the soft limit of this process to the hard one.
pub fn raise() {
    // Where that is refused, fewer files are kept open.
    if let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE)
        && setrlimit(Resource::RLIMIT_NOFILE, hard, hard).is_ok()
    {
        let _ = INHERITED.set((soft, hard));
    }
}

/// The limit (soft, hard) that we were started with; `None` where it was not changed.
#[must_use]
pub fn inherited() -> Option<(rlim_t, rlim_t)> {
    INHERITED.get().copied()
}

/// A command that gets the limit which we were started with.
pub fn command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    if let Some(limit) = INHERITED.get() {
        sys::spawn::limit_descriptors(&mut command, *limit);
    }
    command
}
