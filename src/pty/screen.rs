use std::num::NonZeroU16;

use super::Size;
use super::answers;
use super::drawing::Drawing;
use super::marks;
use super::queries::Query;
use super::sequence::{Framer, Piece};
use crate::observe::Instant;
use crate::verdict::{Mark, Output};

/// The screen keeps at most this many rows and columns: a cell takes 32 bytes, and a window's size
/// is whatever a program says (TIOCSWINSZ takes 65,535 by 65,535).
const LARGEST: u16 = 1000;

/// The screen of a terminal of our own: reads what the programs on it write, answers their queries,
/// and knows the line that the cursor stands on.
///
/// An 80x24 screen takes 61 kB, and as much again once the alternate screen was used; there is no
/// scrollback.
///
/// ```
/// use std::time::Duration;
/// use awaitty::pty::{Screen, Size};
///
/// let mut screen = Screen::new(Size::default());
/// let replies = screen.feed(b"\x1b[32mContinue?\x1b[m [Y/n] \x1b[6n", Duration::ZERO);
/// assert_eq!(screen.output().line, "Continue? [Y/n] ");
/// assert_eq!(replies, b"\x1b[1;17R");
/// ```
pub struct Screen {
    framer: Framer,
    painter: Painter,
    last: Option<Instant>,
    bytes: u64,
}

/// In characters.
const LONGEST_PROMPT: usize = 400;

/// The state behind the sequences.
struct Painter {
    parser: vt100::Parser<Scrolled>,
    drawing: Drawing,
    mark: Option<Mark>,
    replies: Vec<u8>,
    /// A scrolling region may be set (DECSTBM).
    region: bool,
}

/// Has the primary screen scrolled since we last asked?
#[derive(Debug, Default)]
struct Scrolled(bool);

impl vt100::Callbacks for Scrolled {
    fn on_scroll(&mut self, _: vt100::capture::RowContents<'_>, alternate_screen: bool) {
        self.0 |= !alternate_screen;
    }
}

impl Screen {
    /// An empty screen. Of rows and columns, 0 means 24 and 80, and 1000 are the most.
    #[must_use]
    pub fn new(size: Size) -> Screen {
        let (rows, columns) = within_reason(size);
        Screen {
            framer: Framer::default(),
            painter: Painter {
                parser: vt100::Parser::new_with_callbacks(rows, columns, 0, Scrolled::default()),
                drawing: Drawing::default(),
                mark: None,
                replies: Vec::new(),
                region: false,
            },
            last: None,
            bytes: 0,
        }
    }

    /// Takes output that was read at `now`, divided in whatever way, and gives the answers to the
    /// queries in it: write them to the master.
    #[must_use = "a program waits for these answers"]
    pub fn feed(&mut self, bytes: &[u8], now: Instant) -> Vec<u8> {
        if bytes.is_empty() {
            return Vec::new();
        }
        self.last = Some(now);
        self.bytes += bytes.len() as u64;
        let painter = &mut self.painter;
        self.framer.feed(bytes, &mut |piece| match piece {
            Piece::Text(text) => painter.text(text),
            Piece::Sequence(sequence) => painter.sequence(sequence),
            Piece::Bulk(_) => {}
        });
        std::mem::take(&mut painter.replies)
    }

    /// The window has another size.
    pub fn resize(&mut self, size: Size) {
        let (rows, columns) = within_reason(size);
        self.painter.parser.set_size(rows, columns);
        self.painter.parser.callbacks_mut().0 = false;
    }

    /// How many bytes it was fed.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// What the output says for the verdict.
    #[must_use]
    pub fn output(&self) -> Output {
        let screen = self.painter.parser.screen();
        Output {
            line: end_of(line_before_cursor(screen)),
            full_screen: screen.alternate_screen() || self.painter.drawing == Drawing::FullScreen,
            mark: self.painter.mark,
            last: self.last,
            bytes: self.bytes,
        }
    }
}

impl Painter {
    fn text(&mut self, text: &[u8]) {
        let text = if self.region { text } else { self.not_scrolled_off(text) };
        self.parser.process(text);
        if std::mem::take(&mut self.parser.callbacks_mut().0) {
            self.drawing = Drawing::Lines;
        }
    }

