//! Says exactly, and at once, whether what runs on a terminal **waits for input**, is **busy**, or
//! is **stuck on something else** — and on what.
//!
//! The plan of the house, each room resting on those before it:
//!
//! | room | what is in it |
//! |---|---|
//! | [`sys`] | system calls; the only unsafe code |
//! | [`proc`] | pure parsers of `/proc` text, and a reader that keeps its files open |
//! | [`wait`] | a blocked system call → what it waits for (pure) |
//! | [`observe`] | engines: the kernel now → [`observe::Observation`] |
//! | [`graph`] | observation → wait-for graph → live or inert (pure) |
//! | [`verdict`] | graph and history → [`Verdict`] (pure; the clock is an argument) |
//! | [`pty`] | a terminal of our own: the pair, the screen, the answers a terminal gives |
//! | [`watch`] | when to look; publishes changes of the verdict |
//! | [`fixture`] | records a watch, and replays it without a kernel or a clock |
//! | [`trace`] | a tree of processes under ptrace(2): every wait with its begin and end |

#[cfg(not(target_os = "linux"))]
compile_error!("awaitty reads what the Linux kernel knows; there is no other source");

pub mod fixture;
pub mod graph;
pub mod observe;
pub mod proc;
pub mod pty;
pub mod sys;
pub mod trace;
pub mod verdict;
pub mod wait;
pub mod watch;

#[cfg(feature = "cli")]
pub mod cli;

pub use verdict::Verdict;
