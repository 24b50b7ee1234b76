//! What the charts of a workload are made of.

use plumb_analysis::{Curve, PointOfCurve, PointSamples, RunFinding};
use plumb_chart::{AxisFit, AxisSpec};

use super::parts::{better, name};
use crate::run::view::{ResultRow, View};

/// A point with its samples, and its row if it has a result.
pub(super) struct ChartPoint<'a> {
    pub(super) samples: &'a PointSamples,
    pub(super) row: Option<&'a ResultRow<'a>>,
    pub(super) label: String,
}

impl<'a> ChartPoint<'a> {
    pub(super) fn new(view: &'a View<'a>, samples: &'a PointSamples) -> Self {
        let row = view.rows.iter().find(|row| {
            let finding = row.finding;
            finding.point.index == samples.point.index
                && finding.target == samples.target
                && finding.metric == samples.metric.name
        });
        let label = row.map_or_else(|| samples.point.name.clone(), name);
        Self { samples, row, label }
    }

    pub(super) fn unit(&self) -> &str {
        &self.samples.metric.unit
    }
}

/// The subject of charts: one metric of all points of a workload.
pub(super) struct Subject<'a> {
    pub(super) workload: &'a str,
    pub(super) metric: &'a str,
    pub(super) primary: bool,
    pub(super) points: &'a [ChartPoint<'a>],
    pub(super) finding: &'a RunFinding,
}

impl Subject<'_> {
    /// `memory.copy/boxes`; of metrics other than the first `memory.copy/boxes/latency`.
    pub(super) fn id(&self, kind: &str) -> String {
        let metric = if self.primary { String::new() } else { format!("/{}", self.metric) };
        format!("{}/{kind}{metric}", self.workload)
    }

    pub(super) fn title(&self, what: &str) -> String {
        format!("{}: {what}", self.workload)
    }

    pub(super) fn values(&self, fit: AxisFit) -> AxisSpec {
        let unit = self.points.first().map_or("", ChartPoint::unit);
        AxisSpec::values(&self.metric.replace('_', " "), unit, fit)
    }

    pub(super) fn names(&self) -> AxisSpec {
        AxisSpec::Names(self.points.iter().map(|point| point.label.clone()).collect())
    }

    pub(super) fn better(&self) -> &'static str {
        self.points.first().map_or("", |point| better(point.samples.metric.better))
    }

    /// The curve over a parameter of which a row is a point.
    pub(super) fn fitted(&self, row: &ResultRow, parameter: &str) -> Option<&Curve> {
        self.finding
            .curves
            .iter()
            .filter(|curve| curve.parameter.name == parameter)
            .find(|curve| curve.points.iter().any(|point| self.is_of(point, row)))
    }

    fn is_of(&self, point: &PointOfCurve, row: &ResultRow) -> bool {
        self.finding.results.get(point.result).is_some_and(|result| {
            result.point.index == row.finding.point.index
                && result.target == row.finding.target
                && result.metric == row.finding.metric
        })
    }

    /// The rows of the points, each with its place.
    pub(super) fn rows(&self) -> Vec<(usize, &ResultRow<'_>)> {
        self.points
            .iter()
            .enumerate()
            .filter_map(|(index, point)| Some((index, point.row?)))
            .collect()
    }
}
