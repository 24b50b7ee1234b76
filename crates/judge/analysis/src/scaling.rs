//! How points compare that differ only in their number of threads.

use plumb_model::{Better, FlagKind, ParameterType, Settings};

use crate::estimate::{Ends, Estimate};
use crate::finding::{Finding, Scaling};

/// Every point with several threads beside the one with a single thread, where both gave a rate and every
/// thread could have a CPU of its own: more threads than CPUs have no efficiency.
pub(crate) fn scaling(results: &[Finding]) -> Vec<Scaling> {
    let rates = results.iter().enumerate().filter(|(_, finding)| is_rate(finding));
    let several = rates.filter_map(|(index, finding)| {
        let (name, threads) = threads(finding)?;
        (threads > 1 && !is_oversubscribed(finding)).then_some((index, finding, name, threads))
    });
    several
        .filter_map(|(index, finding, name, threads)| {
            let single = results.iter().position(|other| is_single(other, finding, name))?;
            Some(compare(results, index, single, threads))
        })
        .collect()
}

fn is_rate(finding: &Finding) -> bool {
    finding.primary && finding.better == Better::Higher && finding.estimate.value > 0.0
}

fn is_oversubscribed(finding: &Finding) -> bool {
    finding.flags.iter().any(|flag| flag.flag == FlagKind::Oversubscribed)
}

/// The parameter that sets the number of threads, and the number.
fn threads(finding: &Finding) -> Option<(&str, u64)> {
    let mut parameters = finding.point.parameters.iter();
    let parameter = parameters.find(|parameter| parameter.kind == ParameterType::Threads)?;
    let threads = finding.point.settings.get(&parameter.name)?.integer()?;
    Some((&parameter.name, threads))
}

fn is_single(other: &Finding, finding: &Finding, name: &str) -> bool {
    is_rate(other)
        && other.metric == finding.metric
        && other.target == finding.target
        && other.point.workload == finding.point.workload
        && other.point.version == finding.point.version
        && threads(other).is_some_and(|(_, threads)| threads == 1)
        && without(&other.point.settings, name) == without(&finding.point.settings, name)
}

fn without(settings: &Settings, name: &str) -> Settings {
    settings.iter().filter(|(key, _)| *key != name).map(|(k, v)| (k.clone(), v.clone())).collect()
}

#[expect(clippy::cast_precision_loss, reason = "numbers of threads are small")]
fn compare(results: &[Finding], result: usize, single: usize, threads: u64) -> Scaling {
    let speedup = quotient(&results[result].estimate, &results[single].estimate);
    let efficiency = scaled(&speedup, 1.0 / threads as f64);
    Scaling { result, single, threads, speedup, efficiency }
}

/// The quotient of two estimates; its interval covers whatever both intervals allow.
fn quotient(above: &Estimate, below: &Estimate) -> Estimate {
    let value = above.value / below.value;
    let interval = match (&above.interval, &below.interval) {
        (Ok(above), Ok(below)) if below.low > 0.0 && above.low > 0.0 => {
            Ok(Ends { low: above.low / below.high, high: above.high / below.low })
        }
        (Ok(_), Ok(_)) => Err("an interval includes zero".to_owned()),
        (Err(why), _) => Err(why.clone()),
        (_, Err(why)) => Err(format!("one thread: {why}")),
    };
    Estimate { value, interval }
}

fn scaled(estimate: &Estimate, factor: f64) -> Estimate {
    let interval = estimate.interval.clone();
    let interval = interval.map(|ends| Ends { low: ends.low * factor, high: ends.high * factor });
    Estimate { value: estimate.value * factor, interval }
}

#[cfg(test)]
mod tests {
    use super::quotient;
    use crate::{Ends, Estimate};

    fn estimate(low: f64, value: f64, high: f64) -> Estimate {
        Estimate { value, interval: Ok(Ends { low, high }) }
    }

    #[test]
    fn a_quotient_allows_for_both_intervals() {
        let found = quotient(&estimate(19.0, 20.0, 21.0), &estimate(9.5, 10.0, 10.5));
        assert!((found.value - 2.0).abs() < 1e-12);
        assert!((found.low().unwrap() - 19.0 / 10.5).abs() < 1e-12);
        assert!((found.high().unwrap() - 21.0 / 9.5).abs() < 1e-12);
    }

    #[test]
    fn without_an_interval_the_reason_is_kept() {
        let none = Estimate { value: 1.0, interval: Err("too few".into()) };
        assert_eq!(
            quotient(&estimate(1.0, 2.0, 3.0), &none).interval,
            Err("one thread: too few".into())
        );
        assert_eq!(quotient(&none, &estimate(1.0, 2.0, 3.0)).interval, Err("too few".into()));
    }
}
