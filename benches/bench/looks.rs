//! What one look takes, by the tasks of the job and by the processes of the machine.

use crate::Effort;
use crate::crowd::{Crowd, Looks};
use crate::report::Report;
use crate::sleepers::Sleepers;

const METHOD: &str = "the time of a whole look with both passes at a job that sleeps (first: \
                      everything is read anew; again: nothing has run since), files kept open; for \
                      the machine's size the ratio of medians in one run, each by the median of as \
                      many times twenty reads of our own stat in between";
/// What may be taken for "does not grow" on fifty times the processes: more than the scatter of two
/// medians and longer chains in the kernel's hashes, less than any scan.
const FLAT: f64 = 1.25;

pub(crate) fn measure(report: &mut Report, effort: Effort) -> anyhow::Result<()> {
    report.subject("looks", METHOD)?;
    beside_others(report, effort)?;
    for name in ["crowd-threads", "crowd-processes"] {
        for tasks in [1, 10, 100, 1000] {
            let times = effort.of(20_000 / (tasks + 9));
            let Looks { first, again, .. } = Crowd::start(name, tasks)?.looks(times)?;
            let label = format!("{name}, {tasks} in all");
            report.figure(format!("{label}, first"), first.median(), "us", None, times);
            report.figure(format!("{label}, again"), again.median(), "us", None, times);
        }
    }
    Ok(())
}

fn beside_others(report: &mut Report, effort: Effort) -> anyhow::Result<()> {
    let times = effort.of(2000);
    let crowd = Crowd::start("crowd-threads", 10)?;
    // A host gives its guests more or less by the second, so the looks are told by the yardstick.
    let looks = || -> anyhow::Result<[f64; 2]> {
        let Looks { first, again, yardstick } = crowd.looks(times)?;
        Ok([first, again].map(|samples| samples.median() / yardstick.median()))
    };
    // Alone comes first, and nobody ends in between: thousands of processes take a while to.
    let alone = looks()?;
    let mut ratios = |label: &str, bound| -> anyhow::Result<()> {
        let with = looks()?;
        for (kind, with, alone) in [("first", with[0], alone[0]), ("again", with[1], alone[1])] {
            report.figure(format!("{label}, {kind}"), with / alone, "times", bound, times);
        }
        Ok(())
    };
    let mut sleepers = Vec::new();
    for (count, more) in [(1000, 1000), (5000, 4000)] {
        sleepers.push(Sleepers::elsewhere(more)?);
        ratios(&format!("10 tasks beside {count} processes elsewhere, by alone"), Some(FLAT))?;
    }
    // A new watch reads each sibling of its job once, to see that it is none of the session's.
    let _siblings = Sleepers::siblings(1000)?;
    ratios("10 tasks beside 5000 elsewhere and 1000 siblings, by alone", None)
}
