//! Results next to what the same machine gave in earlier runs.

use std::sync::Arc;

use plumb_model::{Better, By, SeriesInRun};
use plumb_stats::standing_out::FEWEST_SERIES;
use plumb_stats::stored_runs::FEWEST_RUNS;

use crate::one_run::finding::{BaselineSource, Finding, NoBaseline, ShareOfBaseline};
use crate::one_run::share_of_baseline::{over_levels, share};
use crate::over_runs::since::{EarlierRuns, places};

/// Gives every result that has no other baseline its share of the median of earlier runs, if at least [`FEWEST_RUNS`] of them
/// have its series. `this` are the series of the run. Runs of fewer than [`FEWEST_SERIES`] points get none, because not every
/// output reads the earlier runs of so small a run.
pub(crate) fn add_usual(results: &mut [Finding], this: &[SeriesInRun], earlier: &EarlierRuns) {
    if this.iter().filter(|series| series.primary).count() < FEWEST_SERIES {
        return;
    }
    for series in this {
        let mut values = earlier_values(series, earlier);
        if values.len() < FEWEST_RUNS {
            continue;
        }
        values.sort_by(f64::total_cmp);
        for place in places(series, results) {
            let finding = &mut results[place];
            if let Some(usual) = usual(finding, &values) {
                finding.of_baseline = Ok(usual);
            }
        }
    }
}

/// The results of this series in runs that were measured before, in the same way, on this machine.
fn earlier_values(series: &SeriesInRun, earlier: &EarlierRuns) -> Vec<f64> {
    let runs = std::iter::once(&earlier.before).chain(&earlier.others);
    runs.filter_map(|run: &Arc<[SeriesInRun]>| {
        run.iter().find(|other| is_earlier_and_alike(other, series))
    })
    .map(|other| other.estimate.value)
    .filter(|value| *value > 0.0)
    .collect()
}

/// Whether the other series was measured before this one on the same machine, next to the same loads and prepared alike.
fn is_earlier_and_alike(other: &SeriesInRun, series: &SeriesInRun) -> bool {
    other.is_comparable(series)
        && !other.is_side_of_knob
        && other.run.started_unix_ns < series.run.started_unix_ns
        && other.run.is_one_machine(&series.run, By::Host)
        && other.run.companions == series.run.companions
        && other.run.prepared == series.run.prepared
}

/// The share of a result of the median of these values, which are sorted; None if the result has another baseline, or a reason
/// to have none.
fn usual(finding: &Finding, values: &[f64]) -> Option<ShareOfBaseline> {
    // The other reasons say more: the result is as good as another point of the run, or cannot have a baseline.
    let lacks_baseline = matches!(
        finding.of_baseline,
        Err(NoBaseline::Unknown
            | NoBaseline::NotMeasured(_)
            | NoBaseline::NoResult(_)
            | NoBaseline::NotBelow(_))
    );
    if !lacks_baseline || finding.better == Better::Neither {
        return None;
    }
    let lowest = *values.first()?;
    let highest = *values.last()?;
    let middle = values.len() / 2;
    let median = match values.len() % 2 {
        0 => f64::midpoint(values[middle - 1], values[middle]),
        _ => values[middle],
    };
    let own = over_levels(finding);
    let of_median = share(&own, median, finding.better)?;
    let is_outside =
        own.interval.as_ref().is_ok_and(|ends| ends.high < lowest || ends.low > highest);
    Some(ShareOfBaseline {
        value: median,
        share: of_median,
        worst: if finding.better == Better::Lower { highest } else { lowest },
        verdict: None,
        source: BaselineSource::EarlierRuns { runs: values.len(), lowest, highest, is_outside },
    })
}
