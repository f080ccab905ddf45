//! Unix sockets by inode, through sock_diag(7): the only place where the kernel names a peer.

use netlink_packet_sock_diag::SockDiagMessage;
use netlink_packet_sock_diag::constants::{TCP_ESTABLISHED, TCP_LISTEN};
use netlink_packet_sock_diag::unix::nlas::UnixDiagName;
use netlink_packet_sock_diag::unix::{ShowFlags, StateFlags, UnixRequest, UnixResponse};
use nix::errno::Errno;
use nix::sys::socket::{AddressFamily, SockFlag, SockType, socketpair};

use super::sock_diag::SockDiag;
use super::stat;

/// What the kernel says of one unix socket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The inode of its peer; 0 without one, or before the connection is accepted.
    pub peer: u32,
    /// It accepts connections.
    pub listening: bool,
    /// It is connected, accepted or not.
    pub connected: bool,
    /// The path it is bound to, or its abstract name with `@` for each NUL; lossy.
    pub name: Option<String>,
}

impl SockDiag {
    /// Tries a question about a unix socket of our own. Without its module the kernel answers every
    /// question with ENOENT, as it does for an inode that is gone; a socket that surely exists
    /// tells the two apart.
    ///
    /// # Errors
    /// `EOPNOTSUPP` where this kernel cannot answer (`CONFIG_UNIX_DIAG`).
    pub fn try_unix(&mut self) -> nix::Result<()> {
        let flags = SockFlag::SOCK_CLOEXEC;
        let (own, _peer) = socketpair(AddressFamily::Unix, SockType::Stream, None, flags)?;
        match self.unix_socket(stat::of(&own)?.ino) {
            Ok(answer) if answer.peer != 0 => Ok(()),
            Ok(_) | Err(Errno::ENOENT) => Err(Errno::EOPNOTSUPP),
            Err(errno) => Err(errno),
        }
    }

    /// Asks about the unix socket with this inode.
    ///
    /// # Errors
    /// `ENOENT` when there is none in this network namespace.
    pub fn unix_socket(&mut self, ino: u64) -> nix::Result<Answer> {
        let inode = u32::try_from(ino).map_err(|_| Errno::ENOENT)?;
        let question = UnixRequest {
            state_flags: StateFlags::all(),
            inode,
            show_flags: ShowFlags::NAME | ShowFlags::PEER,
            cookie: [0xff; 8],
        };
        match self.ask(SockDiagMessage::UnixRequest(question))? {
            SockDiagMessage::UnixResponse(answer) => Ok(Answer::from(&*answer)),
            _ => Err(Errno::EBADMSG),
        }
    }
}

impl From<&UnixResponse> for Answer {
    fn from(response: &UnixResponse) -> Answer {
        Answer {
            peer: response.peer().unwrap_or(0),
            listening: response.header.state == TCP_LISTEN,
            connected: response.header.state == TCP_ESTABLISHED,
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
        let mut diag = SockDiag::open().unwrap();
        assert_eq!(diag.try_unix(), Ok(()));
        let (one, other) = UnixStream::pair().unwrap();
        let answer = diag.unix_socket(inode(&one)).unwrap();
        assert_eq!(u64::from(answer.peer), inode(&other));
        assert_eq!((answer.listening, answer.name), (false, None));
    }

    #[test]
    fn a_listener_has_a_name() {
        let name = format!("awaitty-test-{}\0x", std::process::id());
        let address = SocketAddr::from_abstract_name(&name).unwrap();
        let listener = UnixListener::bind_addr(&address).unwrap();
        let answer = SockDiag::open().unwrap().unix_socket(inode(&listener)).unwrap();
        assert!(answer.listening);
        assert_eq!(answer.peer, 0);
        assert_eq!(answer.name, Some(format!("@{}", name.replace('\0', "@"))));
    }

    #[test]
    fn an_inode_without_a_socket() {
        let mut diag = SockDiag::open().unwrap();
        assert_eq!(diag.unix_socket(u64::from(u32::MAX)), Err(Errno::ENOENT));
        assert_eq!(diag.unix_socket(u64::MAX), Err(Errno::ENOENT));
        let (one, _other) = UnixStream::pair().unwrap();
        assert!(diag.unix_socket(inode(&one)).is_ok(), "still in step after a refusal");
    }
}
