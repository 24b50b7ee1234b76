//! What was found in a curve, drawn on the chart of it.

use plumb_analysis::{Curve, CurveFound, Plateau};
use plumb_chart::{Along, Draft, Mark, Tone};

use crate::run::CurveText;

/// Points of a fitted line that is bent on its axes.
const FINE: u32 = 64;

/// Marks the figures of a curve and says them below the chart; edges and a knee across the chart only where it is
/// `alone` on it.
pub(super) fn mark(draft: &mut Draft, curve: &Curve, alone: bool) {
    let text = CurveText::new(curve);
    draft.note(format!("{}: {}", text.name, text.lines.join("; ")));
    let Ok(found) = &curve.found else { return };
    let ends = curve.points.first().zip(curve.points.last());
    let Some((first, last)) = ends.map(|(first, last)| (laid(first.at), laid(last.at))) else {
        return;
    };
    match found {
        CurveFound::Plateaus(all) => plateaus(draft, all, alone),
        CurveFound::Knee { at, level } => {
            let group = draft.group("level at the knee", Tone::Baseline);
            let y = vec![Some(level.value); 2];
            draft.layer(Some(group), Mark::Line { x: vec![at.value, last], y, steps: false });
            if alone {
                let (low, high) = (at.low().unwrap_or(at.value), at.high().unwrap_or(at.value));
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
        CurveFound::Flat | CurveFound::Unfinished => {}
    }
}

#[expect(clippy::cast_precision_loss, reason = "a place on an axis")]
fn laid(value: u64) -> f64 {
    value as f64
}

fn plateaus(draft: &mut Draft, all: &[Plateau], alone: bool) {
    let group = draft.group("plateaus", Tone::Baseline);
    let x = all.iter().flat_map(|it| [it.from, it.to, it.to]).collect();
    let height = |it: &Plateau| [Some(it.height.value), Some(it.height.value), None];
    let y = all.iter().flat_map(height).collect();
    draft.layer(Some(group), Mark::Line { x, y, steps: false });
    for pair in all.windows(2).filter(|_| alone) {
        across(draft, pair[0].to, pair[1].from, "the edge lies in here");
    }
}

/// A stretch of the horizontal axis, shaded from below to above.
fn across(draft: &mut Draft, from: f64, to: f64, tip: &str) {
    let (from, to, tips) = (vec![from], vec![to], vec![tip.to_owned()]);
    let share = vec![1.0; from.len()];
    draft.layer_below(None, Mark::Spans { along: Along::X, from, to, share, tips });
}

/// A function as a line with many points, by equal ratios where the axis may be logarithmic.
fn bent(
    draft: &mut Draft,
    group: usize,
    (first, last): (f64, f64),
    of: impl Fn(f64) -> Option<f64>,
) {
    let place = |index: u32| {
        let share = f64::from(index) / f64::from(FINE);
        if first > 0.0 { first * (last / first).powf(share) } else { last * share }
    };
    let x: Vec<f64> = (0..=FINE).map(place).collect();
    let y = x.iter().map(|at| of(*at)).collect();
    draft.layer(Some(group), Mark::Line { x, y, steps: false });
}
