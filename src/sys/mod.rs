//! System calls that nix has no safe wrapper for, and thin groupings of those it has. The only
//! unsafe code of the crate.
//!
//! Descriptors are `OwnedFd` and `AsFd` throughout; errors are plain errno values, because the
//! rooms above decide what a refusal means.

pub mod bell;
pub mod clock;
pub mod epoll;
pub mod fd;
pub mod inet_diag;
pub mod inotify;
pub mod memory;
pub mod pidfd;
pub mod ptrace;
pub mod sock_diag;
pub mod spawn;
pub mod stat;
pub mod tty;
pub mod unix_diag;
