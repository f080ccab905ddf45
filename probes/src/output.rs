//! Output that nobody takes.

use std::io;

use nix::sys::termios::{FlowArg, tcflow};
use nix::unistd::write;

use crate::args::Args;
use crate::failure::{Outcome, Step};
use crate::stage::ready;
use crate::sys;
use crate::{Group::Output, Probe};

pub(crate) const PROBES: &[Probe] = &[
    Probe::new(
        Output,
        "write-undrained",
        "write(2) to the terminal without end; blocks once nobody reads the master",
        undrained,
    ),
    Probe::new(
        Output,
        "write-stopped",
        "write(2) to the terminal after its output was stopped, as by ^S",
        stopped,
    ),
];

fn undrained(_: &Args) -> Outcome {
    ready(&[])?;
    loop {
        write(io::stdout(), b"y\n").to("write")?;
    }
}

fn stopped(_: &Args) -> Outcome {
    ready(&[])?;
    tcflow(sys::stdin(), FlowArg::TCOOFF).to("stop the terminal's output")?;
    write(io::stdout(), b"held back\n").to("write")?;
    Ok(())
}
