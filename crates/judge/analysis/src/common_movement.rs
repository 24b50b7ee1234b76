//! What all series of a run have in common: the machine or the build, not one of them.
//!
//! A check says it, a history and a comparison of two runs take it out before they look at one series.

use std::collections::BTreeMap;

use plumb_model::{Id, RunRecord};
use plumb_stats::describe::median;
use plumb_stats::history::WINDOW;
use plumb_stats::multiple::{FEWEST_IN_COMMON, common_shift};

use crate::run_costs::{LogCosts, RunCosts};

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

    /// Of these runs, read one after another; those of one machine in one environment are held against each other.
    ///
    /// # Errors
    /// When `read` fails.
    pub fn read<E>(runs: &[Id], read: impl Fn(Id) -> Result<RunRecord, E>) -> Result<Self, E> {
        let costs = |run: &Id| Ok((*run, RunCosts::of(&read(*run)?)));
        Ok(Self::of(runs.iter().map(costs).collect::<Result<_, E>>()?))
    }

    /// The same of what is left of runs without their samples.
    pub(crate) fn of(runs: Vec<(Id, RunCosts)>) -> Self {
        let mut alike: BTreeMap<_, Vec<&(Id, RunCosts)>> = BTreeMap::new();
        for run in &runs {
            alike.entry((&run.1.place, &run.1.environment)).or_default().push(run);
        }
        let mut found = BTreeMap::new();
        for runs in alike.values().filter(|runs| runs.len() >= FEWEST_RUNS) {
            let moved = common_movements(runs.iter().map(|run| &run.1.costs));
            found.extend(runs.iter().map(|run| run.0).zip(moved));
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

/// By how much all series of each run moved together, in log cost, where that is beyond chance; else 0. Each series is
/// held against its median over all runs that are given, which are of one machine in one environment. First metrics
/// alone count: others of the same point tell the same again.
pub(crate) fn common_movements<'l>(runs: impl Iterator<Item = &'l LogCosts> + Clone) -> Vec<f64> {
    let mut by_series: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    let firsts = |run: &'l LogCosts| run.iter().filter(|(_, it)| it.first && it.log.is_finite());
    for (name, it) in runs.clone().flat_map(firsts) {
        by_series.entry(name).or_default().push(it.log);
    }
    let usual: BTreeMap<&str, f64> =
        by_series.into_iter().filter_map(|(name, logs)| Some((name, median(&logs)?))).collect();
    let shift = |run: &'l LogCosts| {
        let of = |(name, it): (&String, &crate::run_costs::LogCost)| {
            Some(it.log - usual.get(name.as_str())?)
        };
        common_shift(&firsts(run).filter_map(of).collect::<Vec<f64>>()).unwrap_or(0.0)
    };
    runs.map(shift).collect()
}

#[cfg(test)]
mod tests {
    use plumb_model::Id;
    use plumb_stats::rng::Rng;

    use super::{CommonMovements, common_movements};
    use crate::run_costs::{LogCost, LogCosts, RunCosts};

    /// Runs of so many series, each moved as a whole.
    fn runs(series: u32, moves: &[f64]) -> Vec<LogCosts> {
        let mut rng = Rng::new(3);
        let mut run = |shift: &f64| {
            let log = |name| f64::from(name) + shift + 0.01 * rng.normal();
            let mut log = log;
            (0..series)
                .map(|name| (format!("s{name}"), LogCost { log: log(name), first: true }))
                .collect()
        };
        moves.iter().map(&mut run).collect()
    }

    #[test]
    fn a_run_that_moved_as_a_whole_is_told() {
        let moves = [0.0, 0.0, 0.1, 0.0, 0.0, -0.05, 0.0];
        let runs = runs(20, &moves);
        let found = common_movements(runs.iter());
        for (found, moved) in found.iter().zip(moves) {
            assert!((found - moved).abs() < 0.01, "{found} {moved}");
        }
        assert_eq!(found.iter().filter(|it| **it == 0.0).count(), 5, "{found:?}");
    }

    #[test]
    fn one_series_and_few_series_say_nothing_of_all() {
        let mut one = runs(20, &[0.0; 6]);
        one[3].get_mut("s5").unwrap().log += 2.0;
        assert_eq!(common_movements(one.iter()), [0.0; 6]);
        assert_eq!(common_movements(runs(5, &[0.0, 0.0, 0.5]).iter()), [0.0; 3]);
        assert_eq!(common_movements([].iter()), [0.0; 0]);
    }

    #[test]
    fn other_metrics_of_a_point_do_not_count_again() {
        let mut all = runs(20, &[0.0, 0.0, 0.0, 0.0, 0.3]);
        for it in all.iter_mut().flat_map(LogCosts::values_mut) {
            it.first = false;
        }
        assert_eq!(common_movements(all.iter()), [0.0; 5]);
    }

    #[test]
    fn runs_of_another_environment_or_too_few_are_not_held_against_each_other() {
        let of = |moves: &[f64], kernel: &str| {
            let one = |costs| {
                let environment = [("kernel".to_owned(), kernel.to_owned())].into();
                RunCosts { place: String::new(), environment, costs }
            };
            runs(20, moves).into_iter().map(one).collect::<Vec<_>>()
        };
        let mut all = of(&[0.0, 0.0, 0.0, 0.0, 0.2], "6.1");
        all.extend(of(&[0.5; 4], "6.12"));
        let ids = (1..).map(Id::from_u128);
        let found = CommonMovements::of(ids.zip(all).collect());
        assert!((found.of_run(Id::from_u128(5)) - 0.2).abs() < 0.01, "{found:?}");
        assert_eq!(found.of_run(Id::from_u128(1)), 0.0);
        assert_eq!(found.of_run(Id::from_u128(7)), 0.0);
    }
}
