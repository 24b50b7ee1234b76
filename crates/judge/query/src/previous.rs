//! How a run compares with the newest comparable one before it.

use plumb_analysis::{FEWEST_SERIES, RunFinding, RunResults, SinceLast, SinceRun, summarise};
use plumb_model::{Id, MARGIN, RunRecord, RunStatus};
use plumb_store::{Error, RunSummary, Store};

use crate::earlier::others;

/// Earlier runs that are looked at in search of a comparable one.
const MOST_TRIED: usize = 10;

/// How a run compares with the newest comparable one of `runs`, which are oldest first, before it; None where there
/// is none. `read` gives what is left of a run.
///
/// # Errors
/// When `read` fails.
pub fn previous<R: AsRef<RunResults>>(
    runs: &[RunSummary],
    results: &RunResults,
    read: impl Fn(Id) -> Result<R, Error>,
) -> Result<Option<SinceLast>, Error> {
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

/// The same where it may tell what stands out; None as well for a run with too few points, so that nothing else is
/// read.
///
/// # Errors
/// When the store can't be read.
pub fn since_last(
    store: &Store,
    record: &RunRecord,
    finding: &RunFinding,
) -> Result<Option<SinceLast>, Error> {
    let points = finding.results.iter().filter(|it| it.primary).count();
    if points < FEWEST_SERIES || !finding.against_first.is_empty() {
        return Ok(None);
    }
    last_comparable(store, record, finding)
}

/// The same of a run that was read, with the others read from the store.
///
/// # Errors
/// When the store can't be read.
pub fn last_comparable(
    store: &Store,
    record: &RunRecord,
    finding: &RunFinding,
) -> Result<Option<SinceLast>, Error> {
    let read = |run| {
        let record = store.record(run)?;
        Ok(Box::new(RunResults::of(&record, &summarise(&record))))
    };
    previous(&store.summaries()?, &RunResults::of(record, finding), read)
}

fn since<R: AsRef<RunResults>>(
    runs: &[RunSummary],
    results: &RunResults,
    before: &RunResults,
    read: impl Fn(Id) -> Result<R, Error>,
) -> Result<SinceLast, Error> {
    let others = others(runs, &[before.run, results.run]);
    let others: Vec<R> = others.into_iter().map(read).collect::<Result<_, _>>()?;
    let SinceRun { against, standing_out } =
        results.since(before, others.iter().map(AsRef::as_ref), MARGIN);
    let (run, started_unix_ns) = (before.run, before.started_unix_ns);
    Ok(SinceLast { run, started_unix_ns, against, standing_out })
}
