//! io_uring on the terminal: what is pending is in the kernel, not in the arguments of a call.

use crate::args::Args;
use crate::failure::{Outcome, Step};
use crate::stage::{read, ready};
use crate::sys::{self, Ring};
use crate::{Group::Poll, Probe};

pub(crate) const PROBES: &[Probe] = &[
    Probe::new(Poll, "uring-read", "io_uring_enter(2) with a read of fd 0 pending", uring_read),
    Probe::new(Poll, "uring-poll", "io_uring_enter(2) with a poll of fd 0 pending", uring_poll),
];

fn uring_read(_: &Args) -> Outcome {
    let ring = Ring::new().or_skip("make an io_uring")?;
    ready(&[])?;
    ring.read(sys::stdin()).to("read through the io_uring")
}

fn uring_poll(_: &Args) -> Outcome {
    let ring = Ring::new().or_skip("make an io_uring")?;
    ready(&[])?;
    ring.poll(sys::stdin()).to("poll through the io_uring")?;
    read(sys::stdin())
}
