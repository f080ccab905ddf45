//! A terminal of our own: the pair, the screen, and the answers that a terminal gives.
//!
//! ```no_run
//! use std::process::Command;
//! use awaitty::pty::{Pty, Screen, Size};
//!
//! let mut pty = Pty::spawn(Command::new("python3"), Size::default())?;
//! let mut screen = Screen::new(Size::default());
//! # Ok::<(), awaitty::pty::SpawnError>(())
//! ```

mod answers;
mod drawing;
mod kill;
mod marks;
mod pair;
mod queries;
mod screen;
mod sequence;
mod size;

pub use pair::{Pty, PtyError, SpawnError};
pub use queries::QueryFilter;
pub use screen::Screen;
pub use size::Size;
