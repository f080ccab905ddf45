//! Engines: the kernel now → [`Observation`], plain data. Nothing else reaches the decision.
//!
//! An engine asks through one trait, [`Kernel`], so that the live kernel, a kernel with some
//! sources hidden ([`Hidden`]), a scripted one in a test and a recording answer alike.

mod kernel;
mod types;

pub use kernel::*;
pub use types::*;
