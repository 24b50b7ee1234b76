//! Costs as logs: less is better whatever the metric's direction, and a ratio of costs is a difference.

use plumb_model::Better;
use plumb_stats::describe::median;

/// The natural log of what a value costs: of a rate that of its inverse. What is no number stays none, for
/// the intervals to refuse.
pub(crate) fn log_cost(value: f64, better: Better) -> f64 {
    if better == Better::Higher { -value.ln() } else { value.ln() }
}

/// The log cost of every process's median.
pub(crate) fn log_costs(processes: &[Vec<f64>], better: Better) -> Vec<f64> {
    processes.iter().filter_map(|values| median(values)).map(|it| log_cost(it, better)).collect()
}

/// A log cost as the metric's value.
pub(crate) fn value_of_log(log: f64, better: Better) -> f64 {
    if better == Better::Higher { (-log).exp() } else { log.exp() }
}
