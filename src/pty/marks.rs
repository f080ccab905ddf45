//! The marks that a shell puts around its prompts: FinalTerm's OSC 133 (as in the "semantic prompts"
//! text that kitty, WezTerm, foot and iTerm2 follow) and VS Code's OSC 633.

use crate::verdict::Mark;

/// The mark that follows `current` when `sequence` comes, if it is one.
pub(super) fn read(sequence: &[u8], current: Option<Mark>) -> Option<Mark> {
    let body = match sequence {
        [0x1b, b']', body @ .., 0x07] | [0x1b, b']', body @ .., 0x1b, b'\\'] => body,
        _ => return None,
    };
    let mut fields = body.split(|byte| *byte == b';');
    let vscode = match fields.next()? {
        b"133" => false,
        b"633" => true,
        _ => return None,
    };
    let name = fields.next()?;
    let kind = fields.clone().find_map(|field| field.strip_prefix(b"k="));
    match name {
        // A right prompt stands within the prompt that has begun already.
        b"A" | b"N" | b"P" if !vscode => match kind {
            Some(b"s" | b"c") => Some(Mark::Continuation),
            Some(b"r") => None,
            _ => Some(Mark::Prompt),
        },
        b"A" => Some(Mark::Prompt),
        // The end of a secondary prompt is marked like that of the first one, and what is typed then
        // is still the rest of a command.
        b"B" | b"I" if !vscode || name == b"B" => match current {
            Some(Mark::Continuation) => Some(Mark::Continuation),
            _ => Some(Mark::Command),
        },
        b"F" | b"G" if vscode => Some(Mark::Continuation),
        b"C" => Some(Mark::Executing),
        b"D" => Some(Mark::Finished(fields.next().and_then(exit_code))),
        _ => None,
    }
}

fn exit_code(field: &[u8]) -> Option<i32> {
    std::str::from_utf8(field).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn last(sequences: &[&[u8]]) -> Option<Mark> {
        sequences.iter().fold(None, |mark, sequence| read(sequence, mark).or(mark))
    }

    #[test]
    fn a_command_goes_through_its_marks() {
        let mut marks: Vec<&[u8]> = vec![b"\x1b]133;A;cl=m\x07"];
        assert_eq!(last(&marks), Some(Mark::Prompt));
        marks.push(b"\x1b]133;B\x1b\\");
        assert_eq!(last(&marks), Some(Mark::Command));
        marks.push(b"\x1b]133;C\x07");
        assert_eq!(last(&marks), Some(Mark::Executing));
        marks.push(b"\x1b]133;D;130;aid=7\x07");
        assert_eq!(last(&marks), Some(Mark::Finished(Some(130))));
        marks.push(b"\x1b]133;D\x07");
        assert_eq!(last(&marks), Some(Mark::Finished(None)));
    }

    #[test]
    fn a_secondary_prompt_stays_one_until_the_command_runs() {
        let marks: [&[u8]; 3] = [b"\x1b]133;A\x07", b"\x1b]133;P;k=s\x07", b"\x1b]133;B\x07"];
        assert_eq!(last(&marks), Some(Mark::Continuation));
        assert_eq!(
            last(&[b"\x1b]633;F\x07", b"\x1b]633;G\x07", b"\x1b]633;B\x07"]),
            Some(Mark::Continuation)
        );
        assert_eq!(last(&[b"\x1b]633;F\x07", b"\x1b]633;C\x07"]), Some(Mark::Executing));
    }

    #[test]
    fn a_right_prompt_and_properties_change_nothing() {
        assert_eq!(last(&[b"\x1b]133;A\x07", b"\x1b]133;P;k=r\x07"]), Some(Mark::Prompt));
        assert_eq!(last(&[b"\x1b]633;B\x07", b"\x1b]633;P;Cwd=/\x07"]), Some(Mark::Command));
        assert_eq!(last(&[b"\x1b]633;E;ls\x07", b"\x1b]0;133;A\x07", b"\x1b[133A"]), None);
    }
}
