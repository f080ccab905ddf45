//! TCP sockets by their addresses, through sock_diag(7).
//!
//! A connection is found by its hash, in microseconds, while a read of `/proc/net/tcp` walks every
//! bucket of the kernel's table, however few sockets there are: 1.2 ms for the 262,144 buckets that
//! Linux 6.18 sets up on a machine of 24 GB.
//!
//! Either family finds a connection over IPv4, whichever its socket was opened with: for
//! `AF_INET6` with two mapped addresses the kernel looks among IPv4 connections, and an IPv6 socket
//! with mapped addresses is one of them (`inet_diag_find_one_icsk` in net/ipv4/inet_diag.c, since
//! 4.5). The family of the answer is that of the socket.

use std::net::{IpAddr, SocketAddr};

use netlink_packet_sock_diag::SockDiagMessage;
use netlink_packet_sock_diag::constants::{AF_INET, AF_INET6, IPPROTO_TCP, TCP_LISTEN};
use netlink_packet_sock_diag::inet::{ExtensionFlags, InetRequest, SocketId, StateFlags};
use nix::errno::Errno;

use super::sock_diag::SockDiag;

/// What the kernel says of one TCP socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Answer {
    /// Its inode; 0 when no descriptor refers to it: not accepted yet, or closed.
    pub ino: u32,
    /// Its state, as in `include/net/tcp_states.h`.
    pub state: u8,
    /// Bytes received that nobody has read; when listening, connections not yet accepted.
    pub rx_queue: u32,
    /// Bytes sent that the peer has not acknowledged; when listening, the most connections that
    /// may be unaccepted.
    pub tx_queue: u32,
}

impl SockDiag {
    /// Asks about the connection with these addresses, or, if the remote port is 0, about a
    /// listener on the local one.
    ///
    /// # Errors
    /// `ENOENT` when there is none in this network namespace, when it is bound to an interface
    /// (SO_BINDTODEVICE, link-local addresses), or when this kernel cannot answer
    /// (`CONFIG_INET_TCP_DIAG`).
    pub fn tcp_socket(&mut self, local: SocketAddr, remote: SocketAddr) -> nix::Result<Answer> {
        let (family, source, destination) = match (local.ip(), remote.ip()) {
            (IpAddr::V4(_), IpAddr::V4(_)) => (AF_INET, local.ip(), remote.ip()),
            (source, destination) => (AF_INET6, as_v6(source), as_v6(destination)),
        };
        let question = InetRequest {
            family,
            protocol: IPPROTO_TCP,
            extensions: ExtensionFlags::empty(),
            states: StateFlags::all(),
            socket_id: SocketId {
                source_port: local.port(),
                destination_port: remote.port(),
                source_address: source,
                destination_address: destination,
                interface_id: 0,
                // INET_DIAG_NOCOOKIE, in both halves.
                cookie: [0xff; 8],
            },
        };
        let answer = match self.ask(SockDiagMessage::InetRequest(question))? {
            SockDiagMessage::InetResponse(answer) => answer.header,
            _ => return Err(Errno::EBADMSG),
        };
        // Where no connection matches, the kernel goes on to look for a listener on the local
        // address, as it would for a segment that comes in.
        if answer.state == TCP_LISTEN && remote.port() != 0 {
            return Err(Errno::ENOENT);
        }
        Ok(Answer {
            ino: answer.inode,
            state: answer.state,
            rx_queue: answer.recv_queue,
            tx_queue: answer.send_queue,
        })
    }
}

fn as_v6(ip: IpAddr) -> IpAddr {
    match ip {
        IpAddr::V4(ip) => IpAddr::V6(ip.to_ipv6_mapped()),
        IpAddr::V6(_) => ip,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsFd;

    use netlink_packet_sock_diag::constants::TCP_ESTABLISHED;

    use super::*;
    use crate::sys::stat;

    fn inode<Fd: AsFd>(fd: Fd) -> u32 {
        u32::try_from(stat::of(fd).unwrap().ino).unwrap()
    }

    /// Both ends of a connection to a listener on `address`.
    fn pair(address: &str, listener: &TcpListener) -> (TcpStream, TcpStream) {
        let near = TcpStream::connect((address, listener.local_addr().unwrap().port())).unwrap();
        let (far, _) = listener.accept().unwrap();
        (near, far)
    }

    fn canonical(address: SocketAddr) -> SocketAddr {
        SocketAddr::new(address.ip().to_canonical(), address.port())
    }

    fn mapped(address: SocketAddr) -> SocketAddr {
        SocketAddr::new(as_v6(address.ip()), address.port())
    }

    fn asks_about(diag: &mut SockDiag, near: SocketAddr, far: SocketAddr, inode: u32) {
        let answer = diag.tcp_socket(near, far).unwrap();
        let quiet = Answer { ino: inode, state: TCP_ESTABLISHED, rx_queue: 0, tx_queue: 0 };
        assert_eq!(answer, quiet);
    }

    #[test]
    fn both_ends_over_either_family() {
        let mut diag = SockDiag::open().unwrap();
        for address in ["127.0.0.1", "::1"] {
            let listener = TcpListener::bind((address, 0)).unwrap();
            let (near, far) = pair(address, &listener);
            let (local, remote) = (near.local_addr().unwrap(), near.peer_addr().unwrap());
            asks_about(&mut diag, local, remote, inode(&near));
            asks_about(&mut diag, remote, local, inode(&far));
        }
    }

    #[test]
    fn an_ipv4_connection_to_an_ipv6_listener() {
        let mut diag = SockDiag::open().unwrap();
        // Dual-stack unless /proc/sys/net/ipv6/bindv6only says otherwise.
        let listener = TcpListener::bind("[::]:0").unwrap();
        let (near, far) = pair("127.0.0.1", &listener);
        let (local, remote) = (near.local_addr().unwrap(), near.peer_addr().unwrap());
        assert_ne!(far.local_addr().unwrap(), canonical(far.local_addr().unwrap()), "mapped");
        for (local, remote) in [(local, remote), (mapped(local), mapped(remote))] {
            asks_about(&mut diag, local, remote, inode(&near));
            asks_about(&mut diag, remote, local, inode(&far));
        }
    }

    #[test]
    fn bytes_that_nobody_has_read() {
        let mut diag = SockDiag::open().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (mut near, mut far) = pair("127.0.0.1", &listener);
        let (local, remote) = (near.local_addr().unwrap(), near.peer_addr().unwrap());
        near.write_all(b"four").unwrap();
        far.peek(&mut [0; 4]).unwrap();
        assert_eq!(diag.tcp_socket(remote, local).unwrap().rx_queue, 4);
        far.read_exact(&mut [0; 4]).unwrap();
        assert_eq!(diag.tcp_socket(remote, local).unwrap().rx_queue, 0);
    }

    #[test]
    fn a_listener_is_no_connection() {
        let mut diag = SockDiag::open().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let local = listener.local_addr().unwrap();
        let nobody = SocketAddr::from(([0, 0, 0, 0], 0));
        let answer = diag.tcp_socket(local, nobody).unwrap();
        assert_eq!((answer.ino, answer.state), (inode(&listener), TCP_LISTEN));
        let stranger = SocketAddr::from(([127, 0, 0, 1], 1));
        assert_eq!(diag.tcp_socket(local, stranger), Err(Errno::ENOENT));
    }
}
