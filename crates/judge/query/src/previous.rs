//! How a run compares with the newest comparable one before it.

use plumb_analysis::{Comparison, RunResults};
use plumb_model::{Id, MARGIN, RunStatus};
use plumb_store::{Error, RunSummary};

use crate::earlier::others;

/// Earlier runs that are looked at in search of a comparable one.
const MOST_TRIED: usize = 10;

/// The newest comparable run before one, and the one against it.
#[derive(Debug, Clone, PartialEq)]
pub struct Previous {
    /// That run.
    pub run: Id,
    /// Its wall-clock start, in nanoseconds since 1970 (UTC).
    pub started_unix_ns: i64,
    /// A place for every result of the run; None where the earlier one lacks the series.
    pub against: Vec<Option<Comparison>>,
}

/// How a run compares with the newest comparable one of `runs`, which are oldest first, before it; None where there
/// is none. `read` gives what is left of a run.
///
/// # Errors
/// When `read` fails.
pub fn previous<R: AsRef<RunResults>>(
    runs: &[RunSummary],
    results: &RunResults,
    read: impl Fn(Id) -> Result<R, Error>,
) -> Result<Option<Previous>, Error> {
    let place = runs.iter().position(|it| it.run == results.run).unwrap_or(0);
    let may_be_like =
        |it: &&RunSummary| it.status == RunStatus::Complete && it.suite == results.suite;
    for run in runs[..place].iter().rev().filter(may_be_like).take(MOST_TRIED) {
        let before = read(run.run)?;
        if results.is_like(before.as_ref()) {
            return since(runs, results, before.as_ref(), read).map(Some);
        }
    }
    Ok(None)
}

fn since<R: AsRef<RunResults>>(
    runs: &[RunSummary],
    results: &RunResults,
    before: &RunResults,
    read: impl Fn(Id) -> Result<R, Error>,
) -> Result<Previous, Error> {
    let others = others(runs, &[before.run, results.run]);
    let others: Vec<R> = others.into_iter().map(read).collect::<Result<_, _>>()?;
    let against = results.since(before, others.iter().map(AsRef::as_ref), MARGIN);
    Ok(Previous { run: before.run, started_unix_ns: before.started_unix_ns, against })
}
