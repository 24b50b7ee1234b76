//! Batches of samples, checked.

use plumb_model::{Flag, FlagKind, Metric, Samples};
use plumb_protocol::{Failure, Instance, StartedWorkload};

/// Takes these samples and verifies them.
///
/// # Errors
/// When the work or its verification fails.
pub fn take(
    instance: &mut dyn Instance,
    iterations: &[u64],
) -> Result<(Samples, Vec<Flag>), Failure> {
    let (samples, flags) = plumb_protocol::take(instance, iterations)?;
    samples.check().unwrap_or_else(|error| panic!("{error:?}"));
    assert_eq!(samples.len(), iterations.len());
    Ok((samples, flags))
}

/// Takes these samples, which must work.
#[must_use]
pub fn samples(started: &mut StartedWorkload, iterations: &[u64]) -> Samples {
    let taken = take(started.instance.as_mut(), iterations);
    taken.unwrap_or_else(|failure| panic!("{failure}")).0
}

/// Takes these samples and gives the values of a metric.
#[must_use]
pub fn values(started: &mut StartedWorkload, metric: &Metric, iterations: &[u64]) -> Vec<f64> {
    let work = started.ready.work.get(&metric.name).copied().unwrap_or(1.0);
    let values = samples(started, iterations).metric(metric, work);
    values.unwrap_or_else(|| panic!("no values of {}", metric.name))
}

/// Whether a flag of this kind is among them.
#[must_use]
pub fn has_flag(flags: &[Flag], kind: &FlagKind) -> bool {
    flags.iter().any(|flag| flag.flag == *kind)
}
