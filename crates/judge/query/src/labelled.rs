//! Runs by the names that people compare them by: every run of a label counts.

use plumb_model::Id;
use plumb_store::{RunSummary, Store, StoreError};

/// The most runs of one name, the newest: those that a page groups by a label or fact.
pub const MOST_GROUPED: usize = 100;

/// What somebody named to be compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedRuns {
    /// The name as it was typed.
    pub name: String,
    /// The runs, oldest first: all that have a label, else the one that is meant.
    pub runs: Vec<Id>,
}

/// The runs of each of these names. A label `k=v` means all runs that have it: to compare two labels by their newest
/// runs alone would throw the others away, and the noise between runs with them.
///
/// # Errors
/// When no run, or several that are not one label's, could be meant.
pub fn labelled(store: &Store, names: &[String]) -> Result<Vec<NamedRuns>, StoreError> {
    let summaries = store.summaries()?;
    let mut all = Vec::new();
    for name in names {
        let mut runs = of_label(&summaries, name);
        // The one run that is meant, or the error that says what could be.
        if runs.is_empty() {
            runs.push(store.resolve(name)?);
        }
        all.push(NamedRuns { name: name.clone(), runs });
    }
    Ok(all)
}

fn of_label(summaries: &[RunSummary], name: &str) -> Vec<Id> {
    let Some((key, value)) = name.split_once('=') else { return Vec::new() };
    let has = |run: &&RunSummary| run.labels.get(key).is_some_and(|found| found == value);
    let mut runs: Vec<Id> =
        summaries.iter().rev().filter(has).take(MOST_GROUPED).map(|run| run.run).collect();
    runs.reverse();
    runs
}
