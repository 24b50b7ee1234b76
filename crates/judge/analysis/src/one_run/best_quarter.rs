//! What the machine does at its best, so that a reader can tell a slow machine from a busy one.

use plumb_model::Better;
use plumb_stats::describe::quantile;
use plumb_stats::precision::{best_quarter, fewest_for_best_quarter};

use crate::estimate::{Ends, Estimate, estimate};
use crate::method::CONFIDENCE;

/// The value that the best quarter of the processes reaches, in the metric's unit, with its interval: the lower quartile
/// of costs over processes, given their medians in the order in which they ran.
///
/// None below 13 processes, and for a metric without a good direction.
pub(crate) fn of(process_medians: &[f64], better: Better) -> Option<Estimate> {
    if process_medians.len() < fewest_for_best_quarter(CONFIDENCE) {
        return None;
    }
    match better {
        Better::Neither => None,
        Better::Lower => lower_quartile(process_medians),
        Better::Higher => {
            let costs: Vec<f64> = process_medians.iter().map(|rate| 1.0 / rate).collect();
            let of_costs = lower_quartile(&costs)?;
            Some(Estimate {
                value: 1.0 / of_costs.value,
                // The reciprocal turns the order of the ends around.
                interval: of_costs
                    .interval
                    .map(|ends| Ends { low: 1.0 / ends.high, high: 1.0 / ends.low }),
            })
        }
    }
}

/// None if a cost is no number.
fn lower_quartile(costs: &[f64]) -> Option<Estimate> {
    Some(estimate(quantile(costs, 0.25)?, best_quarter(costs, CONFIDENCE)))
}

#[cfg(test)]
mod tests {
    use plumb_model::Better;

    use super::of;

    /// Costs of a machine of which every second process is disturbed.
    fn costs() -> Vec<f64> {
        (0..40_u32)
            .map(|process| {
                let quiet = 100.0 + f64::from(process * 7919 % 101) / 50.0;
                if process % 2 == 0 { quiet } else { 1.5 * quiet }
            })
            .collect()
    }

    #[test]
    fn a_rate_and_its_cost_have_the_same_best_quarter() {
        let cost = of(&costs(), Better::Lower).unwrap();
        let rates: Vec<f64> = costs().iter().map(|cost| 1.0 / cost).collect();
        let rate = of(&rates, Better::Higher).unwrap();
        assert!((rate.value * cost.value - 1.0).abs() < 1e-9, "{rate:?} {cost:?}");
        assert!((rate.low().unwrap() * cost.high().unwrap() - 1.0).abs() < 1e-9);
        assert!(cost.high().unwrap() < 110.0, "{cost:?}");
    }

    #[test]
    fn few_processes_and_metrics_without_direction_have_none() {
        assert_eq!(of(&costs()[..12], Better::Lower), None);
        assert_eq!(of(&costs(), Better::Neither), None);
    }
}
