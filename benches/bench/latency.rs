//! From the moment a program blocks to the verdict at the API.

use std::time::{Duration, Instant};

use awaitty::watch::Monitor;

use crate::Effort;
use crate::cpu::Thread;
use crate::report::Report;
use crate::stage::{Rhythm, Stamped};
use crate::stats::Sorted;

const METHOD: &str = "the probe stamps CLOCK_MONOTONIC just before it blocks in read(2) of its \
                      terminal; the clock is read again when the verdict arrives by the channel";
const PROMPT: &str = "Continue? [Y/n] ";

pub(crate) fn measure(report: &mut Report, effort: Effort) -> anyhow::Result<()> {
    report.subject("latency", METHOD)?;
    let millis = Duration::from_millis;
    let idle = Rhythm { prompt: PROMPT, ..Rhythm::default() };
    // Whoever answers takes some time to read; the last row is for who does not.
    let read = millis(50);
    let bounds = [Some(0.3), Some(3.0)];
    let prompts = [
        ("a prompt at once", idle, read, bounds),
        ("a prompt after computing for 5 ms", Rhythm { work: millis(5), ..idle }, read, bounds),
        ("a prompt after a sleep of 20 ms", Rhythm { sleep: millis(20), ..idle }, read, bounds),
        ("a prompt at once, answered at once", idle, Duration::ZERO, [None; 2]),
    ];
    for (name, rhythm, read, bounds) in prompts {
        let (samples, cpu) = on_terminals(1, effort.of(500), rhythm, read)?;
        report.distribution(name, &samples, "ms", bounds);
        report.figure(format!("{name}, CPU a round"), cpu, "ms", None, samples.len());
    }
    let lateness = Sorted::new(lateness(effort.of(2000)));
    report.distribution("for comparison: how late a timer of 1 ms is", &lateness, "ms", [None; 2]);
    for (quiet, terminals, rounds) in [(10, 1, 500), (100, 1, 200), (1000, 4, 25), (3000, 4, 25)] {
        let rhythm = Rhythm { sleep: millis(quiet), ..Rhythm::default() };
        let (samples, _) = on_terminals(terminals, effort.of(rounds), rhythm, read)?;
        let bound = quiet as f64 * 0.02 + 2.0;
        let name = format!("a silent wait after {} s", quiet as f64 / 1000.0);
        report.distribution(&name, &samples, "ms", [None, Some(bound)]);
    }
    Ok(())
}

/// By how many ms each of so many sleeps of 1 ms lasted longer: no verdict that rests on a timer can
/// come sooner.
fn lateness(times: usize) -> Vec<f64> {
    let nap = Duration::from_millis(1);
    let late = |_| {
        let began = Instant::now();
        std::thread::sleep(nap);
        began.elapsed().saturating_sub(nap).as_secs_f64() * 1e3
    };
    (0..times).map(late).collect()
}

/// Latencies in ms of so many rounds on each of so many terminals, all watched by one monitor, and
/// the watcher's CPU time in ms by round.
fn on_terminals(
    terminals: usize,
    rounds: usize,
    rhythm: Rhythm,
    read: Duration,
) -> anyhow::Result<(Sorted, f64)> {
    let monitor = Monitor::start()?;
    let mut samples = Vec::new();
    std::thread::scope(|scope| {
        let runs: Vec<_> = (0..terminals)
            .map(|_| scope.spawn(|| rounds_of(&monitor, rounds, rhythm, read)))
            .collect();
        for run in runs {
            let run = run.join().map_err(|_| anyhow::anyhow!("a terminal's thread panicked"))?;
            samples.extend(run?);
        }
        anyhow::Ok(())
    })?;
    let cpu = Thread::find()?.cpu()?.as_secs_f64() * 1e3 / samples.len() as f64;
    Ok((Sorted::new(samples), cpu))
}

fn rounds_of(
    monitor: &Monitor,
    rounds: usize,
    rhythm: Rhythm,
    read: Duration,
) -> anyhow::Result<Vec<f64>> {
    let mut probe = Stamped::open(monitor, rhythm)?;
    // The first round comes after the start of a program, which is another matter.
    probe.latency()?;
    (0..rounds)
        .map(|_| {
            probe.answer(read)?;
            probe.latency().map(|latency| latency.as_secs_f64() * 1e3)
        })
        .collect()
}
