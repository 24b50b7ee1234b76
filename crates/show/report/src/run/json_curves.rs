//! Curves in the document of a run.

use plumb_analysis::{CacheLevel, Curve, CurveFound, Finding, ScalabilityLaw};
use serde::Serialize;

use crate::json_parts::estimate::{EstimatePart, estimate};

/// A curve over a parameter; of the figures, those of its kind.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CurvePart {
    /// The workload, with the settings of other parameters that are not at their defaults.
    pub of: String,
    /// The workload's id.
    pub workload: String,
    /// The name of the parameter that the curve is over.
    pub parameter: String,
    /// The name of the metric that the curve is of.
    pub metric: String,
    /// The metric's unit, an SI base unit.
    pub unit: String,
    /// Index into `targets`.
    pub target: usize,
    /// The meaning of the curve.
    #[cfg_attr(test, schemars(extend("enum" = ["scaling", "plateaus", "knee", "line"])))]
    pub kind: &'static str,
    /// Its points, in the order of the parameter.
    pub points: Vec<CurvePointPart>,
    /// Why nothing was found; null if something was.
    pub no_figures: Option<String>,
    /// Of `scaling`: every point but the smallest, against it.
    pub efficiencies: Vec<EfficiencyPart>,
    /// Of `scaling`: the universal scalability law behind them; null if there is none.
    pub law: Option<LawPart>,
    /// Why there is none; null if there is one, and of two points.
    pub no_law: Option<String>,
    /// Of `plateaus`: in order.
    pub plateaus: Vec<PlateauPart>,
    /// Of latencies of memory over its size: the caches that the kernel claims.
    pub caches: Vec<CachePart>,
    /// Of `knee`: whether it does not grow, still grows at its end, may or may not do so, or grows until the knee.
    #[cfg_attr(test, schemars(extend("enum" = ["never", "unfinished", "undecided", "until", null])))]
    pub growth: Option<&'static str>,
    /// Where growth stops, and the metric there; null if it has no knee.
    pub knee: Option<KneePart>,
    /// Of `line`: the cost of a call and of each unit.
    pub line: Option<LinePart>,
}

/// A point of a curve.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CurvePointPart {
    /// The parameter's value.
    pub at: u64,
    /// The series of the result there.
    pub series: String,
}

/// How a point compares with the smallest.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct EfficiencyPart {
    /// The parameter's value.
    pub at: f64,
    /// The rate over that of the smallest.
    pub speedup: EstimatePart,
    /// The same over the ratio of the parameter's values: 1 is perfect.
    pub efficiency: EstimatePart,
}

/// rate(n) = n × rate(1) / (1 + contention × (n − 1) + coherency × n × (n − 1)).
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct LawPart {
    /// The share of work that is done one at a time.
    pub contention: EstimatePart,
    /// The price of agreement of every two, relative to the work.
    pub coherency: EstimatePart,
    /// The number with the highest rate; null if it grows for ever, or may do so by the interval of coherency.
    pub most_at: Option<f64>,
    /// How far a point lies off the law at most, relative to it.
    pub off: f64,
}

/// A stretch of a curve at one height.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PlateauPart {
    /// The parameter's least value on it.
    pub from: f64,
    /// The greatest; the edge lies between it and the next one's `from`.
    pub to: f64,
    /// Points on it.
    pub points: usize,
    /// The metric there.
    pub height: EstimatePart,
}

/// A cache that holds data, next to the plateaus.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CachePart {
    /// The cache's name: `L1`, `L2`, `L3`.
    pub name: String,
    /// Its size as the kernel says, in bytes.
    pub claimed: u64,
    /// Where its plateau ends, in bytes; null if it has none of its own.
    pub had: Option<EstimatePart>,
}

/// Where growth stops.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct KneePart {
    /// The parameter's value.
    pub at: EstimatePart,
    /// The metric there.
    pub level: EstimatePart,
}

/// Time = fixed + each × parameter, in seconds.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct LinePart {
    /// The cost of a call.
    pub fixed: EstimatePart,
    /// The cost of each unit of the parameter.
    pub each: EstimatePart,
    /// How far a point lies off the line at most, relative to it.
    pub off: f64,
}

/// A curve as a part of the document.
pub(crate) fn curve(curve: &Curve, results: &[Finding]) -> CurvePart {
    let points = curve.points.iter().filter_map(|point| {
        let series = results.get(point.result)?.series.clone();
        Some(CurvePointPart { at: point.at, series })
    });
    // All fields are always there, so that a reader need not know which kind has which.
    let empty = CurvePart {
        of: curve.of.clone(),
        workload: curve.workload.clone(),
        parameter: curve.parameter.name.clone(),
        metric: curve.metric.clone(),
        unit: curve.unit.clone(),
        target: curve.target,
        kind: curve.kind.word(),
        points: points.collect(),
        no_figures: curve.found.clone().err(),
        efficiencies: Vec::new(),
        law: curve.law.as_ref().and_then(|law| law.as_ref().ok()).map(law),
        no_law: curve.law.clone().and_then(Result::err),
        plateaus: Vec::new(),
        caches: curve.caches.iter().map(cache).collect(),
        growth: None,
        knee: None,
        line: None,
    };
    curve.found.as_ref().map_or(empty.clone(), |found| with_figures(empty, found))
}

fn cache(level: &CacheLevel) -> CachePart {
    let CacheLevel { name, claimed, had } = level;
    CachePart { name: name.clone(), claimed: *claimed, had: had.as_ref().map(estimate) }
}

fn law(law: &ScalabilityLaw) -> LawPart {
    LawPart {
        contention: estimate(&law.contention),
        coherency: estimate(&law.coherency),
        most_at: law.most_at,
        off: law.off,
    }
}

fn with_figures(empty: CurvePart, found: &CurveFound) -> CurvePart {
    match found {
        CurveFound::Scaling(all) => {
            let efficiencies = all.iter().map(|efficiency| EfficiencyPart {
                at: efficiency.at,
                speedup: estimate(&efficiency.speedup),
                efficiency: estimate(&efficiency.efficiency),
            });
            CurvePart { efficiencies: efficiencies.collect(), ..empty }
        }
        CurveFound::Plateaus(all) => {
            let plateaus = all.iter().map(|plateau| PlateauPart {
                from: plateau.from,
                to: plateau.to,
                points: plateau.points,
                height: estimate(&plateau.height),
            });
            CurvePart { plateaus: plateaus.collect(), ..empty }
        }
        CurveFound::Flat => CurvePart { growth: Some("never"), ..empty },
        CurveFound::Unfinished => CurvePart { growth: Some("unfinished"), ..empty },
        CurveFound::Undecided => CurvePart { growth: Some("undecided"), ..empty },
        CurveFound::Knee { at, level } => {
            let knee = Some(KneePart { at: estimate(at), level: estimate(level) });
            CurvePart { growth: Some("until"), knee, ..empty }
        }
        CurveFound::Line { fixed, each, off } => {
            let fixed = estimate(fixed);
            let each = estimate(each);
            CurvePart { line: Some(LinePart { fixed, each, off: *off }), ..empty }
        }
    }
}
