//! `plumb check --quick`: is this machine as fast as healthy ones? The run ends as soon as that is known.

use plumb_analysis::{HealthyResults, QuickCheckFinding, QuickState, healthy_results};
use plumb_model::{Goal, HealthGoal, Plan};
use plumb_report::{QuickBaseline, quick_check_card, quick_check_json};
use plumb_suite::{margin, time_ns};

use super::{Again, CheckArgs, StoredBaseline, prepared, read};
use crate::error::{CommandError, Exit, Result};

/// The smallest relative change that matters to a quick check, if the user names none.
pub(super) const MARGIN: &str = "5%";

impl Again<'_> {
    /// Checks this machine within this time.
    pub(super) fn quick_check(&self, most: &str) -> Result<Exit> {
        let margin = margin(self.args.margin.as_deref().unwrap_or(MARGIN))?;
        let most_ns = time_ns(most)?;
        let stored = read(self.store, self.args, self.ui)?;
        let learned = learned(&stored)?;
        let plan = Plan { budget_ns: Some(most_ns), ..plan(&stored, &learned, margin, self.args)? };
        let record = self.measure_one(&plan, "comparing with healthy machines")?.record;
        let finding = QuickCheckFinding::of(&record)
            .ok_or_else(|| CommandError::bug("a quick check with another goal"))?;
        let baseline = quick_baseline(&stored.name, learned);
        if self.ui.wants_json() {
            let document = quick_check_json(&finding, &baseline);
            self.ui.out(&document.map_err(|error| CommandError::bug(error.to_string()))?);
        } else {
            self.ui.out(&quick_check_card(&finding, &baseline, &self.ui.terminal()));
        }
        Ok(exit(finding.state()))
    }
}

/// The healthy runs that a check compared with.
pub(super) fn quick_baseline(name: &str, learned: HealthyResults) -> QuickBaseline {
    QuickBaseline {
        name: name.to_owned(),
        runs: learned.runs,
        hosts: learned.hosts,
        uncalibrated: learned.uncalibrated,
    }
}

/// What the runs of the baseline show of its newest run's points.
pub(super) fn learned(stored: &StoredBaseline) -> Result<HealthyResults> {
    let newest = stored.members.runs.last().map(|run| run.run).unwrap_or_default();
    let learned = healthy_results(&stored.members.series, newest);
    if learned.points.is_empty() {
        let name = &stored.name;
        return Err(CommandError::nothing(format!(
            "the baseline {name} has too few runs to show what healthy machines cost"
        ))
        .hint(format!("plumb baseline set {name} --runs 8"))
        .hint("add --by kind to use the runs of all hosts of this kind"));
    }
    Ok(learned)
}

/// The points that can be compared with healthy machines.
pub(super) fn plan(
    stored: &StoredBaseline,
    learned: &HealthyResults,
    margin: f64,
    args: &CheckArgs,
) -> Result<Plan> {
    let plan = prepared(stored.plan()?, args)?;
    let mut points = Vec::new();
    let mut healthy = Vec::new();
    for (index, costs) in &learned.points {
        let planned = plan.points.get(*index).cloned();
        points.push(planned.ok_or_else(|| CommandError::bug("a series without a point"))?);
        healthy.push(*costs);
    }
    Ok(Plan {
        points,
        goal: Goal::Health(HealthGoal { margin, healthy }),
        spread_ns: None,
        against_first: false,
        ..plan
    })
}

/// The exit code of a machine in this state.
pub(super) fn exit(state: QuickState) -> Exit {
    match state {
        QuickState::Slow => Exit::Regression,
        QuickState::Failed => Exit::Failed,
        QuickState::Unsupported => Exit::Nothing,
        QuickState::Undecided => Exit::Inconclusive,
        QuickState::Healthy => Exit::Fine,
    }
}
