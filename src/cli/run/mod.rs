//! `awaitty run`: a command on a terminal of its own behind the user's, passed through both ways.

mod hook;
mod pass;
mod raw;
mod signals;

pub use hook::Hook;
pub use pass::{Ended, Far, Near, pass, read};
pub use raw::RawMode;
pub use signals::{Event, Signals};

use std::ffi::OsString;
use std::path::PathBuf;

use super::exit;

/// Runs a command on a new terminal behind yours, as if it ran on yours, and watches it meanwhile.
#[derive(Debug, clap::Args)]
#[command(after_long_help = exit::HELP)]
pub struct Args {
    /// Run this with `sh -c` when the job has begun to wait and nobody has typed for a second;
    /// AWAITTY_STATE, AWAITTY_PROMPT and AWAITTY_TTY say for what.
    #[arg(long, value_name = "COMMAND")]
    pub on_input: Option<String>,
    /// Append one JSON object to this file for every change of the state.
    #[arg(long, value_name = "FILE")]
    pub events: Option<PathBuf>,
    /// The command and its arguments.
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    pub command: Vec<OsString>,
}
