//! System V waits, of which the kernel does not say who could end them.

use crate::args::Args;
use crate::failure::{Outcome, Step};
use crate::stage::{outsider, ready};
use crate::sys::{Queue, Semaphore};
use crate::{Group::Events, Probe};

pub(crate) const PROBES: &[Probe] = &[
    Probe::new(Events, "semop", "semop(2) on a System V semaphore of value 0", semop),
    Probe::new(Events, "msgrcv", "msgrcv(2) on an empty System V queue", msgrcv),
];

/// The semaphore outlives its maker unless somebody removes it.
fn semop(_: &Args) -> Outcome {
    let semaphore = Semaphore::new().or_skip("make a System V semaphore")?;
    outsider(|lifeline| {
        lifeline.hold()?;
        semaphore.remove().to("remove the semaphore")
    })?;
    ready(&[])?;
    semaphore.take().to("take the semaphore")
}

fn msgrcv(_: &Args) -> Outcome {
    let queue = Queue::new().or_skip("make a System V queue")?;
    outsider(|lifeline| {
        lifeline.hold()?;
        queue.remove().to("remove the queue")
    })?;
    ready(&[])?;
    queue.receive().to("receive")
}
