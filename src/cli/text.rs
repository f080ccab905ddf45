//! A verdict in one line for people.
//!
//! Names and prompts come from the programs that are watched, so control characters in them are shown
//! escaped: none may reach the reader's terminal.

use std::fmt::{self, Display, Formatter};

use anstyle::{AnsiColor, Style};
use serde::Serialize;

use crate::verdict::{
    By, Exited, Idle, Input, Kind, Party, Reader, Running, State, Stopped, Unknown, Verdict,
};

const WAITS: Style = AnsiColor::Green.on_default().bold();
const MOVES: Style = AnsiColor::Blue.on_default();
const STANDS: Style = AnsiColor::Yellow.on_default();
const QUOTED: Style = Style::new().bold();
const ASIDE: Style = Style::new().dimmed();

/// A verdict, displayed as one line with colours: print it through `anstream`, which takes them out
/// where nobody would see them.
#[derive(Debug, Clone, Copy)]
pub struct Text<'a>(pub &'a Verdict);

/// Text of a program's making, safe to be shown.
#[derive(Debug, Clone, Copy)]
pub struct Escaped<'a>(pub &'a str);

impl Display for Text<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match &self.0.state {
            State::Prompt(input) => prompt(f, input),
            State::Input(input) => waits(f, input),
            State::Running(running) => busy(f, running),
            State::Idle(state) => idle(f, state),
            State::Stopped(state) => stopped(f, state),
            State::Exited(exited) => ended(f, *exited),
            State::Unknown(state) => unknown(f, state),
        }?;
        if !self.0.exact && !self.0.has_exited() {
            let how = if self.0.by == By::Proc { "not proved" } else { "a guess" };
            write!(f, " {ASIDE}[{how}, {:.2}]{ASIDE:#}", self.0.confidence)?;
        }
        Ok(())
    }
}

fn prompt(f: &mut Formatter<'_>, input: &Input) -> fmt::Result {
    match input.kind {
        Kind::Continuation => write!(f, "{WAITS}at the secondary prompt{WAITS:#}")?,
        _ => write!(f, "{WAITS}at the prompt{WAITS:#}")?,
    }
    details(f, input)
}

fn waits(f: &mut Formatter<'_>, input: &Input) -> fmt::Result {
    write!(f, "{WAITS}waits for input{WAITS:#} ({})", word(&input.kind))?;
    details(f, input)
}

fn details(f: &mut Formatter<'_>, input: &Input) -> fmt::Result {
    // What stands before the cursor of a full-screen program is no prompt.
    let prompt = input.prompt.as_deref().filter(|_| input.kind != Kind::Screen);
    if let Some(prompt) = prompt.filter(|prompt| !prompt.is_empty()) {
        write!(f, ": {QUOTED}\"{}\"{QUOTED:#}", Escaped(prompt))?;
    }
    if let Some(Reader { pid, comm, call, fd, tty, .. }) = &input.reader {
        write!(f, " – {} ({pid}) {call} {fd} <{}>", Escaped(comm), Escaped(tty))?;
    }
    if !input.writers.is_empty() {
        write!(f, ", held open by ")?;
        list(f, &input.writers, ", ")?;
    }
    if !input.exclusive && input.reader.is_some() {
        f.write_str(", one of several readers")?;
    }
    match input.timeout {
        Some(seconds) => write!(f, ", for {seconds} s at the most"),
        None => Ok(()),
    }
}

fn busy(f: &mut Formatter<'_>, running: &Running) -> fmt::Result {
    write!(f, "{MOVES}busy{MOVES:#}: {}", word(&running.waiting_on))?;
    if let Some(task) = &running.task {
        write!(f, " – {}", Name(task))?;
    }
    if running.accepts_input { f.write_str(", takes input all the same") } else { Ok(()) }
}

fn idle(f: &mut Formatter<'_>, idle: &Idle) -> fmt::Result {
    write!(f, "{STANDS}idle{STANDS:#}: {}", word(&idle.reason))?;
    if !idle.listening.is_empty() {
        let addresses: Vec<_> = idle.listening.iter().map(|it| Escaped(it).to_string()).collect();
        write!(f, ", listening on {}", addresses.join(", "))?;
    }
    if let Some(first) = idle.cycle.first() {
        f.write_str(" – ")?;
        list(f, &idle.cycle, " → ")?;
        write!(f, " → {}", Name(first))?;
    }
    Ok(())
}

fn stopped(f: &mut Formatter<'_>, stopped: &Stopped) -> fmt::Result {
    write!(f, "{STANDS}stopped{STANDS:#}: {}", word(&stopped.reason))?;
    match &stopped.tracer {
        Some(tracer) => write!(f, " by {}", Name(tracer)),
        None => Ok(()),
    }
}

fn ended(f: &mut Formatter<'_>, exited: Exited) -> fmt::Result {
    match exited {
        Exited { code: Some(code), .. } => write!(f, "ended: code {code}"),
        Exited { signal: Some(number), .. } => match nix::sys::signal::Signal::try_from(number) {
            Ok(signal) => write!(f, "ended: signal {number} ({signal})"),
            Err(_) => write!(f, "ended: signal {number}"),
        },
        Exited { code: None, signal: None } => f.write_str("ended"),
    }
}

fn unknown(f: &mut Formatter<'_>, unknown: &Unknown) -> fmt::Result {
    write!(f, "{STANDS}unknown{STANDS:#}: {}", Escaped(&unknown.why))?;
    match unknown.guess {
        Some(guess) => write!(f, "; likely {}", word(&guess)),
        None => Ok(()),
    }
}

/// A process as people know it.
struct Name<'a>(&'a Party);

impl Display for Name<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", Escaped(&self.0.comm), self.0.pid)
    }
}

fn list(f: &mut Formatter<'_>, parties: &[Party], between: &str) -> fmt::Result {
    for (index, party) in parties.iter().enumerate() {
        let before = if index == 0 { "" } else { between };
        write!(f, "{before}{}", Name(party))?;
    }
    Ok(())
}

/// The word that the JSON has, so that both say the same.
pub(super) fn word(name: &impl Serialize) -> String {
    match serde_json::to_value(name) {
        Ok(serde_json::Value::String(name)) => name.replace('_', " "),
        _ => String::new(),
    }
}

impl Display for Escaped<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for character in self.0.chars() {
            match character {
                '"' | '\\' => write!(f, "\\{character}")?,
                _ if character.is_control() || turns_text(character) => {
                    write!(f, "{}", character.escape_default())?;
                }
                _ => write!(f, "{character}")?,
            }
        }
        Ok(())
    }
}

/// Characters that show nothing and change how others are shown (Unicode's bidirectional controls and
/// zero-width marks).
fn turns_text(character: char) -> bool {
    matches!(character, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

#[cfg(test)]
mod tests;
