//! All charts of a run, and of what monitors read beside the workloads of several runs.

use plumb_analysis::{RunFinding, Traces, compare_sides, time_series};
use plumb_chart::Chart;
use plumb_model::{RunRecord, short_id};

use super::monitors::Monitored;
use super::registry::{of_monitors, of_run, of_sides, of_workload};
use crate::run::view::View;

/// All charts of a run: of the whole beside the last comparable one (`against` has a place for every result), of
/// its sides, and of each workload.
#[must_use]
pub fn charts_of_run(finding: &RunFinding, record: &RunRecord) -> Vec<Chart> {
    let view = View::new(finding);
    let own = of_run(&view).into_iter().chain(charts_of_sides(finding, record));
    let of = |workload| of_workload(&view, record, workload);
    own.chain(workloads(record).into_iter().flat_map(of)).collect()
}

/// The charts of the sides of a run; none where it has no sides.
#[must_use]
pub fn charts_of_sides(finding: &RunFinding, record: &RunRecord) -> Vec<Chart> {
    match finding.against_first.as_slice() {
        [] => Vec::new(),
        _ => of_sides(&compare_sides(record, finding)),
    }
}

/// What monitors read beside every workload that all of these runs have, the runs on top of each other: the
/// counters that matter, or every one. `traces` are those of the records, in the same order.
#[must_use]
pub fn charts_of_monitors(records: &[RunRecord], traces: &[Traces], every: bool) -> Vec<Chart> {
    let of_workload = |workload: &str| {
        let run = |(record, traces): (&RunRecord, &Traces)| Monitored {
            run: run_name(record),
            time_series: time_series(record, traces, workload),
        };
        let runs: Vec<Monitored> = records.iter().zip(traces).map(run).collect();
        of_monitors(workload, &runs, every)
    };
    let mut shared = records.first().map_or_else(Vec::new, workloads);
    shared.retain(|workload| records.iter().all(|record| workloads(record).contains(workload)));
    shared.into_iter().flat_map(of_workload).collect()
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
    if labels.is_empty() { short_id(record.run) } else { labels.join(" ") }
}
