//! Real programs: each is brought to some points, and what is said of it there must be what the
//! table says, come to that by itself, and hold.
//!
//! `AWAITTY_ONLY=name` selects a situation (`cargo test --test real -- name` selects all with
//! `name` in theirs), `AWAITTY_REPEAT=20` plays each so often, `AWAITTY_LOAD=2` keeps that many
//! processes busy beside them. A situation whose programs are missing, or that needs root, is a
//! skip, told at the end; with `CI=true` it is an error.
#![allow(clippy::unwrap_used, clippy::expect_used)]

#[path = "../common/expect.rs"]
mod expect;
#[path = "../common/load.rs"]
mod load;
mod situation;
mod stage;
mod table;
mod user;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::{Arc, Mutex, PoisonError};

use awaitty::watch::Monitor;
use libtest_mimic::{Arguments, Completion, Failed, Trial};
use nix::unistd::Uid;

use situation::{Situation, User, Watcher};

/// Set in a run of one situation by its own user.
const AS_ITS_USER: &str = "AWAITTY_AS_ITS_USER";

static SKIPPED: Mutex<Vec<String>> = Mutex::new(Vec::new());

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let only = std::env::var("AWAITTY_ONLY").ok();
    let repeat = std::env::var("AWAITTY_REPEAT").map_or(1, |n| n.parse().expect("a number"));
    let monitor = Arc::new(Monitor::start().unwrap());
    let mut trials = Vec::new();
    for round in 1..=repeat {
        for situation in table::all() {
            if only.as_deref().is_some_and(|only| only != situation.name) {
                continue;
            }
            let monitor = Arc::clone(&monitor);
            let trial = Trial::ignorable_test(situation.name, move || run(&monitor, situation));
            trials.push(if repeat == 1 { trial } else { trial.with_kind(round.to_string()) });
        }
    }
    assert!(!trials.is_empty(), "no such situation");
    let copied = Uid::effective().is_root();
    if copied {
        // Before any other thread forks: whoever holds it open for writing cannot be executed.
        std::fs::copy(std::env::current_exe().unwrap(), copy()).unwrap();
    }
    let load = load::from_environment();
    let conclusion = libtest_mimic::run(&arguments, trials);
    drop(load);
    user::remove();
    if copied {
        let _ = std::fs::remove_file(copy());
    }
    let skipped = std::mem::take(&mut *SKIPPED.lock().unwrap_or_else(PoisonError::into_inner));
    for skip in &skipped {
        eprintln!("SKIPPED {skip}");
    }
    let in_ci = std::env::var_os("CI").is_some_and(|ci| ci == "true");
    if in_ci && !skipped.is_empty() {
        eprintln!("{} skipped: an error in CI", skipped.len());
        return ExitCode::FAILURE;
    }
    conclusion.exit_code()
}

fn run(monitor: &Monitor, situation: &'static Situation) -> Result<Completion, Failed> {
    if let Some(why) = missing(situation) {
        let skip = format!("{}: {why}", situation.name);
        SKIPPED.lock().unwrap_or_else(PoisonError::into_inner).push(skip);
        return Ok(Completion::ignored_with(why));
    }
    let outcome = match situation.watcher {
        Watcher::Its if Uid::effective().is_root() => as_its_user(situation),
        _ => stage::play(monitor, situation),
    };
    outcome.map(|()| Completion::Completed).map_err(Failed::from)
}

/// What a situation needs and does not find.
fn missing(situation: &Situation) -> Option<String> {
    let root = Uid::effective().is_root() || std::env::var_os(AS_ITS_USER).is_some();
    if situation.user != User::Same && !root {
        return Some("needs root".to_owned());
    }
    let names = situation.needs.iter().chain(situation.command.first());
    let mut absent = names.filter(|name| !installed(name));
    absent.next().map(|name| format!("{name} is not installed"))
}

fn installed(name: &str) -> bool {
    stage::PATH.split(':').any(|directory| Path::new(directory).join(name).is_file())
}

/// This program, where every user gets to it.
fn copy() -> PathBuf {
    std::env::temp_dir().join(format!("awaitty-real-{}", std::process::id()))
}

/// The situation in a run of its own, which is its user's: the watcher sees no more than that user.
fn as_its_user(situation: &Situation) -> Result<(), String> {
    let owner = user::ordinary(situation.user).ok_or("an ordinary user's situation")?;
    let mut command: Command = owner.wrapper();
    command.arg(copy()).args(["--exact", situation.name]);
    owner.tell(&mut command);
    command.env(AS_ITS_USER, "1").env_remove("AWAITTY_REPEAT").env_remove("AWAITTY_LOAD");
    let output = command.output().map_err(|error| error.to_string())?;
    match output.status.success() {
        true => Ok(()),
        false => Err(String::from_utf8_lossy(&output.stdout).into_owned()
            + &String::from_utf8_lossy(&output.stderr)),
    }
}
