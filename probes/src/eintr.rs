//! Proof that nobody interrupts: calls that a stop, a signal or a tracer makes fail with EINTR
//! (signal(7), "Interruption of system calls and library functions by stop signals").

use std::io::{self, Read};
use std::os::unix::net::UnixStream;
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
    "read(2) of fd 0 beside a thread in each call that a stop interrupts; fed, it prints `eintr COUNT`",
    eintr,
)];

/// A call that waits for what never comes, again and again; counts how often it was interrupted.
fn count_interruptions(
    counter: &Arc<AtomicUsize>,
    call: impl Fn() -> io::Result<()> + Send + 'static,
) {
    let counter = Arc::clone(counter);
    thread::spawn(move || {
        while let Err(error) = call() {
            if error.kind() != io::ErrorKind::Interrupted {
                break;
            }
            counter.fetch_add(1, Ordering::Relaxed);
        }
    });
}

fn silent_set() -> Result<Epoll, Failure> {
    let set = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC).to("make an epoll set")?;
    let event = EventFd::new().to("make an eventfd")?;
    set.add(&event, EpollEvent::new(EpollFlags::EPOLLIN, 0)).to("add to the epoll set")?;
    // Open for as long as the process lives: a closed descriptor would leave the set.
    std::mem::forget(event);
    Ok(set)
}

fn eintr(_: &Args) -> Outcome {
    let counter = Arc::new(AtomicUsize::new(0));
    let mut set = SigSet::empty();
    set.add(Signal::SIGUSR1);
    set.thread_block().to("block a signal")?;
    count_interruptions(&counter, move || sys::sigtimedwait(&set, None));
    let epoll = silent_set()?;
    count_interruptions(&counter, move || {
        epoll.wait(&mut [EpollEvent::empty()], EpollTimeout::NONE)?;
        Ok(())
    });
    let epoll = silent_set()?;
    count_interruptions(&counter, move || sys::epoll_pwait2(&epoll.0, None));
    let (receiver, sender) = UnixStream::pair().to("make a socket pair")?;
    receiver.set_read_timeout(Some(HOUR)).to("set the socket's timeout")?;
    count_interruptions(&counter, move || (&receiver).read(&mut [0]).map(drop));
    if let Ok(ring) = Ring::new() {
        let event = EventFd::new().to("make an eventfd")?;
        count_interruptions(&counter, move || ring.poll(&event));
    }
    ready(&[])?;
    while let Err(errno) = unistd::read(sys::stdin(), &mut [0; 4096]) {
        if errno != Errno::EINTR {
            return Err(errno).to("read");
        }
        counter.fetch_add(1, Ordering::Relaxed);
    }
    drop(sender);
    let line = format!("eintr {}\n", counter.load(Ordering::Relaxed));
    write(io::stdout(), line.as_bytes()).to("print the count")?;
    Ok(())
}
