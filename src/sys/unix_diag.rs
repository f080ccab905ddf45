//! Unix sockets by inode, through sock_diag(7): the only place where the kernel names a peer.

use std::os::fd::{AsRawFd, OwnedFd};

use netlink_packet_core::{NLM_F_REQUEST, NetlinkHeader, NetlinkMessage, NetlinkPayload};
use netlink_packet_sock_diag::SockDiagMessage;
use netlink_packet_sock_diag::constants::TCP_LISTEN;
use netlink_packet_sock_diag::unix::nlas::UnixDiagName;
use netlink_packet_sock_diag::unix::{ShowFlags, StateFlags, UnixRequest, UnixResponse};
use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, recv, send, socket, socketpair,
};

use super::stat;

/// A netlink socket kept open for questions about the unix sockets of the network namespace in
/// which it was opened.
#[derive(Debug)]
pub struct UnixDiag {
    socket: OwnedFd,
    sequence: u32,
    buffer: Vec<u8>,
}

/// What the kernel says of one unix socket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The inode of its peer; 0 without one, or before the connection is accepted.
    pub peer: u32,
    /// It accepts connections.
    pub listening: bool,
    /// The path it is bound to, or its abstract name with `@` for each NUL; lossy.
    pub name: Option<String>,
}

impl UnixDiag {
    /// Opens the socket and asks it about a socket of our own.
    ///
    /// # Errors
    /// `EPROTONOSUPPORT` or `EOPNOTSUPP` where this kernel cannot answer (`CONFIG_UNIX_DIAG`).
    pub fn open() -> nix::Result<UnixDiag> {
        let flags = SockFlag::SOCK_CLOEXEC;
        let netlink = SockProtocol::NetlinkSockDiag;
        let socket = socket(AddressFamily::Netlink, SockType::Datagram, flags, netlink)?;
        let mut diag = UnixDiag { socket, sequence: 0, buffer: vec![0; 8192] };

        // Without its module the kernel answers every question with ENOENT, as it does for an
        // inode that is gone. A socket that surely exists tells the two apart.
        let (own, _peer) = socketpair(AddressFamily::Unix, SockType::Stream, None, flags)?;
        match diag.query(stat::of(&own)?.ino) {
            Ok(_) => Ok(diag),
            Err(Errno::ENOENT) => Err(Errno::EOPNOTSUPP),
            Err(errno) => Err(errno),
        }
    }

    /// Asks about the unix socket with this inode.
    ///
    /// # Errors
    /// `ENOENT` when there is none in this network namespace.
    pub fn query(&mut self, ino: u64) -> nix::Result<Answer> {
        let inode = u32::try_from(ino).map_err(|_| Errno::ENOENT)?;
        self.sequence = self.sequence.wrapping_add(1);
        let mut header = NetlinkHeader::default();
        header.flags = NLM_F_REQUEST;
        header.sequence_number = self.sequence;
        let question = UnixRequest {
            state_flags: StateFlags::all(),
            inode,
            show_flags: ShowFlags::NAME | ShowFlags::PEER,
            cookie: [0xff; 8],
        };
        let payload = NetlinkPayload::from(SockDiagMessage::UnixRequest(question));
        let mut message = NetlinkMessage::new(header, payload);
        message.finalize();
        message.serialize(&mut self.buffer[..message.buffer_len()]);
        send(self.socket.as_raw_fd(), &self.buffer[..message.buffer_len()], MsgFlags::empty())?;
        self.receive()
    }

    /// Takes the answer to the last question, past late ones to earlier questions. sock_diag
    /// answers within send(2), so an empty queue means that no answer will come.
    fn receive(&mut self) -> nix::Result<Answer> {
        loop {
            let length = recv(self.socket.as_raw_fd(), &mut self.buffer, MsgFlags::MSG_DONTWAIT)?;
            let message = NetlinkMessage::<SockDiagMessage>::deserialize(&self.buffer[..length])
                .map_err(|_| Errno::EBADMSG)?;
            if message.header.sequence_number != self.sequence {
                continue;
            }
            return match message.payload {
                NetlinkPayload::InnerMessage(SockDiagMessage::UnixResponse(answer)) => {
                    Ok(Answer::from(&*answer))
                }
                NetlinkPayload::Error(error) => Err(Errno::from_raw(-error.raw_code())),
                _ => Err(Errno::EBADMSG),
            };
        }
    }
}

impl From<&UnixResponse> for Answer {
    fn from(response: &UnixResponse) -> Answer {
        Answer {
            peer: response.peer().unwrap_or(0),
            listening: response.header.state == TCP_LISTEN,
            name: response.name().map(|name| match name {
                UnixDiagName::Pathname(path) => path.to_string_lossy().into_owned(),
                UnixDiagName::Abstract(name) => {
                    format!("@{}", String::from_utf8_lossy(name).replace('\0', "@"))
                }
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use std::os::linux::net::SocketAddrExt;
    use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};

    use super::*;

    fn inode<Fd: std::os::fd::AsFd>(fd: Fd) -> u64 {
        stat::of(fd).unwrap().ino
    }

    #[test]
    fn a_pair_names_each_other() {
        let mut diag = UnixDiag::open().unwrap();
        let (one, other) = UnixStream::pair().unwrap();
        let answer = diag.query(inode(&one)).unwrap();
        assert_eq!(u64::from(answer.peer), inode(&other));
        assert_eq!((answer.listening, answer.name), (false, None));
    }

    #[test]
    fn a_listener_has_a_name() {
        let name = format!("awaitty-test-{}\0x", std::process::id());
        let address = SocketAddr::from_abstract_name(&name).unwrap();
        let listener = UnixListener::bind_addr(&address).unwrap();
        let answer = UnixDiag::open().unwrap().query(inode(&listener)).unwrap();
        assert!(answer.listening);
        assert_eq!(answer.peer, 0);
        assert_eq!(answer.name, Some(format!("@{}", name.replace('\0', "@"))));
    }

    #[test]
    fn an_inode_without_a_socket() {
        let mut diag = UnixDiag::open().unwrap();
        assert_eq!(diag.query(u64::from(u32::MAX)), Err(Errno::ENOENT));
        assert_eq!(diag.query(u64::MAX), Err(Errno::ENOENT));
        let (one, _other) = UnixStream::pair().unwrap();
        assert!(diag.query(inode(&one)).is_ok(), "still in step after a refusal");
    }
}
