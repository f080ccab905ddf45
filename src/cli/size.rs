//! The size of a window: the user's, or as asked for.

use std::io;

use crate::pty::Size;
use crate::sys::tty::window_size;

/// The user's window; `None` where no standard stream is a terminal that knows its size.
#[must_use]
pub fn of_user() -> Option<Size> {
    let sizes = [window_size(io::stdout()), window_size(io::stdin()), window_size(io::stderr())];
    sizes.into_iter().flatten().find_map(|size| {
        // A terminal that nobody has told its size says 0 by 0.
        let known = size.ws_row > 0 && size.ws_col > 0;
        known.then_some(Size { rows: size.ws_row, cols: size.ws_col })
    })
}

/// Reads `ROWSxCOLS`.
///
/// # Errors
/// One line for people.
pub fn parse(text: &str) -> Result<Size, String> {
    let size = text.split_once('x').and_then(|(rows, cols)| {
        let number = |text: &str| text.parse().ok().filter(|number| *number > 0);
        Some(Size { rows: number(rows)?, cols: number(cols)? })
    });
    size.ok_or_else(|| "give rows and columns, like 24x80".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read() {
        assert_eq!(parse("24x80"), Ok(Size { rows: 24, cols: 80 }));
        for text in ["", "24", "x", "0x80", "24x0", "24x80x1", "-1x80", "70000x1", "24*80"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
