//! Charts of a run: its results side by side, and next to what they should be.

use plumb_analysis::BaselineSource;
use plumb_chart::{Along, AxisFit, AxisSpec, Chart, Draft, Mark, Tone, place};
use plumb_units::percent;

use super::comparison::{Ratio, ratios};
use super::parts::{better, full_name, intervals, name};
use crate::figure::figure;
use crate::run::view::{ResultRow, View};

/// The results of each family, a chart for every metric and unit.
pub(super) fn medians(view: &View) -> Vec<Chart> {
    let mut charts: Vec<Chart> = Vec::new();
    for family in &view.families {
        let rows = view.shown(family, false);
        // Different units can not share an axis, and different metrics should not.
        let mut kinds: Vec<(&str, &str)> = Vec::new();
        for row in &rows {
            let kind = (row.finding.metric.as_str(), row.finding.unit.as_str());
            if !kinds.contains(&kind) {
                kinds.push(kind);
            }
        }
        for (metric, unit) in kinds {
            let rows: Vec<&ResultRow> = rows
                .iter()
                .filter(|row| {
                    (row.finding.metric.as_str(), row.finding.unit.as_str()) == (metric, unit)
                })
                .copied()
                .collect();
            charts.extend(family_medians(&family.name, metric, &rows));
        }
    }
    charts
}

/// Results with their intervals, side by side.
fn family_medians(family: &str, metric: &str, rows: &[&ResultRow]) -> Option<Chart> {
    let first = rows.first().filter(|_| rows.len() > 1)?;
    let better = better(first.finding.better);
    let names = rows.iter().map(|row| name(row)).collect();
    let mut draft = Draft::new(
        format!("{family}/{metric}"),
        format!("{family}: {}", first.finding.metric),
        format!("The median of each point with its 95 % interval. {better}"),
        AxisSpec::values(metric, &first.finding.unit, AxisFit::Free),
        AxisSpec::Names(names),
    );
    let group = draft.group("median, 95 % interval", Tone::Plain);
    draft.layer(Some(group), intervals(rows));
    for row in rows {
        if let Some(why) = row.figure.missing() {
            draft.note(format!("{} has no interval: {why}", name(row)));
        }
    }
    draft.finish()
}

/// Results as shares of what they should be.
pub(super) fn of_baseline(view: &View) -> Option<Chart> {
    // The overview shows changes since earlier runs.
    let rows: Vec<_> = view
        .rows
        .iter()
        .filter_map(|row| Some((row, row.finding.of_baseline.as_ref().ok()?)))
        .filter(|(_, of)| !matches!(of.source, BaselineSource::EarlierRuns { .. }))
        .collect();
    let names =
        rows.iter().map(|(row, _)| format!("{} {}", name(row), row.finding.metric)).collect();
    let mut draft = Draft::new(
        "run/of-baseline".to_owned(),
        "Results relative to their baseline".to_owned(),
        "Each result as a share of your expectation or of the machine's ceiling. 100 % matches the baseline; \
         less is worse, whatever the metric's direction."
            .to_owned(),
        AxisSpec::values("share of the baseline", "%", AxisFit::Even),
        AxisSpec::Names(names),
    );
    let should = draft.group("baseline", Tone::Baseline);
    let rule = Mark::Rules { along: Along::X, at: vec![1.0], tips: vec!["100 %".to_owned()] };
    draft.layer(Some(should), rule);
    for (index, (row, of)) in rows.iter().enumerate() {
        let source = match of.source {
            BaselineSource::Expectation => "relative to an expectation",
            BaselineSource::Reference(_) => "relative to a reference",
            BaselineSource::Ceiling { .. }
            | BaselineSource::Rung { .. }
            | BaselineSource::Limit { .. } => "relative to a ceiling",
            BaselineSource::Hardware { .. } => "relative to the microarchitecture",
            BaselineSource::EarlierRuns { .. } => "relative to earlier runs",
        };
        let group = draft.group(source, Tone::Plain);
        let text = crate::run::view::baseline_text(row.finding).unwrap_or_default();
        draft.layer(
            Some(group),
            Mark::Intervals {
                along: Along::X,
                at: vec![place(index)],
                low: vec![of.share.low()],
                estimate: vec![of.share.value],
                high: vec![of.share.high()],
                tips: vec![text],
            },
        );
    }
    draft.finish()
}

/// Later points against the first, if the run was made for that.
pub(super) fn against_first(view: &View) -> Option<Chart> {
    let first = view.comparisons().first()?;
    let all: Vec<Ratio> = view
        .comparisons()
        .iter()
        .filter_map(|comparison| {
            Some(Ratio {
                name: comparison.name(),
                ratio: comparison.found.ratio.clone()?,
                verdict: comparison.found.verdict,
            })
        })
        .collect();
    let title = format!("Cost relative to {}", first.first_name());
    ratios("run/against-first".to_owned(), title, &all, first.margin).finish()
}

/// How far the interval of each result reaches to either side.
pub(super) fn precision(view: &View) -> Option<Chart> {
    let rows: Vec<(&ResultRow, RelativeEnds)> =
        view.rows.iter().filter_map(|row| Some((row, relative_ends(row)?))).collect();
    let mut draft = Draft::new(
        "run/precision".to_owned(),
        "How precise the results are".to_owned(),
        "The 95 % interval of every result around its median, as a share of the median. Shorter is more \
         precise."
            .to_owned(),
        AxisSpec::values("distance from the median", "%", AxisFit::Even),
        AxisSpec::Names(rows.iter().map(|(row, _)| full_name(row)).collect()),
    );
    let kinds = [
        (true, "target precision reached", Tone::Plain),
        (false, "target precision not reached", Tone::Inconclusive),
    ];
    for (reached, name, tone) in kinds {
        let group = draft.group(name, tone);
        let of: Vec<_> =
            rows.iter().enumerate().filter(|(_, (row, _))| has_reached(row) == reached).collect();
        draft.layer(
            Some(group),
            Mark::Intervals {
                along: Along::X,
                at: of.iter().map(|(index, _)| place(*index)).collect(),
                low: of.iter().map(|(_, (_, ends))| ends.0).collect(),
                estimate: vec![0.0; of.len()],
                high: of.iter().map(|(_, (_, ends))| ends.1).collect(),
                tips: of.iter().map(|(_, (row, _))| figure_with_half_width(row)).collect(),
            },
        );
    }
    draft.finish()
}

/// The ends of an interval as distances from the median, in shares of it.
type RelativeEnds = (Option<f64>, Option<f64>);

fn relative_ends(row: &ResultRow) -> Option<RelativeEnds> {
    let shown = row.finding.shown();
    let low = shown.low().map(|low| low / shown.value - 1.0);
    let high = shown.high().map(|high| high / shown.value - 1.0);
    (row.finding.primary && low.is_some() && shown.value != 0.0).then_some((low, high))
}

fn has_reached(row: &ResultRow) -> bool {
    // A run for a fixed time has no target, so it can't miss one.
    row.finding.wanted.zip(row.finding.reached).is_none_or(|(wanted, reached)| reached <= wanted)
}

fn figure_with_half_width(row: &ResultRow) -> String {
    let shown = row.finding.shown();
    let figure = figure(&shown, &row.finding.unit);
    match shown.relative_half_width() {
        Some(half_width) => format!("{figure} ± {}", percent(half_width)),
        None => figure.to_string(),
    }
}
