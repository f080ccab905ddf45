//! What a plain xterm answers to the queries of a program.
//!
//! We claim to be a VT220 with colours and nothing more, and answer "unknown" wherever the protocol
//! has a word for it: a program then takes its simplest path. What has no such word and no answer
//! from every xterm (`CSI ? u`, the palette, the clipboard) stays unanswered; those who ask send
//! `CSI c` after it, because all terminals answer that.

use super::queries::{Query, parse_number};

/// Device attributes of a VT220 (62) with ANSI colour (22).
const PRIMARY: &str = "\x1b[?62;22c";
/// Terminal type VT220 (1), firmware version 1.0. vim and others read more into higher versions.
const SECONDARY: &str = "\x1b[>1;10;0c";
/// The unit's number, as xterm gives it.
const TERTIARY: &str = "\x1bP!|00000000\x1b\\";

/// Light grey on black: xterm's `foreground` and `background` when it is dark.
const FOREGROUND: &str = "rgb:e5e5/e5e5/e5e5";
const BACKGROUND: &str = "rgb:0000/0000/0000";

/// The answer to a query, asked on `screen`; empty where a plain xterm gives none.
pub(super) fn answer(query: Query<'_>, screen: &vt100::Screen) -> String {
    match query {
        Query::Status => "\x1b[0n".to_owned(),
        Query::Cursor { private } => {
            let (row, column) = screen.cursor_position();
            // Past the last column there is no place: the wrap is pending, and xterm says the last.
            let column = column.min(screen.size().1.get() - 1);
            let mark = if private { "?" } else { "" };
            format!("\x1b[{mark}{};{}R", row + 1, column + 1)
        }
        Query::PrimaryAttributes => PRIMARY.to_owned(),
        Query::SecondaryAttributes => SECONDARY.to_owned(),
        Query::TertiaryAttributes => TERTIARY.to_owned(),
        Query::Version => format!("\x1bP>|awaitty({})\x1b\\", env!("CARGO_PKG_VERSION")),
        Query::Mode { private, number } => {
            let (mark, value) =
                if private { ("?", private_mode(number, screen)) } else { ("", UNKNOWN) };
            format!("\x1b[{mark}{number};{value}$y")
        }
        Query::TextSize => {
            let (rows, columns) = screen.size();
            format!("\x1b[8;{rows};{columns}t")
        }
        Query::Colors { first, rest, bel } => colors(first, rest, bel),
        Query::Capability => "\x1bP0+r\x1b\\".to_owned(),
        Query::Setting => "\x1bP0$r\x1b\\".to_owned(),
        Query::Other => String::new(),
    }
}

/// DECRPM's word for a mode that the terminal does not know.
const UNKNOWN: u8 = 0;

fn private_mode(number: u16, screen: &vt100::Screen) -> u8 {
    use vt100::MouseProtocolMode as Mouse;
    let mouse = screen.mouse_protocol_mode();
    let set = match number {
        1 => screen.application_cursor(),
        25 => !screen.hide_cursor(),
        47 | 1047 | 1049 => screen.alternate_screen(),
        1000 => mouse == Mouse::PressRelease,
        1002 => mouse == Mouse::ButtonMotion,
        1003 => mouse == Mouse::AnyMotion,
        2004 => screen.bracketed_paste(),
        _ => return UNKNOWN,
    };
    if set { 1 } else { 2 }
}

/// Each further field of the query asks for the next colour's number.
fn colors(first: u16, rest: &[u8], bel: bool) -> String {
    let terminator = if bel { "\x07" } else { "\x1b\\" };
    (first..=19)
        .zip(rest.split(|byte| *byte == b';'))
        .filter(|(_, field)| *field == b"?")
        .map(|(number, _)| {
            // 11 text background, 14 and 16 those of pointer and Tektronix window, 17 highlight.
            let color = if matches!(number, 11 | 14 | 16 | 17) { BACKGROUND } else { FOREGROUND };
            format!("\x1b]{number};{color}{terminator}")
        })
        .collect()
}

/// What the screen is told instead of a sequence that vt100 does not know, or does too literally.
pub(super) fn translate(sequence: &[u8], screen: &vt100::Screen) -> Option<Vec<u8>> {
    match sequence {
        // SCOSC and SCORC: the cursor is saved and restored as by DECSC and DECRC.
        b"\x1b[s" => Some(b"\x1b7".to_vec()),
        b"\x1b[u" => Some(b"\x1b8".to_vec()),
        b"\x1b[?1047h" => Some(b"\x1b[?47h".to_vec()),
        b"\x1b[?1047l" => Some(b"\x1b[?47l".to_vec()),
        // REP: vt100 prints one by one, 65,535 times for eight bytes. A screenful looks the same.
        [0x1b, b'[', number @ .., b'b'] => {
            let (rows, columns) = screen.size();
            let screenful = u32::from(rows.get()) * u32::from(columns.get());
            let number = parse_number(number).map_or(u32::MAX, u32::from);
            (number > screenful).then(|| format!("\x1b[{screenful}b").into_bytes())
        }
        _ => None,
    }
}
