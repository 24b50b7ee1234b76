//! What latencies of a sample come to.

use plumb_model::Metric;
use plumb_workload_kit::declare::reported_time;

/// Names of what [`percentiles`] gives, in its order.
pub(crate) const NAMES: [&str; 3] = ["latency_p50", "latency_p99", "latency_max"];

/// The metrics of these names, of this latency.
pub(crate) fn metrics(of: &str) -> Vec<Metric> {
    vec![
        reported_time(NAMES[0], &format!("median {of}, per sample")),
        reported_time(NAMES[1], "99th percentile of that time, per sample, by nearest rank"),
        reported_time(NAMES[2], "longest such time in the sample"),
    ]
}

/// Median, 99th percentile (nearest rank) and maximum, in seconds; zeroes of nothing.
#[expect(clippy::cast_precision_loss, reason = "latencies stay far below 2^53 ns")]
pub(crate) fn percentiles(latencies: &mut [u64]) -> [f64; 3] {
    latencies.sort_unstable();
    // The 100th percentile by nearest rank is the maximum.
    [50, 99, 100].map(|percent| {
        let rank = (latencies.len() * percent).div_ceil(100);
        let latency_ns = latencies.get(rank.saturating_sub(1));
        latency_ns.map_or(0.0, |ns| *ns as f64 * 1e-9)
    })
}

#[cfg(test)]
mod tests {
    use super::percentiles;

    #[test]
    fn ranks_are_nearest() {
        let mut latencies: Vec<u64> = (1..=200).rev().map(|ms| ms * 1_000_000_000).collect();
        let found = percentiles(&mut latencies);
        for (found, wanted) in found.into_iter().zip([100.0, 198.0, 200.0]) {
            assert!((found - wanted).abs() < 1e-9, "{found} {wanted}");
        }
    }
}
