//! What must be said of real programs, and nothing else.

mod privilege;
mod questions;
mod reads;
mod repls;
mod screens;
mod shells;
mod terminals;
mod work;

use crate::situation::Situation;

/// Every situation.
pub(crate) fn all() -> impl Iterator<Item = &'static Situation> {
    [
        shells::TABLE,
        reads::TABLE,
        questions::TABLE,
        repls::TABLE,
        screens::TABLE,
        privilege::TABLE,
        terminals::TABLE,
        work::TABLE,
    ]
    .into_iter()
    .flatten()
}
