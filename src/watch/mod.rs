//! When to look, and to whom a change is told.

mod error;
mod examiner;
mod handle;
mod job;
mod monitor;
mod orders;
mod schedule;
mod tap;
mod target;

pub use error::{WaitError, WatchError};
pub use examiner::{Drained, Examiner};
pub use handle::{Change, Watched};
pub use job::Sight;
pub use monitor::{Monitor, OpenOptions};
pub use schedule::{Posture, Schedule};
pub use tap::{Event, Tap};
pub use target::{Session, Target, sessions};
