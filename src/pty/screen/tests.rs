#![allow(clippy::unwrap_used, clippy::expect_used)]
use std::time::Duration;

use proptest::prelude::*;

use super::*;

const NOW: Instant = Duration::from_secs(1);

fn fed(bytes: &[u8]) -> (Screen, String) {
    let mut screen = Screen::new(Size::default());
    let replies = screen.feed(bytes, NOW);
    (screen, String::from_utf8(replies).unwrap())
}

fn line(bytes: &[u8]) -> String {
    fed(bytes).0.output().line
}

fn replies(bytes: &[u8]) -> String {
    fed(bytes).1
}

fn full_screen(bytes: &[u8]) -> bool {
    fed(bytes).0.output().full_screen
}

#[test]
fn the_line_is_the_text_before_the_cursor() {
    assert_eq!(line(b"ls\r\n\x1b[1mContinue?\x1b[m [Y/n] "), "Continue? [Y/n] ");
    assert_eq!(line(b"name: typed\x1b[5D"), "name: ");
    assert_eq!(line(b"a\tb"), "a       b");
    assert_eq!(line(b"done\r\n"), "");
    assert_eq!(line("größe 漢字> ".as_bytes()), "größe 漢字> ");
    assert_eq!(line(b"\x1b]0;title\x07\x1bk title\x1b\\$ "), "$ ");
    assert_eq!(line(b"left \x1b[s\x1b[1;70Hclock\x1b[u> "), "left > ");
}

#[test]
fn lines_that_the_terminal_wrapped_are_joined() {
    let long = "x".repeat(170) + "? ";
    assert_eq!(line(format!("before\r\n{long}").as_bytes()), long);
    let full = "y".repeat(80);
    assert_eq!(line(full.as_bytes()), full, "the wrap is pending");
}

#[test]
fn a_prompt_is_the_same_however_the_reads_divide_it() {
    let bytes = "\x1b[1;32mgrün\x1b[0m\x1b]133;A\x07❯ ".as_bytes();
    for at in 0..bytes.len() {
        let mut screen = Screen::new(Size::default());
        let _ = screen.feed(&bytes[..at], NOW);
        let _ = screen.feed(&bytes[at..], NOW);
        assert_eq!(screen.output().line, "grün❯ ");
        assert_eq!(screen.output().mark, Some(Mark::Prompt));
    }
}

#[test]
fn queries_are_answered_like_a_plain_xterm() {
    let cases = [
        ("\x1b[5n", "\x1b[0n"),
        ("ab\x1b[6n", "\x1b[1;3R"),
        ("\r\n\x1b[?6n", "\x1b[?2;1R"),
        ("\x1b[c", "\x1b[?62;22c"),
        ("\x1b[>c", "\x1b[>1;10;0c"),
        ("\x1b[?u\x1b[c", "\x1b[?62;22c"),
        ("\x1b[?2026$p", "\x1b[?2026;0$y"),
        ("\x1b[?2004h\x1b[?2004$p", "\x1b[?2004;1$y"),
        ("\x1b[?1049$p", "\x1b[?1049;2$y"),
        ("\x1b[4$p", "\x1b[4;0$y"),
        ("\x1b[18t", "\x1b[8;24;80t"),
        ("\x1b]11;?\x07", "\x1b]11;rgb:0000/0000/0000\x07"),
        ("\x1b]10;?;?\x1b\\", "\x1b]10;rgb:e5e5/e5e5/e5e5\x1b\\\x1b]11;rgb:0000/0000/0000\x1b\\"),
        ("\x1bP+q544e\x1b\\", "\x1bP0+r\x1b\\"),
        ("\x1bP$q q\x1b\\", "\x1bP0$r\x1b\\"),
        ("\x1b[1m\x1b]52;c;?\x07", ""),
    ];
    for (query, answer) in cases {
        assert_eq!(replies(query.as_bytes()), answer, "{}", query.escape_default());
    }
    assert!(replies(b"\x1b[>0q").starts_with("\x1bP>|awaitty("));
    let full = "y".repeat(80) + "\x1b[6n";
    assert_eq!(replies(full.as_bytes()), "\x1b[1;80R", "there is no column 81");
}

#[test]
fn a_query_in_parts_is_answered_once_it_is_whole() {
    let mut screen = Screen::new(Size::default());
    assert_eq!(screen.feed(b"> \x1b[", NOW), b"");
    assert_eq!(screen.feed(b"6", NOW), b"");
    assert_eq!(screen.feed(b"n", NOW), b"\x1b[1;3R");
    assert_eq!(screen.output().line, "> ");
}

