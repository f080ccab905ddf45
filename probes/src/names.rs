//! Command names that trip readers of `/proc/PID/stat`.

use std::ffi::CStr;

use nix::sys::prctl;

use crate::args::Args;
use crate::failure::{Outcome, Step};
use crate::stage::{read, ready};
use crate::sys;
use crate::{Group::Names, Probe};

pub(crate) const PROBES: &[Probe] = &[
    Probe::new(Names, "name-paren", "read(2) of fd 0 under the name `) R 1 (`", parenthesis),
    Probe::new(Names, "name-bytes", "read(2) of fd 0 under a name that is not UTF-8", bytes),
    Probe::new(Names, "name-newline", "read(2) of fd 0 under a name with line breaks", newline),
];

fn read_under(name: &CStr) -> Outcome {
    prctl::set_name(name).to("set the command name")?;
    ready(&[])?;
    read(sys::stdin())
}

fn parenthesis(_: &Args) -> Outcome {
    read_under(c") R 1 (")
}

fn bytes(_: &Args) -> Outcome {
    read_under(c"\xff\xfe\x80 R")
}

fn newline(_: &Args) -> Outcome {
    read_under(c"a\nState:\tR\n")
}
