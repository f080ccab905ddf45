//! Graph and history → [`Verdict`]. Pure: the clock is an argument.

mod decide;
mod heuristic;
mod history;
mod judge;
mod output;
mod shell;
mod types;
mod wire;
mod words;

pub use crate::graph::{IdleReason, WaitingOn};
pub use decide::{Decision, decide};
pub use heuristic::{Open, guess, is_prompt_like};
pub use history::History;
pub use judge::{Judge, Judgement};
pub use output::*;
pub use shell::{Shells, is_shell};
pub use types::*;
pub use wire::Line;
pub use words::of_wait;
