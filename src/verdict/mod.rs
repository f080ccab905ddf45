//! Graph and history → [`Verdict`]. Pure: the clock is an argument.

mod output;
mod types;
mod wire;

pub use output::*;
pub use types::*;
pub use wire::Line;
