//! The `awaitty` program: see `awaitty --help`.

use std::process::ExitCode;

fn main() -> ExitCode {
    awaitty::cli::main()
}
