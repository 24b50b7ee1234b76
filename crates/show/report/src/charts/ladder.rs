//! A result and the parts of its work, each on top of the one below.

use plumb_analysis::{Finding, Ladder};
use plumb_chart::{Along, AxisFit, AxisSpec, Chart, Draft, Mark, Tone, place};

use super::subject::Subject;
use crate::figure::in_brackets;
use crate::run::ladder_text::largest_step;
use crate::run::levels::share_text;

/// The parts of every point of a workload of which parts were measured, a chart for each point.
pub(super) fn ladders(of: &Subject) -> Vec<Chart> {
    let mut charts = Vec::new();
    for ladder in &of.finding.ladders {
        let Some(finding) = of.finding.results.get(ladder.result) else { continue };
        if finding.point.workload == of.workload {
            charts.extend(ladder_chart(ladder, finding));
        }
    }
    charts
}

fn ladder_chart(ladder: &Ladder, finding: &Finding) -> Option<Chart> {
    let rungs = &ladder.rungs;
    let names = rungs.iter().map(|rung| rung.name.clone()).collect();
    let mut draft = Draft::new(
        format!("{}/parts", finding.point.name),
        format!("{}: parts of its time", finding.point.name),
        "The time of each part of the work, measured on its own in the same run, as a share of the time of the whole. Each bar \
         begins where the one above ends; the longest one takes most of the time."
            .to_owned(),
        AxisSpec::values("share of the time", "%", AxisFit::FromZero),
        AxisSpec::Names(names),
    );
    let steps = draft.group("time that this step adds", Tone::Plain);
    draft.layer(
        Some(steps),
        Mark::Bars {
            along: Along::X,
            at: (0..rungs.len()).map(place).collect(),
            from: rungs.iter().map(|rung| rung.of_whole.value - rung.step.value).collect(),
            to: rungs.iter().map(|rung| rung.of_whole.value).collect(),
        },
    );
    draft.layer(
        None,
        Mark::Intervals {
            along: Along::X,
            at: (0..rungs.len()).map(place).collect(),
            low: rungs.iter().map(|rung| rung.of_whole.low()).collect(),
            estimate: rungs.iter().map(|rung| rung.of_whole.value).collect(),
            high: rungs.iter().map(|rung| rung.of_whole.high()).collect(),
            tips: rungs
                .iter()
                .map(|rung| {
                    let result = in_brackets(&rung.result, &finding.unit);
                    format!("{result}: {} of the time", share_text(&rung.of_whole))
                })
                .collect(),
        },
    );
    if let Some(sentence) = largest_step(ladder, &finding.unit) {
        draft.note(sentence);
    }
    draft.finish()
}
