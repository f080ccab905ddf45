//! What watching costs, and how soon the verdict comes: `cargo bench`, or `cargo bench -- latency`.
//!
//! criterion does not fit here. It runs a closure over and over and tells the time of one run; what
//! has to be measured here is no closure's time. Latency begins in another process (at the stamp that
//! a program writes just before it blocks) and ends at our API, and its p99 counts, not its mean.
//! Overhead is the ratio of whole jobs run in pairs, with a watcher and without. The cost of a
//! watcher is the CPU time of its thread beside a job that goes on, and the memory of its process.
//!
//! A table goes to standard output, the same as JSON to a file. Bounds are those that the project
//! promises; with `--check` a missed one is exit code 1.

mod cpu;
mod crowd;
mod latency;
mod looks;
mod many;
mod overhead;
mod report;
mod sleepers;
mod stage;
mod stats;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, ValueEnum};

use report::Report;

/// Measures the latency of verdicts and what watching costs.
#[derive(Debug, Parser)]
#[command(name = "cargo bench --")]
struct Args {
    /// What to measure; everything if nothing is named.
    #[arg(value_enum)]
    only: Vec<Subject>,
    /// Where the figures go as JSON.
    #[arg(long, value_name = "FILE", default_value = concat!(env!("CARGO_TARGET_TMPDIR"), "/../bench.json"))]
    json: PathBuf,
    /// Exit with 1 if a bound is missed.
    #[arg(long)]
    check: bool,
    /// A tenth of the samples: to see that everything runs, not what it costs.
    #[arg(long)]
    quick: bool,
    /// Cargo gives this to whatever `cargo bench` runs.
    #[arg(long, hide = true)]
    bench: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Subject {
    /// From the moment a program blocks to the verdict.
    Latency,
    /// What a watched job loses.
    Overhead,
    /// What the watcher's thread takes.
    Cpu,
    /// What one look takes, by the tasks of the job and the processes of the machine.
    Looks,
    /// Two hundred terminals watched by one process.
    Many,
}

/// How much is measured.
#[derive(Debug, Clone, Copy)]
struct Effort {
    quick: bool,
}

impl Effort {
    /// This many samples, or a tenth of them.
    fn of(self, samples: usize) -> usize {
        if self.quick { (samples / 10).max(2) } else { samples }
    }
}

fn main() -> anyhow::Result<ExitCode> {
    let mut arguments = std::env::args_os().skip(1);
    match arguments.next().as_ref().and_then(|role| role.to_str()) {
        Some(overhead::TIMED) => return overhead::timed(arguments),
        Some(many::WATCHER) => return many::watcher(arguments),
        _ => {}
    }
    let args = Args::parse();
    // `cargo test --all-targets` runs this too, without the flag, and wants no figures.
    if !args.bench {
        return Ok(ExitCode::SUCCESS);
    }
    let effort = Effort { quick: args.quick };
    let mut report = Report::begin()?;
    for subject in Subject::value_variants() {
        if !args.only.is_empty() && !args.only.contains(subject) {
            continue;
        }
        match subject {
            Subject::Latency => latency::measure(&mut report, effort)?,
            Subject::Overhead => overhead::measure(&mut report, effort)?,
            Subject::Cpu => cpu::measure(&mut report, effort)?,
            Subject::Looks => looks::measure(&mut report, effort)?,
            Subject::Many => many::measure(&mut report, effort)?,
        }
    }
    let missed = report.end(&args.json)?;
    Ok(if args.check && missed > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// This program again, in another role.
fn own_program() -> std::io::Result<OsString> {
    std::env::current_exe().map(PathBuf::into_os_string)
}
