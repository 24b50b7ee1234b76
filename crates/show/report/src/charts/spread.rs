//! Charts of distributions: box plots, cumulative distributions, quantiles against the first point.

use plumb_analysis::{BoxPlot, Estimate, Level, PointTail, quantile_ratios, tails};
use plumb_chart::{
    Along, AxisSpec, Chart, Draft, Fit, MOST_DOTS, MOST_KNOTS, Mark, Tone, grouped, place, ranks,
    ranks_and_extremes,
};
use plumb_model::{RunRecord, SampleIs};
use plumb_units::Figure;

use super::parts::{estimates, name, without_interval};
use super::subject::{Point, Subject};
use crate::run::levels::share_text;
use crate::run::view::Row;

/// How far dots of a category may lie from its middle, in places.
const SCATTER: f64 = 0.2;
/// Where the estimate stands beside its box, in places.
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
    let column = |value: fn(&BoxPlot) -> f64| boxes.iter().map(|(_, it)| value(it)).collect();
    Mark::Boxes {
        along,
        at: boxes.iter().map(|(at, _)| *at).collect(),
        low: column(|it| it.low),
        q1: column(|it| it.q1),
        median: column(|it| it.median),
        q3: column(|it| it.q3),
        high: column(|it| it.high),
    }
}

/// Sorted values at a place, scattered so that they can be told apart.
pub(super) fn scattered(index: usize, values: &[f64]) -> Mark {
    let aside = |number| place(number * NEXT_COLUMN % COLUMNS) / place(COLUMNS - 1) * 2.0 - 1.0;
    Mark::Dots {
        x: values.to_vec(),
        y: (0..values.len()).map(|number| place(index) + SCATTER * aside(number)).collect(),
        tips: vec![String::new(); values.len()],
    }
}

/// Every point as a box plot with its steady samples on top and its estimate beside.
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
        of.values(Fit::Free),
        of.names(),
    );
    let most = MOST_DOTS / of.points.len().max(1);
    let (mut boxes, mut dots, mut all, mut shown) = (Vec::new(), Vec::new(), 0, 0);
    for (index, point) in of.points.iter().enumerate() {
        let mut values = point.samples.steady();
        values.retain(|value| value.is_finite());
        boxes.extend(point.samples.box_plot().map(|it| (place(index), it)));
        values.sort_unstable_by(f64::total_cmp);
        all += values.len();
        let drawn: Vec<f64> = ranks_and_extremes(values.len(), most.max(2))
            .into_iter()
            .map(|rank| values[rank])
            .collect();
        shown += drawn.len();
        dots.push(scattered(index, &drawn));
    }
    draft.layer(None, boxes_at(Along::X, &boxes));
    let samples = draft.group("steady samples", Tone::Steady);
    dots.into_iter().for_each(|dots| draft.layer(Some(samples), dots));
    let estimate = draft.group("median over processes, 95 % interval", Tone::Plain);
    draft.layer(Some(estimate), estimates(&of.rows(), BESIDE));
    let levels = draft.group("two levels in place of a median, 95 % interval", Tone::Baseline);
    draft.layer(Some(levels), of_levels(&of.rows(), -BESIDE));
    let rows = of.rows();
    let estimates = rows.iter().map(|(_, row)| (name(row), &row.finding.estimate));
    without_interval(&mut draft, estimates);
    not_all(shown, all, "point").into_iter().for_each(|note| draft.note(note));
    draft.finish()
}

/// The levels of rows that have two, at their places.
fn of_levels(rows: &[(usize, &Row)], beside: f64) -> Mark {
    let both = |(index, row): &(usize, &Row)| {
        let (found, text) = (row.finding.levels.as_ref()?, row.levels.as_ref()?);
        let at = place(*index) + beside;
        let of = |level: &Level, figure: &Figure| {
            let share = share_text(&level.share);
            (at, level.estimate.clone(), format!("{figure} in {share} of the {}", found.unit()))
        };
        Some([of(&found.lower, &text.lower), of(&found.upper, &text.upper)])
    };
    let all: Vec<(f64, Estimate, String)> = rows.iter().filter_map(both).flatten().collect();
    Mark::Intervals {
        along: Along::X,
        at: all.iter().map(|it| it.0).collect(),
        low: all.iter().map(|it| it.1.low()).collect(),
        estimate: all.iter().map(|it| it.1.value).collect(),
        high: all.iter().map(|it| it.1.high()).collect(),
        tips: all.into_iter().map(|it| it.2).collect(),
    }
}

/// Rules across a chart at both levels of a point.
fn rules(point: &Point) -> Option<Mark> {
    let row = point.row?;
    let (found, text) = (row.finding.levels.as_ref()?, row.levels.as_ref()?);
    let at = vec![found.lower.estimate.value, found.upper.estimate.value];
    let tips = vec![text.lower.to_string(), text.upper.to_string()];
    Some(Mark::Rules { along: Along::Y, at, tips })
}

