//! `awaitty doctor`: what this machine lets awaitty see, tried out, and how to get more.

mod calls;
mod machine;
mod probes;
mod sources;

use std::io::{self, Write};
use std::process::ExitCode;
use std::time::Duration;

use anstyle::{AnsiColor, Style};
use serde::Serialize;

use super::limits;
use super::text::Escaped;
use crate::watch::{Monitor, OpenOptions};

/// A probe has taken its place long before.
const READY: Duration = Duration::from_secs(10);

/// Tries what awaitty rests on, layer by layer, and says how to get more where something is closed.
///
/// Then programs that block in a known way are run on terminals of their own, and what is said of each
/// is compared with what is right.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Exit codes:
  0    everything that is needed is open, and everything said of the probes was right
  1    something that is needed is closed, or something said was wrong
  2    wrong usage
  125  awaitty itself failed: standard error says why")]
pub struct Args {
    /// Print one JSON object.
    #[arg(long)]
    pub json: bool,
}

/// Is a layer open?
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Status {
    Open,
    /// Not all of it, and awaitty can do without the rest.
    Limited,
    /// Without it verdicts are guesses.
    Closed,
}

/// What was found of one layer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Finding {
    layer: &'static str,
    status: Status,
    detail: String,
    /// How to get more.
    remedy: Option<String>,
}

impl Finding {
    fn open(layer: &'static str, detail: impl Into<String>) -> Finding {
        Finding { layer, status: Status::Open, detail: detail.into(), remedy: None }
    }

    fn limited(layer: &'static str, detail: impl Into<String>, remedy: &str) -> Finding {
        let remedy = Some(remedy.to_owned());
        Finding { layer, status: Status::Limited, detail: detail.into(), remedy }
    }

    fn closed(layer: &'static str, detail: impl Into<String>, remedy: &str) -> Finding {
        Finding { status: Status::Closed, ..Finding::limited(layer, detail, remedy) }
    }
}

/// Everything that was found.
#[derive(Debug, Serialize)]
struct Report {
    /// Nothing that is needed is closed, and nothing said was wrong.
    ok: bool,
    layers: Vec<Finding>,
    probes: Vec<probes::Trial>,
}

/// Tries everything and reports.
///
/// # Errors
/// When a probe cannot be started, or the report cannot be written.
pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let report = examine()?;
    if args.json {
        let mut stdout = io::stdout();
        stdout.write_all((serde_json::to_string_pretty(&report)? + "\n").as_bytes())?;
        stdout.flush()?;
    } else {
        table(&report, &mut anstream::stdout())?;
    }
    Ok(if report.ok { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn examine() -> anyhow::Result<Report> {
    let monitor = Monitor::start()?;
    let mut layers = machine::findings();
    {
        // A process of our own that stands still: what is closed here is closed everywhere.
        let subject = monitor.open(probe("read")?, OpenOptions::default())?;
        subject.wait_until(|verdict| verdict.waits_for_input() || verdict.has_exited(), READY)?;
        layers.extend(sources::of_own(subject.pid()));
        layers.push(sources::of_others());
        layers.extend(calls::findings(subject.pid(), subject.tty()));
    }
    let probes = probes::run(&monitor)?;
    monitor.shutdown();
    let closed = layers.iter().any(|finding| finding.status == Status::Closed);
    let wrong = probes.iter().any(|trial| trial.outcome == probes::Outcome::Wrong);
    Ok(Report { ok: !closed && !wrong, layers, probes })
}

/// This very program as a probe.
fn probe(name: &str) -> io::Result<std::process::Command> {
    let mut command = limits::command(std::env::current_exe()?);
    command.args(["probe", name]);
    Ok(command)
}

const GOOD: Style = AnsiColor::Green.on_default();
const FAIR: Style = AnsiColor::Yellow.on_default();
const BAD: Style = AnsiColor::Red.on_default().bold();

fn table(report: &Report, sink: &mut dyn Write) -> io::Result<()> {
    for Finding { layer, status, detail, remedy } in &report.layers {
        let (style, word) = match status {
            Status::Open => (GOOD, "ok"),
            Status::Limited => (FAIR, "limited"),
            Status::Closed => (BAD, "CLOSED"),
        };
        writeln!(sink, "{style}{word:<7}{style:#}  {layer:<24}  {}", Escaped(detail))?;
        if let Some(remedy) = remedy {
            writeln!(sink, "         {:<24}  -> {remedy}", "")?;
        }
    }
    writeln!(sink)?;
    for trial in &report.probes {
        let (style, word) = match trial.outcome {
            probes::Outcome::Right => (GOOD, "ok"),
            probes::Outcome::Skipped => (FAIR, "skipped"),
            probes::Outcome::Wrong => (BAD, "FAIL"),
        };
        let name = format!("probe {}", trial.probe);
        writeln!(sink, "{style}{word:<7}{style:#}  {name:<24}  {}", trial.said)?;
    }
    let ending = match report.ok {
        true => "everything that is needed is open",
        false => "something that is needed is closed or wrong: see above",
    };
    writeln!(sink, "\n{ending}")?;
    sink.flush()
}
