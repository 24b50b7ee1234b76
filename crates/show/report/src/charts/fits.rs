//! The findings of a curve, drawn on its chart.

use plumb_analysis::{Curve, CurveFound, Plateau};
use plumb_chart::{Along, Draft, Mark, Tone};

use crate::run::CurveText;

/// Points of a fitted line that is bent on its axes.
const FINE: u32 = 64;

/// Marks the figures of a curve and says them below the chart; edges and a knee across the chart only if it is
/// `alone` on it.
pub(super) fn mark(draft: &mut Draft, curve: &Curve, alone: bool) {
    let text = CurveText::new(curve, false);
    draft.note(format!("{}: {}", text.name, text.lines.join("; ")));
    let Ok(found) = &curve.found else { return };
    let ends = curve.points.first().zip(curve.points.last());
    let Some((first, last)) = ends.map(|(first, last)| (laid(first.at), laid(last.at))) else {
        return;
    };
    // With several curves on one chart, edges and knees across all of it would not say whose they are.
    match found {
        CurveFound::Plateaus(all) => plateaus(draft, all, alone),
        CurveFound::Knee { at, level } => {
            let group = draft.group("level at the knee", Tone::Baseline);
            let y = vec![Some(level.value); 2];
            draft.layer(Some(group), Mark::Line { x: vec![at.value, last], y, steps: false });
            if alone {
                let low = at.low().unwrap_or(at.value);
                let high = at.high().unwrap_or(at.value);
                across(draft, low, high, &text.lines[0]);
            }
        }
        CurveFound::Line { .. } => {
            let group = draft.group("fitted line", Tone::Baseline);
            bent(draft, group, (first, last), |at| curve.on_line(at));
        }
        CurveFound::Scaling(_) => {
            let group = draft.group("perfect scaling", Tone::Baseline);
            bent(draft, group, (first, last), |at| curve.perfect(at));
        }
        CurveFound::Flat | CurveFound::Unfinished | CurveFound::Undecided => {}
    }
}

#[expect(clippy::cast_precision_loss, reason = "a place on an axis")]
fn laid(value: u64) -> f64 {
    value as f64
}

fn plateaus(draft: &mut Draft, all: &[Plateau], alone: bool) {
    let group = draft.group("plateaus", Tone::Baseline);
    // The third point of each has no height: it breaks the line before the next plateau.
    let x = all.iter().flat_map(|plateau| [plateau.from, plateau.to, plateau.to]).collect();
    let y = all
        .iter()
        .flat_map(|plateau| [Some(plateau.height.value), Some(plateau.height.value), None])
        .collect();
    draft.layer(Some(group), Mark::Line { x, y, steps: false });
    for pair in all.windows(2).filter(|_| alone) {
        across(draft, pair[0].to, pair[1].from, "the edge is in this range");
    }
}

/// A stretch of the horizontal axis, shaded from below to above.
fn across(draft: &mut Draft, from: f64, to: f64, tip: &str) {
    let mark = Mark::Spans {
        along: Along::X,
        from: vec![from],
        to: vec![to],
        share: vec![1.0],
        tips: vec![tip.to_owned()],
    };
    draft.layer_below(None, mark);
}

/// A function as a line with many points, by equal ratios if the axis may be logarithmic.
fn bent(
    draft: &mut Draft,
    group: usize,
    (first, last): (f64, f64),
    of: impl Fn(f64) -> Option<f64>,
) {
    let x: Vec<f64> = (0..=FINE)
        .map(|index| {
            let share = f64::from(index) / f64::from(FINE);
            if first > 0.0 { first * (last / first).powf(share) } else { last * share }
        })
        .collect();
    let y = x.iter().map(|at| of(*at)).collect();
    draft.layer(Some(group), Mark::Line { x, y, steps: false });
}
