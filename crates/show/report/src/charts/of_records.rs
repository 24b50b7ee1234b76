//! All charts of a run, and of what monitors read next to the workloads of several runs.

use plumb_analysis::{RunFinding, Traces, compare_sides, time_series};
use plumb_chart::Chart;
use plumb_model::{RunRecord, short_id};

use super::monitors::Monitored;
use super::registry::{of_monitors, of_run, of_sides, of_workload};
use crate::run::view::View;

/// All charts of a run: of the whole next to the last comparable one (`against` has a place for every result), of
/// its sides, and of each workload.
#[must_use]
pub fn charts_of_run(finding: &RunFinding, record: &RunRecord) -> Vec<Chart> {
    let view = View::new(finding);
    of_run(&view)
        .into_iter()
        .chain(charts_of_sides(finding, record))
        .chain(
            workloads(record).into_iter().flat_map(|workload| of_workload(&view, record, workload)),
        )
        .collect()
}

/// The charts of the sides of a run; none if it has no sides.
#[must_use]
pub fn charts_of_sides(finding: &RunFinding, record: &RunRecord) -> Vec<Chart> {
    match finding.against_first.as_slice() {
        [] => Vec::new(),
        _ => of_sides(&compare_sides(record, finding)),
    }
}

/// What monitors read next to every workload that all of these runs have, the runs on top of each other: the
/// counters that matter, or every one. `traces` are those of the records, in the same order.
#[must_use]
pub fn charts_of_monitors(records: &[RunRecord], traces: &[Traces], every: bool) -> Vec<Chart> {
    // A chart compares runs, so a workload that one of them lacks has none.
    let mut in_all = records.first().map_or_else(Vec::new, workloads);
    in_all.retain(|workload| records.iter().all(|record| workloads(record).contains(workload)));
    in_all
        .into_iter()
        .flat_map(|workload| {
            let runs: Vec<Monitored> = records
                .iter()
                .zip(traces)
                .map(|(record, traces)| Monitored {
                    run: run_name(record),
                    time_series: time_series(record, traces, workload),
                })
                .collect();
            of_monitors(workload, &runs, every)
        })
        .collect()
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
    // Labels say what runs are compared for; ids only tell them apart.
    if labels.is_empty() { short_id(record.run) } else { labels.join(" ") }
}
