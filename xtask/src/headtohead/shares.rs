//! Counts as the page shows them.

use plumb_stats::audit::share_interval;

/// `2 of 40: 5 % [1, 17]`.
pub fn share(hits: u64, trials: u64) -> String {
    let Ok(interval) = share_interval(hits, trials, 0.95) else { return "–".into() };
    let [estimate, low, high] =
        [interval.estimate, interval.low, interval.high].map(|share| 100.0 * share);
    format!("{hits} of {trials}: {estimate:.0} % [{low:.0}, {high:.0}]")
}
