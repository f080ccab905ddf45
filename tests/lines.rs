//! Lines of `--json` as they were once written: whoever reads them relies on their form.
#![allow(clippy::expect_used)]

use awaitty::verdict::{Line, StateName};

fn lines() -> Vec<(serde_json::Value, Line)> {
    include_str!("../fixtures/lines.jsonl")
        .lines()
        .map(|text| {
            let value = serde_json::from_str(text).expect("JSON");
            let line = serde_json::from_str(text).expect("a line");
            (value, line)
        })
        .collect()
}

#[test]
fn a_line_keeps_its_form() {
    for (value, line) in lines() {
        assert_eq!(serde_json::to_value(&line).expect("JSON"), value);
    }
}

#[test]
fn every_state_that_a_run_shows_is_there() {
    let states: Vec<StateName> = lines().iter().map(|(_, line)| line.state).collect();
    for state in [
        StateName::Prompt,
        StateName::Input,
        StateName::Running,
        StateName::Idle,
        StateName::Stopped,
        StateName::Exited,
    ] {
        assert!(states.contains(&state), "{state:?}");
    }
}

#[test]
fn only_what_is_exact_is_certain() {
    for (_, line) in lines() {
        assert_eq!(line.exact, line.confidence >= 1.0, "{line:?}");
    }
}
