//! Pure parsers of `/proc` text, and a [reader](Reader) that keeps its files open.
//!
//! Each takes the text of one file, as the kernel prints it, and answers `None` for what is cut off
//! or is not that file: the text can come from a process that ends while it is read, or from a
//! sandbox that imitates Linux. None assumes UTF-8 to have survived.

pub mod fdinfo;
pub mod locks;
pub mod maps;
pub mod net;
pub mod reader;
pub mod sched;
pub mod stat;
pub mod status;
pub mod syscall;

mod children;
mod schedstat;
mod terminal;

pub use children::children;
pub use reader::Reader;
pub use schedstat::Schedstat;
pub use stat::{Signals, Stat};
pub use status::Status;
pub use syscall::Syscall;
pub use terminal::tty_name;
