//! Charts of a metric over the parameters that differ: curves of one, a heat map of two.

use std::collections::BTreeSet;

use plumb_analysis::Estimate;
use plumb_chart::{Along, AxisFit, AxisSpec, Chart, Draft, Mark, Tone, place};
use plumb_model::{CurveKind, ParameterType};

use super::fits;
use super::subject::{ChartPoint, Subject};

/// More curves in one chart can't be distinguished.
const MOST_CURVES: usize = 12;

/// A number that points of a workload are set to.
struct NumericParameter<'a> {
    name: &'a str,
    kind: ParameterType,
    values: Vec<u64>,
}

/// A chart of curves over every number that differs.
pub(super) fn curves(of: &Subject) -> Vec<Chart> {
    numbers(of.points).iter().filter_map(|parameter| curve(of, parameter)).collect()
}

/// A heat map of every two numbers that differ.
pub(super) fn maps(of: &Subject) -> Vec<Chart> {
    let parameters = numbers(of.points);
    let mut charts = Vec::new();
    for (index, x) in parameters.iter().enumerate() {
        charts.extend(parameters.iter().skip(index + 1).filter_map(|y| map(of, x, y)));
    }
    charts
}

/// The numbers that take several values, with these in order.
fn numbers<'a>(points: &'a [ChartPoint]) -> Vec<NumericParameter<'a>> {
    let Some(first) = points.first() else { return Vec::new() };
    first
        .samples
        .point
        .parameters
        .iter()
        .filter(|parameter| parameter.kind.is_number())
        .filter_map(|setting| {
            let values: BTreeSet<u64> =
                points.iter().filter_map(|point| value(point, &setting.name)).collect();
            (values.len() > 1).then(|| NumericParameter {
                name: setting.name.as_str(),
                kind: setting.kind,
                values: values.into_iter().collect(),
            })
        })
        .collect()
}

fn value(point: &ChartPoint, parameter: &str) -> Option<u64> {
    point.samples.point.number(parameter)
}

/// What tells a point from others besides some parameters: the settings of the rest that differ.
fn rest(point: &ChartPoint, points: &[ChartPoint], without: &[&str]) -> String {
    let settings: Vec<String> = point
        .samples
        .point
        .parameters
        .iter()
        .filter(|setting| !without.contains(&setting.name.as_str()))
        .filter(|setting| differs(points, &setting.name, &setting.value))
        .map(|setting| format!("{}={}", setting.name, setting.value))
        .collect();
    settings.join(" ")
}

fn differs(points: &[ChartPoint], name: &str, value: &str) -> bool {
    points
        .iter()
        .flat_map(|point| &point.samples.point.parameters)
        .filter(|setting| setting.name == name)
        .any(|setting| setting.value != value)
}

#[expect(clippy::cast_precision_loss, reason = "a place on an axis")]
fn laid(value: u64) -> f64 {
    value as f64
}

/// Curves with their intervals as bands, one for every setting of the other parameters.
fn curve(of: &Subject, parameter: &NumericParameter) -> Option<Chart> {
    let unit = if parameter.kind == ParameterType::Bytes { "B" } else { "" };
    // Sizes and depths are set in powers, counts of threads one by one: the range says which it is.
    let decade = parameter
        .values
        .first()
        .zip(parameter.values.last())
        .is_some_and(|(least, greatest)| *greatest >= least.saturating_mul(10));
    let fit = if decade { AxisFit::Log } else { AxisFit::Even };
    let mut draft = Draft::new(
        of.id(&format!("by-{}", parameter.name)),
        of.title(&format!("{} by {}", of.metric.replace('_', " "), parameter.name)),
        format!(
            "The median at each {}, joined by lines; the band shows the 95 % intervals of the medians. {}{}",
            parameter.name,
            of.better(),
            explained(of, parameter)
        ),
        AxisSpec::values(parameter.name, unit, fit),
        of.values(AxisFit::Free),
    );
    let mut curves: Vec<(String, Vec<ChartCurvePoint>)> = Vec::new();
    for point in of.points {
        let Some((at, row)) = value(point, parameter.name).zip(point.row) else { continue };
        let name = rest(point, of.points, &[parameter.name]);
        let tip = format!("{}: {}", row.label, row.figure);
        let point = ChartCurvePoint { at, estimate: row.finding.shown(), tip };
        match curves.iter_mut().find(|known| known.0 == name) {
            Some((_, curve)) => curve.push(point),
            None => curves.push((name, vec![point])),
        }
    }
    let lines = curves.iter().filter(|(_, curve)| curve.len() > 1).count();
    curves.retain(|(_, curve)| curve.len() > 1);
    curves.truncate(MOST_CURVES);
    if lines > MOST_CURVES {
        draft.note(format!(
            "only the first {MOST_CURVES} of {lines} curves are shown, in the order of the plan"
        ));
    }
    let alone = curves.len() == 1;
    for (name, mut curve) in curves {
        curve.sort_by_key(|point| point.at);
        // A fit belongs to one setting of the other parameters; any point of that setting leads to it.
        let fitted = of
            .points
            .iter()
            .find(|point| point.row.is_some() && rest(point, of.points, &[parameter.name]) == name)
            .and_then(|point| of.fitted(point.row?, parameter.name));
        let group = draft.group(if name.is_empty() { "median" } else { &name }, Tone::Plain);
        line_with_band(&mut draft, group, &curve);
        fitted.into_iter().for_each(|fitted_curve| fits::mark(&mut draft, fitted_curve, alone));
    }
    draft.finish()
}

