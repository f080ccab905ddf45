//! The questions that a program asks its terminal, and a filter that takes them out.
//!
//! A program writes a query and waits until the terminal has answered it on its input. A terminal of
//! our own has to answer ([`Screen::feed`](super::Screen::feed)); and where the program's output is
//! shown on a real terminal too, that one must not see the query, or it would type a second answer
//! into whatever reads there. What queries exist is said by xterm's `ctlseqs` and, for `CSI ? u` and
//! APC `G`, by kitty's protocol texts.

use std::borrow::Cow;

use super::sequence::{Framer, Piece};

/// A question to the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Query<'a> {
    /// `CSI 5 n`: are you there?
    Status,
    /// `CSI 6 n`, `CSI ? 6 n`: where is the cursor?
    Cursor {
        /// The form with `?` (DECXCPR).
        private: bool,
    },
    /// `CSI c`, `ESC Z`: what are you?
    PrimaryAttributes,
    /// `CSI > c`: which version?
    SecondaryAttributes,
    /// `CSI = c`: which unit?
    TertiaryAttributes,
    /// `CSI > q`: your name and version (XTVERSION).
    Version,
    /// `CSI Ps $ p`, `CSI ? Ps $ p`: is this mode set (DECRQM)?
    Mode {
        /// The form with `?`.
        private: bool,
        /// Which mode.
        number: u16,
    },
    /// `CSI 18 t`: how many rows and columns?
    TextSize,
    /// `OSC 10 ; ? ST` and the like: the dynamic colours.
    Colors {
        /// The number of the first one that is asked for.
        first: u16,
        /// The rest of the string: `?` for each that is asked for, separated by semicolons.
        rest: &'a [u8],
        /// Ended by BEL, and so must the answer be.
        bel: bool,
    },
    /// `DCS + q … ST`: a terminfo capability (XTGETTCAP).
    Capability,
    /// `DCS $ q … ST`: a setting (DECRQSS).
    Setting,
    /// One that a plain xterm does not answer, or only when its owner allows it.
    Other,
}

impl<'a> Query<'a> {
    /// The query that a whole sequence is, if it is one.
    pub(super) fn parse(sequence: &'a [u8]) -> Option<Query<'a>> {
        match sequence {
            [0x1b, b'[', body @ .., last] => control(body, *last),
            [0x1b, b']', body @ .., 0x07] => osc(body, true),
            [0x1b, b']', body @ .., 0x1b, b'\\'] => osc(body, false),
            [0x1b, b'P', b'+', b'q', .., 0x1b, b'\\'] => Some(Query::Capability),
            [0x1b, b'P', b'$', b'q', .., 0x1b, b'\\'] => Some(Query::Setting),
            [0x1b, b'_', b'G', body @ .., 0x1b, b'\\'] => {
                let keys = body.split(|byte| *byte == b';').next().unwrap_or_default();
                keys.split(|byte| *byte == b',').any(|key| key == b"a=q").then_some(Query::Other)
            }
            b"\x1bZ" => Some(Query::PrimaryAttributes),
            _ => None,
        }
    }
}

/// A control sequence: what is between `CSI` and the last byte, and that byte.
fn control<'a>(body: &[u8], last: u8) -> Option<Query<'a>> {
    // Controls within a sequence act at once and do not belong to it (ECMA-48 leaves them open; DEC's
    // terminals and xterm do so).
    let mut body = Cow::Borrowed(body);
    if body.iter().any(|byte| *byte < 0x20) {
        body.to_mut().retain(|byte| *byte >= 0x20);
    }
    match (&*body, last) {
        (b"5", b'n') => Some(Query::Status),
        (b"6", b'n') => Some(Query::Cursor { private: false }),
        (b"?6", b'n') => Some(Query::Cursor { private: true }),
        ([b'?', ..], b'n' | b'u' | b'm') => Some(Query::Other),
        (b"" | b"0", b'c') => Some(Query::PrimaryAttributes),
        (b">" | b">0", b'c') => Some(Query::SecondaryAttributes),
        (b"=" | b"=0", b'c') => Some(Query::TertiaryAttributes),
        (b">" | b">0", b'q') => Some(Query::Version),
        ([b'?', number @ .., b'$'], b'p') => mode(number, true),
        ([number @ .., b'$'], b'p') => mode(number, false),
        (b"18", b't') => Some(Query::TextSize),
        (
            b"11" | b"13" | b"13;2" | b"14" | b"14;2" | b"15" | b"16" | b"19" | b"20" | b"21",
            b't',
        )
        | (b"" | b"0" | b"1", b'x')
        | ([.., b'$'], b'u' | b'w')
        | ([.., b'*'], b'y') => Some(Query::Other),
        _ => None,
    }
}

fn mode<'a>(number: &[u8], private: bool) -> Option<Query<'a>> {
    Some(Query::Mode { private, number: parse_number(number)? })
}

/// An operating system command: what is between `OSC` and the terminator.
fn osc(body: &[u8], bel: bool) -> Option<Query<'_>> {
    let at = memchr::memchr(b';', body)?;
    let (number, rest) = (parse_number(&body[..at])?, &body[at + 1..]);
    let mut fields = rest.split(|byte| *byte == b';');
    let asked = fields.any(|field| field == b"?" || field.ends_with(b"=?"));
    match number {
        _ if !asked => None,
        10..=19 => Some(Query::Colors { first: number, rest, bel }),
        // Palette, special colours, colours by name, font, selection. In every other command (a
        // title, a directory, a link) a question mark is just that.
        4 | 5 | 21 | 50 | 52 => Some(Query::Other),
        _ => None,
    }
}

