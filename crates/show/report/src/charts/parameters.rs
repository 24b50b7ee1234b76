//! Charts of a metric over the parameters that differ: curves of one, a heat map of two.

use std::collections::BTreeSet;

use plumb_analysis::{Curve, Estimate};
use plumb_chart::{Along, AxisSpec, Chart, Draft, Fit, Mark, Tone, place};
use plumb_model::{CurveKind, ParameterType};

use super::fits;
use super::subject::{Point, Subject};

/// More curves in one chart can't be told apart.
const MOST_CURVES: usize = 12;

/// A number that points of a workload are set to.
struct Parameter<'a> {
    name: &'a str,
    kind: ParameterType,
    values: Vec<u64>,
}

/// A chart of curves over every number that differs.
pub(super) fn curves(of: &Subject) -> Vec<Chart> {
    numbers(of.points).iter().filter_map(|it| curve(of, it)).collect()
}

/// A heat map of every two numbers that differ.
pub(super) fn maps(of: &Subject) -> Vec<Chart> {
    let parameters = numbers(of.points);
    let rest = |index| parameters.iter().skip(index + 1);
    let pairs = parameters.iter().enumerate();
    let pairs = pairs.flat_map(|(index, x)| rest(index).map(move |y| (x, y)));
    pairs.filter_map(|(x, y)| map(of, x, y)).collect()
}

/// The numbers that take several values, with these in order.
fn numbers<'a>(points: &'a [Point]) -> Vec<Parameter<'a>> {
    let Some(first) = points.first() else { return Vec::new() };
    let kinds = first.samples.point.parameters.iter();
    let kinds = kinds.filter(|it| it.kind.is_number());
    let parameter = |setting: &'a plumb_analysis::ShownParameter| {
        let values = points.iter().filter_map(|it| value(it, &setting.name));
        let values: BTreeSet<u64> = values.collect();
        let (name, values) = (setting.name.as_str(), values.into_iter().collect::<Vec<_>>());
        (values.len() > 1).then_some(Parameter { name, kind: setting.kind, values })
    };
    kinds.filter_map(parameter).collect()
}

fn value(point: &Point, parameter: &str) -> Option<u64> {
    point.samples.point.number(parameter)
}

/// What tells a point from others besides some parameters: the settings of the rest that differ.
fn rest(point: &Point, points: &[Point], without: &[&str]) -> String {
    let differs = |name: &str, value: &str| {
        let settings = points.iter().flat_map(|it| &it.samples.point.parameters);
        settings.filter(|it| it.name == name).any(|it| it.value != value)
    };
    let all =
        point.samples.point.parameters.iter().filter(|it| !without.contains(&it.name.as_str()));
    let told = all.filter(|it| differs(&it.name, &it.value));
    let told: Vec<String> = told.map(|it| format!("{}={}", it.name, it.value)).collect();
    told.join(" ")
}

#[expect(clippy::cast_precision_loss, reason = "a place on an axis")]
fn laid(value: u64) -> f64 {
    value as f64
}

/// Curves with their intervals as bands, one for every setting of the other parameters.
fn curve(of: &Subject, parameter: &Parameter) -> Option<Chart> {
    let unit = if parameter.kind == ParameterType::Bytes { "B" } else { "" };
    let decade = parameter.values.first().zip(parameter.values.last());
    let decade = decade.is_some_and(|(least, greatest)| *greatest >= least.saturating_mul(10));
    let fit = if decade { Fit::Log } else { Fit::Even };
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
        of.values(Fit::Free),
    );
    let mut curves: Vec<(String, Vec<CurvePoint>)> = Vec::new();
    for point in of.points {
        let Some((at, row)) = value(point, parameter.name).zip(point.row) else { continue };
        let name = rest(point, of.points, &[parameter.name]);
        let tip = format!("{}: {}", row.label, row.figure);
        let point = CurvePoint { at, estimate: row.finding.shown(), tip };
        match curves.iter_mut().find(|it| it.0 == name) {
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
        let mut own = of.points.iter();
        let own = own.find(|it| it.row.is_some() && rest(it, of.points, &[parameter.name]) == name);
        let fitted = own.and_then(|it| of.fitted(it.row?, parameter.name));
        let name = if name.is_empty() { "median".to_owned() } else { name };
        let group = draft.group(&name, Tone::Plain);
        line_with_band(&mut draft, group, &curve);
        fitted.into_iter().for_each(|it| fits::mark(&mut draft, it, alone));
    }
    draft.finish()
}

