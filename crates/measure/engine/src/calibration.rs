//! How many iterations a sample has: found once a point, and shared by the sides of a comparison, so that
//! nothing but the sides themselves differs.

use plumb_model::{ClockSource, Goal, Plan, PlannedPoint, Role};
use plumb_stats::batch::shared_iterations;

use crate::history::PointHistory;
use crate::sampling;
use plumb_launch::{InvocationSession, LaunchRefusal, Launcher, StartSpec};

/// Iterations of a sample, and how long it takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Calibration {
    /// Iterations of one sample.
    pub iterations: u64,
    /// Length of one sample, in nanoseconds.
    pub sample_ns: u64,
}

/// What is known of a point, or what the process finds out now.
pub fn calibrated(
    session: &mut dyn InvocationSession,
    planned: &PlannedPoint,
    known: &mut PointHistory,
    clock: Option<&ClockSource>,
    progress: &mut dyn FnMut(&str),
) -> Result<Calibration, LaunchRefusal> {
    if let (Some(iterations), Some(sample_ns)) = (known.iterations, known.sample_ns) {
        return Ok(Calibration { iterations, sample_ns });
    }
    let target_ns = sampling::target_ns(planned, clock);
    let (iterations, elapsed_ns) = session.calibrate(target_ns, progress)?;
    // A workload may need longer samples than were asked for.
    let sample_ns = elapsed_ns.max(if iterations == 1 { 1 } else { target_ns });
    (known.iterations, known.sample_ns) = (Some(iterations), Some(sample_ns));
    Ok(Calibration { iterations, sample_ns })
}

/// Whether the points of a plan get the same number of iterations a sample (docs/method.md, *Samples*): a fixed cost
/// that one side spreads over more of them would look like a difference. Different workloads share
/// nothing.
pub fn is_shared(plan: &Plan) -> bool {
    let mut workloads = plan.points.iter().map(|planned| &planned.point.workload);
    let first = workloads.next();
    matches!(plan.goal, Goal::Verdict(_)) && workloads.all(|workload| Some(workload) == first)
}

/// Starts a process only to calibrate, unless that was done; the wanted length of a sample.
pub fn calibrate_alone(
    launcher: &mut dyn Launcher,
    planned: &PlannedPoint,
    known: &mut PointHistory,
    seed: u64,
    progress: &mut dyn FnMut(&str),
) -> Result<u64, LaunchRefusal> {
    // Started even if its iterations are known: only a running worker reports its clock, and with it the length.
    let done = known.iterations.is_some();
    let spec = StartSpec { planned, role: Role::Workload, seed };
    let (mut session, ready) = launcher.start(spec, progress)?;
    let clock = ready.clock.as_ref();
    if !done {
        calibrated(session.as_mut(), planned, known, clock, progress)?;
    }
    session.stop()?;
    Ok(sampling::target_ns(planned, clock))
}

/// Gives all points the number of iterations that makes the shortest of their samples last so long.
pub fn share(points: &mut [PointHistory], target_ns: u64) {
    let sides: Vec<_> =
        points.iter().filter_map(|point| point.sample_ns.zip(point.iterations)).collect();
    let shared = shared_iterations(&sides, target_ns);
    for point in points {
        // What it takes for one iteration, times those that all sides get.
        if let (Some(sample_ns), Some(iterations)) = (point.sample_ns, point.iterations) {
            point.sample_ns = Some((sample_ns / iterations.max(1)).max(1) * shared);
            point.iterations = Some(shared);
        }
    }
}
