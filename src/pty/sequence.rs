//! Cuts a terminal's output into text and control sequences.
//!
//! Both the screen and the filter of queries have to see whole sequences, with their bytes, although
//! a read may end in the middle of one. A parser such as `vte` gives the meaning of a sequence but
//! neither its bytes nor the end of those that it ignores, so the framing of ECMA-48 (section 5.4)
//! and of the control strings (5.6) is done here, and nothing else: what a sequence means is the
//! business of the reader.

/// The longest sequence kept whole.
///
/// A query is far shorter. What is longer carries a picture, a clipboard or a file, and goes by in
/// parts, so that a string that never ends does not fill the memory.
const LONGEST: usize = 4096;

const ESC: u8 = 0x1b;
const BEL: u8 = 0x07;
const CAN: u8 = 0x18;
const SUB: u8 = 0x1a;

/// A part of a terminal's output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Piece<'a> {
    /// Characters and single controls; no ESC among them.
    Text(&'a [u8]),
    /// One sequence from its ESC to its end, or as far as it came before another cut it short.
    Sequence(&'a [u8]),
    /// A part of a control string that is too long to be of interest.
    Bulk(&'a [u8]),
}

/// Where in a sequence the last byte was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum State {
    /// Outside of any sequence.
    #[default]
    Ground,
    /// After ESC and any intermediates.
    Escape,
    /// In a control sequence: ESC `[`.
    Control,
    /// In a control string: DCS, SOS, OSC, PM, APC.
    String {
        /// BEL ends it too: an OSC, as xterm has it.
        bel: bool,
    },
    /// In a control string, after an ESC that may belong to its terminator.
    Terminator {
        /// As in [`State::String`].
        bel: bool,
    },
}

/// Cuts output into [`Piece`]s, over any division into reads.
#[derive(Debug, Default)]
pub(super) struct Framer {
    state: State,
    /// The sequence that is under way.
    held: Vec<u8>,
    /// Parts of it have been given away as bulk.
    bulk: bool,
}

impl Framer {
    /// Cuts `bytes`, giving each piece to `sink` as soon as it is whole.
    pub(super) fn feed(&mut self, mut bytes: &[u8], sink: &mut impl FnMut(Piece<'_>)) {
        while let Some(&byte) = bytes.first() {
            if self.state == State::Ground {
                let text = memchr::memchr(ESC, bytes).unwrap_or(bytes.len());
                if text > 0 {
                    sink(Piece::Text(&bytes[..text]));
                    bytes = &bytes[text..];
                } else if let Some(length) = whole_control(bytes) {
                    sink(Piece::Sequence(&bytes[..length]));
                    bytes = &bytes[length..];
                } else {
                    self.begin();
                    bytes = &bytes[1..];
                }
            } else {
                self.step(byte, sink);
                bytes = &bytes[1..];
            }
        }
    }

    /// Gives what is held of an unfinished sequence: the output has ended.
    pub(super) fn finish(&mut self) -> Vec<u8> {
        self.state = State::Ground;
        self.bulk = false;
        std::mem::take(&mut self.held)
    }

    fn begin(&mut self) {
        self.held.push(ESC);
        self.state = State::Escape;
    }

    fn step(&mut self, byte: u8, sink: &mut impl FnMut(Piece<'_>)) {
        match (self.state, byte) {
            (_, CAN | SUB) => self.end(byte, sink),
            (State::String { bel }, ESC) => self.advance(byte, State::Terminator { bel }),
            (State::Terminator { .. }, b'\\') => self.end(byte, sink),
            (State::Terminator { .. }, _) => {
                self.held.pop();
                self.cut(sink);
                self.begin();
                self.step(byte, sink);
            }
            (State::Escape | State::Control, ESC) => {
                self.cut(sink);
                self.begin();
            }
            (State::Escape, _) => self.step_escape(byte, sink),
            (State::Control, 0x40..=0x7e) => self.end(byte, sink),
            (State::String { bel: true }, BEL) => self.end(byte, sink),
            (State::String { .. }, _) if self.held.len() >= LONGEST => {
                self.held.push(byte);
                self.give_bulk(sink);
            }
            // A control sequence has no use for so many parameters: no terminal keeps them.
            (State::Control, _) if self.held.len() >= LONGEST => self.end(byte, sink),
            (state, _) => self.advance(byte, state),
        }
    }

    /// After ESC: what kind of sequence is it?
    fn step_escape(&mut self, byte: u8, sink: &mut impl FnMut(Piece<'_>)) {
        let first = self.held.len() == 1;
        match byte {
            b'[' if first => self.advance(byte, State::Control),
            b']' if first => self.advance(byte, State::String { bel: true }),
            // ESC k is the title string of screen and tmux: their TERM is inherited by what they
            // run, whose shells then set the title so.
            b'P' | b'X' | b'^' | b'_' | b'k' if first => {
                self.advance(byte, State::String { bel: false });
            }
            0x30..=0x7e => self.end(byte, sink),
            _ if self.held.len() >= LONGEST => self.end(byte, sink),
            _ => self.advance(byte, State::Escape),
        }
    }

    fn advance(&mut self, byte: u8, state: State) {
        self.held.push(byte);
        self.state = state;
    }

    fn end(&mut self, byte: u8, sink: &mut impl FnMut(Piece<'_>)) {
        self.held.push(byte);
        self.cut(sink);
    }

    fn cut(&mut self, sink: &mut impl FnMut(Piece<'_>)) {
        if self.bulk {
            sink(Piece::Bulk(&self.held));
        } else {
            sink(Piece::Sequence(&self.held));
        }
        self.bulk = false;
        self.held.clear();
        self.state = State::Ground;
    }

    fn give_bulk(&mut self, sink: &mut impl FnMut(Piece<'_>)) {
        sink(Piece::Bulk(&self.held));
        self.held.clear();
        self.bulk = true;
    }
}

/// The length of the control sequence that `bytes` begin with, if it is there as a whole: the common
/// case, in which nothing has to be copied.
fn whole_control(bytes: &[u8]) -> Option<usize> {
    let body = bytes.strip_prefix(b"\x1b[")?;
    let last = body.iter().take(LONGEST).position(|byte| !(0x20..=0x3f).contains(byte))?;
    (0x40..=0x7e).contains(&body[last]).then_some(last + 3)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn cut(parts: &[&[u8]]) -> Vec<(char, Vec<u8>)> {
        let mut framer = Framer::default();
        let mut pieces: Vec<(char, Vec<u8>)> = Vec::new();
        for part in parts {
            framer.feed(part, &mut |piece| match piece {
                Piece::Text(text) => match pieces.last_mut() {
                    Some(('t', last)) => last.extend_from_slice(text),
                    _ => pieces.push(('t', text.to_vec())),
                },
                Piece::Sequence(sequence) => pieces.push(('s', sequence.to_vec())),
                Piece::Bulk(bulk) => match pieces.last_mut() {
                    Some(('b', last)) => last.extend_from_slice(bulk),
                    _ => pieces.push(('b', bulk.to_vec())),
                },
            });
        }
        pieces.push(('u', framer.finish()));
        pieces
    }

    #[test]
    fn sequences_are_cut_from_the_text_around_them() {
        let pieces = cut(&[b"a\x1b[1;31mb\x1b]0;title\x07c\x1bP+q544e\x1b\\d\x1b(Be\x1b7"]);
        let kinds: Vec<&[u8]> = pieces.iter().map(|(_, bytes)| bytes.as_slice()).collect();
        assert_eq!(
            kinds,
            [
                b"a".as_slice(),
                b"\x1b[1;31m",
                b"b",
                b"\x1b]0;title\x07",
                b"c",
                b"\x1bP+q544e\x1b\\",
                b"d",
                b"\x1b(B",
                b"e",
                b"\x1b7",
                b""
            ]
        );
    }

    #[test]
    fn a_sequence_that_another_cuts_short_ends_there() {
        let pieces = cut(&[b"\x1b[12\x1b[c\x1b]11;?\x1b[6n\x1b[3\x18x"]);
        let kinds: Vec<&[u8]> = pieces.iter().map(|(_, bytes)| bytes.as_slice()).collect();
        assert_eq!(
            kinds,
            [b"\x1b[12".as_slice(), b"\x1b[c", b"\x1b]11;?", b"\x1b[6n", b"\x1b[3\x18", b"x", b""]
        );
    }

    #[test]
    fn a_string_without_end_takes_no_memory() {
        let mut framer = Framer::default();
        let mut bulk = 0;
        framer.feed(b"\x1b_G", &mut |_| {});
        for _ in 0..100 {
            framer.feed(&[b'A'; 5000], &mut |piece| {
                if let Piece::Bulk(bytes) = piece {
                    bulk += bytes.len();
                }
            });
            assert!(framer.held.capacity() <= 4 * LONGEST);
        }
        assert!(bulk > 490_000);
    }

    proptest! {
        #[test]
        fn the_pieces_are_the_bytes(parts in prop::collection::vec(noise(), 0..8)) {
            let parts: Vec<&[u8]> = parts.iter().map(Vec::as_slice).collect();
            let joined: Vec<u8> = cut(&parts).into_iter().flat_map(|(_, bytes)| bytes).collect();
            prop_assert_eq!(joined, parts.concat());
        }

        #[test]
        fn the_division_into_reads_changes_nothing(bytes in noise(), at in 0usize..64) {
            let at = at.min(bytes.len());
            prop_assert_eq!(cut(&[&bytes]), cut(&[&bytes[..at], &bytes[at..]]));
        }
    }

    fn noise() -> impl Strategy<Value = Vec<u8>> {
        let byte = prop_oneof![
            3 => Just(ESC),
            4 => prop::sample::select(b"[]P_\\;?0123456789mHJnc\x07\x18\x9c".to_vec()),
            1 => any::<u8>(),
        ];
        prop::collection::vec(byte, 0..64)
    }
}