/// Says that dots were thinned.
pub(super) fn not_all(shown: usize, all: usize, of: &str) -> Option<String> {
    (shown < all).then(|| {
        let (shown, all) = (grouped(shown), grouped(all));
        format!(
            "shows {shown} of {all} samples: the smallest and the largest of each {of}, and evenly spaced ranks \
             between; boxes and intervals use all samples"
        )
    })
}

/// Every invocation of a point as a box plot, in the order in which they ran.
pub(super) fn invocations(point: &Point) -> Option<Chart> {
    let samples = point.samples;
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
        AxisSpec::values("invocation", "", Fit::Even),
        AxisSpec::values(&samples.metric.name.replace('_', " "), point.unit(), Fit::Free),
    );
    let all = samples.invocations.len();
    let kept = ranks(all, MOST_BOXES);
    for (tone, name) in [(Tone::Steady, "counts"), (Tone::Excluded, "excluded")] {
        let of = kept.iter().filter_map(|&index| {
            let it = &samples.invocations[index];
            let excluded = it.excluded_by.is_some();
            let wanted = excluded == (tone == Tone::Excluded);
            it.box_plot().filter(|_| wanted).map(|it| (place(index + 1), it))
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
            if of.better().starts_with("Less") { "left" } else { "right" }
        ),
        of.values(Fit::Free),
        AxisSpec::values("share of samples", "%", Fit::FromZero),
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
        let share = |rank: &usize| Some(place(rank + 1) / place(values.len()));
        let y = kept.iter().map(share).collect();
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
            "Cost relative to {}, at every quantile of both: the smallest costs on the left, the largest on the \
             right. Above 1 is slower, whatever the metric's direction. A flat line means a uniform shift; \
             a line that rises to the right means a longer tail. Where a process gives many samples, \
             each process has its own quantiles and the line shows how processes typically compare: a few odd \
             processes appear in the cumulative distributions, not here. The band is the 95 % interval of each \
             quantile by itself.",
            first.label
        ),
        AxisSpec::values("quantile of the costs", "%", Fit::Even),
        AxisSpec::values("× the cost of the first", "", Fit::Log),
    );
    let equal = draft.group(&first.label, Tone::Baseline);
    let tips = vec![format!("equal to {}", first.label)];
    draft.layer(Some(equal), Mark::Rules { along: Along::Y, at: vec![1.0], tips });
    for point in later {
        let found = quantile_ratios(first.samples, point.samples);
        let group = draft.group(&point.label, Tone::Plain);
        let ends =
            found.iter().filter_map(|it| Some((it.quantile, it.ratio.low()?, it.ratio.high()?)));
        let ends: Vec<_> = ends.collect();
        let column = |value: fn(&(f64, f64, f64)) -> f64| ends.iter().map(value).collect();
        if later.len() <= MOST_BANDS {
            let (x, low, high) = (column(|it| it.0), column(|it| it.1), column(|it| it.2));
            draft.layer(Some(group), Mark::Band { x, low, high });
        }
        let x = found.iter().map(|it| it.quantile).collect();
        let y = found.iter().map(|it| Some(it.ratio.value)).collect();
        draft.layer(Some(group), Mark::Line { x, y, steps: false });
        if let Some(Err(why)) = found.first().map(|it| &it.ratio.interval) {
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
    for it in &all {
        if !metrics.contains(&it.metric.name.as_str()) {
            metrics.push(&it.metric.name);
        }
    }
    let of = |metric: &&str| tail(workload, all.iter().filter(|it| it.metric.name == *metric));
    metrics.iter().filter_map(of).collect()
}

fn tail<'t>(workload: &str, all: impl Iterator<Item = &'t PointTail> + Clone) -> Option<Chart> {
    let metric = &all.clone().next()?.metric;
    let words = metric.name.replace('_', " ");
    let mut draft = Draft::new(
        format!("{workload}/tail/{}", metric.name),
        format!("{workload}: the tail of {words}"),
        "The value that one in N exceeds: N = 100 is the 99th percentile, N = 1000 the 99.9th. All processes \
         combined."
            .to_owned(),
        AxisSpec::values("N (one in N is larger)", "", Fit::Log),
        AxisSpec::values(&words, &metric.unit, Fit::Free),
    );
    for it in all {
        let group = draft.group(&it.point.name, Tone::Plain);
        let x = it.exceeded.iter().map(|(one_in, _)| *one_in).collect();
        let y = it.exceeded.iter().map(|(_, value)| Some(*value)).collect();
        draft.layer(Some(group), Mark::Line { x, y, steps: false });
    }
    draft.finish()
}
