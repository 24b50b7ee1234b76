//! What all series of a run have in common: the machine or the build, not one of them.
//!
//! A check says it, a history and a comparison of two runs take it out before they look at one series.

use std::collections::BTreeMap;

use plumb_model::{Id, RunCosts};
use plumb_stats::describe::median;
use plumb_stats::history::WINDOW;
use plumb_stats::multiple::{FEWEST_IN_COMMON, common_shift};

use crate::over_runs::costs::environment;

/// With fewer runs of one machine in one environment there is no telling what is usual.
const FEWEST_RUNS: usize = 5;

/// By how much all series of each run moved together.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CommonMovements(BTreeMap<Id, f64>);

impl CommonMovements {
    /// Runs with fewer points can't tell what they have in common.
    pub const FEWEST_POINTS: usize = FEWEST_IN_COMMON;
    /// Steps are looked for in so many of the newest runs.
    pub const MOST_RUNS: usize = WINDOW;

    /// Of the costs of several runs; runs of one machine in one environment are held against each other.
    #[must_use]
    pub fn of(runs: &[RunCosts]) -> Self {
        let mut alike: BTreeMap<_, Vec<&RunCosts>> = BTreeMap::new();
        for run in runs {
            let place = (run.run.machine(), run.run.host(), environment(&run.run));
            alike.entry(place).or_default().push(run);
        }
        let mut found = BTreeMap::new();
        for runs in alike.values().filter(|runs| runs.len() >= FEWEST_RUNS) {
            let first_metrics: Vec<&BTreeMap<String, f64>> =
                runs.iter().map(|run| &run.first_metrics).collect();
            let moved = common_movements(&first_metrics);
            found.extend(runs.iter().map(|run| run.run.run).zip(moved));
        }
        Self(found)
    }

    #[cfg(test)]
    pub(crate) fn known(runs: impl IntoIterator<Item = (Id, f64)>) -> Self {
        Self(runs.into_iter().collect())
    }

    /// In log cost; 0 where the run did not move as a whole, or nobody knows.
    pub(crate) fn of_run(&self, run: Id) -> f64 {
        self.0.get(&run).copied().unwrap_or(0.0)
    }
}

/// By how much all series of each run moved together, in log cost, if that is beyond chance; else 0. Each series is
/// held against its median over all runs that are given, which are of one machine in one environment. They are the
/// costs of first metrics: others of the same point would say the same again.
pub(crate) fn common_movements(runs: &[&BTreeMap<String, f64>]) -> Vec<f64> {
    let mut by_series: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for (name, cost) in runs.iter().copied().flatten().filter(|(_, cost)| cost.is_finite()) {
        by_series.entry(name).or_default().push(*cost);
    }
    let usual: BTreeMap<&str, f64> =
        by_series.into_iter().filter_map(|(name, costs)| Some((name, median(&costs)?))).collect();
    let mut moved = Vec::with_capacity(runs.len());
    for run in runs {
        let finite = run.iter().filter(|(_, cost)| cost.is_finite());
        let shifts: Vec<f64> =
            finite.filter_map(|(name, cost)| Some(cost - usual.get(name.as_str())?)).collect();
        moved.push(common_shift(&shifts).unwrap_or(0.0));
    }
    moved
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Arc;

    use plumb_model::{Id, SeriesInRun};
    use plumb_stats::rng::Rng;

    use super::{CommonMovements, common_movements};
    use crate::over_runs::costs::costs_of_runs;
    use crate::testing::series::in_run;

    /// Runs of so many series, each moved as a whole.
    fn runs(series: u32, moves: &[f64]) -> Vec<BTreeMap<String, f64>> {
        let mut rng = Rng::new(3);
        let mut run = |shift: &f64| {
            (0..series)
                .map(|name| (format!("s{name}"), f64::from(name) + shift + 0.01 * rng.normal()))
                .collect()
        };
        moves.iter().map(&mut run).collect()
    }

    fn moved(runs: &[BTreeMap<String, f64>]) -> Vec<f64> {
        common_movements(&runs.iter().collect::<Vec<_>>())
    }

    #[test]
    fn a_run_that_moved_as_a_whole_is_told() {
        let moves = [0.0, 0.0, 0.1, 0.0, 0.0, -0.05, 0.0];
        let found = moved(&runs(20, &moves));
        for (found, moved) in found.iter().zip(moves) {
            assert!((found - moved).abs() < 0.01, "{found} {moved}");
        }
        assert_eq!(found.iter().filter(|shift| **shift == 0.0).count(), 5, "{found:?}");
    }

    #[test]
    fn one_series_and_few_series_say_nothing_of_all() {
        let mut one = runs(20, &[0.0; 6]);
        *one[3].get_mut("s5").unwrap() += 2.0;
        assert_eq!(moved(&one), [0.0; 6]);
        assert_eq!(moved(&runs(5, &[0.0, 0.0, 0.5])), [0.0; 3]);
        assert_eq!(moved(&[]), [0.0; 0]);
    }

    /// These runs as series in a kernel, numbered from here.
    fn series(runs: &[BTreeMap<String, f64>], first: u128, kernel: &str) -> Vec<SeriesInRun> {
        let mut all = Vec::new();
        for (run, number) in runs.iter().zip(first..) {
            for (name, cost) in run {
                // A cost is the inverse of a rate.
                let mut series = in_run(name, number, &[vec![(-cost).exp(); 3]]);
                let mut of_run = series.run.as_ref().clone();
                let place = of_run.place.as_mut().unwrap();
                let facts = &mut Arc::make_mut(&mut place.environment).facts;
                facts.insert("kernel".into(), kernel.into());
                series.run = Arc::new(of_run);
                all.push(series);
            }
        }
        all
    }

    #[test]
    fn other_metrics_of_a_point_do_not_count_again() {
        let mut all = series(&runs(20, &[0.0, 0.0, 0.0, 0.0, 0.3]), 1, "6.1");
        let movement =
            |all: &[SeriesInRun]| CommonMovements::of(&costs_of_runs(all)).of_run(Id::from_u128(5));
        assert!(movement(&all) > 0.2);
        all.iter_mut().for_each(|series| series.primary = false);
        assert_eq!(movement(&all), 0.0);
    }

    #[test]
    fn runs_of_another_environment_or_too_few_are_not_held_against_each_other() {
        let mut all = series(&runs(20, &[0.0, 0.0, 0.0, 0.0, 0.2]), 1, "6.1");
        all.extend(series(&runs(20, &[0.5; 4]), 6, "6.12"));
        let found = CommonMovements::of(&costs_of_runs(&all));
        assert!((found.of_run(Id::from_u128(5)) - 0.2).abs() < 0.01, "{found:?}");
        assert_eq!(found.of_run(Id::from_u128(1)), 0.0);
        assert_eq!(found.of_run(Id::from_u128(7)), 0.0);
    }
}
