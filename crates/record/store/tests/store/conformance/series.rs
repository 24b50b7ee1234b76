//! One series over all runs.

use std::collections::BTreeMap;
use std::sync::Arc;

use plumb_model::{
    Better, Estimate, Event, Id, Machine, MeasuredOn, PointFacts, PointOnTarget, Ready, Role,
    RunCompanion, RunOfSeries, RunStatus, SeriesInRun, Target,
};
use plumb_store::{Backend, FreshlyDerived, RunEnd};

use super::told::{take, write};
use crate::events::{Script, batch, environment, id, target};

pub fn ends_and_names_are_read_without_records(backend: &dyn Backend) {
    let changed = Target { environment: environment("6.2"), ..target("epyc") };
    let mut second = Script::new(id(2), 200, &[("host", "b")]);
    second.say(Event::TargetReady { target: 0, description: Box::new(changed) });
    write(backend, &second.copy(id(20), 30).copy(id(21), 10).end(false).events);
    write(backend, &Script::new(id(1), 100, &[]).copy(id(10), 20).events);
    let mut failed = Script::new(id(3), 300, &[]);
    failed.start(id(30), 0, Role::Workload, Ready::default());
    failed.batch(id(30), batch(0, 5));
    write(backend, &failed.events);
    assert_eq!(backend.series_names_alone().unwrap(), ["memory.copy:method=libc/bandwidth"]);
    let ends = backend.ends().unwrap();
    let complete: Vec<_> = ends.iter().map(|run| (run.run, run.state.is_some())).collect();
    assert_eq!(complete, [(id(1), false), (id(2), true), (id(3), false)]);
    let status = |run| backend.record(run).unwrap().status == RunStatus::Complete;
    assert!(complete.iter().all(|&(run, is_complete)| status(run) == is_complete));
    let names = backend.series_names().unwrap();
    assert_eq!(names.len(), 1);
    assert!(names[0].primary && names[0].point == "method=libc", "{names:?}");
}

/// A series of a run, as somebody derived it.
pub fn derived_series(run: Id, name: &str) -> SeriesInRun {
    let machine = Machine { fingerprint: "fp1:a".into(), facts: BTreeMap::new() };
    let companion = RunCompanion { role: Role::Load, name: "process.fork".into() };
    let of_run = RunOfSeries {
        run,
        command: vec!["plumb".into(), "run".into()],
        companions: vec![companion],
        versions: [("libc".into(), ["2.36".into(), "2.41".into()].into())].into(),
        sends_to_named_host: true,
        place: Some(MeasuredOn {
            machine: Arc::new(machine),
            host: "web1".parse().unwrap(),
            environment: Arc::new(environment("6.1")),
        }),
        ..RunOfSeries::default()
    };
    SeriesInRun {
        run: Arc::new(of_run),
        environment: Arc::new(environment("6.2")),
        point: Arc::new(PointFacts {
            index: 3,
            workload: "memory.copy".into(),
            version: 2,
            name: name.into(),
            labels: [("part".into(), "first".into())].into(),
            ..PointFacts::default()
        }),
        name: name.into(),
        clock: "monotonic".into(),
        metric: "bandwidth".into(),
        unit: "B/s".into(),
        better: Better::Higher,
        primary: true,
        versions: BTreeMap::new(),
        is_side_of_knob: false,
        points: vec![PointOnTarget { point: 0, target: 0 }],
        // Numbers that decimal digits lose.
        process_medians: vec![0.1 + 0.2, f64::MIN_POSITIVE, -0.0, f64::INFINITY],
        ends: BTreeMap::from([(0, 3), (1, 2), (-11, 1)]).into(),
        busy_clients: true,
        samples: 12,
        estimate: Estimate { value: 1.0 / 3.0, interval: Err("too few processes".into()) },
    }
}

pub fn what_is_derived_comes_back_while_it_is_true(backend: &dyn Backend) {
    for run in [1, 2] {
        write(backend, &Script::new(id(run), 100, &[]).copy(id(10 + run), 20).end(false).events);
    }
    write(backend, &Script::new(id(3), 300, &[]).copy(id(30), 20).events);
    let ends = backend.ends().unwrap();
    assert_eq!(backend.derived("1", &ends, None), []);
    let second_end = backend.ends_of(&[id(2), id(99)]).unwrap();
    assert_eq!(second_end, ends[1..2], "an unknown run is missing");
    let of_run = |run: u64| vec![derived_series(id(run), "a/x"), derived_series(id(run), "a/y")];
    let costs = |run: u64| BTreeMap::from([("a/x".to_owned(), 1.0 / run as f64)]);
    let derived =
        |(end, run): (RunEnd, u64)| FreshlyDerived { end, series: of_run(run), costs: costs(run) };
    let all: Vec<_> = ends.clone().into_iter().zip([1, 2, 3]).map(derived).collect();
    backend.keep_derived("1", &all[..1]);
    backend.keep_derived("1", &all);
    let found = backend.derived("1", &ends, None);
    // The third run has no end: more may come of it.
    assert_eq!(found.iter().map(|kept| kept.run).collect::<Vec<_>>(), [id(1), id(2)]);
    assert_eq!(found[1].series, of_run(2));
    let named = backend.derived("1", &ends, Some("a/y"));
    assert_eq!(named[0].series, [derived_series(id(1), "a/y")]);
    let second = backend.derived("1", &second_end, None);
    assert_eq!(second.len(), 1);
    assert_eq!(second[0].series, of_run(2));
    let lacking = backend.derived("1", &ends, Some("a/z"));
    assert!(lacking.len() == 2 && lacking.iter().all(|kept| kept.series.is_empty()));
    let costs_of = |ends: &[RunEnd]| {
        let found = backend.derived_costs("1", ends);
        found.into_iter().map(|of| (of.run.run, of.first_metrics)).collect::<Vec<_>>()
    };
    assert_eq!(costs_of(&ends), [(id(1), costs(1)), (id(2), costs(2))]);
    assert_eq!(costs_of(&second_end), [(id(2), costs(2))]);
    // Other rules: nothing counts, and keeping by them drops what was kept.
    assert_eq!(backend.derived("2", &ends, None), []);
    backend.keep_derived("2", &all[..1]);
    assert_eq!(backend.derived("2", &ends, None).len(), 1);
    assert_eq!(backend.derived("1", &ends, None), []);
}

/// Runs of a whole suite must not be read for one line of it.
pub fn a_long_history_is_read_at_once(backend: &dyn Backend) {
    let mut writer = backend.writer().unwrap();
    for run in 0..100_u32 {
        let mut script = Script::new(id(1000 + u64::from(run)), i64::from(run), &[]);
        for invocation in 0..20_u32 {
            script = script.copy(id(u64::from(10_000 + run * 20 + invocation)), 20);
        }
        take(writer.as_mut(), &script.end(false).events);
    }
    let mut rows = Vec::new();
    for end in backend.ends().unwrap() {
        let names = (0..50).map(|n| derived_series(end.run, &format!("a/{n}")));
        let series: Vec<SeriesInRun> = names.collect();
        rows.push(FreshlyDerived { end, series, costs: BTreeMap::new() });
    }
    backend.keep_derived("1", &rows);
    let began = std::time::Instant::now();
    let found = backend.derived("1", &backend.ends().unwrap(), Some("a/7"));
    let took = began.elapsed();
    assert_eq!(found.len(), 100);
    assert!(found.iter().all(|run| run.series.len() == 1));
    assert!(took.as_secs() < 2, "{took:?}");
}
