//! A series over the runs of a real store: the same whether it is derived now or was kept.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;
use std::sync::OnceLock;

use plumb_analysis::testing::{Builder, COPY, companion, events, run_of_years};
use plumb_analysis::{CompareSettings, ComparisonFinding, series_in_run};
use plumb_model::{Event, Id, Preparation, PreparationSlot, Role, RunRecord, SeriesInRun};
use plumb_query::{Selection, SeriesByRun, keep, labelled, of_records, of_runs, read};
use plumb_store::Store;
use tempfile::TempDir;

const RUNS: u32 = 12;

/// The run of this number; some were planned with more than points.
fn run(number: u32) -> RunRecord {
    let mut record = run_of_years(number, RUNS);
    let knob = || Preparation {
        knob: "nice".into(),
        value: "5".into(),
        slot: PreparationSlot::Run,
        optional: false,
    };
    let points = &mut record.plan.points;
    match number {
        // A plug-in that monitors is no load.
        1 => record.plan.companions.extend(companion(&COPY, Role::Monitor)),
        2 => record.plan.companions.extend(companion(&COPY, Role::Load)),
        4 => drop(points[0].labels.insert("part".into(), "first".into())),
        // Sides of a comparison of values of a knob are no history, but a point under conditions has one.
        5 => points[0].preparation.push(knob()),
        6 => {
            points[0].preparation.push(knob());
            points[0].point = points[0].point.clone().under(&["set=nice=5".to_owned()]);
        }
        _ => {}
    }
    let half = if number < RUNS / 2 { "old" } else { "new" };
    record.plan.labels.insert("half".into(), half.into());
    record
}

/// A store of complete runs, and one that is cut off. It is written once and copied, because every test needs one.
fn store(folder: &Path) -> Store {
    static WRITTEN: OnceLock<Vec<u8>> = OnceLock::new();
    let file = folder.join("plumb.db");
    let bytes = WRITTEN.get_or_init(|| {
        let folder = TempDir::new().unwrap();
        // Closed before it is read: SQLite then moves what is in the log into the file.
        drop(written(folder.path()));
        std::fs::read(folder.path().join("plumb.db")).unwrap()
    });
    std::fs::write(&file, bytes).unwrap();
    Store::open(file).unwrap()
}

fn written(folder: &Path) -> Store {
    let store = Store::open(folder.join("plumb.db")).unwrap();
    let mut writer = store.writer().unwrap();
    for number in 0..RUNS {
        for event in events(&run(number), false) {
            let is_end = matches!(event.event, Event::RunEnded { .. });
            if number != 3 || !is_end {
                writer.write(&event).unwrap();
            }
        }
    }
    drop(writer);
    store
}

/// What the records say of all series, in the order of the runs.
fn from_records(store: &Store) -> Vec<SeriesInRun> {
    let records = store.runs().unwrap().into_iter().map(|run| store.record(run).unwrap());
    records.flat_map(|record| series_in_run(&record)).collect()
}

/// Those of one series.
fn of_series(all: &[SeriesInRun], name: &str) -> Vec<SeriesInRun> {
    let found = all.iter().filter(|series| series.name == name && !series.is_side_of_knob);
    found.cloned().collect()
}

fn check(store: &Store) {
    let names = store.series_names_alone().unwrap();
    assert!(names.len() > 20, "{}", names.len());
    let all = from_records(store);
    for name in names {
        let found = read(store, Selection::Series(&name)).unwrap();
        assert!(found == of_series(&all, &name), "{name}");
    }
}

fn execute(folder: &Path, sql: &str) {
    let db = rusqlite::Connection::open(folder.join("plumb.db")).unwrap();
    db.execute_batch(sql).unwrap();
}

#[test]
fn what_is_kept_is_what_the_records_say() {
    let folder = TempDir::new().unwrap();
    let store = store(folder.path());
    // The first question derives all, later ones read what was kept.
    check(&store);
    check(&store);
    check(&Store::open_read_only(store.path()).unwrap());
    let all: Vec<SeriesInRun> = read(&store, Selection::All).unwrap();
    let runs = store.runs().unwrap();
    let backwards: Vec<Id> = runs.iter().rev().copied().collect();
    let found = read(&store, Selection::Runs(&backwards)).unwrap();
    assert_eq!(found.first().unwrap().run.run, backwards[0]);
    assert_eq!(found.len(), all.len());
    let known = SeriesByRun::default();
    for (run, series) in runs.iter().zip(known.read(&store, &runs).unwrap()) {
        assert_eq!(series_in_run(&store.record(*run).unwrap()), *series);
    }
}

