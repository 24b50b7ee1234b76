//! Curves: points that differ in one parameter only, and what the workload says that means.

use std::collections::BTreeMap;

use plumb_model::{Better, CurveKind, FlagKind, Parameter, PlannedPoint, RunRecord, Settings};
use plumb_stats::curves::{CurveFigure, CurvePoint, NoFit, knee, line, plateaus, scaling, usl};

use crate::estimate::{Ends, Estimate, estimate};
use crate::one_run::caches::levels;
use crate::one_run::curve::{
    CacheLevel, Curve, CurveFound, Efficiency, Plateau, PointOfCurve, ScalabilityLaw, counts_units,
    float,
};
use crate::one_run::finding::Finding;

/// Every curve of a run, in the order of the plan's points.
pub(crate) fn curves(results: &[Finding], record: &RunRecord) -> Vec<Curve> {
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    let mut groups: Vec<(&Parameter, Vec<PointOfCurve>)> = Vec::new();
    for (index, finding) in results.iter().enumerate().filter(|(_, result)| result.headline) {
        let Some(planned) = record.plan.points.get(finding.point.index) else { continue };
        for parameter in &planned.description.parameters {
            let Some(kind) = parameter.meaning() else { continue };
            let number = finding.point.number(&parameter.name);
            let Some(at) = number.filter(|_| counts(finding, kind)) else { continue };
            let key = key(finding, planned, &[&parameter.name]);
            let group = *places.entry(key).or_insert(groups.len());
            if group == groups.len() {
                groups.push((parameter, Vec::new()));
            }
            let points = &mut groups[group].1;
            // What was planned twice is one point of the curve.
            if points.iter().all(|point| point.at != at) {
                points.push(PointOfCurve { at, result: index });
            }
        }
    }
    let all =
        groups.into_iter().filter_map(|(parameter, points)| curve(results, parameter, points));
    all.map(|curve| Curve { caches: caches(&curve, record), ..curve }).collect()
}

/// The caches beside a curve of latencies of memory.
fn caches(curve: &Curve, record: &RunRecord) -> Vec<CacheLevel> {
    let is_of_memory = curve.workload.starts_with("memory.") && curve.unit == "s";
    let Ok(CurveFound::Plateaus(plateaus)) = &curve.found else { return Vec::new() };
    let facts = record.targets.get(curve.target).map(|target| &target.environment.facts);
    let claims = facts.and_then(|facts| facts.get("caches")).filter(|_| is_of_memory);
    claims.map(|claims| levels(claims, plateaus)).unwrap_or_default()
}

/// Whether a result is a point of such a curve: where efficiency is about a rate that has a CPU for every thread, and
/// the others about rates and times.
fn counts(finding: &Finding, kind: CurveKind) -> bool {
    let oversubscribed = || finding.flags.iter().any(|flag| flag.flag == FlagKind::Oversubscribed);
    match kind {
        CurveKind::Scaling => finding.better == Better::Higher && !oversubscribed(),
        CurveKind::Plateaus => true,
        CurveKind::Knee => finding.better != Better::Neither,
        CurveKind::Line => finding.unit == "s" || finding.unit.ends_with("/s"),
    }
}

/// What all points have in common that differ in these parameters alone.
pub(crate) fn key(finding: &Finding, planned: &PlannedPoint, swept: &[&str]) -> String {
    let rest: Settings = finding
        .point
        .settings
        .iter()
        .filter(|(name, _)| !swept.contains(&name.as_str()))
        .map(own)
        .collect();
    let point = &finding.point;
    let program = &planned.program;
    let prepared = &planned.preparation;
    let conditions = &planned.point.conditions;
    format!(
        "{} {} {} {} {swept:?} {rest:?} {program:?} {prepared:?} {conditions:?}",
        point.workload, point.version, finding.target, finding.metric
    )
}

fn own<A: Clone, B: Clone>((a, b): (&A, &B)) -> (A, B) {
    (a.clone(), b.clone())
}

