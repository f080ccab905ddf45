//! Calls that a tracer sees at their entry: their registers come from ptrace(2), and what they wait for
//! is found as for a task that sleeps in them.

use super::blocked::{OfTask, Reading};
use super::members::Identity;
use super::objects::Controlling;
use super::sockets::Sockets;
use super::{Live, Object, Source, TaskId, TtyId, Wait};
use crate::wait::{self, Arch, Call, Registers};

/// Reads calls.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    pub(crate) kernel: Live,
    sockets: Sockets,
}

impl Calls {
    /// A call by its registers.
    pub(crate) fn decode(&mut self, task: TaskId, arch: Arch, registers: Registers) -> Call {
        wait::decode(arch, registers, &mut OfTask { kernel: &mut self.kernel, task })
    }

    /// The objects of a call. A socket is told by its inode alone: see [`Calls::name_sockets`].
    pub(crate) fn resolve(&mut self, task: TaskId, call: Call, stack: u64) -> Wait {
        let mut reading = Reading { kernel: &mut self.kernel, sockets: None, thread: task.tid };
        let wait = reading.resolve(task, call.clone(), stack, Controlling::default());
        let unknown = |source: &Source| matches!(source, Source::Object { object: Object::Unknown, interest, .. } if interest.read);
        if !wait.sources.iter().any(unknown) {
            return wait;
        }
        // `/dev/tty` is another terminal for every session.
        let tty = Identity::read(reading.kernel, task).ok().and_then(|read| read.tty);
        let tty = tty.map(|rdev| TtyId { dev: 0, rdev });
        reading.resolve(task, call, stack, Controlling { tty })
    }

    /// Finds what the sockets of a wait are connected to, which may cost milliseconds. They are found by
    /// inode, so it can be done after the call, too.
    pub(crate) fn name_sockets(&mut self, task: TaskId, wait: &mut Wait) {
        self.sockets.ask_anew();
        for source in &mut wait.sources {
            if let Source::Object { object, .. } = source
                && let Object::Socket { ino, .. } = *object
            {
                *object = self.sockets.resolve(&mut self.kernel, task.tid, ino);
            }
        }
    }

    /// The wait that a task sleeps in, as `/proc` shows it; `None` where it runs, or cannot be seen.
    pub(crate) fn blocked(&mut self, task: TaskId) -> Option<Wait> {
        self.sockets.ask_anew();
        let sockets = Some(&mut self.sockets);
        let mut reading = Reading { kernel: &mut self.kernel, sockets, thread: task.tid };
        reading.blocked(task, Controlling::default(), None).ok().flatten()
    }
}