#[test]
fn a_run_is_kept_when_it_ends() {
    let folder = TempDir::new().unwrap();
    let store = store(folder.path());
    for run in store.runs().unwrap() {
        keep(&store, &store.record(run).unwrap()).unwrap();
    }
    let version = rusqlite::Connection::open(store.path()).unwrap().query_row(
        "SELECT count(*) FROM derived_run",
        [],
        |row| row.get::<_, u32>(0),
    );
    assert_eq!(version.unwrap(), RUNS - 1, "all but the one that was cut off");
    check(&store);
}

/// A small complete run of one series.
fn small(number: u32) -> RunRecord {
    let mut record = Builder::new(Some("s")).measured(&COPY).build();
    record.run = Id::from_u128(1000 + u128::from(number));
    record.started_unix_ns += i64::from(number) * 1_000_000_000;
    for (invocation, n) in record.invocations.iter_mut().zip(0..) {
        invocation.invocation = Id::from_u128(1_000_000 + 1_000 * u128::from(number) + n);
    }
    record
}

fn write(store: &Store, record: &RunRecord) {
    let mut writer = store.writer().unwrap();
    events(record, false).iter().for_each(|event| writer.write(event).unwrap());
}

/// Runs are not read for a line of a history, and old ones not for a new one. Without their samples, their records would
/// give no series.
#[test]
fn a_long_history_reads_no_record_twice() {
    let folder = TempDir::new().unwrap();
    let store = Store::open(folder.path().join("plumb.db")).unwrap();
    (0..100).for_each(|number| write(&store, &small(number)));
    let history = Selection::Series("memory.copy/bandwidth");
    let first = read(&store, history).unwrap();
    assert_eq!(first.len(), 100);
    execute(folder.path(), "DELETE FROM sample");
    assert_eq!(store.record(Id::from_u128(1000)).unwrap().invocations[0].samples.len(), 0);
    assert!(read(&store, history).unwrap() == first);
    write(&store, &small(100));
    let appended = read(&store, history).unwrap();
    assert!(appended.len() == 101 && appended[..100] == first);
    execute(folder.path(), "DELETE FROM sample");
    assert!(read(&store, history).unwrap() == appended);
}

#[test]
fn an_excluded_invocation_counts_in_no_series() {
    let folder = TempDir::new().unwrap();
    let store = Store::open(folder.path().join("plumb.db")).unwrap();
    let whole = small(0);
    let mut excluded = small(1);
    excluded.invocations[3].excluded_by = Some("steal".to_owned());
    let mut without = small(2);
    without.invocations.remove(3);
    [&whole, &excluded, &without].into_iter().for_each(|record| write(&store, record));
    // Derived from the records, then from what was kept.
    for _ in 0..2 {
        let found = read(&store, Selection::Series("memory.copy/bandwidth")).unwrap();
        let [whole, excluded, without] = found.as_slice() else { panic!("{}", found.len()) };
        assert_eq!(excluded.process_medians.len(), whole.process_medians.len() - 1);
        assert_eq!(excluded.process_medians, without.process_medians);
        assert_eq!((&excluded.estimate, excluded.samples), (&without.estimate, without.samples));
    }
}

#[test]
fn rows_of_other_rules_or_states_do_not_count() {
    let folder = TempDir::new().unwrap();
    let store = store(folder.path());
    let series = "memory.copy/bandwidth";
    let whole = read(&store, Selection::Series(series)).unwrap();
    // A mark that no run has: who shows it has read what was kept.
    let mark =
        "UPDATE derived_series SET json = replace(json, '\"unit\":\"B/s\"', '\"unit\":\"mark\"')";
    execute(folder.path(), mark);
    let marked = || {
        let found = read(&store, Selection::Series(series)).unwrap();
        assert_eq!(found.len(), whole.len());
        found.iter().filter(|series| series.unit == "mark").count()
    };
    assert_eq!(marked(), whole.len() - 1, "only the run that was cut off is read");
    execute(
        folder.path(),
        "UPDATE derived_run SET state = state || '.1' WHERE run = (SELECT min(run) FROM derived_run)",
    );
    assert_eq!(marked(), whole.len() - 2);
    execute(folder.path(), "UPDATE derived_version SET version = 'older'");
    assert_eq!(marked(), 0);
    execute(folder.path(), "UPDATE derived_series SET json = 'no JSON'");
    assert_eq!(marked(), 0);
    check(&store);
}

