//! Sockets by inode: the addresses of internet sockets, and who is at the other end.
//!
//! Only the tables of `/proc/PID/net` lead from an inode to addresses, and those of TCP cost
//! milliseconds ([`crate::sys::inet_diag`]). So they are read at most once a look, and what they
//! said of a TCP socket is remembered for the looks after it: as long as sock_diag(7) finds the
//! same inodes at both ends by their addresses, nothing has changed.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

use super::{FileId, Kernel, NetTable, Object, Pid, Protocol, ReadError, Source};
use crate::proc::net::{self, Row};

/// More sockets than this are found in the tables and not asked for one by one: 10 µs each, against
/// milliseconds.
const MOST_ASKED: usize = 100;
/// A job that opens connections for ever must not fill our memory.
const MOST_REMEMBERED: usize = 1000;

/// An internet socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Inet {
    pub(super) ino: u64,
    /// The inode of the other end, where that is on this machine; 0 before it is accepted.
    pub(super) peer: u64,
    protocol: Protocol,
    local: SocketAddr,
    remote: SocketAddr,
    listening: bool,
}

/// What is on its way to one end of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Transit {
    Empty,
    Bytes,
    /// The connection is gone, or its ends are others than was thought.
    Changed,
}

/// What is known of sockets, within a look and from one look to the next.
#[derive(Debug, Default)]
pub(super) struct Sockets {
    /// TCP sockets that sock_diag(7) found by their addresses, by inode.
    confirmed: BTreeMap<u64, Inet>,
    /// Those of them that it found in this look.
    fresh: BTreeSet<u64>,
    /// What was read in this look of the tables, by network namespace.
    tables: BTreeMap<(FileId, Protocol), Vec<Row>>,
    /// How many sockets were asked about in this look.
    asked: usize,
}

impl Sockets {
    /// From here on, what was read before is no longer taken for true.
    pub(super) fn ask_anew(&mut self) {
        self.fresh.clear();
        self.tables.clear();
        self.asked = 0;
    }

    /// The socket with this inode, of which process `pid` has a descriptor.
    pub(super) fn resolve(&mut self, kernel: &mut dyn Kernel, pid: Pid, ino: u64) -> Object {
        if let Some(inet) = self.remembered(kernel, pid, ino) {
            return Object::from(inet);
        }
        if let Ok(socket) = kernel.unix_socket(pid, ino) {
            return Object::Unix {
                ino,
                peer: socket.peer,
                listening: socket.listening,
                connected: socket.connected,
                name: socket.name,
            };
        }
        match self.found(kernel, pid, ino) {
            Some(inet) => Object::from(inet),
            None => Object::Socket { ino, netlink: is_netlink(kernel, pid, ino) },
        }
    }

    /// The bytes on their way to the near end of a connection at this moment.
    pub(super) fn transit(&mut self, kernel: &mut dyn Kernel, pid: Pid, near: &Inet) -> Transit {
        if self.confirmed.get(&near.ino) == Some(near)
            && let Some(Ok(transit)) = self.ask(kernel, pid, near)
        {
            if transit == Transit::Changed {
                self.confirmed.remove(&near.ino);
            }
            return transit;
        }
        if near.peer == 0 {
            return Transit::Empty;
        }
        let Ok(rows) = self.rows(kernel, pid, near.protocol) else { return Transit::Changed };
        let row = |ino: u64| rows.iter().find(|row| row.ino == ino);
        match (row(near.ino), row(near.peer)) {
            (Some(near), Some(far)) if is_pair(near, far) => transit(far.tx_queue),
            _ => Transit::Changed,
        }
    }

    fn remembered(&mut self, kernel: &mut dyn Kernel, pid: Pid, ino: u64) -> Option<Inet> {
        let inet = self.confirmed.get(&ino).copied()?;
        if self.fresh.contains(&ino) {
            return Some(inet);
        }
        match self.ask(kernel, pid, &inet)? {
            Ok(Transit::Empty | Transit::Bytes) => {
                self.fresh.insert(ino);
                Some(inet)
            }
            Ok(Transit::Changed) | Err(_) => {
                self.confirmed.remove(&ino);
                None
            }
        }
    }

    /// Looks for an inode in the tables; those of UDP first, because they cost next to nothing.
    fn found(&mut self, kernel: &mut dyn Kernel, pid: Pid, ino: u64) -> Option<Inet> {
        let inet = [Protocol::Udp, Protocol::Tcp].into_iter().find_map(|protocol| {
            Inet::among(self.rows(kernel, pid, protocol).ok()?, protocol, ino)
        })?;
        if inet.protocol == Protocol::Tcp
            && let Some(Ok(Transit::Empty | Transit::Bytes)) = self.ask(kernel, pid, &inet)
        {
            if self.confirmed.len() >= MOST_REMEMBERED {
                self.confirmed.clear();
            }
            self.confirmed.insert(ino, inet);
            self.fresh.insert(ino);
        }
        Some(inet)
    }

