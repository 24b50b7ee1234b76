//! The chart of a series over its runs.

use plumb_analysis::HistoryFinding;
use plumb_chart::{Along, AxisSpec, Chart, Draft, Fit, Mark, Tone};
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
        AxisSpec::values("started (UTC)", "", Fit::Date),
        AxisSpec::values("median", &finding.unit, Fit::Free),
    );
    let dated = || finding.runs.iter().enumerate().filter(|(_, run)| run.run.started_unix_ns != 0);
    #[expect(clippy::cast_precision_loss, reason = "a moment to the microsecond")]
    let seconds = |unix_ns: i64| unix_ns as f64 * 1e-9;
    let started = |index: usize| {
        let known = finding.runs.get(index).filter(|run| run.run.started_unix_ns != 0);
        known.map(|run| seconds(run.run.started_unix_ns))
    };
    for after in 1..finding.runs.len() {
        let Some((from, to)) = started(after - 1).zip(started(after)) else { continue };
        for event in events_before(finding, after) {
            let (name, tone) = match event.style {
                Style::Bad => ("slower from here", Tone::Slower),
                Style::Good => ("faster from here", Tone::Faster),
                _ => ("something changed", Tone::Baseline),
            };
            let group = draft.group(name, tone);
            let (along, at, tips) = (Along::X, vec![f64::midpoint(from, to)], vec![event.text]);
            draft.layer(Some(group), Mark::Rules { along, at, tips });
        }
    }
    let x: Vec<f64> = dated().map(|(_, run)| seconds(run.run.started_unix_ns)).collect();
    let y = dated().map(|(_, run)| Some(run.estimate.value)).collect();
    draft.layer(None, Mark::Line { x: x.clone(), y, steps: false });
    let runs = draft.group("median, 95 % interval", Tone::Plain);
    let keys = label_keys(finding, label);
    let tip = |index: usize| {
        let run = &finding.runs[index];
        let figure = figure(&run.estimate, &finding.unit);
        let name = [short(run), date(run.run.started_unix_ns), label_of(run, &keys)];
        let name: Vec<&str> = name.iter().map(String::as_str).filter(|it| !it.is_empty()).collect();
        format!("{}: {figure}", name.join(" · "))
    };
    let estimates = Mark::Intervals {
        along: Along::Y,
        at: x,
        low: dated().map(|(_, run)| run.estimate.low()).collect(),
        estimate: dated().map(|(_, run)| run.estimate.value).collect(),
        high: dated().map(|(_, run)| run.estimate.high()).collect(),
        tips: dated().map(|(index, _)| tip(index)).collect(),
    };
    draft.layer(Some(runs), estimates);
    closing(finding).into_iter().for_each(|line| draft.note(line));
    let undated = finding.runs.len() - dated().count();
    if undated > 0 {
        draft.note(format!("{undated} runs without a date are not shown"));
    }
    draft.finish()
}
