//! How long invocations sample, where somebody says so: `--stream` and `--invocation-time`.

use plumb_model::{PlannedPoint, SampleIs, Sampling, StoppingRules};

use crate::{UsageError, time_ns};

/// A stream has a sample a second: shorter ones have too few of them to tell anything.
const SHORTEST_STREAM_NS: u64 = 2_000_000_000;

/// Takes note of what was typed in the points that it is for.
///
/// # Errors
/// Where a sample is a process, which has a length of its own, or a stream is too short.
pub fn state_sampling(
    points: &mut [PlannedPoint],
    stream: Option<&str>,
    invocation_time: Option<&str>,
) -> Result<(), UsageError> {
    let (flag, sampling) = match (stream, invocation_time) {
        (Some(length), _) => {
            let length_ns = time_ns(length)?;
            if length_ns < SHORTEST_STREAM_NS {
                let error =
                    format!("a stream of {length} is too short: it takes one sample per second");
                return Err(UsageError::new(error).hint("try --stream 1m"));
            }
            ("--stream", Sampling::Stream { length_ns })
        }
        (None, Some(length)) => {
            ("--invocation-time", Sampling::Batch { length_ns: time_ns(length)? })
        }
        (None, None) => return Ok(()),
    };
    for point in points {
        if point.description.sample_is == SampleIs::Process {
            let id = &point.point.workload;
            return Err(UsageError::new(format!(
                "{flag} needs a workload that runs without pauses; each sample of {id} is a whole process"
            ))
            .hint("use --min-time to set how long to measure it"));
        }
        point.sampling = Some(sampling);
        if stream.is_some() {
            point.rules = Some(StoppingRules::fixed(1));
        }
    }
    Ok(())
}
