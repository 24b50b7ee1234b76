//! Events go in, records come out.

use std::process::Command;

use plumb_model::{EventSink as _, Ready, Role, RunStatus, Samples};
use plumb_store::{Backend, ErrorKind, StoreError};

use super::told::write;
use crate::events::{Script, batch, eventful, fold, id};

pub fn gives_back_what_it_was_told(backend: &dyn Backend) {
    let events = eventful(id(1), id(2));
    write(backend, &events);
    assert_eq!(backend.record(id(1)).unwrap(), fold(&events));
    assert_eq!(backend.runs().unwrap(), [id(1)]);
}

pub fn every_event_is_readable_at_once(backend: &dyn Backend) {
    let events = eventful(id(1), id(2));
    let mut writer = backend.writer().unwrap();
    for n in 0..events.len() {
        writer.take(&events[n]).unwrap();
        assert_eq!(backend.record(id(1)).unwrap(), fold(&events[..=n]), "after event {n}");
    }
}

pub fn unknown_runs_are_named(backend: &dyn Backend) {
    assert!(matches!(backend.record(id(1)), Err(StoreError::NoSuchRun { .. })));
    write(backend, &Script::new(id(1), 5, &[]).end(false).events);
    let error = backend.record(id(2)).unwrap_err();
    assert!(error.to_string().contains(&plumb_store::short(id(1))), "{error}");
}

pub fn summaries_tell_runs_apart(backend: &dyn Backend) {
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

pub fn impossible_batches_are_refused(backend: &dyn Backend) {
    let mut script = Script::new(id(1), 5, &[]);
    script.start(id(2), 1, Role::Workload, Ready::default());
    script.batch(id(2), reports("queue", 1.0));
    let mut writer = backend.writer().unwrap();
    for event in &script.events {
        writer.take(event).unwrap();
    }
    for (samples, why) in [
        (reports("queue", f64::NAN), "not a number"),
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

pub fn a_run_goes_on_after_its_writer_died(store: &dyn Backend) {
    let cut = Script::new(id(1), 5, &[]).copy(id(2), 10);
    write(store, &cut.events);
    assert_eq!(store.record(id(1)).unwrap().status, RunStatus::Interrupted);
    let known = cut.events.len();
    let whole = cut.segment(1, 9, "epyc").copy(id(3), 20).end(false).events;
    write(store, &whole[known..]);
    assert_eq!(store.record(id(1)).unwrap(), fold(&whole));
}

pub fn a_run_is_running_while_its_owner_lives(store: &dyn Backend) {
    let mut child = Command::new("sleep").arg("60").spawn().unwrap();
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap();
    let mut script = Script::new(id(1), 5, &[]);
    script.events.pop();
    script.events.pop();
    script.say(plumb_model::Event::SegmentStarted {
        run: id(1),
        segment: 0,
        started_unix_ns: 5,
        monotonic_ns: 5,
        owner: plumb_model::Owner {
            pid: child.id(),
            start_ticks: stat.split(' ').nth(21).unwrap().parse().unwrap(),
            boot_id: std::fs::read_to_string("/proc/sys/kernel/random/boot_id")
                .unwrap()
                .trim()
                .into(),
        },
    });
    write(store, &script.events);
    assert_eq!(store.record(id(1)).unwrap().status, RunStatus::Running);
    assert_eq!(store.info().unwrap().running, 1);
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(store.summaries().unwrap()[0].status, RunStatus::Interrupted);
}

pub fn events_that_cannot_be_are_refused_as_a_bug(store: &dyn Backend) {
    let script = Script::new(id(1), 5, &[]).copy(id(2), 10).events;
    let mut writer = store.writer().unwrap();
    let error = writer.write(&script[1]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Bug);
    assert!(error.to_string().contains("never started"), "{error}");
    let error = writer.write(&script[4]).unwrap_err();
    assert!(error.to_string().contains("before its run had started"), "{error}");
    for event in &script {
        writer.write(event).unwrap();
    }
    for (event, why) in [(0, "started twice"), (4, "not under way"), (5, "not under way")] {
        let error = writer.write(&script[event]).unwrap_err();
        assert!(error.to_string().contains(why), "{error}");
    }
    assert_eq!(store.record(id(1)).unwrap(), fold(&script), "and change nothing");
}