    /// Asks sock_diag(7) for a TCP socket; `None` where the tables are the cheaper way.
    fn ask(
        &mut self,
        kernel: &mut dyn Kernel,
        pid: Pid,
        inet: &Inet,
    ) -> Option<Result<Transit, ReadError>> {
        self.asked += 1;
        (self.asked <= MOST_ASKED).then(|| inet.ask(kernel, pid))
    }

    /// The sockets of one protocol in the network namespace of `pid`.
    fn rows(
        &mut self,
        kernel: &mut dyn Kernel,
        pid: Pid,
        protocol: Protocol,
    ) -> Result<&[Row], ReadError> {
        let namespace = kernel.net_namespace(pid)?;
        Ok(self.tables.entry((namespace, protocol)).or_insert_with(|| {
            let tables = match protocol {
                Protocol::Tcp => [NetTable::Tcp, NetTable::Tcp6],
                Protocol::Udp => [NetTable::Udp, NetTable::Udp6],
            };
            let texts = tables.map(|table| kernel.net_table(pid, table).unwrap_or_default());
            texts.iter().flat_map(|text| net::rows(text)).collect()
        }))
    }
}

impl Inet {
    /// The socket that a wait reads from, if it is one with an end elsewhere. Who waits to write may
    /// have bytes before it for ever: those that nobody reads.
    pub(super) fn read_from(source: &Source) -> Option<Inet> {
        let Source::Object { object, interest, .. } = source else { return None };
        match *object {
            _ if !interest.read => None,
            Object::Inet { ino, protocol, local, remote, listening: false, peer } => {
                Some(Inet { ino, peer, protocol, local, remote, listening: false })
            }
            _ => None,
        }
    }

    fn among(rows: &[Row], protocol: Protocol, ino: u64) -> Option<Inet> {
        let row = rows.iter().find(|row| row.ino == ino)?;
        let listening = match protocol {
            Protocol::Tcp => row.state == net::LISTEN,
            Protocol::Udp => row.remote.port() == 0,
        };
        let far = rows.iter().find(|far| !listening && is_pair(row, far));
        let peer = far.map_or(0, |far| far.ino);
        let Row { local, remote, .. } = *row;
        Some(Inet { ino, peer, protocol, local, remote, listening })
    }

    /// Are the ends of a TCP socket still those that were remembered, and what is between them?
    ///
    /// The far end is asked for after the near one. Bytes that it sends in between can escape both
    /// answers, but then they wake whoever reads at the near end, and the second pass sees that.
    fn ask(&self, kernel: &mut dyn Kernel, pid: Pid) -> Result<Transit, ReadError> {
        match kernel.tcp_connection(pid, self.local, self.remote) {
            Ok(near) if near.ino == self.ino => {}
            Ok(_) | Err(ReadError::Gone) => return Ok(Transit::Changed),
            Err(error) => return Err(error),
        }
        if self.listening {
            return Ok(Transit::Empty);
        }
        match kernel.tcp_connection(pid, self.remote, self.local) {
            Ok(far) if far.ino != self.peer => Ok(Transit::Changed),
            Err(ReadError::Gone) if self.peer != 0 => Ok(Transit::Changed),
            // Not on this machine, or nobody has it yet: what it sends comes from outside.
            Ok(_) | Err(ReadError::Gone) if self.peer == 0 => Ok(Transit::Empty),
            Ok(far) => Ok(transit(far.tx_queue)),
            Err(error) => Err(error),
        }
    }
}

impl From<Inet> for Object {
    fn from(inet: Inet) -> Object {
        let Inet { ino, peer, protocol, local, remote, listening } = inet;
        Object::Inet { ino, protocol, local, remote, listening, peer }
    }
}

/// What is on its way to a reader: what the far end has sent and was not told the arrival of. What
/// has arrived and was not read is under way no more: its arrival has woken whoever it would wake.
fn transit(sent: u32) -> Transit {
    if sent == 0 { Transit::Empty } else { Transit::Bytes }
}

/// Is it a netlink socket? (`/proc/net/netlink`, whose last column is the inode; a socket comes into
/// it when it is bound.)
fn is_netlink(kernel: &mut dyn Kernel, pid: Pid, ino: u64) -> bool {
    let table = kernel.net_table(pid, NetTable::Netlink).unwrap_or_default();
    table.lines().any(|line| {
        line.split_ascii_whitespace().next_back().and_then(|field| field.parse().ok()) == Some(ino)
    })
}

