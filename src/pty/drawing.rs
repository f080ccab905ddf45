//! Does a program draw on the full screen without the alternate one?
//!
//! `top` and whatever runs where terminfo has no `smcup` draw on the primary screen. They erase it as
//! a whole and then go to places on it by absolute address (CUP, HVP), or at least hide the cursor
//! before they erase. A line editor erases the screen too (^L), but with the cursor shown, and then
//! moves relatively, or goes home at the most; and it lets the screen scroll. So the rule is: *erased
//! with the cursor hidden, or erased and then addressed beyond the first place; and not scrolled
//! since*. `top` scrolls by one line when it ends, and every shell does before long.
//!
//! `less -X` begins below what is there, scrolls, and so counts as lines.

/// What the stream of sequences says so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Drawing {
    /// Lines follow one another.
    #[default]
    Lines,
    /// The screen was erased as a whole.
    Erased,
    /// And is drawn on.
    FullScreen,
}

impl Drawing {
    /// What follows when a control sequence comes to this screen.
    pub(super) fn after(self, parameters: &[u8], last: u8, screen: &vt100::Screen) -> Drawing {
        let erases = match (last, parameters) {
            (b'J', b"2") => true,
            (b'J', b"" | b"0") => screen.cursor_position() == (0, 0),
            _ => false,
        };
        match (last, parameters) {
            _ if erases && screen.hide_cursor() => Drawing::FullScreen,
            _ if erases && self == Drawing::Lines => Drawing::Erased,
            (b'H' | b'f', b"" | b"0" | b"1" | b";" | b"1;" | b";1" | b"1;1") => self,
            (b'H' | b'f', _) if self == Drawing::Erased => Drawing::FullScreen,
            _ => self,
        }
    }
}
