//! A point's samples by their number in the invocation.

use plumb_analysis::{InvocationSamples, PointSamples};
use plumb_chart::{
    AxisFit, AxisSpec, Chart, Draft, MOST_DOTS, MOST_KNOTS, Mark, Tone, grouped, place, ranks,
    spikes,
};

use super::subject::ChartPoint;

/// The phases of samples, with their names.
const PHASES: [(Tone, &str); 3] =
    [(Tone::Excluded, "excluded"), (Tone::Warmup, "warm-up"), (Tone::Steady, "steady")];

/// Values by sample number, grouped by phase, with the median over invocations.
pub(super) fn series(point: &ChartPoint) -> Option<Chart> {
    let samples = point.samples;
    let mut draft = Draft::new(
        format!("{}/warmup", samples.point.name),
        format!("{}: from the first sample to steady state", samples.point.name),
        "Every sample by its position in its invocation, with all invocations overlaid. Results exclude \
         warm-up; the line is the median of the invocations that count."
            .to_owned(),
        AxisSpec::values("sample number in the invocation", "", AxisFit::Even),
        AxisSpec::values(&samples.metric.name.replace('_', " "), point.unit(), AxisFit::Free),
    );
    let all: usize = samples.invocations.iter().map(|invocation| invocation.values.len()).sum();
    let mut shown = 0;
    for (tone, name) in PHASES {
        let dots = phase(samples, tone);
        // The line says most of it; there is such a chart for every point.
        let share = MOST_DOTS / 2 * dots.len() / all.max(1);
        // Sorted by number, so that of every stretch of numbers the extremes are kept.
        let values: Vec<f64> = dots.iter().map(|dot| dot.1).collect();
        let kept = spikes(&values, share.max(20));
        shown += kept.len();
        let x = kept.iter().map(|&index| dots[index].0).collect();
        let y = kept.iter().map(|&index| dots[index].1).collect();
        let tips = vec![String::new(); kept.len()];
        let group = draft.group(name, tone);
        draft.layer(Some(group), Mark::Dots { x, y, tips });
    }
    let medians = samples.medians_by_number();
    // The median of one invocation is the invocation itself.
    if samples.invocations.len() > 1 {
        let kept = ranks(medians.len(), MOST_KNOTS);
        let x = kept.iter().map(|&number| place(number + 1)).collect();
        let y = kept.iter().map(|&number| Some(medians[number])).collect();
        draft.layer(None, Mark::Line { x, y, steps: false });
    }
    if shown < all {
        draft.note(format!(
            "shows {} of {} samples: the smallest and the largest in every section of each phase",
            grouped(shown),
            grouped(all)
        ));
    }
    draft.finish()
}

/// The samples of a phase with their numbers from 1, by number.
fn phase(samples: &PointSamples, tone: Tone) -> Vec<(f64, f64)> {
    let mut dots: Vec<(f64, f64)> = Vec::new();
    for invocation in &samples.invocations {
        let own = invocation.values.iter().enumerate();
        dots.extend(
            own.filter(|(number, _)| tone_of(invocation, *number) == tone)
                .map(|(number, value)| (place(number + 1), *value)),
        );
    }
    dots.sort_by(|a, b| a.0.total_cmp(&b.0));
    dots
}

fn tone_of(invocation: &InvocationSamples, number: usize) -> Tone {
    match &invocation.excluded_by {
        // All of it, its warm-up included.
        Some(_) => Tone::Excluded,
        None if number < invocation.steady_start => Tone::Warmup,
        None => Tone::Steady,
    }
}
