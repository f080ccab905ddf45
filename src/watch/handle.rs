//! The user's end of a watch.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender};

use super::orders::{Order, Orders};
use super::{WaitError, WatchError};
use crate::observe::Pid;
use crate::pty::Size;
use crate::verdict::{Line, Verdict};

/// A change of the verdict.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// Counts the changes of this watch, from 1.
    pub seq: u64,
    /// When the look was made, since the watch began.
    pub t: Duration,
    /// How many bytes the terminal had put out by then: whoever takes [`Watched::output`] knows by it
    /// which piece of the output is older than the verdict. 0 for a terminal that is not ours.
    pub output: u64,
    /// The verdict from then on.
    pub verdict: Verdict,
}

impl Change {
    /// The change as a line of JSON has it.
    #[must_use]
    pub fn line(&self, tty: Option<&str>) -> Line {
        Line::new(self.seq, self.t.as_secs_f64(), tty.map(str::to_owned), &self.verdict)
    }
}

/// What the monitor's thread and the handles share about one job.
#[derive(Debug, Default)]
pub(super) struct Shared {
    news: Mutex<News>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct News {
    /// The change that was told last.
    latest: Option<Change>,
    /// The verdict of the last look, where it was no news.
    present: Option<Verdict>,
    closed: bool,
    subscribers: Vec<Sender<Change>>,
    #[cfg(feature = "tokio")]
    streams: Vec<tokio::sync::mpsc::UnboundedSender<Change>>,
}

impl Shared {
    pub(super) fn publish(&self, change: Change) {
        let mut news = self.lock();
        news.subscribers.retain(|subscriber| subscriber.send(change.clone()).is_ok());
        #[cfg(feature = "tokio")]
        news.streams.retain(|stream| stream.send(change.clone()).is_ok());
        news.latest = Some(change);
        news.present = None;
        self.changed.notify_all();
    }

    /// No news, but what the verdict says in passing (on what a busy job waits) is newer. Who waits
    /// for a change is shown what was told, so that nothing told can be missed.
    pub(super) fn refresh(&self, verdict: Verdict) {
        self.lock().present = Some(verdict);
    }

