//! Waits that a short timer ends again and again, with next to no work in between.

use std::io;
use std::net::TcpListener;
use std::os::fd::AsFd;
use std::thread;
use std::time::Duration;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::termios::{LocalFlags, SpecialCharacterIndices};
use nix::unistd::write;

use crate::args::Args;
use crate::failure::{Failure, Outcome, Step};
use crate::stage::{Modes, read, ready};
use crate::sys;
use crate::{Group::Timers, Probe};

pub(crate) const PROBES: &[Probe] = &[
    Probe::new(Timers, "tick", "futex(2) for 50 ms, over and over", tick),
    Probe::new(
        Timers,
        "tick-tty",
        "poll(2) of fd 0, single keys, for 100 ms over and over",
        tick_tty,
    ),
    Probe::new(
        Timers,
        "tick-vtime",
        "read(2) of fd 0 for the 100 ms of VTIME, over and over",
        tick_vtime,
    ),
    Probe::new(
        Timers,
        "tick-server",
        "poll(2) of a listening socket for 0.5 s over and over",
        tick_server,
    ),
    Probe::new(
        Timers,
        "redraw",
        "poll(2) of fd 0 for 300 ms, then the screen is drawn again",
        redraw,
    ),
];

/// Is it readable within the time?
fn readable(fd: impl AsFd, milliseconds: u16) -> Result<bool, Failure> {
    let mut set = [PollFd::new(fd.as_fd(), PollFlags::POLLIN)];
    Ok(poll(&mut set, PollTimeout::from(milliseconds)).to("poll")? > 0)
}

fn tick(_: &Args) -> Outcome {
    ready(&[])?;
    loop {
        thread::park_timeout(Duration::from_millis(50));
    }
}

fn tick_tty(_: &Args) -> Outcome {
    let _modes = Modes::without(LocalFlags::ECHO | LocalFlags::ICANON)?;
    ready(&[])?;
    while !readable(sys::stdin(), 100)? {}
    read(sys::stdin())
}

/// VMIN 0 and VTIME 1: the terminal's modes give the read its timeout, not its arguments.
fn tick_vtime(_: &Args) -> Outcome {
    let _modes = Modes::change(|termios| {
        termios.local_flags.remove(LocalFlags::ECHO | LocalFlags::ICANON);
        termios.control_chars[SpecialCharacterIndices::VMIN as usize] = 0;
        termios.control_chars[SpecialCharacterIndices::VTIME as usize] = 1;
    })?;
    ready(&[])?;
    while nix::unistd::read(sys::stdin(), &mut [0; 16]).to("read")? == 0 {}
    Ok(())
}

fn tick_server(_: &Args) -> Outcome {
    let listener = TcpListener::bind("127.0.0.1:0").to("listen on a TCP socket")?;
    ready(&[])?;
    while !readable(&listener, 500)? {}
    Ok(())
}

fn redraw(_: &Args) -> Outcome {
    let _modes = Modes::without(LocalFlags::ECHO | LocalFlags::ICANON)?;
    ready(&[])?;
    write(io::stdout(), b"\x1b[?1049h\x1b[2J").to("clear the screen")?;
    for frame in 0.. {
        write(io::stdout(), format!("\x1b[1;1Hframe {frame}").as_bytes()).to("draw")?;
        if readable(sys::stdin(), 300)? {
            break;
        }
    }
    write(io::stdout(), b"\x1b[?1049l").to("leave the alternate screen")?;
    read(sys::stdin())
}
