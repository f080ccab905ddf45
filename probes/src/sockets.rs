//! Unix and UDP sockets.

use std::io::IoSliceMut;
use std::net::UdpSocket;
use std::os::fd::AsRawFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener, UnixStream};
use std::process;

use nix::sys::socket::{MsgFlags, UnixAddr, recvmsg};

use crate::args::Args;
use crate::failure::{Failure, Outcome, Step};
use crate::stage::{HOUR, child, compute, outsider, read, ready};
use crate::{Group::Sockets, Probe};

pub(crate) const PROBES: &[Probe] = &[
    Probe::new(
        Sockets,
        "unix-self",
        "read(2) of a unix socket whose peer it holds itself",
        of_self,
    ),
    Probe::new(
        Sockets,
        "unix-child",
        "read(2) of a unix socket by both ends, parent and child",
        with_child,
    ),
    Probe::new(
        Sockets,
        "unix-child-busy",
        "read(2) of a unix socket whose peer is a child that computes",
        with_busy_child,
    ),
    Probe::new(
        Sockets,
        "unix-outside",
        "read(2) of a unix socket whose peer is not of the job",
        with_outsider,
    ),
    Probe::new(Sockets, "unix-accept", "accept(2) on a unix socket", accept),
    Probe::new(Sockets, "unix-datagram", "recvfrom(2) on a bound unix datagram socket", datagram),
    Probe::new(
        Sockets,
        "recvmsg",
        "recvmsg(2) on a unix socket whose peer it holds itself",
        receive_message,
    ),
    Probe::new(
        Sockets,
        "recv-timeout",
        "recvfrom(2) with SO_RCVTIMEO of an hour; its peer it holds itself",
        receive_timeout,
    ),
    Probe::new(Sockets, "udp-server", "recvfrom(2) on a bound UDP socket", udp_server),
];

fn pair() -> Result<(UnixStream, UnixStream), Failure> {
    UnixStream::pair().to("make a socket pair")
}

/// An abstract name: there is no file to be left behind.
fn name() -> Result<SocketAddr, Failure> {
    let name = format!("awaitty-probe-{}", process::id());
    SocketAddr::from_abstract_name(name).to("make a socket name")
}

fn of_self(_: &Args) -> Outcome {
    let (one, _other) = pair()?;
    ready(&[])?;
    read(&one)
}

fn with_child(_: &Args) -> Outcome {
    let (one, other) = pair()?;
    let child = child(move || read(&other))?;
    ready(&[("child", child)])?;
    read(&one)
}

fn with_busy_child(_: &Args) -> Outcome {
    let (one, other) = pair()?;
    let child = child(move || {
        let _other = other;
        compute()
    })?;
    ready(&[("child", child)])?;
    read(&one)
}

fn with_outsider(_: &Args) -> Outcome {
    let (one, other) = pair()?;
    let outsider = outsider(move |lifeline| {
        let _other = other;
        lifeline.hold()
    })?;
    ready(&[("outside", outsider)])?;
    read(&one)
}

fn accept(_: &Args) -> Outcome {
    let listener = UnixListener::bind_addr(&name()?).to("listen on a unix socket")?;
    ready(&[])?;
    listener.accept().to("accept")?;
    Ok(())
}

fn datagram(_: &Args) -> Outcome {
    let socket = UnixDatagram::bind_addr(&name()?).to("bind a unix socket")?;
    ready(&[])?;
    socket.recv_from(&mut [0; 4096]).to("receive")?;
    Ok(())
}

fn receive_message(_: &Args) -> Outcome {
    let (one, _other) = UnixDatagram::pair().to("make a socket pair")?;
    let mut buffer = [0; 4096];
    let mut vector = [IoSliceMut::new(&mut buffer)];
    ready(&[])?;
    recvmsg::<UnixAddr>(one.as_raw_fd(), &mut vector, None, MsgFlags::empty()).to("recvmsg")?;
    Ok(())
}

/// The timeout is the socket's own, not an argument of the call.
fn receive_timeout(_: &Args) -> Outcome {
    let (one, _other) = UnixDatagram::pair().to("make a socket pair")?;
    one.set_read_timeout(Some(HOUR)).to("set the socket's timeout")?;
    ready(&[])?;
    one.recv(&mut [0; 4096]).to("receive")?;
    Ok(())
}

fn udp_server(_: &Args) -> Outcome {
    let socket = UdpSocket::bind("127.0.0.1:0").to("bind a UDP socket")?;
    ready(&[])?;
    socket.recv_from(&mut [0; 4096]).to("receive")?;
    Ok(())
}
