//! A result as a share of another figure, with its interval.

use plumb_model::Better;
use plumb_stats::Interval;

use crate::estimate::{Ends, Estimate};
use crate::one_run::finding::Finding;

/// The estimate of a result. If it has two levels, the interval reaches over both: a median between them describes neither.
pub(crate) fn over_levels(finding: &Finding) -> Estimate {
    let Some(levels) = &finding.levels else { return finding.shown() };
    let lower = &levels.lower.estimate;
    let upper = &levels.upper.estimate;
    let low = lower.low().unwrap_or(lower.value);
    let high = upper.high().unwrap_or(upper.value);
    Estimate { value: finding.estimate.value, interval: Ok(Ends { low, high }) }
}

/// Performance over that of another result, with an interval that contains the uncertainty of both: MOVER on the logarithms, as if
/// the two were independent. Results of one run are interleaved and rise and fall together, so the interval is rather too wide.
/// None if either is no positive number.
pub(crate) fn share_of(own: &Estimate, other: &Estimate, better: Better) -> Option<Estimate> {
    let value = share(own, other.value, better)?.value;
    let interval = match (log_interval(own), log_interval(other)) {
        (Ok(own), Ok(other)) => {
            let difference = match better {
                Better::Lower => other.minus(&own),
                Better::Higher | Better::Neither => own.minus(&other),
            };
            let ratio = difference.map(f64::exp);
            Ok(Ends { low: ratio.low, high: ratio.high })
        }
        (Err(why), _) => Err(why),
        (_, Err(why)) => Err(format!("its baseline: {why}")),
    };
    Some(Estimate { value, interval })
}

/// The interval of the logarithm of a figure, or why there is none.
fn log_interval(estimate: &Estimate) -> Result<Interval, String> {
    let ends = estimate.interval.clone()?;
    if ends.low <= 0.0 {
        return Err("its interval reaches 0".to_owned());
    }
    let whole = Interval { estimate: estimate.value, low: ends.low, high: ends.high };
    Ok(whole.map(f64::ln))
}

/// Performance over the baseline's; None where either is no positive number.
pub(crate) fn share(estimate: &Estimate, baseline: f64, better: Better) -> Option<Estimate> {
    let sound = estimate.value > 0.0 && baseline > 0.0;
    let interval = estimate.interval.clone().map(|ends| {
        let one = performance_over(ends.low, baseline, better);
        let other = performance_over(ends.high, baseline, better);
        Ends { low: one.min(other), high: one.max(other) }
    });
    sound.then(|| Estimate { value: performance_over(estimate.value, baseline, better), interval })
}

/// More than 1 if the value is better than the baseline.
fn performance_over(value: f64, baseline: f64, better: Better) -> f64 {
    match better {
        Better::Lower => baseline / value,
        Better::Higher | Better::Neither => value / baseline,
    }
}

#[cfg(test)]
mod tests {
    use plumb_model::Better;

    use super::{Ends, Estimate, share_of};

    #[test]
    fn a_share_has_the_uncertainty_of_both_figures() {
        let of =
            |value: f64, low: f64, high: f64| Estimate { value, interval: Ok(Ends { low, high }) };
        let exact = of(100.0, 100.0, 100.0);
        let own = of(50.0, 40.0, 60.0);
        let share = share_of(&own, &exact, Better::Higher).unwrap();
        let ends = share.interval.unwrap();
        assert!((ends.low - 0.4).abs() < 1e-9 && (ends.high - 0.6).abs() < 1e-9, "{ends:?}");
        // Times: the longer one is the worse one, and the ends change places.
        let times = share_of(&own, &of(25.0, 20.0, 30.0), Better::Lower).unwrap();
        let ends = times.interval.unwrap();
        assert!((times.value - 0.5).abs() < 1e-9);
        assert!(ends.low < 0.5 * 50.0 / 60.0 && ends.high > 0.5 * 50.0 / 40.0, "{ends:?}");
        // As wide as both together at most.
        assert!(ends.low > 20.0 / 60.0 && ends.high < 30.0 / 40.0, "{ends:?}");
        let unknown = Estimate { value: 100.0, interval: Err("too few".into()) };
        assert!(share_of(&own, &unknown, Better::Higher).unwrap().interval.is_err());
        assert!(share_of(&own, &of(0.0, 0.0, 0.0), Better::Higher).is_none());
    }
}
