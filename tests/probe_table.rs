//! The table of expectations and the list of probes belong together.
#![cfg(feature = "cli")]

#[path = "common/expect.rs"]
mod expect;
#[path = "common/table.rs"]
mod table;

use std::collections::BTreeSet;

use expect::Expect;
use table::TABLE;

#[test]
fn every_probe_has_a_row_and_every_row_a_probe() {
    let probes: BTreeSet<&str> = awaitty_probes::list().iter().map(|probe| probe.name).collect();
    let rows: BTreeSet<&str> = TABLE.iter().map(|row| row.probe).collect();
    assert_eq!(probes, rows);
}

#[test]
fn every_argument_is_an_option_of_its_probe() {
    for row in TABLE {
        let probe = awaitty_probes::list().iter().find(|probe| probe.name == row.probe);
        for arg in row.args {
            let name = arg.split_inclusive('=').next();
            let known = probe.is_some_and(|probe| probe.options.iter().any(|&o| Some(o) == name));
            assert!(known, "{} {arg}", row.probe);
        }
    }
}

#[test]
fn no_situation_stands_there_twice() {
    let mut seen = BTreeSet::new();
    for row in TABLE {
        let situation = (row.probe, row.args, format!("{:?}", row.stdin), row.drained);
        assert!(seen.insert(situation), "{} {:?}", row.probe, row.args);
    }
}

#[test]
fn what_is_not_known_is_never_exact() {
    assert!(TABLE.iter().all(|row| row.state != Expect::Unknown || !row.exact));
}
