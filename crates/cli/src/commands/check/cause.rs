//! Whether a regression comes from the code or from the machine: what the baseline measured is measured again, in turns
//! with what is there now.

use std::collections::BTreeMap;
use std::path::Path;

use plumb_analysis::{
    Asked, BothPrograms, CauseFinding, CheckFinding, CheckedSeries, Checker, WhichBaseline,
};
use plumb_model::{Goal, Plan, PlannedPoint, StoppingRules};
use plumb_protocol::PROTOCOL;
use plumb_query::StoredRuns;
use plumb_store::KeptFile;

use super::{Again, StoredBaseline};
use crate::error::Result;
use crate::planning::kept;
use crate::reading::runs;

/// The longest time of both programs together, in nanoseconds.
const BOTH_NS: u64 = 60_000_000_000;
/// Turns of each program that its interval takes, if the time allows.
const FEWEST_TURNS: usize = 20;

impl Again<'_> {
    /// The finding with the cause of each regression, if the baseline keeps what it measured.
    pub(super) fn explain(
        &self,
        finding: CheckFinding,
        checker: &Checker<'_>,
        stored: &StoredBaseline,
        plan: &Plan,
    ) -> Result<CheckFinding> {
        let regressions: Vec<CheckedSeries> = finding.regressions().cloned().collect();
        if regressions.is_empty() {
            return Ok(finding);
        }
        let mut kept = BTreeMap::new();
        for which in [WhichBaseline::Current, WhichBaseline::First] {
            kept.insert(which, self.kept_of(stored.members_of(which))?);
        }
        finding.explained(|series| {
            let planned = plan.points.iter().find(|planned| is_point_of(planned, series));
            let kept = &kept[&series.against];
            match planned.filter(|planned| kept::is_of(planned, kept)) {
                Some(planned) if regressions.contains(series) => {
                    self.cause_of(series, checker, plan, planned, kept).map(Asked::Found)
                }
                _ => Ok(Asked::NotAsked),
            }
        })
    }

    /// The files that are kept of the newest run that has any.
    fn kept_of(&self, members: &StoredRuns) -> Result<Vec<KeptFile>> {
        let store = runs::open(self.store)?;
        for member in members.runs.iter().rev() {
            let kept = store.kept_files(member.run)?;
            if !kept.is_empty() {
                return Ok(kept);
            }
        }
        Ok(Vec::new())
    }

    fn cause_of(
        &self,
        series: &CheckedSeries,
        checker: &Checker<'_>,
        plan: &Plan,
        planned: &PlannedPoint,
        kept: &[KeptFile],
    ) -> Result<CauseFinding> {
        let other = kept.iter().filter_map(|file| file.protocol).find(|other| *other != PROTOCOL);
        if let Some(other) = other {
            return Ok(CauseFinding::unknown(&format!(
                "the kept plumb speaks version {other} of the protocol with its workers, this one version {PROTOCOL}"
            )));
        }
        let name = planned.name();
        let what = format!("code or environment: measuring {name} in turns with the kept copy");
        let copied = |plan: &Plan, scratch: &Path| {
            let points = kept::both(planned, kept, scratch)?;
            let points = points.into_iter().map(|point| PlannedPoint { rules: None, ..point });
            Ok(Plan { points: points.collect(), ..plan.clone() })
        };
        let both = Plan {
            goal: Goal::Rules(rules(plan, planned)),
            budget_ns: Some(BOTH_NS),
            against_first: true,
            suite: None,
            ..plan.clone()
        };
        let measured = self.measure_made(&both, &copied, &what)?;
        Ok(checker.cause(series, &BothPrograms::of(&measured.record)))
    }
}

/// The rules by which the baseline measured the point, so that costs can be compared, with enough turns for an interval.
fn rules(plan: &Plan, planned: &PlannedPoint) -> StoppingRules {
    let rules = plan.rules_of(planned).unwrap_or_default();
    StoppingRules {
        min_invocations: rules.min_invocations.max(FEWEST_TURNS),
        max_invocations: rules.max_invocations.map(|most| most.max(FEWEST_TURNS)),
        max_time_ns: rules.max_time_ns.map(|most| most.max(BOTH_NS)),
        ..rules
    }
}

fn is_point_of(planned: &PlannedPoint, series: &CheckedSeries) -> bool {
    let metric = planned.description.primary();
    metric.is_some_and(|metric| planned.point.series(&metric.name) == series.stored)
}
