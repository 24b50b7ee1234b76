//! Charts of distributions: box plots, cumulative distributions, quantiles against the first point.

use plumb_analysis::{BoxPlot, Estimate, PointTail, quantile_ratios, tails};
use plumb_chart::{
    Along, AxisFit, AxisSpec, Chart, Draft, MOST_DOTS, MOST_KNOTS, Mark, Tone, grouped, place,
    ranks, ranks_and_extremes,
};
use plumb_model::{RunRecord, SampleIs};

use super::parts::{estimates, name, without_interval};
use super::subject::{ChartPoint, Subject};
use crate::run::levels::share_text;
use crate::run::view::ResultRow;

/// How far dots of a category may lie from its middle, in places.
const SCATTER: f64 = 0.2;
/// Where the estimate stands next to its box, in places.
pub(super) const BESIDE: f64 = 0.36;
/// Dots stand in so many columns. Multiples of 13 fill 21 evenly, as those of the golden section do a stretch.
const COLUMNS: usize = 21;
const NEXT_COLUMN: usize = 13;
/// More bands than this hide each other.
const MOST_BANDS: usize = 6;
/// More boxes than this in one chart are a blur.
const MOST_BOXES: usize = 150;

/// Box plots in columns.
pub(super) fn boxes_at(along: Along, boxes: &[(f64, BoxPlot)]) -> Mark {
    Mark::Boxes {
        along,
        at: boxes.iter().map(|(at, _)| *at).collect(),
        low: boxes.iter().map(|(_, plot)| plot.low).collect(),
        q1: boxes.iter().map(|(_, plot)| plot.q1).collect(),
        median: boxes.iter().map(|(_, plot)| plot.median).collect(),
        q3: boxes.iter().map(|(_, plot)| plot.q3).collect(),
        high: boxes.iter().map(|(_, plot)| plot.high).collect(),
    }
}

/// Sorted values at a place, scattered so that they can be distinguished.
pub(super) fn scattered(index: usize, values: &[f64]) -> Mark {
    Mark::Dots {
        x: values.to_vec(),
        y: (0..values.len()).map(|number| place(index) + SCATTER * aside(number)).collect(),
        tips: vec![String::new(); values.len()],
    }
}

// Not random: the same run gives the same picture.
fn aside(number: usize) -> f64 {
    place(number * NEXT_COLUMN % COLUMNS) / place(COLUMNS - 1) * 2.0 - 1.0
}

/// Every point as a box plot with its steady samples on top and its estimate next to it.
pub(super) fn boxes(of: &Subject) -> Option<Chart> {
    let mut draft = Draft::new(
        of.id("boxes"),
        of.title("steady samples of every point"),
        format!(
            "The box holds the middle half of the steady samples, with their median inside; whiskers reach to \
             the last sample within 1.5 times the box's length (Tukey). Dots are samples; next to each box is the \
             estimate with its 95 % interval. {}",
            of.better()
        ),
        of.values(AxisFit::Free),
        of.names(),
    );
    let most = MOST_DOTS / of.points.len().max(1);
    let mut boxes = Vec::new();
    let mut dots = Vec::new();
    let mut all = 0;
    let mut shown = 0;
    for (index, point) in of.points.iter().enumerate() {
        let mut values = point.samples.steady();
        values.retain(|value| value.is_finite());
        boxes.extend(point.samples.box_plot().map(|plot| (place(index), plot)));
        values.sort_unstable_by(f64::total_cmp);
        all += values.len();
        let drawn: Vec<f64> = ranks_and_extremes(values.len(), most.max(2))
            .into_iter()
            .map(|rank| values[rank])
            .collect();
        shown += drawn.len();
        dots.push(scattered(index, &drawn));
    }
    // All boxes before all dots, or a box would cover the dots of the one before.
    draft.layer(None, boxes_at(Along::X, &boxes));
    let samples = draft.group("steady samples", Tone::Steady);
    dots.into_iter().for_each(|dots| draft.layer(Some(samples), dots));
    let estimate = draft.group("median over processes, 95 % interval", Tone::Plain);
    draft.layer(Some(estimate), estimates(&of.rows(), BESIDE));
    let levels = draft.group("two levels instead of a median, 95 % interval", Tone::Baseline);
    draft.layer(Some(levels), of_levels(&of.rows(), -BESIDE));
    let rows = of.rows();
    let estimates = rows.iter().map(|(_, row)| (name(row), &row.finding.estimate));
    without_interval(&mut draft, estimates);
    not_all(shown, all, "point").into_iter().for_each(|note| draft.note(note));
    draft.finish()
}