    pub(super) fn close(&self) {
        let mut news = self.lock();
        news.closed = true;
        news.subscribers.clear();
        #[cfg(feature = "tokio")]
        news.streams.clear();
        self.changed.notify_all();
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, News> {
        self.news.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A watched job. The watch ends when this is dropped; a terminal that was opened for it is hung up
/// then, and what still runs on it is killed.
#[derive(Debug)]
pub struct Watched {
    pub(super) job: u64,
    pub(super) shared: Arc<Shared>,
    pub(super) orders: Orders,
    pub(super) output: Option<Receiver<Vec<u8>>>,
    pub(super) tty: Option<String>,
    pub(super) pid: Pid,
}

impl Watched {
    /// The latest verdict; `None` before the first look, which follows at once.
    #[must_use]
    pub fn verdict(&self) -> Option<Verdict> {
        let news = self.shared.lock();
        let told = || news.latest.as_ref().map(|change| change.verdict.clone());
        news.present.clone().or_else(told)
    }

    /// The terminal's path (`/dev/pts/3`); `None` for a process tree without one.
    #[must_use]
    pub fn tty(&self) -> Option<&str> {
        self.tty.as_deref()
    }

    /// The process with which the watch ends.
    #[must_use]
    pub fn pid(&self) -> Pid {
        self.pid
    }

    /// The changes from now on, the latest first of all. The channel closes when the watch ends.
    #[must_use]
    pub fn changes(&self) -> Receiver<Change> {
        let (sender, receiver) = crossbeam_channel::unbounded();
        let mut news = self.shared.lock();
        if let Some(latest) = &news.latest {
            // The receiver is at hand, so the send cannot fail.
            let _ = sender.send(latest.clone());
        }
        if !news.closed {
            news.subscribers.push(sender);
        }
        receiver
    }

    /// The same changes as a stream.
    #[cfg(feature = "tokio")]
    #[must_use]
    pub fn stream(&self) -> tokio_stream::wrappers::UnboundedReceiverStream<Change> {
        let (sender, receiver) = tokio::sync::mpsc::unbounded_channel();
        let mut news = self.shared.lock();
        if let Some(latest) = &news.latest {
            let _ = sender.send(latest.clone());
        }
        if !news.closed {
            news.streams.push(sender);
        }
        tokio_stream::wrappers::UnboundedReceiverStream::new(receiver)
    }

    /// Blocks until a verdict fulfils `predicate`; the present one counts.
    ///
    /// # Errors
    /// [`WaitError::Timeout`] after `timeout`, [`WaitError::Ended`] when nothing can change any more.
    pub fn wait_until(
        &self,
        mut predicate: impl FnMut(&Verdict) -> bool,
        timeout: Duration,
    ) -> Result<Verdict, WaitError> {
        let deadline = Instant::now().checked_add(timeout);
        let mut seen = 0;
        let mut news = self.shared.lock();
        loop {
            if let Some(latest) = news.latest.as_ref().filter(|latest| latest.seq > seen) {
                seen = latest.seq;
                if predicate(&latest.verdict) {
                    return Ok(latest.verdict.clone());
                }
            }
            let last = || news.latest.as_ref().map(|latest| Box::new(latest.verdict.clone()));
            if news.closed {
                return Err(WaitError::Ended { last: last() });
            }
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            if left == Some(Duration::ZERO) {
                return Err(WaitError::Timeout { after: timeout, last: last() });
            }
            news = match left {
                Some(left) => {
                    self.changed()
                        .wait_timeout(news, left)
                        .unwrap_or_else(PoisonError::into_inner)
                        .0
                }
                None => self.changed().wait(news).unwrap_or_else(PoisonError::into_inner),
            };
        }
    }

    fn changed(&self) -> &Condvar {
        &self.shared.changed
    }

    /// [`Watched::wait_until`] as a future.
    ///
    /// # Errors
    /// As [`Watched::wait_until`].
    #[cfg(feature = "tokio")]
    pub async fn until(
        &self,
        mut predicate: impl FnMut(&Verdict) -> bool,
        timeout: Duration,
    ) -> Result<Verdict, WaitError> {
        use tokio_stream::StreamExt as _;
        let mut changes = self.stream();
        let mut last = None;
        let wait = async {
            while let Some(change) = changes.next().await {
                if predicate(&change.verdict) {
                    return Some(change.verdict);
                }
                last = Some(Box::new(change.verdict));
            }
            None
        };
        match tokio::time::timeout(timeout, wait).await {
            Ok(Some(verdict)) => Ok(verdict),
            Ok(None) => Err(WaitError::Ended { last }),
            Err(_) => Err(WaitError::Timeout { after: timeout, last }),
        }
    }

    /// Types into a terminal of our own; of somebody else's nothing is written.
    ///
    /// # Errors
    /// [`WatchError::Ended`] when the monitor is gone.
    pub fn write(&self, bytes: &[u8]) -> Result<(), WatchError> {
        self.orders.send(Order::Write(self.job, bytes.to_vec()))
    }

    /// Gives a terminal of our own another size.
    ///
    /// # Errors
    /// As [`Watched::write`].
    pub fn resize(&self, size: Size) -> Result<(), WatchError> {
        self.orders.send(Order::Resize(self.job, size))
    }

    /// Sends a signal to the foreground group of a terminal of our own.
    ///
    /// # Errors
    /// As [`Watched::write`].
    pub fn signal(&self, signal: nix::sys::signal::Signal) -> Result<(), WatchError> {
        self.orders.send(Order::Signal(self.job, signal))
    }

    /// Hangs a terminal of our own up: `SIGHUP` to the foreground group and to every process of the
    /// session, as when a line drops. What takes no notice runs on, and is still watched.
    ///
    /// # Errors
    /// As [`Watched::write`].
    pub fn hang_up(&self) -> Result<(), WatchError> {
        self.orders.send(Order::HangUp(self.job))
    }

    /// Ends the watch as a drop does, but kills nothing: a terminal of our own is hung up, and what
    /// survives that lives on.
    ///
    /// # Errors
    /// As [`Watched::write`].
    pub fn leave(self) -> Result<(), WatchError> {
        self.orders.send(Order::Leave(self.job))
    }

    /// The output of a terminal of our own, piece by piece; `None` if it was not asked for. While
    /// nobody takes it, the program blocks, as on any terminal that nobody reads.
    #[must_use]
    pub fn output(&self) -> Option<Receiver<Vec<u8>>> {
        self.output.clone()
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        // A monitor that is gone has dropped the job already.
        let _ = self.orders.send(Order::Drop(self.job));
    }
}
