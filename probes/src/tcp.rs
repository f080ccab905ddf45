//! TCP over the loopback interface.

use std::io::Read;
use std::net::{Ipv4Addr, TcpListener, TcpStream};

use nix::sys::socket::{Backlog, listen};

use crate::args::Args;
use crate::failure::{Failure, Outcome, Step};
use crate::stage::{child, compute, outsider, ready};
use crate::{Group::Sockets, Probe};

pub(crate) const PROBES: &[Probe] = &[
    Probe::new(Sockets, "tcp-accept", "accept(2) on a TCP socket", accept),
    Probe::new(
        Sockets,
        "tcp-connect",
        "connect(2) to a listener, not of the job, whose backlog is full",
        connect_full,
    ),
    Probe::new(
        Sockets,
        "tcp-child",
        "recvfrom(2) on a TCP socket by both ends, parent and child",
        with_child,
    ),
    Probe::new(
        Sockets,
        "tcp-child-busy",
        "recvfrom(2) on a TCP socket whose peer is a child that computes",
        with_busy_child,
    ),
    Probe::new(
        Sockets,
        "tcp-outside",
        "recvfrom(2) on a TCP socket whose peer is not of the job",
        with_outsider,
    ),
];

fn listener() -> Result<TcpListener, Failure> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).to("listen on a TCP socket")
}

fn pair() -> Result<(TcpStream, TcpStream), Failure> {
    let listener = listener()?;
    let address = listener.local_addr().to("get the socket's address")?;
    let one = TcpStream::connect(address).to("connect")?;
    let (other, _) = listener.accept().to("accept")?;
    Ok((one, other))
}

fn receive(mut from: &TcpStream) -> Outcome {
    from.read(&mut [0; 4096]).to("receive")?;
    Ok(())
}

fn accept(_: &Args) -> Outcome {
    let listener = listener()?;
    ready(&[])?;
    listener.accept().to("accept")?;
    Ok(())
}

/// A backlog of 0 admits one connection; the handshake of a second one is not answered.
fn connect_full(_: &Args) -> Outcome {
    let listener = listener()?;
    listen(&listener, Backlog::new(0).to("set the backlog")?).to("set the backlog")?;
    let address = listener.local_addr().to("get the socket's address")?;
    let outsider = outsider(move |lifeline| {
        let _listener = listener;
        let _admitted = TcpStream::connect(address).to("connect")?;
        lifeline.hold()
    })?;
    ready(&[("outside", outsider)])?;
    TcpStream::connect(address).to("connect")?;
    Ok(())
}

fn with_child(_: &Args) -> Outcome {
    let (one, other) = pair()?;
    let child = child(move || receive(&other))?;
    ready(&[("child", child)])?;
    receive(&one)
}

fn with_busy_child(_: &Args) -> Outcome {
    let (one, other) = pair()?;
    let child = child(move || {
        let _other = other;
        compute()
    })?;
    ready(&[("child", child)])?;
    receive(&one)
}

fn with_outsider(_: &Args) -> Outcome {
    let (one, other) = pair()?;
    let outsider = outsider(move |lifeline| {
        let _other = other;
        lifeline.hold()
    })?;
    ready(&[("outside", outsider)])?;
    receive(&one)
}