/// What the marks of a fit are, if there is one.
fn explained(of: &Subject, parameter: &NumericParameter) -> &'static str {
    let fitted = of.finding.curves.iter().find(|curve| {
        curve.workload == of.workload
            && curve.metric == of.metric
            && curve.parameter.name == parameter.name
    });
    match fitted.map(|fitted| fitted.kind) {
        None => "",
        Some(CurveKind::Scaling) => " The dashed line is perfect scaling from the smallest.",
        Some(CurveKind::Plateaus) => " Dashed lines are plateaus; their edges are shaded.",
        Some(CurveKind::Knee) => " The knee is shaded; the dashed line is the level there.",
        Some(CurveKind::Line) => " The dashed line is the fit.",
    }
}

/// A point of a curve.
pub(super) struct ChartCurvePoint {
    pub(super) at: u64,
    pub(super) estimate: Estimate,
    pub(super) tip: String,
}

/// A curve with its intervals, also as a band.
pub(super) fn line_with_band(draft: &mut Draft, group: usize, curve: &[ChartCurvePoint]) {
    // Nothing is known between an interval and a point that has none.
    for stretch in curve.split(|point| point.estimate.interval.is_err()) {
        let mark = Mark::Band {
            x: stretch.iter().map(|point| laid(point.at)).collect(),
            low: stretch.iter().filter_map(|point| point.estimate.low()).collect(),
            high: stretch.iter().filter_map(|point| point.estimate.high()).collect(),
        };
        draft.layer(Some(group), mark);
    }
    let x: Vec<f64> = curve.iter().map(|point| laid(point.at)).collect();
    let y = curve.iter().map(|point| Some(point.estimate.value)).collect();
    draft.layer(Some(group), Mark::Line { x: x.clone(), y, steps: false });
    let mark = Mark::Intervals {
        along: Along::Y,
        at: x,
        low: curve.iter().map(|point| point.estimate.low()).collect(),
        estimate: curve.iter().map(|point| point.estimate.value).collect(),
        high: curve.iter().map(|point| point.estimate.high()).collect(),
        tips: curve.iter().map(|point| point.tip.clone()).collect(),
    };
    draft.layer(Some(group), mark);
}

/// A cell for every two values, if the points differ in nothing else; the first of several that do.
fn map(of: &Subject, x: &NumericParameter, y: &NumericParameter) -> Option<Chart> {
    let mut draft = Draft::new(
        of.id(&format!("by-{}-and-{}", x.name, y.name)),
        of.title(&format!("{} by {} and {}", of.metric.replace('_', " "), x.name, y.name)),
        format!(
            "The median for every combination of {} (left to right) and {} (top to bottom), as colour. {}",
            x.name,
            y.name,
            of.better()
        ),
        x.names(),
        y.names(),
    );
    let unit = of.points.first().map_or("", ChartPoint::unit);
    draft.colour = Some((of.metric.replace('_', " "), unit.to_owned()));
    let drawn = rest(of.points.first()?, of.points, &[x.name, y.name]);
    let mut cells: Vec<(f64, f64, f64)> = Vec::new();
    let mut left_out = 0;
    for point in of.points {
        let both = value(point, x.name).zip(value(point, y.name));
        let Some(((a, b), row)) = both.zip(point.row) else { continue };
        if rest(point, of.points, &[x.name, y.name]) != drawn {
            left_out += 1;
            continue;
        }
        if let Some((a, b)) = x.place_of(a).zip(y.place_of(b)) {
            cells.push((a, b, row.finding.estimate.value));
        }
    }
    if left_out > 0 {
        draft.note(format!("shows only points with {drawn}, not the other {left_out}"));
    }
    // Less than two by two is not a map.
    if cells.len() < 4 {
        return None;
    }
    let mark = Mark::Cells {
        x: cells.iter().map(|cell| cell.0).collect(),
        y: cells.iter().map(|cell| cell.1).collect(),
        value: cells.iter().map(|cell| cell.2).collect(),
    };
    draft.layer(None, mark);
    draft.finish()
}

impl NumericParameter<'_> {
    fn names(&self) -> AxisSpec {
        AxisSpec::Names(
            self.values
                .iter()
                .map(|value| match self.kind {
                    ParameterType::Bytes => {
                        format!("{}={}", self.name, plumb_units::show_bytes(*value))
                    }
                    _ => format!("{}={value}", self.name),
                })
                .collect(),
        )
    }

    fn place_of(&self, value: u64) -> Option<f64> {
        self.values.iter().position(|known| *known == value).map(place)
    }
}
