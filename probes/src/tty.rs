//! Reads of the terminal: one blocked call each.

use std::fs::File;
use std::io::{self, IoSliceMut};
use std::time::Duration;

use nix::fcntl::{SpliceFFlags, splice};
use nix::sys::sendfile::sendfile;
use nix::sys::signal::{SaFlags, Signal};
use nix::sys::termios::LocalFlags;
use nix::sys::uio::readv;
use nix::unistd;

use crate::args::Args;
use crate::failure::{Outcome, Step};
use crate::stage::{HOUR, Modes, read, ready};
use crate::sys;
use crate::{Group::Tty, Probe};

pub(crate) const PROBES: &[Probe] = &[
    Probe::new(Tty, "read", "read(2) of fd 0", read_stdin),
    Probe::new(Tty, "readv", "readv(2) of fd 0", readv_stdin),
    Probe::new(Tty, "preadv2", "preadv2(2) of fd 0 at the current position", preadv2_stdin),
    Probe::new(Tty, "read-dev-tty", "read(2) of /dev/tty, opened anew", read_dev_tty),
    Probe::new(Tty, "read-secret", "read(2) of fd 0, cooked, no echo", read_secret),
    Probe::new(Tty, "read-key", "read(2) of fd 0, no line editing, no echo", read_key),
    Probe::new(Tty, "read-key-echo", "read(2) of fd 0, no line editing, echo on", read_key_echo),
    Probe::new(Tty, "read-screen", "read(2) of single keys on the alternate screen", read_screen),
    Probe::new(Tty, "read-handler", "read(2) of fd 0 with a signal handler set", read_handler),
    Probe::new(
        Tty,
        "read-prompted",
        "read(2) of fd 0 after a prompt without a newline",
        read_prompted,
    )
    .options(&["--prompt="]),
    Probe::new(Tty, "splice", "splice(2) from fd 0 into a pipe", splice_stdin),
    Probe::new(Tty, "sendfile", "sendfile(2) from fd 0 into a pipe", sendfile_stdin),
    Probe::new(Tty, "type-ahead", "nanosleep; only then a read(2) of fd 0", type_ahead)
        .options(&["--sleep-ms="]),
    Probe::new(Tty, "prompt-like", "nanosleep after text that looks like a prompt", prompt_like)
        .options(&["--prompt="]),
];

fn read_stdin(_: &Args) -> Outcome {
    ready(&[])?;
    read(sys::stdin())
}

fn readv_stdin(_: &Args) -> Outcome {
    let (mut first, mut second) = ([0; 16], [0; 4096]);
    ready(&[])?;
    readv(sys::stdin(), &mut [IoSliceMut::new(&mut first), IoSliceMut::new(&mut second)])
        .to("readv")?;
    Ok(())
}

fn preadv2_stdin(_: &Args) -> Outcome {
    ready(&[])?;
    sys::preadv2(sys::stdin(), &mut [0; 4096]).to("preadv2")?;
    Ok(())
}

fn read_dev_tty(_: &Args) -> Outcome {
    let terminal = File::open("/dev/tty").to("open /dev/tty")?;
    ready(&[])?;
    read(&terminal)
}

fn read_secret(_: &Args) -> Outcome {
    let _modes = Modes::without(LocalFlags::ECHO)?;
    ready(&[])?;
    read(sys::stdin())
}

fn read_key(_: &Args) -> Outcome {
    let _modes = Modes::without(LocalFlags::ECHO | LocalFlags::ICANON)?;
    ready(&[])?;
    read(sys::stdin())
}

fn read_key_echo(_: &Args) -> Outcome {
    let _modes = Modes::without(LocalFlags::ICANON)?;
    ready(&[])?;
    read(sys::stdin())
}

fn read_screen(_: &Args) -> Outcome {
    let _modes = Modes::without(LocalFlags::ECHO | LocalFlags::ICANON)?;
    ready(&[])?;
    unistd::write(io::stdout(), b"\x1b[?1049h\x1b[2J\x1b[1;1Hone key").to("draw")?;
    let fed = read(sys::stdin());
    unistd::write(io::stdout(), b"\x1b[?1049l").to("leave the alternate screen")?;
    fed
}

fn read_handler(_: &Args) -> Outcome {
    sys::handle(Signal::SIGUSR1, SaFlags::SA_RESTART).to("set a signal handler")?;
    ready(&[])?;
    read(sys::stdin())
}

fn read_prompted(args: &Args) -> Outcome {
    ready(&[])?;
    print_prompt(args.text("--prompt=").unwrap_or("Continue? [Y/n] "))?;
    read(sys::stdin())
}

fn splice_stdin(_: &Args) -> Outcome {
    let (_reader, writer) = io::pipe().to("make a pipe")?;
    ready(&[])?;
    splice(sys::stdin(), None, &writer, None, 4096, SpliceFFlags::empty()).to("splice")?;
    Ok(())
}

fn sendfile_stdin(_: &Args) -> Outcome {
    let (_reader, writer) = io::pipe().to("make a pipe")?;
    ready(&[])?;
    // Linux 5.12 and later take a descriptor without a position, if the target is a pipe.
    sendfile(&writer, sys::stdin(), None, 4096).or_skip("sendfile from a terminal")?;
    Ok(())
}

fn type_ahead(args: &Args) -> Outcome {
    let default = HOUR.as_millis() as u64;
    let length = Duration::from_millis(args.value("--sleep-ms=", default)?);
    ready(&[])?;
    sys::nanosleep(length).to("sleep")?;
    read(sys::stdin())
}

fn prompt_like(args: &Args) -> Outcome {
    ready(&[])?;
    print_prompt(args.text("--prompt=").unwrap_or("$ "))?;
    sys::nanosleep(HOUR).to("sleep")
}

fn print_prompt(text: &str) -> Outcome {
    unistd::write(io::stdout(), text.as_bytes()).to("print the prompt")?;
    Ok(())
}
