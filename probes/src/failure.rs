//! Why a probe did not come to its situation.

use std::io;

use crate::{EXIT_FAILED, EXIT_SKIPPED, EXIT_USAGE};

/// What a probe's body returns: `Ok` once it was fed.
pub(crate) type Outcome = Result<(), Failure>;

#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error("{0}")]
    Usage(String),
    #[error("skip: {0}")]
    Skip(String),
    #[error("failed to {what}: {source}")]
    Call { what: &'static str, source: io::Error },
}

impl Failure {
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Failure::Usage(_) => EXIT_USAGE,
            Failure::Skip(_) => EXIT_SKIPPED,
            Failure::Call { .. } => EXIT_FAILED,
        }
    }
}

/// Names the step that failed.
pub(crate) trait Step<T> {
    fn to(self, what: &'static str) -> Result<T, Failure>;

    /// For what some kernels and sandboxes do not offer: its failure is a skip.
    fn or_skip(self, what: &'static str) -> Result<T, Failure>;
}

impl<T, E: Into<io::Error>> Step<T> for Result<T, E> {
    fn to(self, what: &'static str) -> Result<T, Failure> {
        self.map_err(|error| Failure::Call { what, source: error.into() })
    }

    fn or_skip(self, what: &'static str) -> Result<T, Failure> {
        self.map_err(|error| Failure::Skip(format!("cannot {what}: {}", error.into())))
    }
}
