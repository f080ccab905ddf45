use serde::{Deserialize, Serialize};

/// The size of a terminal's window in characters (`struct winsize`, tty_ioctl(4)).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Size {
    /// Rows.
    pub rows: u16,
    /// Columns.
    pub cols: u16,
}

impl Default for Size {
    /// 24 by 80: a VT100.
    fn default() -> Size {
        Size { rows: 24, cols: 80 }
    }
}
