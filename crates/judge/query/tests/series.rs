//! A series over the runs of a real store, by every way there is.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use plumb_analysis::testing::{COPY, companion, events, run_of_years};
use plumb_analysis::{
    CommonMovements, HistoryEntry, RunResults, history_entry, history_of_entries, summarise,
};
use plumb_model::{Event, Host, Id, Preparation, Role, RunRecord, RunStatus, Slot};
use plumb_query::{KeptSeries, entries, keep};
use plumb_store::Store;
use tempfile::TempDir;

const RUNS: u32 = 12;

/// The run of this number; some were planned with more than points.
fn run(number: u32) -> RunRecord {
    let mut record = run_of_years(number, RUNS);
    let knob =
        || Preparation { knob: "nice".into(), value: "5".into(), slot: Slot::Run, optional: false };
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
    record
}

/// A store of complete runs, and one that is cut off.
fn store(folder: &Path) -> Store {
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

fn results(store: &Store, run: Id) -> Arc<RunResults> {
    let record = store.record(run).unwrap();
    Arc::new(RunResults::of(&record, &summarise(&record)))
}

fn kept(folder: &Path) -> KeptSeries {
    KeptSeries::open(&folder.join("caches"), &folder.join("plumb.db")).unwrap()
}

/// The cache with every complete run.
fn filled(folder: &Path, store: &Store) -> KeptSeries {
    let kept = kept(folder);
    for end in store.ends().unwrap() {
        if let Some(state) = end.state {
            kept.keep(&results(store, end.run), &state);
        }
    }
    kept
}

/// What the samples say.
fn slow(store: &Store, series: &str) -> Vec<HistoryEntry> {
    store.series(series).unwrap().iter().map(history_entry).collect()
}

fn nobody(_: Id) -> Option<Arc<RunResults>> {
    None
}

fn check(store: &Store, known: impl Fn(Id) -> Option<Arc<RunResults>>, kept: Option<&KeptSeries>) {
    let names = store.series_names_alone().unwrap();
    assert!(names.len() > 20, "{}", names.len());
    for name in names {
        let (quick, slow) = (entries(store, &name, &known, kept).unwrap(), slow(store, &name));
        assert!(quick == slow, "{name}");
        let of =
            |all| history_of_entries(&name, all, &Host::UNKNOWN, 0.01, &CommonMovements::default());
        assert_eq!(of(quick), of(slow));
    }
}

#[test]
fn every_way_gives_the_same_figures() {
    let folder = TempDir::new().unwrap();
    let store = store(folder.path());
    check(&store, nobody, None);
    let complete = |run| Some(results(&store, run)).filter(|it| it.status == RunStatus::Complete);
    let all: Vec<_> = store.runs().unwrap().into_iter().filter_map(complete).collect();
    assert_eq!(all.len(), RUNS as usize - 1);
    let known = |run| all.iter().find(|it| it.run == run).cloned();
    check(&store, known, None);
    let kept = filled(folder.path(), &store);
    assert_eq!(kept.runs().len(), all.len());
    check(&store, nobody, Some(&kept));
    check(&store, |run| known(run).filter(|_| run.as_u128() % 2 == 0), Some(&kept));
}

#[test]
fn a_run_is_kept_when_it_ends() {
    let folder = TempDir::new().unwrap();
    let store = store(folder.path());
    for run in store.runs().unwrap() {
        let record = store.record(run).unwrap();
        keep(&store, &record, &summarise(&record), Some(&folder.path().join("caches"))).unwrap();
    }
    let kept = kept(folder.path());
    assert_eq!(kept.runs().len(), RUNS as usize - 1, "all but the one that was cut off");
    check(&store, nobody, Some(&kept));
}

#[test]
fn what_is_kept_is_what_is_read() {
    let folder = TempDir::new().unwrap();
    let store = store(folder.path());
    let kept = filled(folder.path(), &store);
    let series = "memory.copy/bandwidth";
    let whole = slow(&store, series);
    // A mark that no run has: who shows it has read the cache.
    let database = database(folder.path());
    let marked = rusqlite::Connection::open(&database).unwrap();
    let mark = "UPDATE entry SET own = replace(own, '\"unit\":\"B/s\"', '\"unit\":\"mark\"')";
    assert!(marked.execute(mark, []).unwrap() > 20);
    let shown = |kept: &KeptSeries| -> (usize, usize) {
        let found = entries(&store, series, nobody, Some(kept)).unwrap();
        assert_eq!(found.len(), whole.len());
        (found.iter().filter(|it| it.unit == "mark").count(), found.len())
    };
    assert_eq!(shown(&kept), (9, 10), "only the run that was cut off is read");
    // Of a run that was another one then, the samples count.
    marked
        .execute("UPDATE run SET state = state || '.1' WHERE run = (SELECT min(run) FROM run)", [])
        .unwrap();
    assert_eq!(shown(&kept), (8, 10));
    // An entry that can't be read: the same.
    let spoil = "UPDATE entry SET own = 'no JSON' WHERE run = (SELECT max(run) FROM entry WHERE series = ?1) AND series = ?1";
    assert_eq!(marked.execute(spoil, [series]).unwrap(), 1);
    assert_eq!(shown(&kept), (7, 10));
    // Rules of another version: nothing of it counts.
    marked.execute("UPDATE version SET version = 'older'", []).unwrap();
    assert_eq!(shown(&self::kept(folder.path())), (0, 10));
    check(&store, nobody, Some(&self::kept(folder.path())));
}

#[test]
fn a_store_and_caches_that_cannot_be_written_give_the_same() {
    let folder = TempDir::new().unwrap();
    drop(store(folder.path()));
    let path = folder.path().join("plumb.db");
    let kept = filled(folder.path(), &Store::open_read_only(&path).unwrap());
    check(&Store::open_read_only(&path).unwrap(), nobody, Some(&kept));
    // A file is where the folder of caches should be.
    assert!(KeptSeries::open(&path, &path).is_none());
}

fn database(folder: &Path) -> PathBuf {
    let files = fs::read_dir(folder.join("caches")).unwrap();
    let mut files =
        files.map(|it| it.unwrap().path()).filter(|it| it.extension().is_some_and(|it| it == "db"));
    files.next().unwrap()
}

/// Whoever reads this because it failed: entries are made of a run in another way now, or written in another
/// form. Raise `FORM` in `src/series.rs`, so that no cache of before counts, and take the new hash.
#[test]
fn another_form_has_another_number() {
    let folder = TempDir::new().unwrap();
    let store = store(folder.path());
    let kept = filled(folder.path(), &store);
    let mut text = String::new();
    for name in store.series_names_alone().unwrap() {
        for entry in entries(&store, &name, nobody, Some(&kept)).unwrap() {
            let run = entry.run.unwrap();
            // As many digits as are the same with every library of mathematics.
            let ends =
                run.estimate.interval.map(|ends| format!("{:.6e} {:.6e}", ends.low, ends.high));
            text += &format!("{name} {:.6e} {ends:?} {:.6}\n", run.estimate.value, entry.log_cost);
            text += &format!("{} {} {:?}\n", run.processes, run.samples, (run.run, run.labels));
            text += &format!("{:?} {:?}\n", (entry.work, entry.place), (entry.machine, entry.host));
            text += &format!("{:?}\n", (entry.unit, entry.better, entry.title));
        }
    }
    let database = rusqlite::Connection::open(database(folder.path())).unwrap();
    let of = |sql: &str| -> String { database.query_row(sql, [], |row| row.get(0)).unwrap() };
    let keys = "SELECT group_concat(fullkey || ' ' || json_tree.type) FROM \
         (SELECT own FROM entry ORDER BY series, run LIMIT 1) JOIN json_tree(own)";
    text += &of(keys);
    // FNV-1a.
    let add = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325, add);
    let version = of("SELECT version FROM version");
    let form = version.rsplit('/').next().unwrap();
    assert_eq!((form, format!("{hash:016x}").as_str()), ("1", "4e741e0b20a34169"));
}
