//! Validation of a workload's replies before anything in them is used or stored.
//!
//! Whatever passes here can be summed, multiplied and stored without a further look. A workload that
//! says anything else fails with the reason; the run goes on.

use std::collections::BTreeSet;

use plumb_model::{
    Description, Histogram, Metric, MetricSource, Ready, SampleIs, Usage, check_trial, note_trial,
};
use plumb_protocol::SampleReply;

use crate::refusal::LaunchRefusal;

/// The most that a count of iterations, the times of a batch together, or a counter of resource use may
/// be: 13 days in nanoseconds. Sums over any number of batches then fit into 64 bits.
const MOST: u64 = 1 << 50;
/// The most iterations, and the most nanoseconds, that a sample may need at least: 18 minutes.
const MOST_LEAST: u64 = 1 << 40;
/// The least and the most work of an iteration.
const WORK: std::ops::RangeInclusive<f64> = 1e-18..=1e18;
/// What is off by less than a histogram's own rounding is within its bounds.
const ROUNDING: f64 = 1e-3;

/// What the samples of one started program have to look like.
#[derive(Debug)]
pub struct SampleShape {
    /// Metrics that every sample must report.
    reported: Vec<String>,
    /// The least and the greatest value of histograms, if they are declared.
    bounds: Vec<(String, u64, u64)>,
    /// The columns of its first batch, which all later ones must have too.
    columns: Option<BTreeSet<String>>,
}

impl SampleShape {
    /// As the workload declares it, but for metrics that the started point does not have.
    #[must_use]
    pub fn of(description: &Description, started: &Ready) -> Self {
        let mut reported = Vec::new();
        let mut bounds = Vec::new();
        for Metric { name, source, bounds: declared, .. } in &description.metrics {
            if *source == MetricSource::Value && !started.without.contains(name) {
                reported.push(name.clone());
            }
            bounds.extend(declared.map(|(low, high)| (name.clone(), low, high)));
        }
        Self { reported, bounds, columns: None }
    }

    /// A batch that keeps all rules.
    ///
    /// # Errors
    /// The first rule that it breaks.
    pub fn accept(&mut self, reply: SampleReply) -> Result<SampleReply, LaunchRefusal> {
        let samples = &reply.samples;
        samples.check().map_err(|error| failed(format!("its samples are invalid: {error}")))?;
        amounts(&reply)?;
        for (name, column) in &samples.histograms {
            column.iter().try_for_each(|histogram| self.histogram(name, histogram))?;
        }
        if samples.is_empty() {
            return Ok(reply);
        }
        self.same_columns(&reply)?;
        Ok(reply)
    }

    fn histogram(&self, name: &str, histogram: &Histogram) -> Result<(), LaunchRefusal> {
        let counts = histogram
            .counts()
            .filter(|pairs| pairs.iter().all(|(_, count)| (1..=MOST).contains(count)));
        let Some(counts) = counts else {
            return Err(failed(format!(
                "metric `{name}` reports something that is not a histogram: send HdrHistogram V2 in \
                 base64 (it begins with HISTEw or HISTFA), or pairs [value, count]"
            )));
        };
        let Some((_, low, high)) = self.bounds.iter().find(|bounds| bounds.0 == name) else {
            return Ok(());
        };
        #[expect(clippy::cast_precision_loss, reason = "compared to a thousandth")]
        let least = *low as f64 * (1.0 - ROUNDING);
        let most = *high as f64 * (1.0 + ROUNDING);
        #[expect(clippy::cast_precision_loss, reason = "compared to a thousandth")]
        match counts.iter().find(|(value, _)| !(least..=most).contains(&(*value as f64))) {
            Some((value, _)) => Err(failed(format!(
                "metric `{name}` contains the value {value}, outside its declared bounds {low} to {high}"
            ))),
            None => Ok(()),
        }
    }

    fn same_columns(&mut self, reply: &SampleReply) -> Result<(), LaunchRefusal> {
        let samples = &reply.samples;
        let names = samples.values.keys().chain(samples.histograms.keys());
        let columns: BTreeSet<String> = names.cloned().collect();
        if let Some(name) = self.reported.iter().find(|name| !columns.contains(*name)) {
            return Err(failed(format!("its samples lack the metric `{name}` that it declared")));
        }
        match &self.columns {
            Some(before) if *before != columns => Err(failed(format!(
                "a later batch reports {columns:?}, but the first one reported {before:?}"
            ))),
            _ => {
                self.columns = Some(columns);
                Ok(())
            }
        }
    }
}

