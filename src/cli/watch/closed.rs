use std::io;
use std::thread;

use crossbeam_channel::{Receiver, bounded};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

/// Ready when nobody reads standard output any more. A pipe's writer would learn of that only by
/// writing, and while nothing changes there is nothing to write.
///
/// # Errors
/// As pthread_create(3).
pub(super) fn of_stdout() -> io::Result<Receiver<()>> {
    let (sender, receiver) = bounded(1);
    thread::Builder::new().name("awaitty-stdout".to_owned()).spawn(move || {
        let stdout = io::stdout();
        // POLLERR and POLLHUP need not be asked for (poll(2)).
        let mut set = [PollFd::new(std::os::fd::AsFd::as_fd(&stdout), PollFlags::empty())];
        while poll(&mut set, PollTimeout::NONE) == Err(Errno::EINTR) {}
        let _ = sender.send(());
    })?;
    Ok(receiver)
}