/// The levels of rows that have two, at their places.
fn of_levels(rows: &[(usize, &ResultRow)], beside: f64) -> Mark {
    let mut all: Vec<(f64, Estimate, String)> = Vec::new();
    for (index, row) in rows {
        let (Some(found), Some(text)) = (&row.finding.levels, &row.levels) else { continue };
        let at = place(*index) + beside;
        for (level, figure) in found.by_share().into_iter().zip([&text.first, &text.second]) {
            let share = share_text(&level.share);
            let tip = format!("{figure} in {share} of the {}", found.unit());
            all.push((at, level.estimate.clone(), tip));
        }
    }
    Mark::Intervals {
        along: Along::X,
        at: all.iter().map(|row| row.0).collect(),
        low: all.iter().map(|row| row.1.low()).collect(),
        estimate: all.iter().map(|row| row.1.value).collect(),
        high: all.iter().map(|row| row.1.high()).collect(),
        tips: all.into_iter().map(|row| row.2).collect(),
    }
}

/// Rules across a chart at both levels of a point.
fn rules(point: &ChartPoint) -> Option<Mark> {
    let row = point.row?;
    let found = row.finding.levels.as_ref()?;
    let text = row.levels.as_ref()?;
    let at = found.by_share().map(|level| level.estimate.value).to_vec();
    let tips = vec![text.first.to_string(), text.second.to_string()];
    Some(Mark::Rules { along: Along::Y, at, tips })
}

/// Says that dots were thinned.
pub(super) fn not_all(shown: usize, all: usize, of: &str) -> Option<String> {
    (shown < all).then(|| {
        let shown = grouped(shown);
        let all = grouped(all);
        format!(
            "shows {shown} of {all} samples: the smallest and the largest of each {of}, and evenly spaced ranks \
             between; boxes and intervals use all samples"
        )
    })
}

/// Every invocation of a point as a box plot, in the order in which they ran.
pub(super) fn invocations(point: &ChartPoint) -> Option<Chart> {
    let samples = point.samples;
    // A box of one sample is a line: if a sample is a process, `boxes` shows the same.
    if samples.sample_is == SampleIs::Process || samples.invocations.len() < 2 {
        return None;
    }
    let mut draft = Draft::new(
        format!("{}/invocations", samples.point.name),
        format!("{}: every invocation", samples.point.name),
        "A box plot (Tukey) of the steady samples of every fresh process, in the order in which they ran. \
         Differences between boxes are differences between processes: measuring longer in one process would \
         not show them."
            .to_owned(),
        AxisSpec::values("invocation", "", AxisFit::Even),
        AxisSpec::values(&samples.metric.name.replace('_', " "), point.unit(), AxisFit::Free),
    );
    let all = samples.invocations.len();
    let kept = ranks(all, MOST_BOXES);
    for (tone, name) in [(Tone::Steady, "counts"), (Tone::Excluded, "excluded")] {
        let of = kept.iter().filter_map(|&index| {
            let invocation = &samples.invocations[index];
            let excluded = invocation.excluded_by.is_some();
            let wanted = excluded == (tone == Tone::Excluded);
            invocation.box_plot().filter(|_| wanted).map(|plot| (place(index + 1), plot))
        });
        let group = draft.group(name, tone);
        draft.layer(Some(group), boxes_at(Along::Y, &of.collect::<Vec<_>>()));
    }
    if let Some(rules) = rules(point) {
        let group = draft.group("two levels", Tone::Baseline);
        draft.layer(Some(group), rules);
    }
    if kept.len() < all {
        draft.note(format!("shows {} of {} invocations, evenly spaced", kept.len(), grouped(all)));
    }
    draft.finish()
}

/// The share of samples up to each value, a line a point.
pub(super) fn cumulative(of: &Subject) -> Option<Chart> {
    let mut draft = Draft::new(
        of.id("ecdf"),
        of.title("cumulative distributions"),
        format!(
            "The share of steady samples that are no greater than each value (empirical cumulative \
             distribution). A line further to the {} is better; a flat stretch between \
             two steep ones means that there are two modes.",
            // A distribution of small values rises early, on the left.
            if of.better().starts_with("Less") { "left" } else { "right" }
        ),
        of.values(AxisFit::Free),
        AxisSpec::values("share of samples", "%", AxisFit::FromZero),
    );
    for point in of.points {
        let mut values = point.samples.steady();
        values.retain(|value| value.is_finite());
        values.sort_unstable_by(f64::total_cmp);
        let kept = ranks(values.len(), MOST_KNOTS);
        if kept.len() < values.len() {
            draft.note(format!(
                "the line of a point with more than {MOST_KNOTS} samples is drawn with {MOST_KNOTS} steps, at \
                 evenly spaced ranks"
            ));
        }
        let x = kept.iter().map(|&rank| values[rank]).collect();
        let y = kept.iter().map(|rank| Some(place(rank + 1) / place(values.len()))).collect();
        let group = draft.group(&point.label, Tone::Plain);
        draft.layer(Some(group), Mark::Line { x, y, steps: true });
    }
    draft.finish()
}