/// What a started program says of itself can be used.
pub fn ready(ready: &Ready) -> Result<(), LaunchRefusal> {
    if let Some(least) = ready.least_iterations
        && !(1..=MOST_LEAST).contains(&least)
    {
        return Err(failed(format!(
            "it states least_iterations {least}; it must be from 1 to {MOST_LEAST}"
        )));
    }
    if let Some(shortest_ns) = ready.shortest_sample_ns
        && shortest_ns > MOST_LEAST
    {
        return Err(failed(format!(
            "it states shortest_sample_ns {shortest_ns}; it may not exceed {MOST_LEAST}"
        )));
    }
    match ready.work.iter().find(|(_, work)| !WORK.contains(*work)) {
        Some((name, work)) => Err(failed(format!(
            "it reports {work} of `{name}` per iteration; work must be positive and at most 1e18"
        ))),
        None => Ok(()),
    }
}

/// The iterations that it calibrated to, and how long they took.
pub fn calibrated(iterations: u64, elapsed_ns: u64) -> Result<(u64, u64), LaunchRefusal> {
    match (iterations, elapsed_ns) {
        (0, _) => Err(failed("it calibrated to 0 iterations".into())),
        (_, 0) => Err(failed("it calibrated to iterations that took no time".into())),
        (..=MOST, ..=MOST) => Ok((iterations, elapsed_ns)),
        _ => Err(failed(format!(
            "it calibrated to {iterations} iterations in {elapsed_ns} ns; neither may exceed {MOST}"
        ))),
    }
}

/// The sample of a trial whose counts add up, with what was asked for.
///
/// # Errors
/// The error in it.
pub fn valid_trial(
    mut reply: SampleReply,
    load: f64,
    duration_ns: u64,
) -> Result<SampleReply, LaunchRefusal> {
    check_trial(&reply.samples).map_err(LaunchRefusal::Failed)?;
    note_trial(&mut reply.samples, load, duration_ns);
    Ok(reply)
}

/// The most samples of a supply that are asked for at once: each may carry histograms.
pub const MOST_OF_SUPPLY: usize = 500;
/// The most samples of a supply: no memory is reserved for a number that a program has made up.
const LARGEST_SUPPLY: usize = 40_000;

/// The number of samples of a workload that says that it has only so many.
///
/// # Errors
/// The error in it.
pub fn valid_supply(description: &Description, supply: u64) -> Result<usize, String> {
    if description.sample_is != SampleIs::Process {
        return Err("it reports a supply, but its samples are not processes (sample_is)".to_owned());
    }
    match usize::try_from(supply) {
        Ok(0) => Err("it reports a supply of 0 samples instead of `unsupported`".to_owned()),
        Ok(count) if count <= LARGEST_SUPPLY => Ok(count),
        _ => Err(format!(
            "it reports a supply of {supply} samples; at most {LARGEST_SUPPLY} are possible"
        )),
    }
}

fn amounts(reply: &SampleReply) -> Result<(), LaunchRefusal> {
    let samples = &reply.samples;
    let together = samples.elapsed_ns.iter().try_fold(0_u64, |sum, ns| sum.checked_add(*ns));
    if together.is_none_or(|ns| ns > MOST) {
        return Err(failed(
            "its samples are invalid: together they last over 13 days; elapsed_ns must be in nanoseconds"
                .into(),
        ));
    }
    if let Some(i) = samples.iterations.iter().position(|&k| k > MOST) {
        return Err(failed(format!("sample {i} has more than {MOST} iterations")));
    }
    match counters(&reply.usage).into_iter().find(|&(_, amount)| amount > MOST) {
        Some((name, amount)) => {
            Err(failed(format!("its usage.{name} is {amount}; a batch can't use more than {MOST}")))
        }
        None => Ok(()),
    }
}

