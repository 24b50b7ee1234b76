//! What every backend must do. Each function below takes any backend; a new one gets a module.

use crate::events::{Script, batch, environment, eventful, fold, id, target};
use plumb_model::{Event, Ready, Role, RunStatus, Samples, Stamped, Target};
use plumb_store::{Backend, Error, Store, Writer};

/// Stores events and gives the record back.
fn write(backend: &dyn Backend, events: &[Stamped]) {
    writer_takes(backend.writer().unwrap().as_mut(), events);
}

fn writer_takes(writer: &mut dyn Writer, events: &[Stamped]) {
    for event in events {
        writer.take(event).unwrap();
    }
}

fn gives_back_what_it_was_told(backend: &dyn Backend) {
    let events = eventful(id(1), id(2));
    write(backend, &events);
    assert_eq!(backend.record(id(1)).unwrap(), fold(&events));
    assert_eq!(backend.runs().unwrap(), [id(1)]);
}

fn every_event_is_readable_at_once(backend: &dyn Backend) {
    let events = eventful(id(1), id(2));
    let mut writer = backend.writer().unwrap();
    for n in 0..events.len() {
        writer.take(&events[n]).unwrap();
        assert_eq!(backend.record(id(1)).unwrap(), fold(&events[..=n]), "after event {n}");
    }
}

fn unknown_runs_are_named(backend: &dyn Backend) {
    assert!(matches!(backend.record(id(1)), Err(Error::NoSuchRun { .. })));
    write(backend, &Script::new(id(1), 5, &[]).end(false).events);
    let error = backend.record(id(2)).unwrap_err();
    assert!(error.to_string().contains(&plumb_store::short(id(1))), "{error}");
}

fn summaries_tell_runs_apart(backend: &dyn Backend) {
    write(backend, &Script::new(id(2), 200, &[("host", "b")]).copy(id(20), 30).end(true).events);
    write(backend, &Script::new(id(1), 100, &[("host", "a"), ("try", "1")]).end(false).events);
    write(backend, &Script::new(id(3), 300, &[("host", "a")]).copy(id(30), 7).events);
    let found = backend.summaries().unwrap();
    assert_eq!(backend.runs().unwrap(), [id(1), id(2), id(3)]);
    let shown: Vec<_> =
        found.iter().map(|run| (run.run, run.status, run.samples, run.points)).collect();
    let interrupted = RunStatus::Interrupted;
    assert_eq!(
        shown,
        [
            (id(1), RunStatus::Complete, 0, 2),
            (id(2), interrupted, 30, 2),
            (id(3), interrupted, 7, 2)
        ]
    );
    assert_eq!(found[0].suite.as_deref(), Some("first-look"));
    assert_eq!(found[0].command, ["plumb", "run"]);
    assert_eq!(found[0].labels.len(), 2);
    assert_eq!((found[1].ended_unix_ns, found[2].ended_unix_ns), (Some(2_000_000_000), None));
    assert_eq!(backend.resolve("last~1").unwrap(), id(2));
    assert_eq!(backend.resolve("host=a").unwrap(), id(3));
    assert_eq!(backend.resolve(&plumb_store::short(id(1))).unwrap(), id(1));
}

fn a_series_is_read_without_its_records(backend: &dyn Backend) {
    let changed = Target { environment: environment("6.2"), ..target("epyc") };
    let mut second = Script::new(id(2), 200, &[("host", "b")]);
    second.say(Event::TargetReady { target: 0, description: Box::new(changed) });
    write(backend, &second.copy(id(20), 30).copy(id(21), 10).end(false).events);
    write(backend, &Script::new(id(1), 100, &[]).copy(id(10), 20).events);
    let mut failed = Script::new(id(3), 300, &[]);
    failed.start(id(30), 0, Role::Workload, Ready::default());
    failed.batch(id(30), batch(0, 5));
    write(backend, &failed.events);
    let found = backend.series("memory.copy:method=libc/bandwidth").unwrap();
    assert_eq!(found.iter().map(|it| it.run).collect::<Vec<_>>(), [id(1), id(2)]);
    for series in &found {
        let record = backend.record(series.run).unwrap();
        let metric = &record.plan.points[0].description.metrics[0];
        let steady = record.good_invocations(0).map(|it| it.steady(metric).unwrap());
        assert_eq!(series.invocations, steady.collect::<Vec<_>>());
        assert_eq!(series.labels, record.plan.labels);
        assert_eq!(series.environment, record.environments[0]);
        assert_eq!(series.loads, ["memory.copy:method=libc"]);
        assert_eq!((series.version, series.unit.as_str()), (1, "B/s"));
    }
    assert_eq!(found[1].invocations.iter().map(Vec::len).collect::<Vec<_>>(), [27, 9]);
    assert_eq!(backend.series("memory.copy/none").unwrap(), []);
    let names = backend.series_names().unwrap();
    assert_eq!(names.len(), 1);
    assert!(names[0].primary && names[0].point == "method=libc", "{names:?}");
}