/// What the marks of a fit are, where there is one.
fn explained(of: &Subject, parameter: &Parameter) -> &'static str {
    let is_of = |it: &&Curve| {
        it.workload == of.workload && it.metric == of.metric && it.parameter.name == parameter.name
    };
    let fitted = of.finding.curves.iter().find(is_of);
    match fitted.map(|it| it.kind) {
        None => "",
        Some(CurveKind::Scaling) => " Dashed: what perfect scaling from the smallest would give.",
        Some(CurveKind::Plateaus) => " Dashed: the plateaus; their edges lie where it is shaded.",
        Some(CurveKind::Knee) => " The knee lies where it is shaded; dashed: the level there.",
        Some(CurveKind::Line) => " Dashed: the fitted line.",
    }
}

/// A point of a curve.
pub(super) struct CurvePoint {
    pub(super) at: u64,
    pub(super) estimate: Estimate,
    pub(super) tip: String,
}

/// A curve with its intervals, also as a band.
pub(super) fn line_with_band(draft: &mut Draft, group: usize, curve: &[CurvePoint]) {
    // Nothing is known between an interval and a point that has none.
    for stretch in curve.split(|it| it.estimate.interval.is_err()) {
        let mark = Mark::Band {
            x: stretch.iter().map(|it| laid(it.at)).collect(),
            low: stretch.iter().filter_map(|it| it.estimate.low()).collect(),
            high: stretch.iter().filter_map(|it| it.estimate.high()).collect(),
        };
        draft.layer(Some(group), mark);
    }
    let x: Vec<f64> = curve.iter().map(|it| laid(it.at)).collect();
    let y = curve.iter().map(|it| Some(it.estimate.value)).collect();
    draft.layer(Some(group), Mark::Line { x: x.clone(), y, steps: false });
    let mark = Mark::Intervals {
        along: Along::Y,
        at: x,
        low: curve.iter().map(|it| it.estimate.low()).collect(),
        estimate: curve.iter().map(|it| it.estimate.value).collect(),
        high: curve.iter().map(|it| it.estimate.high()).collect(),
        tips: curve.iter().map(|it| it.tip.clone()).collect(),
    };
    draft.layer(Some(group), mark);
}

/// A cell for every two values, where the points differ in nothing else; the first of several that do.
fn map(of: &Subject, x: &Parameter, y: &Parameter) -> Option<Chart> {
    let name = |kind, value: &u64| match kind {
        ParameterType::Bytes => plumb_units::show_bytes(*value),
        _ => value.to_string(),
    };
    let names = |it: &Parameter| {
        AxisSpec::Names(
            it.values.iter().map(|value| format!("{}={}", it.name, name(it.kind, value))).collect(),
        )
    };
    let mut draft = Draft::new(
        of.id(&format!("by-{}-and-{}", x.name, y.name)),
        of.title(&format!("{} by {} and {}", of.metric.replace('_', " "), x.name, y.name)),
        format!(
            "The median for every combination of {} (left to right) and {} (top to bottom), as colour. {}",
            x.name,
            y.name,
            of.better()
        ),
        names(x),
        names(y),
    );
    let unit = of.points.first().map_or("", Point::unit);
    draft.colour = Some((of.metric.replace('_', " "), unit.to_owned()));
    let drawn = rest(of.points.first()?, of.points, &[x.name, y.name]);
    let mut cells: Vec<(f64, f64, f64)> = Vec::new();
    let mut left = 0;
    for point in of.points {
        let both = value(point, x.name).zip(value(point, y.name));
        let Some(((a, b), row)) = both.zip(point.row) else { continue };
        if rest(point, of.points, &[x.name, y.name]) != drawn {
            left += 1;
            continue;
        }
        let index = |values: &[u64], value| values.iter().position(|it| *it == value).map(place);
        if let Some((a, b)) = index(&x.values, a).zip(index(&y.values, b)) {
            cells.push((a, b, row.finding.estimate.value));
        }
    }
    if left > 0 {
        draft.note(format!("shows only points with {drawn}, not the other {left}"));
    }
    if cells.len() < 4 {
        return None;
    }
    let column = |value: fn(&(f64, f64, f64)) -> f64| cells.iter().map(value).collect();
    let mark = Mark::Cells { x: column(|it| it.0), y: column(|it| it.1), value: column(|it| it.2) };
    draft.layer(None, mark);
    draft.finish()
}
