//! sock_diag(7): questions about single sockets of one network namespace.

use std::os::fd::{AsRawFd, OwnedFd};

use netlink_packet_core::{NLM_F_REQUEST, NetlinkHeader, NetlinkMessage, NetlinkPayload};
use netlink_packet_sock_diag::SockDiagMessage;
use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, recv, send, socket,
};

/// A netlink socket kept open for questions about the sockets of the network namespace in which it
/// was opened.
#[derive(Debug)]
pub struct SockDiag {
    socket: OwnedFd,
    sequence: u32,
    buffer: Vec<u8>,
}

impl SockDiag {
    /// Opens the socket.
    ///
    /// # Errors
    /// `EPROTONOSUPPORT` where this kernel has no such sockets (`CONFIG_INET_DIAG`,
    /// `CONFIG_UNIX_DIAG`).
    pub fn open() -> nix::Result<SockDiag> {
        let flags = SockFlag::SOCK_CLOEXEC;
        let netlink = SockProtocol::NetlinkSockDiag;
        let socket = socket(AddressFamily::Netlink, SockType::Datagram, flags, netlink)?;
        Ok(SockDiag { socket, sequence: 0, buffer: vec![0; 8192] })
    }

    /// Puts a question about one socket; the answer is of the same family.
    pub(super) fn ask(&mut self, question: SockDiagMessage) -> nix::Result<SockDiagMessage> {
        self.sequence = self.sequence.wrapping_add(1);
        let mut header = NetlinkHeader::default();
        header.flags = NLM_F_REQUEST;
        header.sequence_number = self.sequence;
        let mut message = NetlinkMessage::new(header, NetlinkPayload::from(question));
        message.finalize();
        message.serialize(&mut self.buffer[..message.buffer_len()]);
        send(self.socket.as_raw_fd(), &self.buffer[..message.buffer_len()], MsgFlags::empty())?;
        self.receive()
    }

    /// Takes the answer to the last question, past late ones to earlier questions. sock_diag
    /// answers within send(2), so an empty queue means that no answer will come.
    fn receive(&mut self) -> nix::Result<SockDiagMessage> {
        loop {
            let length = recv(self.socket.as_raw_fd(), &mut self.buffer, MsgFlags::MSG_DONTWAIT)?;
            let message = NetlinkMessage::<SockDiagMessage>::deserialize(&self.buffer[..length])
                .map_err(|_| Errno::EBADMSG)?;
            if message.header.sequence_number != self.sequence {
                continue;
            }
            return match message.payload {
                NetlinkPayload::InnerMessage(answer) => Ok(answer),
                NetlinkPayload::Error(error) => Err(Errno::from_raw(-error.raw_code())),
                _ => Err(Errno::EBADMSG),
            };
        }
    }
}
