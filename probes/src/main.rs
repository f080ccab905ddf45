//! Runs one probe by name; without a name, lists them.

use std::env;
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut args = env::args_os().skip(1);
    match args.next() {
        Some(name) => awaitty_probes::run(&name, args),
        None => awaitty_probes::print_list(),
    }
}
