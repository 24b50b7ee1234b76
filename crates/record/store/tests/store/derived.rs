//! What is derived when writing it fails halfway: the store opens, and derived rows are whole or absent.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::conformance::series::derived_series;
use crate::events::{Script, environment, id};
use plumb_model::SeriesInRun;
use plumb_store::{FreshlyDerived, Store};
use rusqlite::Connection;

/// Runs of the store.
const RUNS: u64 = 60;
/// Processes of every series, so many that a transaction outgrows the page cache and reaches the log before its end.
const PROCESSES: u32 = 5_000;

/// A store of runs of which nothing is derived.
fn store(folder: &Path) -> Store {
    let store = Store::open(folder.join("plumb.db")).unwrap();
    let mut writer = store.writer().unwrap();
    for run in 0..RUNS {
        let script = Script::new(id(100 + run), 5, &[]).copy(id(1000 + run), 10);
        script.end(false).events.iter().for_each(|event| writer.take(event).unwrap());
    }
    drop(writer);
    store
}

/// A series of every run; `offset` tells one derivation from another.
fn derived(store: &Store, offset: f64) -> Vec<FreshlyDerived> {
    let mut all = Vec::new();
    for end in store.ends().unwrap() {
        let mut series = derived_series(end.run, "a/x");
        series.process_medians = (0..PROCESSES).map(|n| offset + f64::from(n) / 3.0).collect();
        all.push(FreshlyDerived { end, series: vec![series], costs: BTreeMap::new() });
    }
    all
}

/// What the store has by these rules.
fn kept(store: &Store, rules: &str) -> Vec<Vec<SeriesInRun>> {
    let runs = store.derived(rules, &store.ends().unwrap(), None);
    runs.into_iter().map(|run| run.series).collect()
}

fn series_of(derived: &[FreshlyDerived]) -> Vec<Vec<SeriesInRun>> {
    derived.iter().map(|derived| derived.series.clone()).collect()
}

#[test]
fn a_transaction_that_fails_halfway_leaves_what_was_derived_before() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path());
    let before = derived(&store, 1.0);
    store.keep_derived("1", &before);
    let db = Connection::open(store.path()).unwrap();
    let abort = |table: &str, when: &str| {
        let sql = format!(
            "CREATE TRIGGER abort BEFORE INSERT ON {table} WHEN {when} BEGIN SELECT RAISE(ABORT, 'cut off'); END"
        );
        db.execute_batch(&sql).unwrap();
    };
    // By the same rules, after half of the rows were written anew.
    let last = before[RUNS as usize / 2].end.run.simple().to_string();
    abort("derived_series", &format!("lower(hex(NEW.run)) = '{last}'"));
    let after = derived(&store, 2.0);
    store.keep_derived("1", &after);
    assert!(kept(&store, "1") == series_of(&before));
    db.execute_batch("DROP TRIGGER abort").unwrap();
    // By other rules, after the tables were dropped and made anew.
    let mut moved = after.clone();
    let elsewhere = Arc::new(environment("7.0"));
    moved[RUNS as usize / 2].series[0].environment = elsewhere;
    abort("environment", "TRUE");
    store.keep_derived("2", &moved);
    assert!(kept(&store, "1") == series_of(&before) && kept(&store, "2").is_empty());
    db.execute_batch("DROP TRIGGER abort").unwrap();
    store.keep_derived("2", &moved);
    assert!(kept(&store, "2") == series_of(&moved) && kept(&store, "1").is_empty());
}

/// The store's files as they are at this moment, which is how kill -9 leaves them.
fn image(path: &Path, to: &Path) -> PathBuf {
    fs::create_dir(to).unwrap();
    for ending in ["", "-wal"] {
        let name = format!("plumb.db{ending}");
        fs::copy(path.with_file_name(&name), to.join(&name)).unwrap();
    }
    to.join("plumb.db")
}

#[test]
fn kill_9_while_rows_are_derived_leaves_those_of_before() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path());
    let before = derived(&store, 1.0);
    store.keep_derived("1", &before);
    let after = derived(&store, 2.0);
    let db = Connection::open(store.path()).unwrap();
    // Every row takes some milliseconds, so that the files can be copied before the transaction ends.
    db.execute_batch(
        "PRAGMA wal_checkpoint(TRUNCATE); \
         CREATE TRIGGER slow AFTER INSERT ON derived_series BEGIN \
           SELECT count(*) FROM (WITH RECURSIVE number(n) AS \
             (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < 120000) SELECT n FROM number); END; \
         PRAGMA wal_checkpoint(TRUNCATE);",
    )
    .unwrap();
    let log = store.path().with_file_name("plumb.db-wal");
    let written = || fs::metadata(&log).map_or(0, |file| file.len());
    let begun = Instant::now();
    let image = std::thread::scope(|scope| {
        let path = store.path().to_owned();
        let rows = &after;
        scope.spawn(move || Store::open(&path).unwrap().keep_derived("1", rows));
        while written() < 1 << 20 {
            assert!(begun.elapsed() < Duration::from_secs(60), "nothing reaches the log");
            std::thread::sleep(Duration::from_millis(1));
        }
        let image = image(store.path(), &folder.path().join("killed"));
        assert!(kept(&store, "1") == series_of(&before), "the transaction goes on");
        image
    });
    assert!(kept(&store, "1") == series_of(&after));
    let killed = Store::open(&image).unwrap();
    assert_eq!(killed.record(id(100)).unwrap().invocations.len(), 1);
    assert!(kept(&killed, "1") == series_of(&before));
    assert_eq!(plumb_store::info(&image).unwrap().problems, Vec::<String>::new());
    Connection::open(&image).unwrap().execute_batch("DROP TRIGGER slow").unwrap();
    killed.keep_derived("1", &after);
    assert!(kept(&killed, "1") == series_of(&after));
}
