//! Random reads that are faster than sequential ones of the same blocks: no device gives more in any order than in its own,
//! so something above it caches or prefetches.

use plumb_model::{Flag, FlagKind, RunRecord};

use crate::facts::PointFacts;
use crate::one_run::finding::Finding;
use crate::one_run::flags::add;

/// The workloads that read the same file in both orders, and the metrics that count blocks and bytes a second.
const RANDOM: (&str, &str) = ("storage.random", "rate");
const SEQUENTIAL: (&str, &str) = ("storage.sequential", "bandwidth");

/// So many times as fast at least, with both intervals: devices that have no order differ by less.
const TIMES: f64 = 1.1;

/// Flags random reads that are faster than sequential ones.
pub(crate) fn flag_faster(results: &mut [Finding], record: &RunRecord) {
    let all = results.iter().enumerate();
    let found: Vec<(usize, Flag)> =
        all.filter_map(|(index, random)| Some((index, faster(random, results, record)?))).collect();
    for (index, flag) in found {
        add(&mut results[index].flags, flag);
    }
}

/// The flag of a result that reads at random, where another reads the same blocks in order and is slower.
fn faster(random: &Finding, results: &[Finding], record: &RunRecord) -> Option<Flag> {
    let is_device_read = shown(&random.point, "operation") == Some("read")
        && shown(&random.point, "place") != Some("memory");
    if !is_of(random, RANDOM) || !is_device_read {
        return None;
    }
    let prepared = |finding: &Finding| {
        record.plan.points.get(finding.point.index).map(|planned| &planned.preparation)
    };
    let sequential = results.iter().find(|other| {
        is_of(other, SEQUENTIAL)
            && other.target == random.target
            && prepared(other) == prepared(random)
            && agrees(&other.point, &random.point)
            && agrees(&random.point, &other.point)
    })?;
    #[expect(clippy::cast_precision_loss, reason = "blocks stay far below 2^53 bytes")]
    let block = random.point.number("block")? as f64;
    let low = random.estimate.low()? * block;
    let high = sequential.estimate.high()?;
    let times = random.estimate.value * block / sequential.estimate.value;
    (low > TIMES * high).then(|| {
        let why = format!(
            "{times:.1} times the throughput of reading the same blocks in order ({}): something caches or prefetches",
            sequential.point.name
        );
        Flag::new(FlagKind::Cached, why)
    })
}

fn is_of(finding: &Finding, (workload, metric): (&str, &str)) -> bool {
    finding.point.workload == workload && finding.metric == metric
}

fn shown<'p>(point: &'p PointFacts, parameter: &str) -> Option<&'p str> {
    let found = point.parameters.iter().find(|shown| shown.name == parameter)?;
    Some(&found.value)
}

/// Whether each parameter of a point has the same value at another, or its default where the other has none.
fn agrees(point: &PointFacts, other: &PointFacts) -> bool {
    point.parameters.iter().all(|parameter| {
        shown(other, &parameter.name).map_or(parameter.default, |value| value == parameter.value)
    })
}

#[cfg(test)]
mod tests {
    use plumb_model::FlagKind;
    use plumb_model::ParameterType::{Bytes, Choice, Integer};

    use crate::summarise;
    use crate::testing::{Builder, COPY, Spec};

    /// Why random reads of 4 KiB are flagged, whose rate is so many thousands a second, beside 400 MB/s in order.
    fn why(thousands: f64, sequential: Spec, random: Spec) -> Option<String> {
        let sequential = Spec { id: "storage.sequential", value: 4e8, ..sequential };
        let random = Spec {
            id: "storage.random",
            metric: "rate",
            unit: "ops/s",
            value: thousands * 1e3,
            ..random
        };
        let record = Builder::new(None).measured(&sequential).measured(&random).build();
        let finding = summarise(&record);
        assert!(finding.results[0].flags.is_empty(), "{:?}", finding.results[0].flags);
        let flag = finding.results[1].flags.iter().find(|flag| flag.flag == FlagKind::Cached);
        flag.map(|flag| flag.why.clone())
    }

    #[test]
    fn only_random_reads_that_are_faster_than_the_same_in_order_are_flagged() {
        let same = Spec {
            parameters: &[
                ("block", Bytes, "1MiB", "4KiB"),
                ("operation", Choice, "read", ""),
                ("depth", Integer, "8", ""),
            ],
            ..COPY
        };
        let random = Spec {
            parameters: &[
                ("block", Bytes, "4KiB", ""),
                ("operation", Choice, "read", ""),
                ("depth", Integer, "1", "8"),
                ("p99", Integer, "1", ""),
            ],
            ..COPY
        };
        let flagged = why(200.0, same, random).unwrap();
        assert!(flagged.starts_with("2.0 times the throughput"), "{flagged}");
        assert!(flagged.contains("storage.sequential:block=4KiB"), "{flagged}");
        // 400 MB/s are 97.7 thousand blocks a second.
        assert_eq!(why(98.0, same, random), None, "as fast");
        assert_eq!(why(50.0, same, random), None, "slower");
        let other = Spec { parameters: &[("block", Bytes, "1MiB", "8KiB")], ..same };
        assert_eq!(why(200.0, other, random), None, "other blocks");
        let written = Spec {
            parameters: &[
                ("block", Bytes, "4KiB", ""),
                ("operation", Choice, "read", "write"),
                ("depth", Integer, "1", "8"),
            ],
            ..COPY
        };
        assert_eq!(why(200.0, written, written), None, "written");
    }
}
