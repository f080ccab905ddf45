//! Engines: the kernel now → [`Observation`], plain data. Nothing else reaches the decision.
//!
//! An engine asks through one trait, [`Kernel`], so that the live kernel ([`Live`]), a kernel with
//! some sources hidden ([`Hidden`]), a scripted one in a test and a recording answer alike.

mod blocked;
mod hidden;
mod holders;
mod kernel;
mod live;
mod look;
mod members;
mod objects;
mod sockets;
mod traced;
mod types;

pub use hidden::*;
pub use kernel::*;
pub use live::Live;
pub(crate) use live::open_path;
pub use look::{Depth, Looker, Outer, Scope};
pub use members::Root;
pub(crate) use traced::Calls;
pub use types::*;

pub use crate::proc::Signals;
