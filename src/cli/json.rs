//! `--json`: one [`Line`] a change.

use std::io::{self, Write};

use crate::verdict::Line;

/// Writes a line and flushes it at once: its reader acts on it now.
///
/// # Errors
/// As write(2).
pub fn write(sink: &mut dyn Write, line: &Line) -> io::Result<()> {
    // One write a line, so that lines of several writers to one file do not mix.
    let mut text = serde_json::to_vec(line)?;
    text.push(b'\n');
    sink.write_all(&text)?;
    sink.flush()
}

/// The JSON schema of a line.
///
/// # Errors
/// None in practice: the schema is made of strings.
pub fn schema() -> serde_json::Result<String> {
    serde_json::to_string_pretty(&schemars::schema_for!(Line))
}
