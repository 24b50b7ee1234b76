//! What is found in the runs of a store: what the command line shows, and pages and documents are made of.

use plumb_analysis::{
    CompareSettings, ComparisonFinding, Counters, RunFinding, Traces, compare, courses, explain,
    explain_points, summarise,
};
use plumb_model::{Id, InvocationRecord, RecordSource, RunRecord, RunStatus};
use plumb_report::View;
use plumb_report::chart::{self, Chart, Monitored};
use plumb_store::{Backend, Error, RunSummary, Store, short};

/// Earlier runs that are read to learn how much runs differ by themselves.
const MOST_EARLIER: usize = 20;

/// What a run shows, with what moved where sides of it differ.
///
/// # Errors
/// When the store can't be read.
pub fn of_run(store: &Store, record: &RunRecord) -> Result<RunFinding, Error> {
    let mut finding = summarise(record);
    if !finding.against_first.is_empty() {
        explain_points(&mut finding, record, &counters(store, [record])?);
    }
    Ok(finding)
}

/// What monitors counted beside the invocations of these runs.
///
/// # Errors
/// When the store can't be read.
pub fn counters<'r>(
    store: &Store,
    records: impl IntoIterator<Item = &'r RunRecord>,
) -> Result<Counters, Error> {
    let mut all = Counters::new();
    for record in records {
        all.extend(store.counters(record.run)?);
    }
    Ok(all)
}

/// How these runs compare with the first of them, and what moved with that.
///
/// # Errors
/// When the store can't be read.
pub fn of_runs(
    store: &Store,
    records: &[RunRecord],
    settings: &CompareSettings,
) -> Result<ComparisonFinding, Error> {
    let mut finding = compare(records, &earlier(store, records)?, settings);
    explain(&mut finding, records, settings, &counters(store, records)?);
    Ok(finding)
}

fn earlier(store: &Store, records: &[RunRecord]) -> Result<Vec<RunRecord>, Error> {
    let runs: Vec<Id> = records.iter().map(|record| record.run).collect();
    others(&store.summaries()?, &runs).into_iter().map(|run| store.record(run)).collect()
}

/// The newest complete runs besides these, which tell how much runs differ by themselves.
pub(crate) fn others(summaries: &[RunSummary], runs: &[Id]) -> Vec<Id> {
    // Runs of the same suites, so that audits and controls do not crowd them out.
    let of_these: Vec<_> =
        summaries.iter().filter(|it| runs.contains(&it.run)).map(|it| &it.suite).collect();
    let others = summaries.iter().rev().filter(|it| {
        let complete = it.status == RunStatus::Complete && !runs.contains(&it.run);
        complete && of_these.contains(&&it.suite)
    });
    others.take(MOST_EARLIER).map(|it| it.run).collect()
}

/// All charts of a run: of the whole, and of each workload.
#[must_use]
pub fn charts_of_run(finding: &RunFinding, record: &RunRecord) -> Vec<Chart> {
    let view = View::new(finding);
    let own = chart::of_run(&view).into_iter();
    let of = |workload| chart::of_workload(&view, record, workload);
    own.chain(workloads(record).into_iter().flat_map(of)).collect()
}

/// What monitors read beside every workload that all of these runs have, the runs on top of each other: the
/// counters that matter, or every one.
///
/// # Errors
/// When the store can't be read.
pub fn charts_of_monitors(
    store: &Store,
    records: &[RunRecord],
    every: bool,
) -> Result<Vec<Chart>, Error> {
    let mut traces: Vec<Traces> = Vec::new();
    for record in records {
        let read = |it: &InvocationRecord| Ok((it.invocation, store.traces(it.invocation)?));
        traces.push(record.invocations.iter().map(read).collect::<Result<_, Error>>()?);
    }
    let of_workload = |workload: &str| {
        let run = |(record, traces): (&RunRecord, &Traces)| Monitored {
            run: run_name(record),
            courses: courses(record, traces, workload),
        };
        let runs: Vec<Monitored> = records.iter().zip(&traces).map(run).collect();
        chart::of_monitors(workload, &runs, every)
    };
    let mut shared = records.first().map_or_else(Vec::new, workloads);
    shared.retain(|workload| records.iter().all(|record| workloads(record).contains(workload)));
    Ok(shared.into_iter().flat_map(of_workload).collect())
}

/// The workloads of a run, each once, in the plan's order.
fn workloads(record: &RunRecord) -> Vec<&str> {
    let mut workloads: Vec<&str> = Vec::new();
    for planned in &record.plan.points {
        if !workloads.contains(&planned.point.workload.as_str()) {
            workloads.push(&planned.point.workload);
        }
    }
    workloads
}

/// Its labels, or the beginning of its id.
fn run_name(record: &RunRecord) -> String {
    let labels: Vec<String> =
        record.plan.labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
    if labels.is_empty() { short(record.run) } else { labels.join(" ") }
}
