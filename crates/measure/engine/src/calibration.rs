//! How many iterations a sample has: found once a point, and shared by the sides of a comparison, so that
//! nothing but the sides themselves differs.

use plumb_model::{ClockSource, Goal, Plan, PlannedPoint, Role};
use plumb_stats::batch::{are_apart, iterations_for, shared_iterations};

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
    known.least_iterations = ready.least_iterations;
    if !done {
        calibrated(session.as_mut(), planned, known, clock, progress)?;
    }
    session.stop()?;
    Ok(sampling::target_ns(planned, clock).max(ready.shortest_sample_ns.unwrap_or(0)))
}

/// Gives the sides of a comparison their iterations: as many as last so long, and no fewer than a side needs, because blocks
/// that are in flight together arrive together, and would be a sample of no time. All sides get the same number, unless one of
/// them takes several times as long as another (docs/method.md, *Samples*).
pub fn share(points: &mut [PointHistory], target_ns: u64) {
    let shared = shared_by(points, target_ns);
    for point in points {
        let (Some(sample_ns), Some(iterations)) = (point.sample_ns, point.iterations) else {
            continue;
        };
        let own = if point.invocations > 0 {
            iterations
        } else {
            let needed = least_before_jitter(point.least_iterations.unwrap_or(1));
            iterations_for(sample_ns, iterations, target_ns).max(needed)
        };
        let wanted = shared.unwrap_or(own);
        // What it takes for one iteration, times those that it gets.
        let iteration_ns = (sample_ns / iterations.max(1)).max(1);
        point.sample_ns = Some(iteration_ns.saturating_mul(wanted));
        point.iterations = Some(wanted);
    }
}

/// The iterations that all sides get; none if each has its own number.
fn shared_by(points: &[PointHistory], target_ns: u64) -> Option<u64> {
    let sides: Vec<(u64, u64)> =
        points.iter().filter_map(|point| point.sample_ns.zip(point.iterations)).collect();
    if are_apart(&sides) {
        return None;
    }
    let least = points.iter().filter_map(|point| point.least_iterations).max().unwrap_or(1);
    // A comparison that is resumed keeps the iterations that it began with.
    let begun = points.iter().filter(|point| point.invocations > 0);
    let begun = begun.filter_map(|point| point.iterations).max();
    Some(
        begun.unwrap_or_else(|| {
            shared_iterations(&sides, target_ns).max(least_before_jitter(least))
        }),
    )
}

/// So many iterations that a draw of 10 % fewer is still enough.
fn least_before_jitter(least: u64) -> u64 {
    if least <= 1 { 1 } else { least.saturating_mul(10).div_ceil(9) }
}

#[cfg(test)]
mod tests {
    use super::share;
    use crate::history::PointHistory;

    /// A side of 32 blocks in 30 ms that needs at least so many.
    fn side(least_iterations: Option<u64>) -> PointHistory {
        PointHistory {
            iterations: Some(32),
            least_iterations,
            sample_ns: Some(30_000_000),
            ..PointHistory::default()
        }
    }

    #[test]
    fn a_comparison_takes_no_fewer_iterations_than_a_side_needs() {
        let mut sides = [side(Some(32)), side(Some(32))];
        share(&mut sides, 1_000_000);
        // 36 less 10 % are 32.
        assert!(sides.iter().all(|side| side.iterations == Some(36)), "{sides:?}");
        assert_eq!(sides[0].sample_ns, Some(36 * 937_500));
        let mut free = [side(None), side(None)];
        share(&mut free, 1_000_000);
        assert!(free.iter().all(|side| side.iterations == Some(2)), "{free:?}");
        let mut resumed = [side(Some(32)), PointHistory { invocations: 5, ..side(Some(32)) }];
        resumed[1].iterations = Some(3);
        resumed[1].sample_ns = Some(3 * 937_500);
        share(&mut resumed, 1_000_000);
        assert!(resumed.iter().all(|side| side.iterations == Some(3)), "{resumed:?}");
        // The second side takes 20 ms per block and needs nine of them; the first fills 60 ms with 64.
        let mut apart =
            [side(None), PointHistory { sample_ns: Some(640_000_000), ..side(Some(9)) }];
        share(&mut apart, 60_000_000);
        assert_eq!((apart[0].iterations, apart[0].sample_ns), (Some(64), Some(64 * 937_500)));
        assert_eq!((apart[1].iterations, apart[1].sample_ns), (Some(10), Some(200_000_000)));
        apart[1].invocations = 5;
        share(&mut apart, 400_000_000);
        assert_eq!(apart[1].iterations, Some(10), "a resumed side keeps its own");
        // A limit of 50 ms does not cut off what needs longer samples.
        let mut long = [side(None), side(None)];
        share(&mut long, 60_000_000);
        assert!(long.iter().all(|side| side.iterations == Some(64)), "{long:?}");
    }
}
