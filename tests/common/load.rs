//! Busy processes beside a test.

use std::process::{Child, Command, Stdio};

/// Ends its processes when dropped.
pub(crate) struct Load(Vec<Child>);

/// As many as `AWAITTY_LOAD` says; none without it.
pub(crate) fn from_environment() -> Load {
    let count = std::env::var("AWAITTY_LOAD").map_or(0, |n| n.parse().expect("a number"));
    let busy = || {
        Command::new("sh")
            .args(["-c", "while :; do :; done"])
            .stdin(Stdio::null())
            .spawn()
            .expect("sh is everywhere")
    };
    Load((0..count).map(|_| busy()).collect())
}

impl Drop for Load {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
