//! The figures: a table for people while they come, JSON at the end.

use std::path::Path;

use serde::Serialize;

use crate::stats::Sorted;

/// All that was measured, and where.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    machine: Machine,
    figures: Vec<Figure>,
    #[serde(skip)]
    method: &'static str,
    #[serde(skip)]
    subject: &'static str,
    /// As the subject began.
    #[serde(skip)]
    cpus: Cpus,
}

/// Time of all CPUs together, in clock ticks; the first line of proc_stat(5).
#[derive(Debug, Clone, Copy, Default)]
struct Cpus {
    all: u64,
    /// What a host gave to others: nothing of a guest runs then, and a timer that is due comes late.
    stolen: u64,
}

impl Cpus {
    fn now() -> std::io::Result<Cpus> {
        let text = std::fs::read_to_string("/proc/stat")?;
        let first = text.lines().next().unwrap_or_default();
        let times: Vec<u64> = first.split_whitespace().filter_map(|it| it.parse().ok()).collect();
        // user nice system idle iowait irq softirq steal; what follows is part of user and nice.
        let times = &times[..times.len().min(8)];
        Ok(Cpus { all: times.iter().sum(), stolen: times.get(7).copied().unwrap_or(0) })
    }

    fn stolen_since(self, before: Cpus) -> f64 {
        let all = self.all.saturating_sub(before.all).max(1);
        100.0 * self.stolen.saturating_sub(before.stolen) as f64 / all as f64
    }
}

#[derive(Debug, Serialize)]
struct Machine {
    kernel: String,
    cpus: usize,
    /// `/proc/loadavg` before and after: other work on the machine shows in every figure.
    load: Vec<String>,
}

#[derive(Debug, Serialize)]
struct Figure {
    subject: &'static str,
    name: String,
    value: f64,
    unit: &'static str,
    /// It must not exceed this.
    bound: Option<f64>,
    samples: usize,
    method: &'static str,
}

impl Figure {
    fn is_missed(&self) -> bool {
        // A figure that is not a number was not measured.
        self.bound.is_some_and(|bound| self.value.is_nan() || self.value > bound)
    }
}

impl Report {
    pub(crate) fn begin() -> anyhow::Result<Report> {
        let machine = Machine {
            kernel: std::fs::read_to_string("/proc/sys/kernel/osrelease")?.trim().to_owned(),
            cpus: std::thread::available_parallelism()?.get(),
            load: vec![load()?],
        };
        println!("Linux {}, {} CPUs, load {}", machine.kernel, machine.cpus, machine.load[0]);
        let (figures, cpus) = (Vec::new(), Cpus::now()?);
        Ok(Report { machine, figures, method: "", subject: "", cpus })
    }

    /// The figures from now on are of `subject`, measured so.
    pub(crate) fn subject(
        &mut self,
        subject: &'static str,
        method: &'static str,
    ) -> std::io::Result<()> {
        self.tell_stolen()?;
        (self.subject, self.method) = (subject, method);
        println!("\n{subject}: {method}");
        Ok(())
    }

    /// Ends a subject by what the host took meanwhile, without which no latency can be judged.
    fn tell_stolen(&mut self) -> std::io::Result<()> {
        let now = Cpus::now()?;
        let before = std::mem::replace(&mut self.cpus, now);
        if !self.subject.is_empty() {
            let stolen = now.stolen_since(before);
            self.figure("CPU time that the host took meanwhile".to_owned(), stolen, "%", None, 1);
        }
        Ok(())
    }

    /// A figure, and what it must not exceed.
    pub(crate) fn figure(
        &mut self,
        name: String,
        value: f64,
        unit: &'static str,
        bound: Option<f64>,
        samples: usize,
    ) {
        let (subject, method) = (self.subject, self.method);
        let figure = Figure { subject, name, value, unit, bound, samples, method };
        let bound = figure.bound.map_or(String::new(), |bound| {
            let met = if figure.is_missed() { "MISSED" } else { "met" };
            format!("<= {bound} {unit}  {met}")
        });
        println!("  {:<58} {value:>10.3} {unit:<6} {samples:>6}  {bound}", figure.name);
        self.figures.push(figure);
    }

    /// Median, p90 and p99 of a distribution, with bounds for the first and the last.
    pub(crate) fn distribution(
        &mut self,
        name: &str,
        samples: &Sorted,
        unit: &'static str,
        [median, p99]: [Option<f64>; 2],
    ) {
        for (label, part, bound) in
            [("median", 0.5, median), ("p90", 0.9, None), ("p99", 0.99, p99)]
        {
            let value = samples.quantile(part);
            self.figure(format!("{name}, {label}"), value, unit, bound, samples.len());
        }
    }

    /// Says loudly that something could not be measured here.
    pub(crate) fn skip(&self, what: &str) {
        println!("  SKIPPED: {what}");
    }

    /// Writes the JSON; the number of bounds that were missed.
    pub(crate) fn end(mut self, json: &Path) -> anyhow::Result<usize> {
        self.tell_stolen()?;
        self.machine.load.push(load()?);
        std::fs::write(json, serde_json::to_string_pretty(&self)? + "\n")?;
        let missed: Vec<&Figure> =
            self.figures.iter().filter(|figure| figure.is_missed()).collect();
        let bounds = self.figures.iter().filter(|figure| figure.bound.is_some()).count();
        println!(
            "\n{} of {bounds} bounds met, load now {}",
            bounds - missed.len(),
            self.machine.load[1]
        );
        for figure in &missed {
            println!("MISSED {}: {}", figure.subject, figure.name);
        }
        Ok(missed.len())
    }
}

fn load() -> std::io::Result<String> {
    let text = std::fs::read_to_string("/proc/loadavg")?;
    Ok(text.split(' ').take(3).collect::<Vec<_>>().join(" "))
}
