//! What is found in records made by hand, by subject.

mod burst;
mod checks;
mod curves;
mod flags;
mod gates;
mod kinds;
mod levels;
mod links;
mod pairs;
mod pauses;
mod quick_checks;
mod results;
mod stored_runs;
mod together;

use plumb_model::{FlagKind, RunRecord};

use crate::{Finding, summarise};

/// The finding of a record that has one.
fn only(record: &RunRecord) -> Finding {
    let mut finding = summarise(record);
    assert_eq!(finding.results.len(), 1);
    finding.results.remove(0)
}

/// The reason of a flag of this kind.
fn why(finding: &Finding, kind: &FlagKind) -> Option<String> {
    finding.flags.iter().find(|flag| flag.flag == *kind).map(|flag| flag.why.clone())
}
