//! The chart of a series over its runs.

use plumb_analysis::HistoryFinding;
use plumb_chart::{Along, AxisFit, AxisSpec, Chart, Draft, Mark, Tone};
use plumb_model::SeriesInRun;
use plumb_text::Style;
use plumb_text::time::date;

use super::parts::better;
use crate::figure::figure;
use crate::history::view::{closing, events_before, label_keys, label_of, short, title};

/// A series over its runs; `label` is the key of the label that names runs.
pub(super) fn runs(finding: &HistoryFinding, label: Option<&str>) -> Option<Chart> {
    let mut draft = Draft::new(
        format!("{}/history", finding.series),
        title(finding),
        format!(
            "The median of each run with its 95 % interval, over time. {} Vertical lines are steps \
             that plumb found and changes that were recorded; nothing is compared across a recorded change.",
            better(finding.better)
        ),
        AxisSpec::values("started (UTC)", "", AxisFit::Date),
        AxisSpec::values("median", &finding.unit, AxisFit::Free),
    );
    // Imported results may have no date: they have a place in the order, but none on an axis of time.
    let dated: Vec<&SeriesInRun> =
        finding.runs.iter().filter(|run| started_s(run).is_some()).collect();
    for after in 1..finding.runs.len() {
        let ends = started_s(&finding.runs[after - 1]).zip(started_s(&finding.runs[after]));
        let Some((from, to)) = ends else { continue };
        for event in events_before(finding, after) {
            let (name, tone) = match event.style {
                Style::Bad => ("slower from here", Tone::Slower),
                Style::Good => ("faster from here", Tone::Faster),
                _ => ("something changed", Tone::Baseline),
            };
            let group = draft.group(name, tone);
            // It happened somewhere between the two runs.
            let mark = Mark::Rules {
                along: Along::X,
                at: vec![f64::midpoint(from, to)],
                tips: vec![event.text],
            };
            draft.layer(Some(group), mark);
        }
    }
    let x: Vec<f64> = dated.iter().filter_map(|run| started_s(run)).collect();
    let y = dated.iter().map(|run| Some(run.estimate.value)).collect();
    draft.layer(None, Mark::Line { x: x.clone(), y, steps: false });
    let runs = draft.group("median, 95 % interval", Tone::Plain);
    let keys = label_keys(finding, label);
    let estimates = Mark::Intervals {
        along: Along::Y,
        at: x,
        low: dated.iter().map(|run| run.estimate.low()).collect(),
        estimate: dated.iter().map(|run| run.estimate.value).collect(),
        high: dated.iter().map(|run| run.estimate.high()).collect(),
        tips: dated
            .iter()
            .map(|run| {
                let name = [short(run), date(run.run.started_unix_ns), label_of(run, &keys)]
                    .into_iter()
                    .filter(|text| !text.is_empty())
                    .collect::<Vec<String>>()
                    .join(" · ");
                format!("{name}: {}", figure(&run.estimate, &finding.unit))
            })
            .collect(),
    };
    draft.layer(Some(runs), estimates);
    closing(finding).into_iter().for_each(|line| draft.note(line));
    let undated = finding.runs.len() - dated.len();
    if undated > 0 {
        draft.note(format!("{undated} runs without a date are not shown"));
    }
    draft.finish()
}

/// When a run started, in seconds since 1970; None without a date.
#[expect(clippy::cast_precision_loss, reason = "a moment to the microsecond")]
fn started_s(run: &SeriesInRun) -> Option<f64> {
    (run.run.started_unix_ns != 0).then_some(run.run.started_unix_ns as f64 * 1e-9)
}
