//! A check that proves itself: one of its points is measured again, and with a known share of extra work.

use plumb_analysis::{CheckProof, Checker, PointControls};
use plumb_model::{ExtraWork, Goal, MARGIN, Plan, PlannedPoint, SampleIs, VerdictGoal};

use super::Again;
use crate::error::{CommandError, Result};
use crate::planning::{catalogue, command, proof};

/// The time of both control sides together, in nanoseconds.
const CONTROLS_NS: u64 = 120_000_000_000;
/// The most pairs of each control side.
const MOST_PAIRS: usize = 40;

impl Again<'_> {
    /// Measures the controls of one point of the plan, next to each other.
    pub(super) fn prove(
        &self,
        plan: &Plan,
        checker: &Checker<'_>,
        share: f64,
    ) -> Result<CheckProof> {
        let point = provable(plan)?;
        let name = point.name();
        let Some(metric) = point.description.primary() else {
            return Err(CommandError::usage(format!("{name} has no metric to prove anything by")));
        };
        let extra = if is_builtin(point) {
            ExtraWork { share, loops: 0 }
        } else {
            let pilot = Plan {
                points: proof::pilot_points(point)?,
                goal: proof::pilot_goal(),
                budget_ns: None,
                suite: None,
                ..plan.clone()
            };
            proof::sized_work(&self.measure_one(&pilot, "sizing the extra work")?.record, share)?
        };
        let goal = VerdictGoal {
            time_ns: Some(CONTROLS_NS),
            ..VerdictGoal::new(&metric.name, MARGIN, MOST_PAIRS)
        };
        let controls = Plan {
            points: proof::proof_points(std::slice::from_ref(point), extra),
            goal: Goal::Verdict(goal),
            budget_ns: None,
            suite: None,
            ..plan.clone()
        };
        let what = format!("proof: measuring {name} again, and with extra work");
        let measured = self.measure_one(&controls, &what)?;
        let found = PointControls::of(&measured.record);
        found
            .map(|controls| checker.proof(&controls))
            .ok_or_else(|| CommandError::bug("a run of control sides has none"))
    }
}

/// The first point to which plumb can add work: of a workload whose process does nothing else if there is one.
fn provable(plan: &Plan) -> Result<&PlannedPoint> {
    let can_take_more = |planned: &&PlannedPoint| is_builtin(planned) || is_command(planned);
    let mut in_process = plan.points.iter().filter(|planned| {
        can_take_more(planned) && planned.description.sample_is == SampleIs::Iteration
    });
    let found = in_process.next().or_else(|| plan.points.iter().find(can_take_more));
    found.ok_or_else(|| {
        CommandError::usage("plumb can't add extra work to a plug-in")
            .hint("prove the check with a baseline of commands or built-in workloads")
    })
}

fn is_command(planned: &PlannedPoint) -> bool {
    planned.point.workload == command::COMMAND
}

/// Whether it is a point of a built-in workload, which adds extra work to its own samples.
fn is_builtin(planned: &PlannedPoint) -> bool {
    !is_command(planned) && catalogue::builtin_names().contains(&planned.point.workload)
}