fn curve(
    results: &[Finding],
    parameter: &Parameter,
    mut points: Vec<PointOfCurve>,
) -> Option<Curve> {
    let kind = parameter.meaning()?;
    let fewest = if kind == CurveKind::Scaling { 2 } else { 3 };
    if points.len() < fewest {
        return None;
    }
    points.sort_by_key(|point| point.at);
    let first = results.get(points.first()?.result)?;
    let measured = points.iter().filter_map(|point| {
        let finding = results.get(point.result)?;
        Some(measured(point.at, &as_fitted(&finding.estimate, finding, parameter, point.at)))
    });
    let measured: Vec<CurvePoint> = measured.collect();
    Some(Curve {
        of: first.point.without(&[&parameter.name]),
        workload: first.point.workload.clone(),
        parameter: parameter.clone(),
        metric: first.metric.clone(),
        unit: first.unit.clone(),
        target: first.target,
        kind,
        smallest: first.estimate.value,
        found: found(kind, &measured, first.better).map_err(|why| why.to_string()),
        caches: Vec::new(),
        // Two points say no more than one efficiency.
        law: (kind == CurveKind::Scaling && measured.len() > 2).then(|| law(&measured)),
        points,
    })
}

fn law(points: &[CurvePoint]) -> Result<ScalabilityLaw, String> {
    let found = usl::law(points).map_err(|why| why.to_string())?;
    let contention = figure(found.contention);
    let coherency = figure(found.coherency);
    Ok(ScalabilityLaw { contention, coherency, most_at: found.most_at, off: found.off })
}

/// An estimate as a fit takes it: a rate for a knee, the time of a call for a line, else as it is.
fn as_fitted(estimate: &Estimate, finding: &Finding, parameter: &Parameter, at: u64) -> Estimate {
    let kind = parameter.meaning();
    let inverse = match kind {
        Some(CurveKind::Knee) => finding.better == Better::Lower,
        Some(CurveKind::Line) => finding.unit != "s",
        _ => false,
    };
    let counted = counts_units(&finding.unit, parameter);
    let in_a_call = if kind == Some(CurveKind::Line) && counted { float(at) } else { 1.0 };
    if inverse { reciprocal(estimate, in_a_call) } else { estimate.clone() }
}

/// `of` divided by an estimate.
pub(crate) fn reciprocal(estimate: &Estimate, of: f64) -> Estimate {
    let interval = estimate.interval.clone().and_then(|ends| {
        let sound = ends.low > 0.0;
        let why = || "its interval includes zero".to_owned();
        sound.then(|| Ends { low: of / ends.high, high: of / ends.low }).ok_or_else(why)
    });
    Estimate { value: of / estimate.value, interval }
}

fn measured(at: u64, estimate: &Estimate) -> CurvePoint {
    let ends = estimate.low().zip(estimate.high());
    CurvePoint { at: float(at), estimate: estimate.value, ends }
}

/// A figure of a curve as an estimate.
pub(crate) fn figure(figure: CurveFigure) -> Estimate {
    estimate(figure.value, figure.interval)
}

fn found(kind: CurveKind, points: &[CurvePoint], better: Better) -> Result<CurveFound, NoFit> {
    Ok(match kind {
        CurveKind::Scaling => {
            let efficiency = |efficiency: scaling::ScalingEfficiency| Efficiency {
                at: efficiency.at,
                speedup: figure(efficiency.speedup),
                efficiency: figure(efficiency.efficiency),
            };
            CurveFound::Scaling(scaling::scaling(points)?.into_iter().map(efficiency).collect())
        }
        CurveKind::Plateaus => {
            let plateau = |plateau: plateaus::CurvePlateau| {
                let from = plateau.from;
                let to = plateau.to;
                let points = plateau.points;
                let height = figure(plateau.height);
                Plateau { from, to, points, height }
            };
            CurveFound::Plateaus(plateaus::plateaus(points)?.into_iter().map(plateau).collect())
        }
        CurveKind::Knee => match knee::knee(points)? {
            knee::RateGrowth::Never => CurveFound::Flat,
            knee::RateGrowth::Unfinished => CurveFound::Unfinished,
            knee::RateGrowth::Undecided => CurveFound::Undecided,
            knee::RateGrowth::Until { knee, level } => {
                let level = figure(level);
                let inverse = better == Better::Lower;
                let level = if inverse { reciprocal(&level, 1.0) } else { level };
                CurveFound::Knee { at: figure(knee), level }
            }
        },
        CurveKind::Line => {
            let line = line::line(points)?;
            let fixed = figure(line.fixed);
            let each = figure(line.each);
            CurveFound::Line { fixed, each, off: line.off }
        }
    })
}
