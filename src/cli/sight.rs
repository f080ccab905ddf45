//! `--engine` and `--hide`.

use clap::ValueEnum;

use crate::observe::SourceName;
use crate::watch::Sight;

/// What the verdict may rest on.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct Options {
    /// What decides.
    #[arg(long, value_enum, default_value_t)]
    pub engine: Engine,
    /// Do as if the kernel did not offer these sources (syscall, fd, termios, ...), to see what is said
    /// without them.
    #[arg(long, value_name = "SOURCE", value_delimiter = ',')]
    pub hide: Vec<SourceName>,
}

/// What decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum Engine {
    /// What the kernel shows; guesses only where it shows nothing.
    #[default]
    Proc,
    /// Guesses alone: terminal flags, groups, counters, output.
    Heuristic,
}

impl From<Options> for Sight {
    fn from(args: Options) -> Sight {
        Sight { hidden: args.hide, heuristic: args.engine == Engine::Heuristic }
    }
}
