//! Ratios relative to that of one series, which stands for the processing power of each platform.

use std::collections::BTreeSet;

use plumb_model::SeriesInRun;
use plumb_stats::Interval;

use crate::comparison::finding::{NormalisedBy, SeriesComparison};
use crate::estimate::{Ends, Estimate};

/// Divides the ratio of every arm by that of the series of this name, and says what else changed of that series; None if
/// no arm but the first has it. `in_arms` are its runs in each arm.
pub(crate) fn normalise(
    results: &mut [SeriesComparison],
    name: &str,
    in_arms: &[&[&SeriesInRun]],
) -> Option<NormalisedBy> {
    let divisor = results.iter().find(|result| result.series == name)?;
    let divisors: Vec<Option<Estimate>> =
        divisor.against_first.iter().map(|found| found.as_ref()?.ratio.clone()).collect();
    for result in results.iter_mut().filter(|result| result.series != name) {
        for (index, divisor) in divisors.iter().enumerate() {
            let against = result.against_first.get(index).and_then(Option::as_ref);
            let ratio = against.and_then(|found| found.ratio.as_ref());
            let normalised = ratio.zip(divisor.as_ref()).map(|(ratio, by)| quotient(ratio, by));
            // The first arm is what all are compared with.
            if let Some(Some(arm)) = result.arms.get_mut(index + 1) {
                arm.normalised = normalised;
            }
        }
    }
    Some(NormalisedBy { series: name.to_owned(), changed_versions: changed_versions(in_arms) })
}

/// One ratio over another. Both were measured in the same runs; what disturbed one probably disturbed the other alike, so
/// to take them as independent makes the interval rather too wide.
fn quotient(ratio: &Estimate, by: &Estimate) -> Estimate {
    let value = ratio.value / by.value;
    let interval = match (&ratio.interval, &by.interval) {
        (Ok(_), Ok(_)) => {
            let found = log_interval(ratio).minus(&log_interval(by)).map(f64::exp);
            Ok(Ends { low: found.low, high: found.high })
        }
        (Err(why), _) | (_, Err(why)) => Err(why.clone()),
    };
    Estimate { value, interval }
}

fn log_interval(ratio: &Estimate) -> Interval {
    let estimate = ratio.value.ln();
    match &ratio.interval {
        Ok(ends) => Interval { estimate, low: ends.low.ln(), high: ends.high.ln() },
        Err(_) => Interval::exactly(estimate),
    }
}

/// The components behind a series whose versions differ between arms: `openssl: 1.1.1 | 3.0.2`.
fn changed_versions(in_arms: &[&[&SeriesInRun]]) -> Vec<String> {
    let components: BTreeSet<&String> =
        in_arms.iter().copied().flatten().flat_map(|series| series.versions.keys()).collect();
    let mut changed = Vec::new();
    for component in components {
        let of_arms: Vec<String> =
            in_arms.iter().map(|in_runs| versions(in_runs, component)).collect();
        if of_arms.windows(2).any(|two| two[0] != two[1]) {
            changed.push(format!("{component}: {}", of_arms.join(" | ")));
        }
    }
    changed
}

/// The versions of a component in the runs of an arm, `none` if it is not there.
fn versions(in_runs: &[&SeriesInRun], component: &str) -> String {
    let found: BTreeSet<&str> = in_runs
        .iter()
        .map(|series| series.versions.get(component).map_or("none", String::as_str))
        .collect();
    found.into_iter().collect::<Vec<_>>().join(" / ")
}

#[cfg(test)]
mod tests {
    use super::{Ends, Estimate, quotient};

    fn ratio(value: f64, low: f64, high: f64) -> Estimate {
        Estimate { value, interval: Ok(Ends { low, high }) }
    }

    #[test]
    fn a_quotient_is_as_uncertain_as_both_ratios() {
        let found = quotient(&ratio(3.0, 2.7, 3.3), &ratio(1.5, 1.5, 1.5));
        assert!((found.value - 2.0).abs() < 1e-12, "{found:?}");
        assert!((found.low().unwrap() - 1.8).abs() < 1e-12, "{found:?}");
        let wider = quotient(&ratio(3.0, 2.7, 3.3), &ratio(1.5, 1.35, 1.65));
        assert!(wider.low() < found.low() && wider.high() > found.high(), "{wider:?}");
        let unknown = Estimate { value: 1.5, interval: Err("too few".to_owned()) };
        assert_eq!(quotient(&ratio(3.0, 2.7, 3.3), &unknown).interval.unwrap_err(), "too few");
    }
}
