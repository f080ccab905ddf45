//! Engines: the kernel now → [`Observation`], plain data. Nothing else reaches the decision.
//!
//! An engine asks through one trait, [`Kernel`], so that the live kernel ([`Live`]), a kernel with
//! some sources hidden ([`Hidden`]), a scripted one in a test and a recording answer alike.

mod hidden;
mod kernel;
mod live;
mod types;

pub use hidden::*;
pub use kernel::*;
pub use live::Live;
pub use types::*;