/// Are these the two ends of one connection? Their addresses compare equal even where one end is an
/// IPv6 socket.
fn is_pair(near: &Row, far: &Row) -> bool {
    near.local == far.remote && near.remote == far.local
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream, UdpSocket};
    use std::os::fd::AsFd;

    use super::*;
    use crate::observe::Live;
    use crate::sys::stat;

    /// A looker at the sockets of this process.
    struct Own {
        kernel: Live,
        sockets: Sockets,
    }

    impl Own {
        fn new() -> Own {
            Own { kernel: Live::new(), sockets: Sockets::default() }
        }

        fn resolve(&mut self, fd: impl AsFd) -> Inet {
            let own = std::process::id().cast_signed();
            let object = self.sockets.resolve(&mut self.kernel, own, inode(fd));
            let Object::Inet { ino, protocol, local, remote, listening, peer } = object else {
                panic!("{object:?}")
            };
            Inet { ino, peer, protocol, local, remote, listening }
        }

        /// In a look of its own, by the tables or without them.
        fn transit(&mut self, near: &Inet, by_tables: bool) -> Transit {
            self.sockets.ask_anew();
            self.sockets.asked = if by_tables { MOST_ASKED } else { 0 };
            let own = std::process::id().cast_signed();
            let transit = self.sockets.transit(&mut self.kernel, own, near);
            assert_eq!(self.sockets.tables.is_empty(), !by_tables, "tables read");
            transit
        }
    }

    fn inode(fd: impl AsFd) -> u64 {
        stat::of(fd).unwrap().ino
    }

    fn connect(address: &str, listener: &TcpListener) -> TcpStream {
        TcpStream::connect((address, listener.local_addr().unwrap().port())).unwrap()
    }

    #[test]
    fn both_ends_of_a_connection() {
        for (bound, address) in [("127.0.0.1", "127.0.0.1"), ("::1", "::1"), ("::", "127.0.0.1")] {
            let mut own = Own::new();
            let listener = TcpListener::bind((bound, 0)).unwrap();
            let mut near = connect(address, &listener);
            let (mut far, _) = listener.accept().unwrap();
            let (one, other) = (own.resolve(&near), own.resolve(&far));
            assert_eq!((one.peer, other.peer), (inode(&far), inode(&near)), "{bound} {address}");
            assert_eq!((one.local, one.remote), (other.remote, other.local));
            for by_tables in [false, true] {
                assert_eq!(own.transit(&one, by_tables), Transit::Empty);
            }
            near.write_all(b"four").unwrap();
            for by_tables in [false, true] {
                assert_eq!(own.transit(&one, by_tables), Transit::Empty, "nothing comes back");
            }
            far.read_exact(&mut [0; 4]).unwrap();
        }
    }

    #[test]
    fn what_was_sent_is_under_way() {
        assert_eq!((transit(0), transit(4)), (Transit::Empty, Transit::Bytes));
    }

    #[test]
    fn later_looks_read_no_table() {
        let mut own = Own::new();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let near = connect("127.0.0.1", &listener);
        let (far, _) = listener.accept().unwrap();
        let first = [own.resolve(&listener), own.resolve(&near), own.resolve(&far)];
        assert!(first[0].listening);
        own.sockets.ask_anew();
        assert_eq!([own.resolve(&listener), own.resolve(&near), own.resolve(&far)], first);
        assert_eq!(own.resolve(&near), first[1], "twice in one look");
        assert!(own.sockets.tables.is_empty());
        assert_eq!(own.sockets.asked, 3);
    }

    #[test]
    fn an_end_that_changes_hands() {
        let mut own = Own::new();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let near = connect("127.0.0.1", &listener);
        let waiting = own.resolve(&near);
        assert_eq!(waiting.peer, 0, "not accepted yet");
        assert_eq!(own.transit(&waiting, false), Transit::Empty);

        let (far, _) = listener.accept().unwrap();
        assert_eq!(own.transit(&waiting, false), Transit::Changed);
        let accepted = own.resolve(&near);
        assert_eq!(accepted.peer, inode(&far));

        drop(far);
        assert_eq!(own.transit(&accepted, true), Transit::Changed);
        assert_eq!(own.transit(&accepted, false), Transit::Changed);
        own.sockets.ask_anew();
        assert_eq!(own.resolve(&near).peer, 0);
    }

    #[test]
    fn more_sockets_than_are_asked_for() {
        let mut own = Own::new();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let first = own.resolve(&listener);
        own.sockets.ask_anew();
        own.sockets.asked = MOST_ASKED;
        assert_eq!(own.resolve(&listener), first);
        assert!(!own.sockets.tables.is_empty());
    }

    #[test]
    fn udp_is_found_in_its_tables() {
        let mut own = Own::new();
        let (one, other) =
            (UdpSocket::bind("127.0.0.1:0").unwrap(), UdpSocket::bind("127.0.0.1:0").unwrap());
        assert!(own.resolve(&one).listening);
        one.connect(other.local_addr().unwrap()).unwrap();
        other.connect(one.local_addr().unwrap()).unwrap();
        own.sockets.ask_anew();
        let near = own.resolve(&one);
        assert_eq!((near.peer, near.listening), (inode(&other), false));
        assert_eq!(own.transit(&near, true), Transit::Empty);
        other.send(b"four").unwrap();
        assert_eq!(own.transit(&near, true), Transit::Empty, "arrived, not under way");
        assert_eq!(own.sockets.tables.len(), 1, "those of TCP are dear");
    }
}
