//! `/proc/PID/maps`, proc_pid_maps(5).

/// The mapping that an address lies in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mapping {
    /// Where it begins; it ends before `end`.
    pub start: u64,
    /// The first address after it.
    pub end: u64,
    /// `MAP_SHARED`: other processes may see the same bytes.
    pub shared: bool,
    /// Offset of `start` in the file, in bytes.
    pub offset: u64,
    /// The file's device; 0 without a file.
    pub dev: u64,
    /// The file's inode; 0 without a file. Shared memory without a name has one as well.
    pub ino: u64,
}

/// Finds the mapping of `address`; `None` where nothing is mapped.
#[must_use]
pub fn at(text: &str, address: u64) -> Option<Mapping> {
    text.split_inclusive('\n')
        .filter_map(|line| mapping(line.strip_suffix('\n')?))
        .find(|mapping| (mapping.start..mapping.end).contains(&address))
}

fn mapping(line: &str) -> Option<Mapping> {
    let mut fields = line.splitn(6, ' ');
    let (start, end) = fields.next()?.split_once('-')?;
    let shared = fields.next()?.as_bytes().get(3) == Some(&b's');
    let offset = hex(fields.next()?)?;
    let (major, minor) = fields.next()?.split_once(':')?;
    let major = u32::from_str_radix(major, 16).ok()?;
    let minor = u32::from_str_radix(minor, 16).ok()?;
    Some(Mapping {
        start: hex(start)?,
        end: hex(end)?,
        shared,
        offset,
        dev: libc::makedev(major, minor),
        ino: fields.next()?.parse().ok()?,
    })
}

fn hex(digits: &str) -> Option<u64> {
    u64::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
        5559d30bf000-5559d30c1000 r--p 00000000 fe:00 247282                     /usr/bin/head\n\
        7f0000000000-7f0000001000 rw-s 00002000 00:01 1030                       /dev/zero (deleted)\n\
        7ffc00000000-7ffc00021000 rw-p 00000000 00:00 0                          [stack]\n\
        ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]\n";

    #[test]
    fn finds_the_mapping() {
        let shared = Mapping {
            start: 0x7f00_0000_0000,
            end: 0x7f00_0000_1000,
            shared: true,
            offset: 0x2000,
            dev: libc::makedev(0, 1),
            ino: 1030,
        };
        assert_eq!(at(TEXT, 0x7f00_0000_0000), Some(shared));
        assert_eq!(at(TEXT, 0x7f00_0000_0fff), Some(shared));
        assert_eq!(at(TEXT, 0x7f00_0000_1000), None);
        assert_eq!(at(TEXT, 0x7ffc_0000_0010).map(|mapping| mapping.shared), Some(false));
        assert!(at(TEXT, 0xffff_ffff_ff60_0000).is_some());
    }

    #[test]
    fn refuses_what_is_no_map() {
        for text in
            ["", "0-10\n", "0-10 rw-s 0 00:00\n", "zz-10 rw-s 0 00:00 0\n", "0-10 rw-s 0 0 0"]
        {
            assert_eq!(at(text, 1), None, "{text:?}");
        }
    }
}
