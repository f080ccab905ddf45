//! Every recording in `fixtures/recordings` comes to the verdicts that are in it. A change of the
//! core that alters one fails by the recording's name; `awaitty replay --check FILE` shows how.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use awaitty::fixture::{Reader, replay};

fn verdicts_are_the_same(path: &Path) -> datatest_stable::Result<()> {
    let mut reader = Reader::new(BufReader::new(File::open(path)?))?;
    let replayed = replay(&mut reader)?;
    let differences = replayed.differences();
    if replayed.recorded.is_empty() {
        return Err("no verdict is in it".into());
    }
    if !differences.is_empty() {
        let shown: Vec<String> = differences.iter().map(ToString::to_string).collect();
        return Err(shown.join("\n").into());
    }
    Ok(())
}

datatest_stable::harness! {
    { test = verdicts_are_the_same, root = "fixtures/recordings", pattern = r"\.cast$" },
}
