//! The picture of a whole run: every point next to what it can be compared with.

use plumb_analysis::Comparison;
use plumb_chart::{Along, AxisFit, AxisSpec, Chart, Draft, Mark, Tone, place};
use plumb_units::percent;

use super::comparison::tone;
use super::parts::full_name;
use crate::figure::figure;
use crate::run::view::{ResultRow, View, baseline_text};

/// The name of the chart, which the first page shows.
pub const OVERVIEW: &str = "run/overview";

/// One point: how much it costs relative to something, and what that is.
struct RelativeCost<'v> {
    row: &'v ResultRow<'v>,
    of: (&'static str, Tone),
    low: Option<f64>,
    cost: f64,
    high: Option<f64>,
    tip: String,
}

/// Every headline metric of every point against the last comparable run, if that has it; else against what is
/// expected of it or its ceiling; else its own interval.
pub(super) fn overview(view: &View) -> Option<Chart> {
    let against = view.finding.since_last.found().map_or(&[][..], |since| since.against.as_slice());
    let all: Vec<RelativeCost> = view
        .rows
        .iter()
        .enumerate()
        .filter(|(_, row)| row.finding.headline)
        .filter_map(|(index, row)| seen(row, against.get(index).and_then(Option::as_ref)))
        .collect();
    let mut draft = Draft::new(
        OVERVIEW.to_owned(),
        "The whole run".to_owned(),
        "The cost of every point relative to the last comparable run or, without such a run, to your expectation or \
         the point's ceiling. If there are none, the chart shows only the point's 95 % interval around 1. Right of 1 \
         is slower, left of 1 faster, whatever the metric's direction."
            .to_owned(),
        AxisSpec::values("× the cost", "", AxisFit::Log),
        AxisSpec::Names(all.iter().map(|entry| full_name(entry.row)).collect()),
    );
    let tips = vec!["equal".to_owned()];
    // The rule at 1 belongs to no group: it is the axis on which all are compared.
    draft.layer(None, Mark::Rules { along: Along::X, at: vec![1.0], tips });
    for (index, entry) in all.into_iter().enumerate() {
        let group = draft.group(entry.of.0, entry.of.1);
        draft.layer(
            Some(group),
            Mark::Intervals {
                along: Along::X,
                at: vec![place(index)],
                low: vec![entry.low],
                estimate: vec![entry.cost],
                high: vec![entry.high],
                tips: vec![entry.tip],
            },
        );
    }
    draft.finish()
}

fn seen<'v>(row: &'v ResultRow<'v>, against: Option<&Comparison>) -> Option<RelativeCost<'v>> {
    if let Some(against) = against
        && let Some(ratio) = &against.ratio
    {
        let tone = tone(&against.verdict);
        let name = match tone {
            Tone::Slower => "slower than in the last run",
            Tone::Faster => "faster than in the last run",
            Tone::Equivalent => "as in the last run",
            _ => "inconclusive, or no verdict",
        };
        let tip = format!("{}× the cost in the last comparable run", figure(ratio, ""));
        return Some(RelativeCost {
            row,
            of: (name, tone),
            low: ratio.low(),
            cost: ratio.value,
            high: ratio.high(),
            tip,
        });
    }
    if let Some(of) = row.finding.of_baseline.as_ref().ok().filter(|of| of.share.value > 0.0) {
        // A share of what should be reached is the inverse of a cost: its upper end is the cost's lower one.
        return Some(RelativeCost {
            row,
            of: ("against an expectation or a ceiling", Tone::Baseline),
            low: of.share.high().and_then(inverse),
            cost: of.share.value.recip(),
            high: of.share.low().and_then(inverse),
            tip: baseline_text(row.finding).unwrap_or_default(),
        });
    }
    let shown = row.finding.shown();
    let half = shown
        .relative_half_width()
        .map_or_else(String::new, |half_width| format!(" ± {}", percent(half_width)));
    let tip = format!("{}{half}", figure(&shown, &row.finding.unit));
    // The axis is logarithmic: an interval that reaches to 0 has no lower end on it.
    (shown.value > 0.0).then_some(RelativeCost {
        row,
        of: ("its own 95 % interval", Tone::Plain),
        low: shown.low().map(|low| low / shown.value).filter(|share| *share > 0.0),
        cost: 1.0,
        high: shown.high().map(|high| high / shown.value).filter(|share| *share > 0.0),
        tip,
    })
}

fn inverse(share: f64) -> Option<f64> {
    (share > 0.0).then(|| share.recip())
}
