//! What all series of a run have in common: the machine or the build, not one of them.

use std::collections::BTreeMap;

use plumb_stats::describe::median;
use plumb_stats::multiple::common_shift;

/// The log costs of a run's series, by their names.
pub(crate) type LogCosts = BTreeMap<String, f64>;

/// By how much all series of each run moved together, in log cost, where that is beyond chance; else 0. Each series is
/// held against its median over all runs that are given, which are of one machine in one environment.
pub(crate) fn common_movements<'l>(runs: impl Iterator<Item = &'l LogCosts> + Clone) -> Vec<f64> {
    let mut by_series: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for (name, log) in runs.clone().flatten().filter(|(_, log)| log.is_finite()) {
        by_series.entry(name).or_default().push(*log);
    }
    let usual: BTreeMap<&str, f64> =
        by_series.into_iter().filter_map(|(name, logs)| Some((name, median(&logs)?))).collect();
    let shift = |run: &LogCosts| {
        let of = |(name, log): (&String, &f64)| Some(log - usual.get(name.as_str())?);
        let shifts: Vec<f64> = run.iter().filter_map(of).filter(|it| it.is_finite()).collect();
        common_shift(&shifts).unwrap_or(0.0)
    };
    runs.map(shift).collect()
}

#[cfg(test)]
mod tests {
    use plumb_stats::rng::Rng;

    use super::{LogCosts, common_movements};

    /// Runs of so many series, each moved as a whole.
    fn runs(series: u32, moves: &[f64]) -> Vec<LogCosts> {
        let mut rng = Rng::new(3);
        let mut run = |shift: &f64| {
            let log = |name| (format!("s{name}"), f64::from(name) + shift + 0.01 * rng.normal());
            (0..series).map(log).collect()
        };
        moves.iter().map(&mut run).collect()
    }

    #[test]
    fn a_run_that_moved_as_a_whole_is_told() {
        let runs = runs(20, &[0.0, 0.0, 0.1, 0.0, 0.0, -0.05, 0.0]);
        let found = common_movements(runs.iter());
        for (found, moved) in found.iter().zip([0.0, 0.0, 0.1, 0.0, 0.0, -0.05, 0.0]) {
            assert!((found - moved).abs() < 0.01, "{found} {moved}");
        }
        assert_eq!(found.iter().filter(|it| **it == 0.0).count(), 5, "{found:?}");
    }

    #[test]
    fn one_series_and_few_series_say_nothing_of_all() {
        let mut one = runs(20, &[0.0; 6]);
        *one[3].get_mut("s5").unwrap() += 2.0;
        assert_eq!(common_movements(one.iter()), [0.0; 6]);
        assert_eq!(common_movements(runs(5, &[0.0, 0.0, 0.5]).iter()), [0.0; 3]);
        assert_eq!(common_movements([].iter()), [0.0; 0]);
    }
}