#[test]
fn a_store_that_cannot_be_written_gives_the_same() {
    let folder = TempDir::new().unwrap();
    let store = store(folder.path());
    let writer = rusqlite::Connection::open(store.path()).unwrap();
    writer.execute_batch("BEGIN IMMEDIATE").unwrap();
    let name = "memory.copy/bandwidth";
    let found = read(&store, Selection::Series(name)).unwrap();
    assert_eq!(found, of_series(&from_records(&store), name));
    writer.execute_batch("ROLLBACK").unwrap();
    assert_eq!(store.derived("any", &store.ends().unwrap(), None), []);
}

/// Every figure of a comparison, by series.
fn ratios(found: &ComparisonFinding) -> Vec<(String, Option<plumb_model::Estimate>)> {
    let of_series = found.results.iter().map(|result| {
        let against = result.against_first[0].as_ref();
        (result.series.clone(), against.and_then(|against| against.ratio.clone()))
    });
    of_series.collect()
}

#[test]
fn labels_that_are_named_and_runs_that_are_grouped_give_the_same_figures() {
    let folder = TempDir::new().unwrap();
    let store = store(folder.path());
    let named = labelled(&store, &["half=old".to_owned(), "half=new".to_owned()]).unwrap();
    assert_eq!(named[0].runs.len() + named[1].runs.len(), RUNS as usize);
    let runs: Vec<Id> = named.iter().flat_map(|name| name.runs.clone()).collect();
    let by_name = CompareSettings {
        arm_names: named
            .iter()
            .flat_map(|name| name.runs.iter().map(|run| (*run, name.name.clone())))
            .collect(),
        ..CompareSettings::default()
    };
    let by_label = CompareSettings { by: Some("half".into()), ..CompareSettings::default() };
    let typed = of_runs(&store, &runs, &by_name).unwrap();
    // A page has the records, because it draws their samples.
    let records: Vec<RunRecord> = runs.iter().map(|run| store.record(*run).unwrap()).collect();
    let page = of_records(&store, &records, &by_label).unwrap();
    assert_eq!(ratios(&typed), ratios(&page));
    assert!(typed.results.len() > 5);
    assert_eq!(typed.arms.len(), page.arms.len());
    assert!(typed.results[0].arms[0].as_ref().unwrap().runs > 1);
}

/// Whoever reads this because it failed: series are derived of a run in another way now. Raise `FORM` in
/// `src/series.rs`, so that no rows of before count, and take the new hash.
#[test]
fn another_form_has_another_number() {
    let folder = TempDir::new().unwrap();
    let store = store(folder.path());
    let mut text = String::new();
    for series in read(&store, Selection::All).unwrap() {
        // As many digits as are the same with every library of mathematics.
        let medians: Vec<String> =
            series.process_medians.iter().map(|value| format!("{value:.6e}")).collect();
        let ends = series.estimate.interval.as_ref();
        let ends = ends.map(|ends| format!("{:.6e} {:.6e}", ends.low, ends.high));
        text += &format!("{} {medians:?} {ends:?} {}\n", series.name, series.samples);
        text += &format!("{:?} {:?}\n", series.run, series.environment);
        text += &format!("{:?} {:?} {:?}\n", series.labels(), series.versions, series.points);
        text += &format!("{} {:?} {:?}\n", series.unit, series.better, series.point);
        text += &format!("{} {} {}\n", series.clock, series.is_side_of_knob, series.busy_clients);
    }
    // FNV-1a.
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte: u8| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let version: String = rusqlite::Connection::open(store.path())
        .unwrap()
        .query_row("SELECT version FROM derived_version", [], |row| row.get(0))
        .unwrap();
    let form: Vec<&str> = version.rsplit('/').take(2).collect();
    assert_eq!((form, format!("{hash:016x}").as_str()), (vec!["4", "6"], "eb16f0a72bdd705d"));
}