/// The costs of every later point over those of the first, quantile by quantile.
pub(super) fn quantiles(of: &Subject) -> Option<Chart> {
    let (first, later) = of.points.split_first()?;
    let mut draft = Draft::new(
        of.id("quantiles"),
        of.title(&format!("cost relative to {}, by quantile", first.label)),
        format!(
            "Cost relative to {}, at every quantile of both: the smallest costs on the left, the largest \
             on the right. Above 1 is slower, whatever the metric's direction. A flat line means a \
             uniform shift; a line that rises to the right means a longer tail. If a process gives many \
             samples, each process has its own quantiles and the line shows how processes typically \
             compare: a few odd processes appear in the cumulative distributions, not here. The band is \
             the 95 % interval of each single quantile.",
            first.label
        ),
        AxisSpec::values("quantile of the costs", "%", AxisFit::Even),
        AxisSpec::values("× the cost of the first", "", AxisFit::Log),
    );
    let equal = draft.group(&first.label, Tone::Baseline);
    let tips = vec![format!("equal to {}", first.label)];
    draft.layer(Some(equal), Mark::Rules { along: Along::Y, at: vec![1.0], tips });
    for point in later {
        let found = quantile_ratios(first.samples, point.samples);
        let group = draft.group(&point.label, Tone::Plain);
        if later.len() <= MOST_BANDS {
            let mut x = Vec::new();
            let mut low = Vec::new();
            let mut high = Vec::new();
            for entry in &found {
                if let Some((low_end, high_end)) = entry.ratio.low().zip(entry.ratio.high()) {
                    x.push(entry.quantile);
                    low.push(low_end);
                    high.push(high_end);
                }
            }
            draft.layer(Some(group), Mark::Band { x, low, high });
        }
        let x = found.iter().map(|entry| entry.quantile).collect();
        let y = found.iter().map(|entry| Some(entry.ratio.value)).collect();
        draft.layer(Some(group), Mark::Line { x, y, steps: false });
        if let Some(Err(why)) = found.first().map(|entry| &entry.ratio.interval) {
            draft.note(format!("{} has no band: {why}", point.label));
        }
    }
    if later.len() > MOST_BANDS {
        draft.note(format!("bands are not shown: {} would overlap", later.len()));
    }
    draft.finish()
}

/// The tails of the distributions that a workload reports, a chart a metric, a line a point.
pub(super) fn reported(record: &RunRecord, workload: &str) -> Vec<Chart> {
    let all = tails(record, workload);
    let mut metrics: Vec<&str> = Vec::new();
    for point_tail in &all {
        if !metrics.contains(&point_tail.metric.name.as_str()) {
            metrics.push(&point_tail.metric.name);
        }
    }
    metrics
        .iter()
        .filter_map(|metric| {
            tail(workload, all.iter().filter(|point_tail| point_tail.metric.name == *metric))
        })
        .collect()
}

fn tail<'t>(workload: &str, all: impl Iterator<Item = &'t PointTail> + Clone) -> Option<Chart> {
    let metric = &all.clone().next()?.metric;
    let words = metric.name.replace('_', " ");
    let mut draft = Draft::new(
        format!("{workload}/tail/{}", metric.name),
        format!("{workload}: the tail of {words}"),
        "The value that one sample in N exceeds: N = 100 is the 99th percentile, N = 1000 the 99.9th. All processes \
         combined."
            .to_owned(),
        AxisSpec::values("N (one in N is larger)", "", AxisFit::Log),
        AxisSpec::values(&words, &metric.unit, AxisFit::Free),
    );
    for point_tail in all {
        let group = draft.group(&point_tail.point.name, Tone::Plain);
        let x = point_tail.exceeded.iter().map(|(one_in, _)| *one_in).collect();
        let y = point_tail.exceeded.iter().map(|(_, value)| Some(*value)).collect();
        draft.layer(Some(group), Mark::Line { x, y, steps: false });
    }
    draft.finish()
}
