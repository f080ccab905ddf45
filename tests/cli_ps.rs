//! `awaitty ps` and `awaitty doctor`, as their user sees them.
#![cfg(feature = "cli")]
#![allow(clippy::unwrap_used, clippy::expect_used)]

#[path = "common/cli.rs"]
mod cli;

use std::process::Command;

use awaitty::pty::{Pty, Size};
use awaitty::verdict::Line;
use cli::{Window, output, parsed, text};
use serde_json::Value;

fn asking() -> Window {
    let mut command = Command::new("sh");
    command.args(["-c", "echo go; read a"]);
    let mut window = Window::new(Pty::spawn(command, Size::default()).unwrap());
    window.wait_for("go");
    window
}

#[test]
fn lists_a_terminal_with_its_session_and_what_it_waits_for() {
    let window = asking();
    let output = output(&["ps"]);
    assert_eq!((output.status.code(), text(&output.stderr).as_str()), (Some(0), ""));
    let table = text(&output.stdout);
    assert!(table.starts_with("TTY  "), "{table}");
    let tty = window.pty.name().strip_prefix("/dev/").unwrap();
    let row = table.lines().find(|row| row.starts_with(&format!("{tty} "))).expect("a row");
    let pid = window.pty.pid();
    let cells: Vec<&str> = row.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect();
    let shell = format!("sh ({pid})");
    assert_eq!(cells[1..3], [&shell, &shell], "{row}");
    let state = format!("waits for input (line) – sh ({pid}) read 0 <{}>", window.pty.name());
    assert_eq!(cells[4..], ["-", &state], "{row}");
}

#[test]
fn json_is_an_array_of_what_watch_tells_and_more() {
    let window = asking();
    let output = output(&["ps", "--json"]);
    let rows: Vec<Value> = serde_json::from_slice(&output.stdout).unwrap();
    let row = rows.iter().find(|row| row["tty"] == window.pty.name()).expect("a row");
    assert_eq!(row["session"]["pid"], window.pty.pid());
    assert_eq!(row["foreground"]["comm"], "sh");
    assert!(row["since"].as_u64().is_some_and(|since| since < 3600), "{row}");
    let line: Line = parsed(&row.to_string());
    assert!(line.exact && line.input.is_some());
}

#[test]
fn doctor_finds_nothing_wrong_with_the_probes() {
    let output = output(&["doctor", "--json"]);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let ok = report["ok"].as_bool().unwrap();
    assert_eq!(output.status.code(), Some(i32::from(!ok)));
    let layers = report["layers"].as_array().unwrap();
    assert!(layers.iter().all(|it| it["status"] == "open" || it["remedy"].is_string()), "{report}");
    let closed = layers.iter().any(|layer| layer["status"] == "closed");
    for probe in report["probes"].as_array().unwrap() {
        assert!(closed || probe["outcome"] != "wrong", "{probe}");
    }
}
