use std::fmt::Debug;

use super::examiner::Drained;
use super::handle::Change;
use super::job::Sight;
use crate::observe::{Depth, Instant, Kernel, Scope};
use crate::pty::Size;
use crate::verdict::Exited;

/// Hears everything that a watch of a terminal of our own learns, in order: enough to come to the
/// same verdicts again. It is called on the thread that watches, and has to be quick.
pub trait Tap: Debug + Send {
    /// A look begins. Calls `look` once, with a kernel that gives the answers of `kernel`.
    fn look(
        &mut self,
        at: Instant,
        depth: Depth,
        kernel: &mut dyn Kernel,
        look: &mut dyn FnMut(&mut dyn Kernel),
    );

    /// Something else happened.
    fn hear(&mut self, at: Instant, event: Event<'_>);
}

/// What a [`Tap`] hears beside the looks.
#[derive(Debug)]
pub enum Event<'a> {
    /// First of all: what is watched, and how.
    Began {
        /// The job.
        scope: &'a Scope,
        /// What may be seen of it.
        sight: &'a Sight,
        /// Its window.
        size: Size,
    },
    /// The terminal put this out.
    Output(&'a [u8]),
    /// Input was given. What it was does not matter to any verdict.
    Given,
    /// The terminal took this input while ECHO was on. What it takes without echo is told nobody.
    Echoed(&'a [u8]),
    /// The window has another size.
    Resized(Size),
    /// The last look was judged, after the terminal was read to the end ([`Drained`]) if the look
    /// was whole.
    Judged(Option<Drained>),
    /// The program has ended.
    Ended(Exited),
    /// A change of the verdict was told.
    Told(&'a Change),
}
