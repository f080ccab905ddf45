//! What is known of a terminal's output: plain data, made by [`crate::pty::Screen`].

use crate::observe::Instant;

/// The output of a terminal that is ours, as far as the verdict cares.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Output {
    /// The text before the cursor on its line; lines that the terminal wrapped are joined.
    pub line: String,
    /// A full-screen program draws: the alternate screen, or absolute addressing over a cleared one.
    pub full_screen: bool,
    /// The last mark of the shell's own (OSC 133, OSC 633), where it ever gave one.
    pub mark: Option<Mark>,
    /// When the last byte came.
    pub last: Option<Instant>,
    /// Bytes so far.
    pub bytes: u64,
}

/// What a shell says of itself: FinalTerm's OSC 133, VS Code's OSC 633.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Mark {
    /// `A`, `P`: the prompt begins.
    Prompt,
    /// `B`: the prompt has ended, the command is typed.
    Command,
    /// OSC 633 `F`/`G`, OSC 133 with `k=s` or `k=c`: a secondary prompt.
    Continuation,
    /// `C`: the command runs.
    Executing,
    /// `D`: it has finished, with its exit code where given.
    Finished(Option<i32>),
}