/// A thousand runs of a whole suite must not be read for one line of it.
fn a_long_history_is_read_at_once(backend: &dyn Backend) {
    let mut writer = backend.writer().unwrap();
    for run in 0..300_u32 {
        let mut script = Script::new(id(1000 + u64::from(run)), i64::from(run), &[]);
        for invocation in 0..20_u32 {
            script = script.copy(id(u64::from(10_000 + run * 20 + invocation)), 20);
        }
        writer_takes(writer.as_mut(), &script.end(false).events);
    }
    let began = std::time::Instant::now();
    let found = backend.series("memory.copy:method=libc/bandwidth").unwrap();
    let took = began.elapsed();
    assert_eq!(found.len(), 300);
    assert!(took.as_secs() < 5, "{took:?}");
}

fn impossible_batches_are_refused(backend: &dyn Backend) {
    let mut script = Script::new(id(1), 5, &[]);
    script.start(id(2), 1, Role::Workload, Ready::default());
    script.batch(id(2), reports("queue", 1.0));
    let mut writer = backend.writer().unwrap();
    for event in &script.events {
        writer.take(event).unwrap();
    }
    for (samples, why) in [
        (reports("queue", f64::NAN), "no number"),
        (reports("depth", 1.0), "an earlier one"),
        (batch(1000, 3), "an earlier one"),
        (Samples { cpu: vec![0], ..batch(1000, 3) }, "column `cpu`"),
    ] {
        let mut bad = Script { run: id(1), events: Vec::new() };
        bad.batch(id(2), samples);
        let error = writer.take(&bad.events[0]).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }
    script.batch(id(2), reports("queue", 2.0));
    writer.take(script.events.last().unwrap()).unwrap();
    assert_eq!(backend.record(id(1)).unwrap(), fold(&script.events));
}

fn reports(metric: &str, value: f64) -> Samples {
    let mut samples = batch(1000, 3);
    samples.values.insert(metric.into(), vec![value; 3]);
    samples
}

mod sqlite {
    use super::{Backend, Store};

    fn run(check: impl Fn(&dyn Backend)) {
        let folder = tempfile::tempdir().unwrap();
        check(&*Store::open(folder.path().join("plumb.db")).unwrap());
    }

    #[test]
    fn gives_back_what_it_was_told() {
        run(super::gives_back_what_it_was_told);
    }

    #[test]
    fn every_event_is_readable_at_once() {
        run(super::every_event_is_readable_at_once);
    }

    #[test]
    fn unknown_runs_are_named() {
        run(super::unknown_runs_are_named);
    }

    #[test]
    fn summaries_tell_runs_apart() {
        run(super::summaries_tell_runs_apart);
    }

    #[test]
    fn a_series_is_read_without_its_records() {
        run(super::a_series_is_read_without_its_records);
    }

    #[test]
    fn a_long_history_is_read_at_once() {
        run(super::a_long_history_is_read_at_once);
    }

    #[test]
    fn impossible_batches_are_refused() {
        run(super::impossible_batches_are_refused);
    }
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig { cases: 60, ..Default::default() })]

    #[test]
    fn a_record_is_what_its_events_say(
        ops in proptest::collection::vec(crate::ops::op(), 0..30),
        ended: bool,
    ) {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path().join("plumb.db")).unwrap();
        let events = crate::ops::play(id(1), &ops, ended);
        write(&*store, &events);
        proptest::prop_assert_eq!(store.record(id(1)).unwrap(), fold(&events));
    }
}
