//! Readings of monitors are stored and read back, and excluded invocations do not count.

use crate::events::{Script, eventful, id};
use plumb_model::Event;
use plumb_store::Store;
use rusqlite::Connection;

fn stored(events: &[plumb_model::Stamped]) -> (tempfile::TempDir, Store) {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path().join("plumb.db")).unwrap();
    let mut writer = store.writer().unwrap();
    events.iter().for_each(|event| writer.write(event).unwrap());
    (folder, store)
}

#[test]
fn the_view_tells_rates() {
    let (folder, _store) = stored(&eventful(id(1), id(2)));
    let db = Connection::open(folder.path().join("plumb.db")).unwrap();
    let rate: f64 = db
        .query_row("SELECT rate FROM counters WHERE counter = 'stat.user'", [], |row| row.get(0))
        .unwrap();
    assert_eq!(rate, 4.5);
}

#[test]
fn an_excluded_invocation_is_in_no_result() {
    let script = Script::new(id(1), 5, &[]).copy(id(2), 20).copy(id(3), 20);
    let mut excluded = script.end(false);
    excluded.say(Event::Excluded { invocation: id(3), by: "steal".into() });
    // An exclusion comes before the end of its run.
    let last = excluded.events.len() - 1;
    excluded.events.swap(last - 1, last);
    let (folder, store) = stored(&excluded.events);
    let record = store.record(id(1)).unwrap();
    assert_eq!(
        record.good_invocations(0).map(|invocation| invocation.invocation).collect::<Vec<_>>(),
        [id(2)]
    );
    let db = Connection::open(folder.path().join("plumb.db")).unwrap();
    let counted: i64 =
        db.query_row("SELECT invocations FROM results", [], |row| row.get(0)).unwrap();
    assert_eq!(counted, 1);
}
