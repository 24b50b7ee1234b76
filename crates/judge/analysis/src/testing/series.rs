//! Series without samples, made of the values of processes.

use std::collections::BTreeMap;
use std::sync::Arc;

use plumb_model::{
    Better, CommandEnds, Environment, Estimate, Host, Id, Machine, MeasuredOn, PointFacts,
    PointOnTarget, RunOfSeries, SeriesInRun,
};
use plumb_stats::describe::median;
use plumb_stats::precision::PER_LOOK_LEVEL;

use crate::estimate::median_of_processes;

/// A rate in the run of this number, on one machine in one environment. Processes without values give an estimate
/// that is not a number.
#[must_use]
pub fn in_run(name: &str, number: u128, processes: &[Vec<f64>]) -> SeriesInRun {
    let environment =
        Arc::new(Environment { fingerprint: "env1:a".into(), facts: BTreeMap::new() });
    let machine = Machine { fingerprint: "fp1:a".into(), facts: BTreeMap::new() };
    let slices: Vec<&[f64]> = processes.iter().map(Vec::as_slice).collect();
    let none = Estimate { value: f64::NAN, interval: Err("no values".into()) };
    SeriesInRun {
        run: Arc::new(RunOfSeries {
            run: Id::from_u128(number),
            plumb: "1".into(),
            points: 1,
            place: Some(MeasuredOn {
                machine: Arc::new(machine),
                host: Host::UNKNOWN,
                environment: Arc::clone(&environment),
            }),
            ..RunOfSeries::default()
        }),
        environment,
        point: Arc::new(PointFacts {
            workload: "a.b".into(),
            version: 1,
            name: "a.b".into(),
            ..PointFacts::default()
        }),
        name: name.to_owned(),
        clock: "monotonic".into(),
        metric: "rate".into(),
        unit: "ops/s".into(),
        better: Better::Higher,
        primary: true,
        versions: BTreeMap::new(),
        is_side_of_knob: false,
        points: vec![PointOnTarget { point: 0, target: 0 }],
        process_medians: slices.iter().filter_map(|values| median(values)).collect(),
        ends: CommandEnds::default(),
        busy_clients: false,
        samples: processes.iter().map(Vec::len).sum(),
        estimate: median_of_processes(&slices, PER_LOOK_LEVEL)
            .map_or(none, |median| median.estimate),
    }
}
