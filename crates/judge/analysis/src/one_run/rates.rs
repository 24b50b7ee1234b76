//! What monitors counted a second, by point.

use std::collections::BTreeMap;

use plumb_model::{Counter, CounterKind, RunRecord};
use plumb_stats::describe::median;

use crate::comparison::covariates::CounterMeans;
use crate::facts::{PointFacts, point_facts};

/// What monitors counted beside the invocations of a point.
#[derive(Debug, Clone, PartialEq)]
pub struct PointRates {
    /// The measured point with its settings.
    pub point: PointFacts,
    /// Invocations beside which monitors read.
    pub invocations: usize,
    /// A rate for every counter that moved beside any of them, by name.
    pub rates: Vec<CounterRate>,
}

/// What a counter came to a second; of a gauge its level.
#[derive(Debug, Clone, PartialEq)]
pub struct CounterRate {
    /// The counter with its unit and kind.
    pub counter: Counter,
    /// The median over invocations.
    pub median: f64,
    /// The least over invocations.
    pub low: f64,
    /// The greatest over invocations.
    pub high: f64,
}

/// The rates of all counters beside the measured invocations of every point that count. A counter that
/// is not there did not move, which is a rate of 0; a gauge that is not there was not read.
#[must_use]
pub fn rates_by_point(record: &RunRecord, counters: &CounterMeans) -> Vec<PointRates> {
    let points = record.plan.points.iter().enumerate();
    let of_point = |(index, planned)| {
        let seen: Vec<_> = record
            .good_invocations(index)
            .filter_map(|invocation| counters.get(&invocation.invocation))
            .collect();
        let mut values: BTreeMap<&Counter, Vec<f64>> = BTreeMap::new();
        for amount in seen.iter().copied().flatten() {
            values.entry(&amount.counter).or_default().extend(amount.rate());
        }
        let rates = values.into_iter().filter_map(|(counter, mut rates)| {
            if counter.kind == CounterKind::Counter {
                rates.resize(seen.len().max(rates.len()), 0.0);
            }
            let fold = |pick: fn(f64, f64) -> f64| rates.iter().copied().reduce(pick);
            let low = fold(f64::min)?;
            let high = fold(f64::max)?;
            Some(CounterRate { counter: counter.clone(), median: median(&rates)?, low, high })
        });
        let rates = rates.collect();
        let point = point_facts(index, planned);
        PointRates { point, invocations: seen.len(), rates }
    };
    points.map(of_point).filter(|rates| rates.invocations > 0).collect()
}

#[cfg(test)]
mod tests {
    use super::rates_by_point;
    use crate::CounterMeans;
    use crate::testing::{Builder, COPY, Spec};
    use plumb_model::{Counter, CounterAmount, CounterKind};

    #[test]
    fn a_counter_that_did_not_move_has_a_rate_of_zero() {
        let spec = Spec { processes: 5, ..COPY };
        let record = Builder::new(None).measured(&spec).build();
        let amount = |name: &str, amount| CounterAmount {
            counter: Counter { name: name.into(), unit: String::new(), kind: CounterKind::Counter },
            amount,
            duration_ns: 500_000_000,
        };
        let mut counters = CounterMeans::new();
        for (index, invocation) in record.invocations.iter().enumerate() {
            let mut amounts = vec![amount("stat.ctxt", 50)];
            amounts.extend((index == 0).then(|| amount("vmstat.pswpin", 8)));
            let mut gauge = amount("meminfo.MemFree", 1000);
            gauge.counter.kind = CounterKind::Gauge;
            amounts.extend((index == 0).then_some(gauge));
            counters.insert(invocation.invocation, amounts);
        }
        let found = rates_by_point(&record, &counters);
        assert_eq!((found.len(), found[0].invocations), (1, record.invocations.len()));
        let rates: Vec<_> = found[0]
            .rates
            .iter()
            .map(|rate| (rate.counter.name.as_str(), rate.median, rate.high))
            .collect();
        let read_once = ("meminfo.MemFree", 1000.0, 1000.0);
        assert_eq!(rates, [read_once, ("stat.ctxt", 100.0, 100.0), ("vmstat.pswpin", 0.0, 16.0)]);
        assert!(rates_by_point(&record, &CounterMeans::new()).is_empty());
    }
}