/// A decimal number; the empty one is 0, as everywhere in control sequences.
pub(super) fn parse_number(digits: &[u8]) -> Option<u16> {
    if digits.is_empty() {
        return Some(0);
    }
    std::str::from_utf8(digits).ok()?.parse().ok()
}

/// Takes the queries out of a program's output on its way to a real terminal.
///
/// Give it the output in the order of the reads, however it was cut. A sequence that is not yet
/// whole is held until it is; a terminal would not act on it before that either.
///
/// ```
/// use awaitty::pty::QueryFilter;
///
/// let mut filter = QueryFilter::default();
/// let mut shown = filter.feed(b"name: \x1b[");
/// shown.extend(filter.feed(b"6n\x1b[1m>"));
/// assert_eq!(shown, b"name: \x1b[1m>");
/// ```
#[derive(Debug, Default)]
pub struct QueryFilter {
    framer: Framer,
}

impl QueryFilter {
    /// The bytes to be shown now.
    pub fn feed(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut shown = Vec::with_capacity(bytes.len());
        self.framer.feed(bytes, &mut |piece| match piece {
            Piece::Sequence(sequence) if Query::parse(sequence).is_some() => {}
            Piece::Text(bytes) | Piece::Sequence(bytes) | Piece::Bulk(bytes) => {
                shown.extend_from_slice(bytes);
            }
        });
        shown
    }

    /// What is held of an unfinished sequence, when the output has ended.
    pub fn finish(&mut self) -> Vec<u8> {
        self.framer.finish()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const QUERIES: &[&[u8]] = &[
        b"\x1b[5n",
        b"\x1b[6n",
        b"\x1b[?6n",
        b"\x1b[?996n",
        b"\x1b[c",
        b"\x1b[0c",
        b"\x1b[>c",
        b"\x1b[=c",
        b"\x1b[>q",
        b"\x1b[>0q",
        b"\x1b[?u",
        b"\x1b[?4m",
        b"\x1b[?2026$p",
        b"\x1b[4$p",
        b"\x1b[18t",
        b"\x1b[14t",
        b"\x1b[x",
        b"\x1b]10;?\x07",
        b"\x1b]11;?\x1b\\",
        b"\x1b]10;?;?\x1b\\",
        b"\x1b]4;1;?\x07",
        b"\x1b]52;c;?\x07",
        b"\x1bP+q544e\x1b\\",
        b"\x1bP$q q\x1b\\",
        b"\x1b_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\x1b\\",
        b"\x1bZ",
    ];

    const OTHERS: &[&[u8]] = &[
        b"\x1b[1;31m",
        b"\x1b[2J",
        b"\x1b[?2004h",
        b"\x1b[>1u",
        b"\x1b[<u",
        b"\x1b[u",
        b"\x1b[>4;2m",
        b"\x1b[2 q",
        b"\x1b[8;24;80t",
        b"\x1b[22;0t",
        b"\x1b[!p",
        b"\x1b]0;what?\x07",
        b"\x1b]2;?\x07",
        b"\x1b]11;#ffffff\x07",
        b"\x1b]133;A\x07",
        b"\x1b]8;;http://h/?\x1b\\",
        b"\x1bP0;1|17/ab\x1b\\",
        b"\x1b_Ga=T,f=100;AAAA\x1b\\",
    ];

    #[test]
    fn queries_are_taken_out_and_nothing_else() {
        for query in QUERIES {
            assert_eq!(QueryFilter::default().feed(query), b"", "{}", query.escape_ascii());
        }
        for other in OTHERS {
            assert_eq!(QueryFilter::default().feed(other), *other, "{}", other.escape_ascii());
        }
    }

    #[test]
    fn a_query_split_over_reads_is_taken_out() {
        for query in QUERIES {
            let mut filter = QueryFilter::default();
            let shown: Vec<u8> = query.iter().flat_map(|byte| filter.feed(&[*byte])).collect();
            assert_eq!(shown, b"", "{}", query.escape_ascii());
        }
    }

    #[test]
    fn an_unfinished_sequence_is_given_at_the_end() {
        let mut filter = QueryFilter::default();
        assert_eq!(filter.feed(b"bye\x1b[3"), b"bye");
        assert_eq!(filter.finish(), b"\x1b[3");
    }

    proptest! {
        #[test]
        fn output_without_escapes_goes_through_whole(text in "[^\x1b]{0,200}") {
            prop_assert_eq!(QueryFilter::default().feed(text.as_bytes()), text.as_bytes());
        }
    }
}
