//! The texts in `docs` are what the program says of itself.
#![cfg(feature = "cli")]
#![allow(clippy::unwrap_used, clippy::expect_used)]

#[path = "common/cli.rs"]
mod cli;

use cli::{output, text};

fn assert_same(file: &str, command: &str) {
    let path = format!("{}/docs/{file}", env!("CARGO_MANIFEST_DIR"));
    let committed = std::fs::read_to_string(&path).unwrap();
    let now = text(&output(&[command]).stdout);
    assert!(committed == now, "docs/{file} is old: awaitty {command} > docs/{file}");
}

#[test]
fn the_help_texts_are_those_of_the_program() {
    assert_same("cli.md", "help-texts");
}

#[test]
fn the_schema_is_that_of_the_code() {
    assert_same("verdict.schema.json", "schema");
}
