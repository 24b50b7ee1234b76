//! The sides of one run that was measured in pairs, as the arms of a comparison.

use std::sync::Arc;

use plumb_model::{Better, MARGIN, RunRecord, SampleIs};
use plumb_stats::precision::PER_LOOK_LEVEL;

use crate::asked::Asked;
use crate::comparison::ends::ends;
use crate::comparison::finding::{Arm, ArmSamples, ComparisonFinding, SeriesComparison};
use crate::comparison::pairs::unit_of_any;
use crate::estimate::median_of_processes;
use crate::method::{CONFIDENCE, METHOD_VERSION};
use crate::one_run::finding::RunFinding;
use crate::one_run::point_data::PointData;
use crate::one_run::series_in_run::run_of_series;

/// The sides of one run that was measured in pairs.
#[must_use]
pub fn compare_sides(record: &RunRecord, finding: &RunFinding) -> ComparisonFinding {
    let plan = record.plan.comparison();
    let points = &record.plan.points;
    let compared: Vec<usize> = record.plan.compared_points().collect();
    let arms: Vec<String> = compared.iter().map(|&point| points[point].name()).collect();
    let result = finding.against_first.first().map(|first| {
        let metric = first.metric.clone();
        let declared = points.first().and_then(|point| point.description.compared(&metric));
        SeriesComparison {
            series: points[0].point.series(&metric),
            point: first.first.clone(),
            primary: true,
            unit: declared.map_or_else(|| unit_of_any(&metric), |metric| metric.unit.clone()),
            better: declared.map_or(Better::Lower, |metric| metric.better),
            arms: compared.iter().map(|&point| side(record, point, &metric)).collect(),
            against_first: finding
                .against_first
                .iter()
                .map(|comparison| Some(comparison.found.clone()))
                .collect(),
            against_previous: Vec::new(),
            ranking: None,
            metric,
        }
    });
    ComparisonFinding {
        method: METHOD_VERSION,
        runs: vec![Arc::new(run_of_series(record))],
        arms,
        by: None,
        margin: plan.map_or(MARGIN, |plan| plan.margin),
        confidence: CONFIDENCE,
        paired: true,
        machines_differ: false,
        differences: Vec::new(),
        results: result.into_iter().collect(),
        overall: Vec::new(),
        standing_out: Vec::new(),
        not_in_all: Vec::new(),
        normalised_by: None,
    }
}

/// One side of a paired run by the metric that is compared.
fn side(record: &RunRecord, point: usize, metric: &str) -> Option<Arm> {
    let planned = &record.plan.points[point];
    let declared = planned.description.compared(metric);
    let by_invocation: Vec<Vec<f64>> = record
        .good_invocations(point)
        .filter_map(|invocation| invocation.values(planned, metric))
        .collect();
    let processes: Vec<Vec<f64>> = match planned.description.sample_is {
        SampleIs::Process => by_invocation.into_iter().flatten().map(|value| vec![value]).collect(),
        SampleIs::Iteration => by_invocation,
    };
    let slices: Vec<&[f64]> = processes.iter().map(Vec::as_slice).collect();
    let data = PointData::of(record).into_iter().find(|data| data.index == point);
    let parts = data.as_ref().zip(declared).map(|(data, metric)| data.parts_of(metric));
    let cpu = data.as_ref().and_then(PointData::cpu);
    Some(Arm {
        estimate: median_of_processes(&slices, PER_LOOK_LEVEL)?.estimate,
        runs: 1,
        processes: slices.len(),
        ends: ends(record.good_invocations(point)),
        for_price: None,
        normalised: None,
        samples: Asked::Found(ArmSamples::of(&processes, cpu, parts.unwrap_or_default())),
    })
}
