//! What a curve over a parameter is, and what is found in it: plain data.

use plumb_model::{CurveKind, Parameter, ParameterType};

use crate::estimate::Estimate;

/// A curve over a parameter: the points of one workload that differ in nothing else, on one target.
#[derive(Debug, Clone, PartialEq)]
pub struct Curve {
    /// The workload, with the settings of other parameters that are not at their defaults: `memory.copy:method=nt`.
    pub of: String,
    /// The workload's id.
    pub workload: String,
    /// The parameter on the horizontal axis.
    pub parameter: Parameter,
    /// The metric's name.
    pub metric: String,
    /// The metric's unit, an SI base unit.
    pub unit: String,
    /// Index of the target.
    pub target: usize,
    /// What it means.
    pub kind: CurveKind,
    /// Its points, in the order of the parameter.
    pub points: Vec<PointOfCurve>,
    /// The metric at the smallest.
    pub smallest: f64,
    /// What was found, or why nothing was.
    pub found: Result<CurveFound, String>,
    /// Of latencies of memory over its size: the caches that the kernel claims, with the edges that fit them.
    pub caches: Vec<CacheLevel>,
    /// Of three points that scale, or more: the law behind the efficiencies, or why there is none.
    pub law: Option<Result<ScalabilityLaw, String>>,
}

impl Curve {
    /// The metric where the fitted line says so, at a value of the parameter; None where there is no line.
    #[must_use]
    pub fn on_line(&self, at: f64) -> Option<f64> {
        let Ok(CurveFound::Line { fixed, each, .. }) = &self.found else { return None };
        let time = fixed.value + each.value * at;
        let in_a_call = if counts_units(&self.unit, &self.parameter) { at } else { 1.0 };
        let value = if self.unit == "s" { time } else { in_a_call / time };
        (time > 0.0).then_some(value)
    }

    /// The rate that perfect scaling from the smallest point would give; None where nothing scales.
    #[must_use]
    pub fn perfect(&self, at: f64) -> Option<f64> {
        let Ok(CurveFound::Scaling(_)) = &self.found else { return None };
        let first = float(self.points.first()?.at);
        Some(self.smallest * at / first)
    }
}

/// A point of a curve.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PointOfCurve {
    /// The parameter's value.
    pub at: u64,
    /// Index into the results.
    pub result: usize,
}

/// The figures of a curve.
#[derive(Debug, Clone, PartialEq)]
pub enum CurveFound {
    /// The efficiency of every point but the smallest.
    Scaling(Vec<Efficiency>),
    /// The plateaus, in order.
    Plateaus(Vec<Plateau>),
    /// It neither grows nor grew: no knee.
    Flat,
    /// It still grows at its end: no knee yet.
    Unfinished,
    /// It grew, and the points' intervals do not show whether it still does at its end.
    Undecided,
    /// Where growth stops.
    Knee {
        /// The parameter's value there.
        at: Estimate,
        /// The metric there.
        level: Estimate,
    },
    /// Time = fixed + each × parameter, in seconds.
    Line {
        /// The cost of a call.
        fixed: Estimate,
        /// The cost of each unit of the parameter.
        each: Estimate,
        /// How far a point lies off the line at most, relative to it.
        off: f64,
    },
}

/// The universal scalability law: why the efficiency falls.
#[derive(Debug, Clone, PartialEq)]
pub struct ScalabilityLaw {
    /// The share of work that is done one at a time.
    pub contention: Estimate,
    /// The price of agreement of every two, relative to the work.
    pub coherency: Estimate,
    /// The number with the highest rate; none where it grows for ever, or may do so by the interval of coherency.
    pub most_at: Option<f64>,
    /// How far a point lies off the law at most, relative to it.
    pub off: f64,
}

/// How a point compares with the smallest.
#[derive(Debug, Clone, PartialEq)]
pub struct Efficiency {
    /// The parameter's value.
    pub at: f64,
    /// The rate over that of the smallest.
    pub speedup: Estimate,
    /// The same over the ratio of the parameter's values: 1 is perfect.
    pub efficiency: Estimate,
}

/// A stretch of a curve at one height.
#[derive(Debug, Clone, PartialEq)]
pub struct Plateau {
    /// The parameter's least value on it.
    pub from: f64,
    /// The greatest value of the parameter on it.
    pub to: f64,
    /// Points on it.
    pub points: usize,
    /// The metric there.
    pub height: Estimate,
}

/// A cache that holds data.
#[derive(Debug, Clone, PartialEq)]
pub struct CacheLevel {
    /// Name of the level: `L1`, `L2`, …
    pub name: String,
    /// Its size as the kernel says, in bytes.
    pub claimed: u64,
    /// Where its plateau ends, in bytes: between the last point on it and the first on the next. None where it has no
    /// plateau of its own.
    pub had: Option<Estimate>,
}

/// Whether a rate counts what the parameter counts, so that a call takes as many of them.
pub(crate) fn counts_units(rate: &str, parameter: &Parameter) -> bool {
    let unit = rate.strip_suffix("/s");
    unit.is_some_and(|unit| {
        unit == parameter.unit || (unit == "B" && parameter.kind == ParameterType::Bytes)
    })
}

/// A value of a parameter as a place on an axis.
#[expect(clippy::cast_precision_loss, reason = "a place on an axis")]
pub(crate) fn float(value: u64) -> f64 {
    value as f64
}
