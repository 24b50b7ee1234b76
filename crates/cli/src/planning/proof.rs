//! The sides of a comparison that proves itself (`ab --prove`), and the pilot that sizes the extra work.

use plumb_model::{
    ExtraWork, Goal, PlannedPoint, ProofPoint, ProofRole, RunRecord, Settings, StoppingRules,
};
use plumb_stats::describe::median;

use crate::error::{CommandError, Result};
use crate::planning::command::{self, TypedCommand};

/// Steps of the empty loop whose length the pilot measures: some milliseconds.
const PILOT_LOOPS: u64 = 20_000_000;
/// Runs of each point of the pilot, unless they take too long.
const PILOT_RUNS: usize = 15;
/// The longest time of the pilot, in nanoseconds.
const PILOT_NS: u64 = 60_000_000_000;

/// The points of the pilot: the first side, and a program that does nothing without and with a known number of steps.
///
/// # Errors
/// When the program that does nothing can't be a point.
pub fn pilot_points(first: &PlannedPoint) -> Result<Vec<PlannedPoint>> {
    let nothing = command::point(&TypedCommand::new("true", false)?, false, Settings::new(), &[])?;
    let steps = ExtraWork { share: 0.0, loops: PILOT_LOOPS };
    Ok(vec![
        with_role(first, ProofRole::Side, ExtraWork::NONE),
        with_role(&nothing, ProofRole::Side, ExtraWork::NONE),
        with_role(&nothing, ProofRole::Planted, steps),
    ])
}

/// How long the pilot goes on.
pub fn pilot_goal() -> Goal {
    Goal::Rules(StoppingRules { max_time_ns: Some(PILOT_NS), ..StoppingRules::fixed(PILOT_RUNS) })
}

/// The work that makes the first side slower by this share, from the pilot's record.
///
/// # Errors
/// When the pilot could not be measured.
pub fn sized_work(pilot: &RunRecord, share: f64) -> Result<ExtraWork> {
    let [side_s, nothing_s, steps_s] = [0, 1, 2].map(|point| median_wall_s(pilot, point));
    let (Some(side_s), Some(nothing_s), Some(steps_s)) = (side_s, nothing_s, steps_s) else {
        return Err(CommandError::nothing(
            "the pilot that sizes the extra work of --prove could not be measured",
        ));
    };
    #[expect(clippy::cast_precision_loss, reason = "a number of steps far below 2^53")]
    let step_s = (steps_s - nothing_s) / PILOT_LOOPS as f64;
    if step_s <= 0.0 {
        return Err(CommandError::nothing(
            "this machine is too noisy to size the extra work of --prove",
        )
        .hint("try again when less else is running"));
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "positive, and a float too large for u64 saturates"
    )]
    let loops = (share * side_s / step_s).round() as u64;
    Ok(ExtraWork { share, loops })
}

/// The median wall time of a point of the pilot, in seconds.
fn median_wall_s(pilot: &RunRecord, point: usize) -> Option<f64> {
    let planned = &pilot.plan.points[point];
    let metric = planned.description.primary()?;
    let values: Vec<f64> = pilot
        .good_invocations(point)
        .filter_map(|invocation| invocation.steady(metric))
        .flatten()
        .collect();
    median(&values)
}

/// Both sides, the first again, and the first with extra work.
pub fn proof_points(sides: &[PlannedPoint], extra: ExtraWork) -> Vec<PlannedPoint> {
    let mut points: Vec<PlannedPoint> =
        sides.iter().map(|side| with_role(side, ProofRole::Side, ExtraWork::NONE)).collect();
    if let Some(first) = sides.first() {
        let name = first.name();
        let again = with_role(first, ProofRole::Again, ExtraWork::NONE);
        let planted = with_role(first, ProofRole::Planted, extra);
        let share = plumb_units::percent(extra.share);
        points.push(PlannedPoint { title: Some(format!("{name}, again")), ..again });
        points.push(PlannedPoint { title: Some(format!("{name}, {share} more work")), ..planted });
    }
    points
}

/// Both sides, started as in the comparison that proves itself.
pub fn confirming_points(sides: &[PlannedPoint]) -> Vec<PlannedPoint> {
    sides.iter().map(|side| with_role(side, ProofRole::Side, ExtraWork::NONE)).collect()
}

fn with_role(point: &PlannedPoint, role: ProofRole, extra_work: ExtraWork) -> PlannedPoint {
    PlannedPoint { proof: Some(ProofPoint { role, extra_work }), ..point.clone() }
}
