//! Addresses of one host that differ from the others: behind a name with several, one bad machine in eight is every eighth user's.

use plumb_model::{Flag, FlagKind, PlannedPoint, RunRecord, Value};
use plumb_stats::describe::median;

use crate::one_run::finding::Finding;
use crate::one_run::flags::add;

/// So far away from the others at least, with both intervals: machines are never quite alike.
const TIMES: f64 = 1.1;
/// With fewer addresses nobody can say which one is odd.
const FEWEST: usize = 3;

/// Flags headline results of an address that lie apart from those of most others of the same host.
pub(crate) fn flag_odd(results: &mut [Finding], record: &RunRecord) {
    let all = results.iter().enumerate();
    let found: Vec<(usize, Flag)> =
        all.filter_map(|(index, own)| Some((index, odd(own, results, record)?))).collect();
    for (index, flag) in found {
        add(&mut results[index].flags, flag);
    }
}

/// The flag of a result that is unlike those of most other addresses.
fn odd(this: &Finding, results: &[Finding], record: &RunRecord) -> Option<Flag> {
    let own = record.plan.points.get(this.point.index)?;
    let rule = own.description.restricted.as_ref()?;
    let address = |of: &PlannedPoint| {
        let text = of.point.settings.get(&rule.address).and_then(Value::text);
        text.filter(|text| !text.is_empty()).map(str::to_owned)
    };
    let of_this = address(own).filter(|_| this.headline)?;
    let is_sibling = |other: &&Finding| {
        let Some(planned) = record.plan.points.get(other.point.index) else { return false };
        (&other.metric, other.target) == (&this.metric, this.target)
            && planned.preparation == own.preparation
            && planned.beside == own.beside
            && planned.description.id == own.description.id
            && address(planned).is_some_and(|address| address != of_this)
            && without(planned, &rule.address) == without(own, &rule.address)
    };
    let others: Vec<&Finding> = results.iter().filter(is_sibling).collect();
    if others.len() + 1 < FEWEST {
        return None;
    }
    let apart = others.iter().filter(|other| lies_apart(this, other) == Some(true)).count();
    let values: Vec<f64> = others.iter().map(|finding| finding.estimate.value).collect();
    let usual = median(&values).filter(|usual| *usual > 0.0)?;
    let off = |finding: &&&Finding| (finding.estimate.value / usual).ln().abs();
    let typical = others.iter().min_by(|one, other| off(one).total_cmp(&off(other)))?;
    let agree = others.iter().filter(|other| lies_apart(typical, other) == Some(false)).count();
    // Those that are like it, with itself, are fewer, and most others are alike.
    (2 * apart > others.len() + 1 && 2 * agree > others.len()).then(|| {
        let host = rule.machine(&own.point.settings).unwrap_or_default();
        let of = values.len() + 1;
        let times = this.estimate.value / usual;
        let why = format!(
            "{host} has {of} addresses: {} of this one is {times:.2} times the median of the others",
            this.metric
        );
        Flag::new(FlagKind::OddAddress, why)
    })
}

/// Whether both intervals leave room between them; None where one has none.
fn lies_apart(one: &Finding, other: &Finding) -> Option<bool> {
    let one = &one.estimate;
    let other = &other.estimate;
    let above = one.low()? > TIMES * other.high()?;
    Some(above || TIMES * one.high()? < other.low()?)
}

/// The settings of a point but this one.
fn without<'p>(planned: &'p PlannedPoint, parameter: &str) -> Vec<(&'p String, &'p Value)> {
    planned.point.settings.iter().filter(|(name, _)| *name != parameter).collect()
}

#[cfg(test)]
mod tests {
    use plumb_model::ParameterType::Text;
    use plumb_model::{FlagKind, Restricted};

    use crate::summarise;
    use crate::testing::{Builder, COPY, Spec};

    /// The flags of points, one for each of these levels of the rate, which are addresses of one host.
    fn flags(levels: [f64; 4]) -> Vec<Option<String>> {
        const ADDRESSES: [&[(&str, plumb_model::ParameterType, &str, &str)]; 4] = [
            &[("host", Text, "", "web"), ("address", Text, "", "192.0.2.1")],
            &[("host", Text, "", "web"), ("address", Text, "", "192.0.2.2")],
            &[("host", Text, "", "web"), ("address", Text, "", "192.0.2.3")],
            &[("host", Text, "", "web"), ("address", Text, "", "192.0.2.4")],
        ];
        let builder = levels.into_iter().zip(ADDRESSES).fold(
            Builder::new(None),
            |builder, (value, parameters)| {
                let spec = Spec {
                    id: "network.connect",
                    metric: "rate",
                    unit: "ops/s",
                    value,
                    parameters,
                    ..COPY
                };
                builder.measured(&spec)
            },
        );
        let mut record = builder.build();
        let rule = Restricted {
            host: "host".into(),
            address: "address".into(),
            bound: "rate".into(),
            most: 8,
            harmless: Vec::new(),
            what: "files".into(),
        };
        for point in &mut record.plan.points {
            point.description.restricted = Some(Box::new(rule.clone()));
        }
        let finding = summarise(&record);
        let flag = |finding: &crate::Finding| {
            let odd = finding.flags.iter().find(|flag| flag.flag == FlagKind::OddAddress);
            odd.map(|flag| flag.why.clone())
        };
        finding.results.iter().map(flag).collect()
    }

    #[test]
    fn the_one_address_that_is_slower_than_the_others_is_named() {
        let found = flags([1000.0, 1005.0, 200.0, 995.0]);
        assert_eq!([0, 1, 3].map(|at: usize| found[at].clone()), [None, None, None], "{found:?}");
        let why = found[2].as_ref().unwrap();
        assert!(why.starts_with("web has 4 addresses: rate of this one is 0.20 times"), "{why}");
        assert_eq!(flags([1000.0, 1005.0, 1040.0, 995.0]), vec![None; 4], "near enough");
        assert_eq!(flags([1000.0, 1000.0, 200.0, 200.0]), vec![None; 4], "half of them");
        assert_eq!(flags([1000.0, 500.0, 200.0, 100.0]), vec![None; 4], "all differ");
    }
}
