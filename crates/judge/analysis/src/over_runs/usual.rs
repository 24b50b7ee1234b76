//! Results next to what the same machine gave in earlier runs.

use std::sync::Arc;

use plumb_model::{Better, By, SeriesInRun};
use plumb_stats::stored_runs::FEWEST_RUNS;

use crate::one_run::finding::{BaselineSource, Finding, NoBaseline, ShareOfBaseline};
use crate::one_run::share_of_baseline::{over_levels, share};
use crate::over_runs::since::{EarlierRuns, places};

/// Gives every result that has no other baseline its share of the median of earlier runs, if at least [`FEWEST_RUNS`] of them
/// have its series. `this` are the series of the run.
pub(crate) fn add_usual(results: &mut [Finding], this: &[SeriesInRun], earlier: &EarlierRuns) {
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

/// The results of this series in runs that were measured before on this machine.
fn earlier_values(series: &SeriesInRun, earlier: &EarlierRuns) -> Vec<f64> {
    let runs = std::iter::once(&earlier.before).chain(&earlier.others);
    let is_before = |other: &&SeriesInRun| {
        other.is_comparable(series)
            && other.run.run != series.run.run
            && other.run.started_unix_ns < series.run.started_unix_ns
            && other.run.is_one_machine(&series.run, By::Host)
    };
    runs.filter_map(|run: &Arc<[SeriesInRun]>| run.iter().find(is_before))
        .map(|other| other.estimate.value)
        .filter(|value| *value > 0.0)
        .collect()
}

/// The share of a result of the median of these values, which are sorted; None if the result has another baseline, or cannot
/// have one.
fn usual(finding: &Finding, values: &[f64]) -> Option<ShareOfBaseline> {
    let lacks_baseline = match &finding.of_baseline {
        Ok(_) | Err(NoBaseline::OfOthers | NoBaseline::Undirected | NoBaseline::NotPositive) => {
            false
        }
        Err(_) => finding.better != Better::Neither,
    };
    if !lacks_baseline {
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
