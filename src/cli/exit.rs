//! The exit codes of `awaitty`, all of them.
//!
//! A command that has ended gives its own code, and 128 + *n* when signal *n* ended it, as in a shell.
//! The codes from 110 on tell why `awaitty` returned although the command has not ended; 124 to 127
//! are those of timeout(1) and env(1). A command may use the same numbers itself: `--json` says for
//! certain.

use std::process::ExitCode;

use crate::pty::SpawnError;
use crate::verdict::{Exited, State, Verdict};
use crate::watch::WatchError;

/// Done.
pub const SUCCESS: u8 = 0;
/// What was compared differs.
pub const DIFFERENT: u8 = 1;
/// The arguments make no sense.
pub const USAGE: u8 = 2;
/// The job waits for input: the states `input` and `prompt`.
pub const INPUT: u8 = 110;
/// The job is idle: nothing can move, and input is not what it waits for.
pub const IDLE: u8 = 111;
/// The job is stopped.
pub const STOPPED: u8 = 112;
/// The kernel does not let us see enough.
pub const UNKNOWN: u8 = 113;
/// The time given by `--timeout` is over.
pub const TIMED_OUT: u8 = 124;
/// awaitty itself failed.
pub const FAILED: u8 = 125;
/// The command exists and cannot be executed.
pub const CANNOT_EXECUTE: u8 = 126;
/// There is no such command.
pub const NOT_FOUND: u8 = 127;
/// Added to the number of the signal that ended a command.
pub const SIGNAL: u8 = 128;

/// Codes and meanings, for the help text.
pub const HELP: &str = "\
Exit codes:
  the command's own when it has ended, 128 + N when signal N ended it
  2    wrong usage
  110  the job waits for input
  111  the job is idle: it cannot move, and input is not what it waits for
  112  the job is stopped
  113  the job's state cannot be seen
  124  timed out
  125  awaitty itself failed: standard error says why
  126  the command cannot be executed
  127  the command was not found";

/// The same for the commands that start none.
pub const HELP_OF_WATCH: &str = "\
Exit codes:
  0    done: what was watched has ended, or nobody reads the output any more
  2    wrong usage
  125  awaitty failed, there is nothing to watch, or the terminal is gone while its process lives on:
       standard error says what";

/// The same for `awaitty replay`.
pub const HELP_OF_REPLAY: &str = "\
Exit codes:
  0    done; with --check: the verdicts are those in the recording
  1    with --check: they differ
  2    wrong usage
  125  the file cannot be read, or is damaged: standard error says where";

/// How a command was left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// With this exit code.
    Code(u8),
    /// Because this signal asked us to end.
    Signal(i32),
}

impl Ended {
    /// The exit code; by a signal this process ends here, so that its parent learns of it.
    #[must_use]
    pub fn exit(self) -> ExitCode {
        match self {
            Ended::Code(code) => ExitCode::from(code),
            Ended::Signal(signal) => {
                // It returns only for what is no such signal.
                let _ = signal_hook::low_level::emulate_default_handler(signal);
                ExitCode::from(FAILED)
            }
        }
    }
}

/// The code for the verdict with which a command is left; `None` while the job runs.
#[must_use]
pub fn of_verdict(verdict: &Verdict) -> Option<u8> {
    match &verdict.state {
        State::Prompt(_) | State::Input(_) => Some(INPUT),
        State::Idle(_) => Some(IDLE),
        State::Stopped(_) => Some(STOPPED),
        State::Unknown(_) => Some(UNKNOWN),
        State::Exited(exited) => Some(of_end(*exited)),
        State::Running(_) => None,
    }
}

/// The code for a command's end; 0 where its code is not ours to know.
#[must_use]
pub fn of_end(exited: Exited) -> u8 {
    let number = match exited {
        Exited { code: Some(code), .. } => code,
        Exited { signal: Some(signal), .. } => i32::from(SIGNAL) + signal,
        Exited { code: None, signal: None } => 0,
    };
    u8::try_from(number).unwrap_or(u8::MAX)
}

/// The code for an error that ended awaitty, and whether there is anything to say about it: that
/// nobody reads our output any more is no failure.
#[must_use]
pub fn of_error(error: &anyhow::Error) -> (ExitCode, bool) {
    let closed = error
        .downcast_ref::<std::io::Error>()
        .is_some_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe);
    let spawn = match error.downcast_ref::<WatchError>() {
        Some(WatchError::Spawn(spawn)) => Some(spawn),
        _ => None,
    };
    let code = match spawn {
        _ if closed => SUCCESS,
        Some(SpawnError::NotFound { .. }) => NOT_FOUND,
        Some(SpawnError::Denied { .. } | SpawnError::Other { .. }) => CANNOT_EXECUTE,
        Some(SpawnError::Directory { .. } | SpawnError::Terminal(_)) | None => FAILED,
    };
    (ExitCode::from(code), !closed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_gives_its_own_code() {
        assert_eq!(of_end(Exited { code: Some(3), signal: None }), 3);
        assert_eq!(of_end(Exited { code: None, signal: Some(9) }), 137);
        assert_eq!(of_end(Exited { code: None, signal: None }), SUCCESS);
    }

    #[test]
    fn errors_have_the_codes_of_env() {
        let spawn = |error| of_error(&WatchError::Spawn(error).into());
        let code = |error: anyhow::Error| of_error(&error);
        let missing = SpawnError::NotFound { program: "x".into() };
        assert_eq!(spawn(missing), (ExitCode::from(127), true));
        let denied = SpawnError::Denied { program: "x".into(), errno: nix::errno::Errno::EACCES };
        assert_eq!(spawn(denied), (ExitCode::from(126), true));
        let closed = std::io::Error::from(std::io::ErrorKind::BrokenPipe);
        assert_eq!(code(closed.into()), (ExitCode::SUCCESS, false));
        assert_eq!(code(anyhow::anyhow!("no")), (ExitCode::from(125), true));
    }

    #[test]
    fn the_help_names_every_code() {
        for code in [INPUT, IDLE, STOPPED, UNKNOWN, TIMED_OUT, FAILED, CANNOT_EXECUTE, NOT_FOUND] {
            assert!(HELP.contains(&format!("\n  {code}  ")), "{code}");
        }
    }
}
