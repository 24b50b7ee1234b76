//! A run compared with an earlier one.

use std::sync::Arc;

use plumb_model::{By, SeriesInRun};

use crate::comparison::verdict::Comparison;
use crate::one_run::finding::{Finding, SinceLast};
use crate::over_runs::noise::RunsNoise;
use crate::over_runs::runs::by_runs;
use crate::over_runs::standing_out::{Candidate, standing_out};

/// Earlier runs that a run is compared with.
#[derive(Debug, Clone, Default)]
pub struct EarlierRuns {
    /// The last comparable run.
    pub before: Arc<[SeriesInRun]>,
    /// Further runs, which show how much runs differ by themselves.
    pub others: Vec<Arc<[SeriesInRun]>>,
}

/// Whether an earlier run can show how this one's figures changed: it was measured on the same machine and is of
/// the same suite with a series in common, or of no suite and has every series of this one.
#[must_use]
pub fn is_comparable_run(this: &[SeriesInRun], earlier: &[SeriesInRun]) -> bool {
    let Some((one, two)) = this.first().zip(earlier.first()) else { return false };
    let has = |series: &SeriesInRun| earlier.iter().any(|other| other.is_comparable(series));
    one.run.suite == two.run.suite
        && one.run.is_one_machine(&two.run, By::Host)
        && match one.run.suite {
            Some(_) => this.iter().any(has),
            None => this.iter().all(has),
        }
}

/// The series of a run compared with earlier runs, each in the place of its series. None if the earlier run has no
/// series.
#[must_use]
pub fn series_since(this: &[SeriesInRun], earlier: &EarlierRuns, margin: f64) -> Option<SinceLast> {
    let places: Vec<Vec<usize>> = (0..this.len()).map(|place| vec![place]).collect();
    since(this, &places, this.len(), earlier, margin)
}

/// The same with a place for every result of the run's finding.
pub(crate) fn results_since(
    this: &[SeriesInRun],
    results: &[Finding],
    earlier: &EarlierRuns,
    margin: f64,
) -> Option<SinceLast> {
    let places: Vec<Vec<usize>> = this.iter().map(|series| places(series, results)).collect();
    since(this, &places, results.len(), earlier, margin)
}

/// `places` are those of each series among so many answers.
fn since(
    this: &[SeriesInRun],
    places: &[Vec<usize>],
    answers: usize,
    runs: &EarlierRuns,
    margin: f64,
) -> Option<SinceLast> {
    let before = &runs.before;
    let earlier = before.first()?;
    let others = runs.others.iter().flat_map(|run| run.iter());
    let noise = RunsNoise::of(before.iter(), others, By::Host);
    let mut against: Vec<Option<Comparison>> = vec![None; answers];
    let mut first_metrics = Vec::new();
    for (series, places) in this.iter().zip(places) {
        let Some(first) = before.iter().find(|other| other.is_comparable(series)) else {
            continue;
        };
        let found = by_runs(&[first], &[series], &noise, margin);
        for &place in places {
            against[place] = Some(found.clone());
        }
        if series.primary && !series.point.is_ceiling && !places.is_empty() {
            first_metrics.push((first, series, found, places));
        }
    }
    let candidates = first_metrics.iter().map(|(first, series, found, places)| Candidate {
        place: places[0],
        against: found,
        estimates: (&first.estimate, &series.estimate),
        earlier: noise.beside_common(&series.comparable_name()),
    });
    let standing_out = standing_out(candidates);
    for (.., places) in &first_metrics {
        if standing_out.has(places[0]) {
            for &place in *places {
                against[place].as_mut().into_iter().for_each(Comparison::mark_standing_out);
            }
        }
    }
    Some(SinceLast {
        run: earlier.run.run,
        started_unix_ns: earlier.run.started_unix_ns,
        against,
        standing_out,
    })
}

/// Where the results of a series stand among those of its run.
pub(crate) fn places(series: &SeriesInRun, results: &[Finding]) -> Vec<usize> {
    let is_of_series = |(_, result): &(usize, &Finding)| {
        result.metric == series.metric
            && series
                .points
                .iter()
                .any(|point| point.point == result.point.index && point.target == result.target)
    };
    results.iter().enumerate().filter(is_of_series).map(|(place, _)| place).collect()
}
