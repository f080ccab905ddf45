use nix::sys::stat::{major, minor};

/// A terminal's customary path by its device number, as ps(1) names it (devices.txt). The path is
/// for people: in a container it names another terminal, or none.
#[must_use]
pub fn tty_name(rdev: u64) -> String {
    match (major(rdev), minor(rdev)) {
        (main @ 136..=143, index) => format!("/dev/pts/{}", (main - 136) * 256 + index),
        (4, index @ 0..=63) => format!("/dev/tty{index}"),
        (4, line) => format!("/dev/ttyS{}", line - 64),
        (5, 1) => "/dev/console".to_owned(),
        (188, line) => format!("/dev/ttyUSB{line}"),
        (166, line) => format!("/dev/ttyACM{line}"),
        (229, line) => format!("/dev/hvc{line}"),
        (204, line) => format!("/dev/ttyAMA{}", line.saturating_sub(64)),
        (main, index) => format!("tty {main}:{index}"),
    }
}

#[cfg(test)]
mod tests {
    use nix::sys::stat::makedev;

    use super::*;

    #[test]
    fn names_follow_the_device_numbers() {
        assert_eq!(tty_name(makedev(136, 3)), "/dev/pts/3");
        assert_eq!(tty_name(makedev(137, 1)), "/dev/pts/257");
        assert_eq!(tty_name(makedev(4, 1)), "/dev/tty1");
        assert_eq!(tty_name(makedev(4, 64)), "/dev/ttyS0");
        assert_eq!(tty_name(makedev(250, 7)), "tty 250:7");
    }
}
