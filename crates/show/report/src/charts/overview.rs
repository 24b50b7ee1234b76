//! The picture of a whole run: every point beside what it can be compared with.

use plumb_analysis::Comparison;
use plumb_chart::{Along, AxisSpec, Chart, Draft, Fit, Mark, Tone, place};
use plumb_text::units::percent;

use super::comparison::tone;
use super::parts::full_name;
use crate::figure::figure;
use crate::run::view::{Row, View, baseline_text};

/// Its name.
pub const OVERVIEW: &str = "run/overview";

/// One point: how much it costs relative to something, and what that is.
struct Seen<'v> {
    row: &'v Row<'v>,
    of: (&'static str, Tone),
    low: Option<f64>,
    cost: f64,
    high: Option<f64>,
    tip: String,
}

/// Every headline metric of every point against the last comparable run, where that has it; else against what is
/// expected of it or its ceiling; else its own interval.
pub(super) fn overview(view: &View) -> Option<Chart> {
    let against = view.finding.since_last.found().map_or(&[][..], |it| it.against.as_slice());
    let rows = view.rows.iter().enumerate().filter(|(_, row)| row.finding.headline);
    let all =
        rows.filter_map(|(index, row)| seen(row, against.get(index).and_then(Option::as_ref)));
    let all: Vec<Seen> = all.collect();
    let mut draft = Draft::new(
        OVERVIEW.to_owned(),
        "The whole run".to_owned(),
        "What every point costs relative to the last comparable run; where there is none, relative to what you \
         expect of it or to its ceiling; where there is neither, its own 95 % interval around 1. Right of 1 is \
         slower, left of 1 faster, whatever the metric's direction."
            .to_owned(),
        AxisSpec::values("× the cost", "", Fit::Log),
        AxisSpec::Names(all.iter().map(|it| full_name(it.row)).collect()),
    );
    let tips = vec!["equal".to_owned()];
    draft.layer(None, Mark::Rules { along: Along::X, at: vec![1.0], tips });
    for (index, it) in all.into_iter().enumerate() {
        let group = draft.group(it.of.0, it.of.1);
        draft.layer(
            Some(group),
            Mark::Intervals {
                along: Along::X,
                at: vec![place(index)],
                low: vec![it.low],
                estimate: vec![it.cost],
                high: vec![it.high],
                tips: vec![it.tip],
            },
        );
    }
    draft.finish()
}

fn seen<'v>(row: &'v Row<'v>, against: Option<&Comparison>) -> Option<Seen<'v>> {
    let beside = against.and_then(|it| Some((it, it.ratio.as_ref()?)));
    if let Some((against, ratio)) = beside {
        let tone = tone(&against.verdict);
        let name = match tone {
            Tone::Slower => "slower than in the last run",
            Tone::Faster => "faster than in the last run",
            Tone::Equivalent => "as in the last run",
            _ => "inconclusive, or no verdict",
        };
        let tip = format!("{}× the cost in the last comparable run", figure(ratio, ""));
        let (low, cost, high) = (ratio.low(), ratio.value, ratio.high());
        return Some(Seen { row, of: (name, tone), low, cost, high, tip });
    }
    if let Some(of) = row.finding.of_baseline.as_ref().filter(|of| of.share.value > 0.0) {
        let cost = |share: f64| (share > 0.0).then(|| share.recip());
        let tip = baseline_text(row.finding).unwrap_or_default();
        let (low, high) = (of.share.high().and_then(cost), of.share.low().and_then(cost));
        let of_what = ("against an expectation or a ceiling", Tone::Baseline);
        return Some(Seen { row, of: of_what, low, cost: of.share.value.recip(), high, tip });
    }
    let it = row.finding.shown();
    let share = |end: f64| Some(end / it.value).filter(|share| *share > 0.0);
    let half =
        it.relative_half_width().map_or_else(String::new, |it| format!(" ± {}", percent(it)));
    let tip = format!("{}{half}", figure(&it, &row.finding.unit));
    let (low, high) = (it.low().and_then(share), it.high().and_then(share));
    let of = ("its own 95 % interval", Tone::Plain);
    (it.value > 0.0).then_some(Seen { row, of, low, cost: 1.0, high, tip })
}
