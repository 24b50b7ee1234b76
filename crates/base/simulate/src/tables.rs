//! Monte Carlo of the critical values that [`plumb_stats::changes`] commits.

use super::bars::{Bar, BarSeries, ValidationRow};
use plumb_stats::changes::{CriticalValues, huber_max};
use plumb_stats::describe::quantile_in;
use plumb_stats::rng::Rng;

/// The probabilities of the three columns.
pub const ALPHAS: [f64; 3] = [0.05, 0.01, 0.001];
/// Series drawn for each committed row.
pub const DRAWS: usize = 200_000;

/// The statistic of `draws` series of `n` independent normal values, seeded by their length.
///
/// It is the bare statistic: raising the critical value for correlation afterwards makes the search more cautious.
pub fn statistics(table: CriticalValues, n: usize, draws: usize) -> Vec<f64> {
    let mut rng = Rng::new(n as u64);
    let mut statistics = Vec::new();
    for _ in 0..draws {
        let series: Vec<f64> = (0..n).map(|_| rng.normal()).collect();
        statistics.extend(huber_max(&series, table.shortest()).map(|change| change.statistic));
    }
    statistics
}

/// The row of the table for `n` values, rounded as it is committed.
pub fn critical_values(table: CriticalValues, n: usize, draws: usize) -> [f64; 3] {
    let mut statistics = statistics(table, n, draws);
    ALPHAS.map(|alpha| (quantile_in(&mut statistics, 1.0 - alpha) * 1000.0).round() / 1000.0)
}

/// Regenerates every committed row at full length and reports the largest difference of each table; takes a minute.
pub fn run(report: &mut dyn FnMut(ValidationRow)) {
    for table in [CriticalValues::History, CriticalValues::WarmUp] {
        let differences = table.rows().iter().map(|&(n, committed)| {
            let fresh = critical_values(table, n, DRAWS);
            committed.iter().zip(fresh).map(|(old, new)| (old - new).abs()).fold(0.0, f64::max)
        });
        let largest = differences.fold(0.0, f64::max);
        report(ValidationRow {
            promise: "committed critical values compared with new draws",
            setting: format!("{table:?}, segments of {} or more", table.shortest()),
            bar: Bar::AtMost(0.002),
            measured: BarSeries::Mean { mean: largest, error: 0.0 },
            note: format!("{DRAWS} draws per row"),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::{ALPHAS, statistics};
    use plumb_stats::changes::CriticalValues;
    use plumb_stats::distribution::binomial_cdf;

    /// The committed values are exceeded as often as they should be, within what chance allows 1 time in 10,000; the
    /// full number of draws is compared digit by digit by `cargo xtask validate`.
    #[test]
    fn committed_values_have_their_level() {
        for table in [CriticalValues::History, CriticalValues::WarmUp] {
            for &(n, row) in table.rows().iter().filter(|row| row.0 <= 200) {
                let statistics = statistics(table, n, 5000);
                for (alpha, critical) in ALPHAS.iter().zip(row) {
                    let above =
                        statistics.iter().filter(|&&statistic| statistic > critical).count() as u64;
                    let draws = statistics.len() as u64;
                    let likely = binomial_cdf(above, draws, *alpha) > 1e-4
                        && (above == 0 || binomial_cdf(above - 1, draws, *alpha) < 1.0 - 1e-4);
                    assert!(
                        likely,
                        "{table:?} n {n} alpha {alpha}: {above} of {draws} above {critical}"
                    );
                }
            }
        }
    }
}
