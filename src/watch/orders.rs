use std::sync::Arc;

use crossbeam_channel::Sender;
use nix::sys::eventfd::EventFd;
use nix::sys::signal::Signal;

use super::WatchError;
use super::job::Job;
use crate::pty::Size;

/// What a handle asks of the monitor's thread.
pub(super) enum Order {
    Add(u64, Box<Job>),
    Drop(u64),
    Write(u64, Vec<u8>),
    Resize(u64, Size),
    Signal(u64, Signal),
    HangUp(u64),
    Leave(u64),
    Stop,
    Shutdown,
}

/// The way to the monitor's thread.
#[derive(Debug, Clone)]
pub(super) struct Orders {
    pub(super) sender: Sender<Order>,
    pub(super) bell: Arc<EventFd>,
}

impl Orders {
    pub(super) fn send(&self, order: Order) -> Result<(), WatchError> {
        self.sender.send(order).map_err(|_| WatchError::Ended)?;
        self.bell.write(1).map_err(WatchError::Monitor)?;
        Ok(())
    }
}

/// Tells the thread that no more jobs come. Jobs that are still watched keep it; it ends with the last
/// of them.
#[derive(Debug)]
pub(super) struct Leash(pub(super) Orders);

impl Drop for Leash {
    fn drop(&mut self) {
        let _ = self.0.send(Order::Stop);
    }
}
