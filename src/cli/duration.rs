//! Times on the command line: `10`, `1.5`, `500ms`, `2m`, `1h 30m`.

use std::time::Duration;

/// Reads a time: plain seconds, with a fraction and an `s` or without, or what humantime reads.
///
/// # Errors
/// One line for people.
pub fn parse(text: &str) -> Result<Duration, String> {
    let text = text.trim();
    let number = text.strip_suffix('s').unwrap_or(text);
    // `inf` and `nan` are numbers to Rust and no times to anybody.
    if number.ends_with(|last: char| last.is_ascii_digit() || last == '.')
        && let Ok(seconds) = number.parse::<f64>()
    {
        let wrong = if seconds < 0.0 { "a time is not negative" } else { "that is too long" };
        return Duration::try_from_secs_f64(seconds).map_err(|_| wrong.to_owned());
    }
    humantime::parse_duration(text)
        .map_err(|_| "give seconds, or a time like 1.5, 500ms, 2m".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read() {
        let cases = [
            ("10", 10_000),
            ("10s", 10_000),
            ("1.5", 1500),
            ("1.5s", 1500),
            ("500ms", 500),
            ("2m", 120_000),
            ("1h 30m", 5_400_000),
            ("0", 0),
            (" 3 ", 3000),
        ];
        for (text, milliseconds) in cases {
            assert_eq!(parse(text), Ok(Duration::from_millis(milliseconds)), "{text}");
        }
    }

    #[test]
    fn nonsense_is_refused() {
        for text in ["", "-1", "-1s", "soon", "inf", "nan", "1e400", "10 apples", "s", "1:30"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
