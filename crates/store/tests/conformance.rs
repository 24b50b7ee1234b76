//! What every backend must do. Each function below takes any backend; a new one gets a module.

mod common;

use common::{Script, eventful, fold, id};
use plumb_model::{EventSink, RecordSource as _};
use plumb_store::{Backend, Error, Store};

/// Stores events and gives the record back.
fn write(backend: &impl Backend, events: &[plumb_model::Stamped]) {
    let mut writer = backend.writer().unwrap();
    for event in events {
        writer.take(event).unwrap();
    }
}

fn gives_back_what_it_was_told(backend: &impl Backend) {
    let events = eventful(id(1), id(2));
    write(backend, &events);
    assert_eq!(backend.record(id(1)).unwrap(), fold(&events));
    assert_eq!(backend.runs().unwrap(), [id(1)]);
}

fn every_event_is_readable_at_once(backend: &impl Backend) {
    let events = eventful(id(1), id(2));
    let mut writer = backend.writer().unwrap();
    for n in 0..events.len() {
        writer.take(&events[n]).unwrap();
        assert_eq!(backend.record(id(1)).unwrap(), fold(&events[..=n]), "after event {n}");
    }
}

fn unknown_runs_are_named(backend: &impl Backend) {
    assert!(matches!(backend.record(id(1)), Err(Error::NoSuchRun { .. })));
    write(backend, &Script::new(id(1), 5, &[]).end(false).events);
    let error = backend.record(id(2)).unwrap_err();
    assert!(error.to_string().contains(&plumb_store::short(id(1))), "{error}");
}

mod sqlite {
    use super::Store;

    fn run(check: impl Fn(&Store)) {
        let folder = tempfile::tempdir().unwrap();
        check(&Store::open(folder.path().join("plumb.db")).unwrap());
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
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig { cases: 60, ..Default::default() })]

    #[test]
    fn a_record_is_what_its_events_say(
        ops in proptest::collection::vec(common::ops::op(), 0..30),
        ended: bool,
    ) {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path().join("plumb.db")).unwrap();
        let events = common::ops::play(id(1), &ops, ended);
        write(&store, &events);
        proptest::prop_assert_eq!(store.record(id(1)).unwrap(), fold(&events));
    }
}
