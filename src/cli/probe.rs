//! `awaitty probe`: one of the situations that `doctor` tries, made by this very program.

use std::ffi::OsString;
use std::process::ExitCode;

/// Makes a known situation and blocks in it.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Which one.
    pub name: OsString,
    /// Its options.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub args: Vec<OsString>,
}

/// Runs the probe in this process, which must have one thread as yet: probes fork.
#[must_use]
pub fn run(args: Args) -> ExitCode {
    awaitty_probes::run(&args.name, args.args)
}
