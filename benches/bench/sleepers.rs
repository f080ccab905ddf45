//! Processes that do nothing, to fill the machine.

use std::io::Read;
use std::process::{Child, Command, Stdio};

use anyhow::ensure;

use crate::stage::probe;

/// Processes that end when this is dropped.
pub(crate) struct Sleepers(Vec<Child>);

impl Sleepers {
    /// So many, all children of one process, which is no ancestor of any job.
    pub(crate) fn elsewhere(count: usize) -> anyhow::Result<Sleepers> {
        let mut command = probe("crowd-processes", &[format!("--count={count}")]);
        let mut parent = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let mut ready = [0; 1];
        let output = parent.stdout.as_mut().map(|output| output.read(&mut ready)).transpose()?;
        let sleepers = Sleepers(vec![parent]);
        ensure!(output == Some(1), "the sleepers did not start");
        Ok(sleepers)
    }

    /// So many children of our own: siblings of the jobs that we start.
    pub(crate) fn siblings(count: usize) -> anyhow::Result<Sleepers> {
        let mut sleepers = Sleepers(Vec::with_capacity(count));
        for _ in 0..count {
            let mut command = Command::new("sleep");
            sleepers.0.push(command.arg("3600").stdin(Stdio::null()).spawn()?);
        }
        Ok(sleepers)
    }
}

impl Drop for Sleepers {
    fn drop(&mut self) {
        // The children of a sleeper die with it (PR_SET_PDEATHSIG). One that is gone already needs
        // no signal.
        for child in &mut self.0 {
            let _ = child.kill();
        }
        for child in &mut self.0 {
            let _ = child.wait();
        }
    }
}