fn counters(usage: &Usage) -> [(&'static str, u64); 10] {
    [
        ("wall_ns", usage.wall_ns),
        ("user_ns", usage.user_ns),
        ("system_ns", usage.system_ns),
        ("iowait_ns", usage.iowait_ns),
        ("minor_faults", usage.minor_faults),
        ("major_faults", usage.major_faults),
        ("voluntary_switches", usage.voluntary_switches),
        ("involuntary_switches", usage.involuntary_switches),
        ("device_read_bytes", usage.device_read_bytes.unwrap_or(0)),
        ("device_written_bytes", usage.device_written_bytes.unwrap_or(0)),
    ]
}

fn failed(why: String) -> LaunchRefusal {
    LaunchRefusal::Failed(why)
}

#[cfg(test)]
mod tests {
    use super::{MOST, SampleShape, calibrated, ready};
    use crate::refusal::LaunchRefusal;
    use plumb_model::{
        Better, Description, Histogram, Metric, MetricSource, QuantityKind, Ready, Samples,
    };
    use plumb_protocol::SampleReply;

    fn description() -> Description {
        Description {
            metrics: vec![Metric::new("rate", "ops/s", Better::Higher, MetricSource::Value, "")],
            ..Description::new("test.shape", "")
        }
    }

    fn two() -> SampleReply {
        let samples = Samples {
            start_ns: vec![1, 2],
            elapsed_ns: vec![10, 10],
            iterations: vec![1, 1],
            cpu: vec![-1, -1],
            values: [("rate".to_owned(), vec![1.0, 2.0])].into(),
            ..Samples::default()
        };
        SampleReply { samples, ..SampleReply::default() }
    }

    fn why(reply: SampleReply) -> String {
        match SampleShape::of(&description(), &Ready::default()).accept(reply) {
            Err(LaunchRefusal::Failed(why)) => why,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_batch_as_declared_passes_and_an_empty_one_too() {
        let mut shape = SampleShape::of(&description(), &Ready::default());
        shape.accept(two()).unwrap();
        shape.accept(SampleReply::default()).unwrap();
    }

    #[test]
    fn a_point_may_lack_a_metric_when_it_says_so() {
        let without = vec!["rate".to_owned()];
        let started = Ready { without, ..Ready::default() };
        let mut lacking = two();
        lacking.samples.values.clear();
        SampleShape::of(&description(), &started).accept(lacking).unwrap();
    }

    #[test]
    fn columns_stay_the_same_from_batch_to_batch() {
        let mut shape = SampleShape::of(&description(), &Ready::default());
        shape.accept(two()).unwrap();
        let mut other = two();
        other.samples.values.insert("more".into(), vec![1.0, 2.0]);
        assert!(matches!(shape.accept(other), Err(LaunchRefusal::Failed(_))));
        let mut lacking = two();
        lacking.samples.values.clear();
        assert!(why(lacking).contains("lack the metric `rate`"));
    }

    #[test]
    fn amounts_that_could_overflow_a_sum_are_refused() {
        let mut reply = two();
        reply.samples.elapsed_ns = vec![u64::MAX, u64::MAX];
        assert!(why(reply).contains("nanoseconds"));
        let mut reply = two();
        reply.samples.iterations[1] = MOST + 1;
        assert!(why(reply).contains("sample 1"));
        let mut reply = two();
        reply.usage.user_ns = u64::MAX;
        assert!(why(reply).contains("usage.user_ns"));
        assert!(calibrated(MOST, 1).is_ok());
        for (iterations, elapsed_ns) in [(0, 1), (1, 0), (MOST + 1, 1), (1, MOST + 1)] {
            assert!(calibrated(iterations, elapsed_ns).is_err());
        }
    }

    #[test]
    fn histograms_are_of_the_two_kinds() {
        let mut reply = two();
        let sparse = Histogram::Sparse(vec![(100, 3)]);
        let hdr = Histogram::of([100, 100, 5_000]);
        for kind in [sparse, hdr, Histogram::Sparse(Vec::new())] {
            reply.samples.histograms.insert("latency".into(), vec![kind.clone(), kind]);
            SampleShape::of(&description(), &Ready::default()).accept(reply.clone()).unwrap();
        }
        for text in ["HISTAAAAAA", "HISTEwAAAAA"] {
            let other = Histogram::Hdr(text.into());
            reply.samples.histograms.insert("latency".into(), vec![other.clone(), other]);
            assert!(why(reply.clone()).contains("`latency`"), "{text}");
        }
    }

    #[test]
    fn histograms_stay_within_declared_bounds() {
        let mut bounded = description();
        let latency = Metric {
            name: "latency".into(),
            kind: QuantityKind::Histogram,
            bounds: Some((10, 1_000_000)),
            ..bounded.metrics[0].clone()
        };
        bounded.metrics.push(latency);
        let told = |histogram: Histogram| {
            let mut reply = two();
            reply.samples.histograms.insert("latency".into(), vec![histogram.clone(), histogram]);
            SampleShape::of(&bounded, &Ready::default()).accept(reply)
        };
        told(Histogram::of([10, 1_000_000])).unwrap();
        for beyond in [9, 1_010_000] {
            let Err(LaunchRefusal::Failed(why)) =
                told(Histogram::Sparse(vec![(50, 1), (beyond, 1)]))
            else {
                panic!("{beyond} passed")
            };
            assert!(why.contains("bounds 10 to 1000000"), "{why}");
        }
    }

    #[test]
    fn work_is_positive() {
        let says = |work| Ready { work: [("m".to_owned(), work)].into(), ..Ready::default() };
        assert!(ready(&says(4096.0)).is_ok());
        for work in [0.0, -1.0, 1e300] {
            assert!(ready(&says(work)).is_err(), "{work}");
        }
    }
}