    /// The part of a text that can still be seen after it.
    ///
    /// A program that prints short lines without end (`yes`) would cost most where it matters least:
    /// after two screens of whole lines nothing of what came before is left.
    fn not_scrolled_off<'a>(&self, text: &'a [u8]) -> &'a [u8] {
        let kept = 2 * usize::from(self.parser.screen().size().0.get());
        if text.len() < 2 * kept {
            return text;
        }
        match memchr::memrchr_iter(b'\n', text).nth(kept) {
            // The column after a line feed is known only behind a carriage return.
            Some(at) if at > 0 && text[at - 1] == b'\r' => &text[at + 1..],
            _ => text,
        }
    }

    fn sequence(&mut self, sequence: &[u8]) {
        if let Some(query) = Query::parse(sequence) {
            let answer = answers::answer(query, self.parser.screen());
            self.replies.extend_from_slice(answer.as_bytes());
            return;
        }
        match sequence {
            [0x1b, b'[', parameters @ .., last @ 0x40..=0x7e] => self.control(parameters, *last),
            [0x1b, b']', ..] => {
                let mark = marks::read(sequence, self.mark);
                if matches!(mark, Some(Mark::Prompt | Mark::Finished(_))) {
                    self.drawing = Drawing::Lines;
                }
                self.mark = mark.or(self.mark);
                return;
            }
            b"\x1bc" => (self.drawing, self.region) = (Drawing::Lines, false),
            // Strings end here, and what another sequence cut short: vt100 would do nothing with the
            // first and might still be in the middle of the second.
            [0x1b, b'P' | b'X' | b'^' | b'_' | b'k', ..] => return,
            [0x1b, .., 0x30..=0x7e] => {}
            _ => return,
        }
        match answers::translate(sequence, self.parser.screen()) {
            Some(other) => self.parser.process(&other),
            None => self.parser.process(sequence),
        }
    }

    fn control(&mut self, parameters: &[u8], last: u8) {
        let screen = self.parser.screen();
        if !screen.alternate_screen() {
            self.drawing = self.drawing.after(parameters, last, screen);
        }
        match (last, parameters) {
            (b'r', b"") => self.region = false,
            (b'r', _) => self.region = true,
            // Leaving the alternate screen brings the lines back.
            (b'l', b"?47" | b"?1047" | b"?1049") => self.drawing = Drawing::Lines,
            _ => {}
        }
    }
}

/// The end of a line, as far as a prompt can reasonably be long: a program that prints without a line
/// break would have a screenful of it.
fn end_of(line: String) -> String {
    let from = line.char_indices().rev().nth(LONGEST_PROMPT - 1).map_or(0, |(at, _)| at);
    line[from..].to_owned()
}

/// The text before the cursor on its line, joined where the terminal wrapped it. Blanks count: the
/// one after `[Y/n]` is part of the prompt.
fn line_before_cursor(screen: &vt100::Screen) -> String {
    let (row, column) = screen.cursor_position();
    let first = (0..row).rev().take_while(|above| screen.row_wrapped(*above)).last().unwrap_or(row);
    let columns = screen.size().1.get();
    let mut line = String::new();
    for current in first..=row {
        let end = if current == row { column.min(columns) } else { columns };
        for cell in (0..end).filter_map(|column| screen.cell(current, column)) {
            match cell.contents() {
                _ if cell.is_wide_continuation() => {}
                "" => line.push(' '),
                contents => line.push_str(contents),
            }
        }
    }
    line
}

/// vt100 0.18.1 panics when a character on a screen of one column becomes wide (by U+FE0F): there are
/// two columns at least.
fn within_reason(size: Size) -> (NonZeroU16, NonZeroU16) {
    let default = Size::default();
    let fit = |asked: u16, default: u16, least: u16| {
        let number = if asked == 0 { default } else { asked.clamp(least, LARGEST) };
        NonZeroU16::new(number).unwrap_or(NonZeroU16::MIN)
    };
    (fit(size.rows, default.rows, 1), fit(size.cols, default.cols, 2))
}

#[cfg(test)]
mod tests;
