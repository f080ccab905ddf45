//! `/proc/PID/net/{tcp,tcp6,udp,udp6}`, proc_pid_net(5).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// `TCP_ESTABLISHED` of `include/net/tcp_states.h`; UDP uses it for a socket with a peer.
pub const ESTABLISHED: u8 = 1;
/// `TCP_CLOSE`; UDP uses it for a socket without a peer.
pub const CLOSE: u8 = 7;
/// `TCP_LISTEN`.
pub const LISTEN: u8 = 10;

/// One socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    /// Own address. An IPv4 address in IPv6 clothes (`::ffff:127.0.0.1`) is given as IPv4, so
    /// that both ends of a connection compare equal whichever family each was opened with.
    pub local: SocketAddr,
    /// The peer's address, unspecified without one.
    pub remote: SocketAddr,
    /// Its state, as in `include/net/tcp_states.h`.
    pub state: u8,
    /// Bytes sent that the peer has not acknowledged; when listening, nothing of use.
    pub tx_queue: u32,
    /// Bytes received that nobody has read; when listening, connections not yet accepted.
    pub rx_queue: u32,
    /// Its inode; 0 when no descriptor refers to it any more.
    pub ino: u64,
}

/// The sockets of one table; the heading and lines that are cut off are left out.
pub fn rows(text: &str) -> impl Iterator<Item = Row> {
    text.split_inclusive('\n').filter_map(|line| row(line.strip_suffix('\n')?))
}

fn row(line: &str) -> Option<Row> {
    let mut fields = line.split_ascii_whitespace();
    let _slot = fields.next()?.strip_suffix(':')?;
    let local = address(fields.next()?)?;
    let remote = address(fields.next()?)?;
    let state = u8::from_str_radix(fields.next()?, 16).ok()?;
    let (tx_queue, rx_queue) = fields.next()?.split_once(':')?;
    // Between them: timer, retransmissions, user, timeout.
    let ino = fields.nth(4)?.parse().ok()?;
    Some(Row {
        local,
        remote,
        state,
        tx_queue: u32::from_str_radix(tx_queue, 16).ok()?,
        rx_queue: u32::from_str_radix(rx_queue, 16).ok()?,
        ino,
    })
}

/// The kernel prints an address as 32-bit words in the byte order of the machine, each of which
/// holds bytes in network order; the port it prints as a number.
fn address(field: &str) -> Option<SocketAddr> {
    let (digits, port) = field.split_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    let ip = match digits.len() {
        8 => IpAddr::V4(Ipv4Addr::from(word(digits, 0)?)),
        32 => {
            let mut bytes = [0; 16];
            for (index, chunk) in bytes.chunks_exact_mut(4).enumerate() {
                chunk.copy_from_slice(&word(digits, index)?);
            }
            IpAddr::V6(Ipv6Addr::from(bytes)).to_canonical()
        }
        _ => return None,
    };
    Some(SocketAddr::new(ip, port))
}

fn word(digits: &str, index: usize) -> Option<[u8; 4]> {
    let digits = digits.get(index * 8..index * 8 + 8)?;
    u32::from_str_radix(digits, 16).ok().map(u32::to_ne_bytes)
}

#[cfg(all(test, target_endian = "little"))]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;

    const TCP: &str = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n\
        \x20  0: 0100007F:07E8 00000000:0000 0A 00000000:00000002 00:00000000 00000000     0        0 1060 1 00000000778cdd37 100 0 0 10 0\n\
        \x20  1: 0100007F:9C40 0100007F:07E8 01 00000005:0000FFFF 02:000A 00000000  1000        0 7788 2 0 20 4 30 10 -1\n";
    const TCP6: &str = "  sl  local_address remote_address st\n\
        \x20  0: B80D01200000000000000000 0 0\n\
        \x20  1: B80D0120000000000000000001000000:0016 0000000000000000FFFF00000100007F:9C40 01 00000000:00000000 00:00000000 00000000     0        0 42 1 0\n";

    #[test]
    fn ipv4() {
        let rows: Vec<Row> = rows(TCP).collect();
        assert_eq!(rows.len(), 2);
        assert_eq!((rows[0].local, rows[0].state), ("127.0.0.1:2024".parse().unwrap(), LISTEN));
        assert_eq!((rows[0].rx_queue, rows[0].ino), (2, 1060));
        assert_eq!(rows[1].remote, rows[0].local);
        assert_eq!((rows[1].tx_queue, rows[1].rx_queue, rows[1].state), (5, 0xffff, ESTABLISHED));
    }

    #[test]
    fn ipv6_and_ipv4_in_it() {
        let rows: Vec<Row> = rows(TCP6).collect();
        assert_eq!(rows.len(), 1);
        assert_eq!(rows[0].local, "[2001:db8::1]:22".parse().unwrap());
        assert_eq!(rows[0].remote, "127.0.0.1:40000".parse().unwrap());
    }

    #[test]
    fn skips_what_is_no_row() {
        for text in ["", "\n", "0: 0100007F:07E8\n", "0: é100007F:07E8 0:0 0A 0:0 0 0 0 0 1\n"] {
            assert_eq!(rows(text).count(), 0, "{text:?}");
        }
        assert_eq!(rows(TCP.trim_end()).count(), 1, "a line that is cut off");
    }
}
