//! Proof that nobody interrupts: calls that a stop, a signal or a tracer makes fail with EINTR
//! (signal(7), "Interruption of system calls and library functions by stop signals").

use std::io;
use std::os::unix::net::UnixDatagram;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use nix::errno::Errno;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::eventfd::EventFd;
use nix::sys::signal::{SigSet, Signal};
use nix::unistd::{self, write};

use crate::args::Args;
use crate::failure::{Failure, Outcome, Step};
use crate::stage::{HOUR, ready};
use crate::sys::{self, Ring};
use crate::{Group::Bench, Probe};

pub(crate) const PROBES: &[Probe] = &[Probe::new(
    Bench,
    "eintr",
    "read(2) of fd 0 beside threads in calls that a stop interrupts; fed, it prints `eintr COUNT`",
    eintr,
)
.options(&["--opaque"])];

/// Counts how often calls that wait for what never comes were interrupted.
#[derive(Clone, Default)]
struct Interruptions(Arc<AtomicUsize>);

impl Interruptions {
    /// Makes the call again and again, in a thread of its own.
    fn count(&self, call: impl Fn() -> io::Result<()> + Send + 'static) {
        let counted = self.clone();
        thread::spawn(move || {
            while let Err(error) = call() {
                if error.kind() != io::ErrorKind::Interrupted {
                    break;
                }
                counted.add();
            }
        });
    }

    fn add(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

fn eintr(args: &Args) -> Outcome {
    let interruptions = Interruptions::default();
    wait_for_signal(&interruptions)?;
    wait_on_epoll(&interruptions)?;
    if args.has("--opaque") {
        receive_with_timeout(&interruptions)?;
        wait_on_ring(&interruptions)?;
    }
    ready(&[])?;
    while let Err(errno) = unistd::read(sys::stdin(), &mut [0; 4096]) {
        if errno != Errno::EINTR {
            return Err(errno).to("read");
        }
        interruptions.add();
    }
    let line = format!("eintr {}\n", interruptions.0.load(Ordering::Relaxed));
    write(io::stdout(), line.as_bytes()).to("print the count")?;
    Ok(())
}

fn wait_for_signal(interruptions: &Interruptions) -> Outcome {
    let mut set = SigSet::empty();
    set.add(Signal::SIGUSR1);
    set.thread_block().to("block a signal")?;
    interruptions.count(move || sys::sigtimedwait(&set, None));
    Ok(())
}

fn wait_on_epoll(interruptions: &Interruptions) -> Outcome {
    let (silent, also_silent) = (SilentSet::new()?, SilentSet::new()?);
    interruptions.count(move || {
        // The whole of it: a closure would take the set alone, and the event would be closed.
        let silent = &silent;
        silent.set.wait(&mut [EpollEvent::empty()], EpollTimeout::NONE)?;
        Ok(())
    });
    interruptions.count(move || {
        let silent = &also_silent;
        sys::epoll_pwait2(&silent.set.0, None)
    });
    Ok(())
}

/// An epoll set in which nothing happens.
struct SilentSet {
    set: Epoll,
    /// Closed, it would leave the set.
    _event: EventFd,
}

impl SilentSet {
    fn new() -> Result<SilentSet, Failure> {
        let set = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC).to("make an epoll set")?;
        let event = EventFd::new().to("make an eventfd")?;
        set.add(&event, EpollEvent::new(EpollFlags::EPOLLIN, 0)).to("add to the epoll set")?;
        Ok(SilentSet { set, _event: event })
    }
}

/// Without SO_RCVTIMEO the kernel would restart the call.
fn receive_with_timeout(interruptions: &Interruptions) -> Outcome {
    let (receiver, sender) = UnixDatagram::pair().to("make a socket pair")?;
    receiver.set_read_timeout(Some(HOUR)).to("set the socket's timeout")?;
    interruptions.count(move || {
        let _sender = &sender;
        receiver.recv(&mut [0]).map(drop)
    });
    Ok(())
}

fn wait_on_ring(interruptions: &Interruptions) -> Outcome {
    let ring = Ring::new().or_skip("make an io_uring")?;
    let event = EventFd::new().to("make an eventfd")?;
    interruptions.count(move || ring.poll(&event));
    Ok(())
}