#[test]
fn a_full_screen_program_is_told_from_a_prompt() {
    assert!(full_screen(b"\x1b[?1049h"), "vim, less");
    assert!(full_screen(b"\x1b[?25l\x1b[H\x1b[2Jtop - 1\x1b[K\r\nTasks"), "top");
    assert!(full_screen(b"\x1b[H\x1b[Jmail\r\n\x1b[6;1H"), "without the alternate screen");
    assert!(full_screen(b"\x1b[2J\x1b[10;20fmenu"));
    assert!(!full_screen(b"\x1b[?1049h\x1b[2J\x1b[3;4Hx\x1b[?1049l"), "vim has ended");
    assert!(!full_screen(b"\x1b[H\x1b[2J\x1b[3J$ "), "clear");
    assert!(!full_screen(b"\x1b[1;70Hclock\x1b[u"), "a clock in a prompt");
    assert!(!full_screen(b"\x1b[1G\x1b[0J> \x1b[3G"), "node's prompt");
    assert!(!full_screen(b"\x1b[H\x1b[2Jtop\x1b[6;1H\x1b[24;1H\r\n$ "), "top has ended");
    assert!(!full_screen(b"\x1b[2J\x1b[5;5Hx\x1b]133;A\x07$ "), "the shell is back");
    assert!(!full_screen(b"\x1b[2J\x1b[5;5Hx\x1bc$ "), "reset");
}

#[test]
fn many_short_lines_leave_what_they_would_one_by_one() {
    let count = |columns: usize| {
        (0..3000).map(|n| format!("{}{n}\r\n", " ".repeat(n % columns))).collect::<String>()
    };
    for text in [count(7) + "last> ", count(100) + "last> ", "\r\n".repeat(5000) + "> "] {
        let whole = fed(text.as_bytes()).0;
        let mut single = Screen::new(Size::default());
        for line in text.split_inclusive('\n') {
            let _ = single.feed(line.as_bytes(), NOW);
        }
        let contents = |screen: &Screen| screen.painter.parser.screen().contents();
        assert_eq!(contents(&whole), contents(&single));
        assert_eq!(whole.output(), single.output());
    }
}

#[test]
fn time_and_bytes_are_counted() {
    let mut screen = Screen::new(Size { rows: 0, cols: 0 });
    assert_eq!(screen.output(), Output::default());
    let _ = screen.feed(b"\x1b]0;x\x07", NOW);
    let _ = screen.feed(b"", Duration::from_secs(9));
    assert_eq!((screen.output().last, screen.output().bytes), (Some(NOW), 6));
}

#[test]
fn a_resized_screen_keeps_its_prompt() {
    let (mut screen, _) = fed(b"$ ");
    screen.resize(Size { rows: 5, cols: 20 });
    assert_eq!(screen.output().line, "$ ");
    screen.resize(Size { rows: u16::MAX, cols: u16::MAX });
    assert_eq!(screen.feed(b"\x1b[18t", NOW), b"\x1b[8;1000;1000t");
}

#[test]
fn repeating_is_bounded() {
    let (screen, _) = fed(&b"x\x1b[65535b".repeat(50));
    assert_eq!(screen.output().line.len(), 400, "a prompt has its bound too");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn no_bytes_make_it_panic(
        rows in 0u16..30,
        cols in 0u16..30,
        parts in prop::collection::vec(hostile(), 1..40),
        resized in (0u16..30, 0u16..30),
    ) {
        let mut screen = Screen::new(Size { rows, cols });
        for (index, part) in parts.iter().enumerate() {
            let _ = screen.feed(part, NOW);
            let _ = screen.output();
            if index == parts.len() / 2 {
                screen.resize(Size { rows: resized.0, cols: resized.1 });
            }
        }
    }
}

/// Noise, text with wide and combining characters, and sequences with extreme parameters.
fn hostile() -> impl Strategy<Value = Vec<u8>> {
    let number = prop_oneof![
        Just(String::new()),
        (0u16..40).prop_map(|n| n.to_string()),
        Just("65535".to_owned()),
        Just("99999999".to_owned())
    ];
    let parameters = prop::collection::vec(number, 0..4).prop_map(|numbers| numbers.join(";"));
    let control =
        ("[?>=!]?", parameters, "[ $*]?", "[@-~]").prop_map(|(mark, parameters, middle, last)| {
            format!("\x1b[{mark}{parameters}{middle}{last}").into_bytes()
        });
    prop_oneof![
        4 => control,
        2 => "[a-z漢字😀\u{301}\u{200d}\u{fe0f}\r\n\t\x08]{0,30}".prop_map(String::into_bytes),
        1 => "\x1b[ -~]".prop_map(String::into_bytes),
        1 => "\x1b[\\]P_^Xk][0-9;?a-z]{0,8}(\x07|\x1b\\\\)?".prop_map(String::into_bytes),
        2 => prop::collection::vec(any::<u8>(), 0..20),
    ]
}
