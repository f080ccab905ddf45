//! Processes that pass a byte around: one of them always runs, yet each is mostly caught asleep.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use nix::unistd::{Pid, write};

use crate::args::Args;
use crate::failure::{Failure, Outcome, Step};
use crate::nested;
use crate::stage::{child, compute_for, read, ready};
use crate::sys;
use crate::{Group::Pairs, Probe};

pub(crate) const PROBES: &[Probe] = &[
    Probe::new(Pairs, "ring-pipe", "processes pass a byte around over pipes", ring_pipe)
        .options(&["--count=", "--rhythm=", "--reader"]),
    Probe::new(Pairs, "ring-unix", "processes pass a byte around over unix sockets", ring_unix)
        .options(&["--count=", "--rhythm=", "--reader"]),
    Probe::new(Pairs, "ring-pty", "two processes pass a byte to and fro over a pty", ring_pty)
        .options(&["--rhythm=", "--reader"]),
];

/// What one process of the ring reads from and writes to.
struct Seat {
    from: OwnedFd,
    to: OwnedFd,
    /// It sits at the slave of a pty, which it makes its controlling terminal.
    takes_terminal: bool,
}

/// What happens between two passes: `WORK:SLEEP` in microseconds.
#[derive(Clone, Copy)]
struct Rhythm {
    work: Duration,
    sleep: Duration,
}

impl Rhythm {
    fn new(args: &Args) -> Result<Rhythm, Failure> {
        let text = args.text("--rhythm=").unwrap_or("0:0");
        let (work, sleep) = text.split_once(':').unwrap_or((text, "0"));
        let length = |text: &str| {
            text.parse().map(Duration::from_micros).map_err(|_| {
                Failure::Usage(format!("--rhythm={text}: give WORK:SLEEP in microseconds"))
            })
        };
        Ok(Rhythm { work: length(work)?, sleep: length(sleep)? })
    }
}

fn count(args: &Args) -> Result<usize, Failure> {
    match args.value("--count=", 2)? {
        count @ 2.. => Ok(count),
        _ => Err(Failure::Usage("--count: a ring has two processes or more".into())),
    }
}

fn ring_pipe(args: &Args) -> Outcome {
    let pipe = || io::pipe().map(|(from, to)| (OwnedFd::from(from), OwnedFd::from(to)));
    pass_around(ring(count(args)?, pipe)?, args)
}

fn ring_unix(args: &Args) -> Outcome {
    let pair = || UnixStream::pair().map(|(from, to)| (OwnedFd::from(from), OwnedFd::from(to)));
    pass_around(ring(count(args)?, pair)?, args)
}

fn ring_pty(args: &Args) -> Outcome {
    let (master, slave) = nested::raw_pair()?;
    let seat = |fd: OwnedFd, takes_terminal| {
        let to = fd.try_clone().to("duplicate a descriptor")?;
        Ok(Seat { from: fd, to, takes_terminal })
    };
    pass_around(vec![seat(master, false)?, seat(slave, true)?], args)
}

/// Each reads from its own channel and writes to that of the next.
fn ring(
    count: usize,
    channel: impl Fn() -> io::Result<(OwnedFd, OwnedFd)>,
) -> Result<Vec<Seat>, Failure> {
    let channels: io::Result<Vec<_>> = (0..count).map(|_| channel()).collect();
    let (froms, mut tos): (Vec<_>, Vec<_>) = channels.to("make the ring")?.into_iter().unzip();
    tos.rotate_left(1);
    let seats = froms.into_iter().zip(tos);
    Ok(seats.map(|(from, to)| Seat { from, to, takes_terminal: false }).collect())
}

/// The first seat is the probe's own; the others are its children's.
fn pass_around(mut seats: Vec<Seat>, args: &Args) -> Outcome {
    let rhythm = Rhythm::new(args)?;
    let mut others: Vec<(&str, Pid)> = Vec::new();
    if args.has("--reader") {
        others.push(("reader", child(|| read(sys::stdin()))?));
    }
    while seats.len() > 1 {
        let seat = seats.remove(1);
        others.push(("next", child(|| play(seat, rhythm))?));
    }
    let own = seats.remove(0);
    ready(&others)?;
    write(&own.to, b"x").to("pass the byte on")?;
    play(own, rhythm)
}

fn play(seat: Seat, rhythm: Rhythm) -> Outcome {
    if seat.takes_terminal {
        nested::lead_session(&seat.from)?;
    }
    loop {
        read(&seat.from)?;
        compute_for(rhythm.work);
        if !rhythm.sleep.is_zero() {
            sys::nanosleep(rhythm.sleep).to("sleep")?;
        }
        write(&seat.to, b"x").to("pass the byte on")?;
    }
}
