//! Files that are not as they should be, processes that die, disks that are full: what is said, and
//! what is still there.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::events::{Script, batch, eventful, id, work};
use plumb_model::{Role, Stamped};
use plumb_store::{ErrorKind, FreshlyDerived, RunEnd, Store, StoreError, info};
use rusqlite::Connection;

fn fill(store: &Store, events: &[Stamped]) {
    let mut writer = store.writer().unwrap();
    for event in events {
        writer.take(event).unwrap();
    }
}

/// A closed store with a run of 5000 samples.
fn closed(folder: &Path) -> PathBuf {
    let path = folder.join("plumb.db");
    let store = Store::open(&path).unwrap();
    fill(&store, &Script::new(id(1), 5, &[]).copy(id(2), 5000).end(false).events);
    path
}

/// The error of opening or reading a store.
fn trouble(path: &Path) -> StoreError {
    let read = |path| Store::open(path)?.record(id(1));
    read(path).unwrap_err()
}

#[track_caller]
fn says(error: &StoreError, path: &Path, words: &[&str]) {
    let text = error.to_string();
    assert!(text.contains(path.to_str().unwrap()), "no path in: {text}");
    for word in words {
        assert!(text.contains(word), "no `{word}` in: {text}");
    }
    assert_eq!(error.kind(), ErrorKind::Store);
    assert!(!text.starts_with(char::is_uppercase), "{text}");
}

#[test]
fn a_store_is_made_with_its_folder_and_opens_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a/b c/?x#%41.db");
    fill(&Store::open(&path).unwrap(), &eventful(id(1), id(2)));
    assert_eq!(Store::open(&path).unwrap().record(id(1)).unwrap().invocations.len(), 1);
    let mode: String = Connection::open(&path)
        .unwrap()
        .pragma_query_value(None, "journal_mode", |row| row.get(0))
        .unwrap();
    assert_eq!(mode, "wal");
}

#[test]
fn what_is_no_store_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("notes.txt");
    fs::write(&path, "milk, eggs\n".repeat(500)).unwrap();
    says(&trouble(&path), &path, &["not a plumb store", "not an SQLite file", "name another file"]);
    assert!(fs::read_to_string(&path).unwrap().starts_with("milk"));
    says(&trouble(folder.path()), folder.path(), &["it is a folder"]);
    let path = folder.path().join("other.db");
    Connection::open(&path).unwrap().execute_batch("CREATE TABLE contacts (name)").unwrap();
    let before = fs::read(&path).unwrap();
    says(&trouble(&path), &path, &["the database of another program"]);
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[test]
fn an_address_is_no_file_name() {
    for read in [Store::open, Store::open_read_only] {
        let error = read("postgres://host/plumb").unwrap_err();
        says(&error, Path::new("postgres://host/plumb"), &["only files are supported"]);
    }
    assert!(!Path::new("postgres:").exists());
}

#[test]
fn info_tells_how_a_store_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = closed(folder.path());
    fill(&Store::open(&path).unwrap(), &Script::new(id(3), 9, &[]).copy(id(4), 70).events);
    let info = info(&path).unwrap();
    assert_eq!(info.path, path);
    assert_eq!(info.bytes, fs::metadata(&path).unwrap().len());
    assert_eq!((info.complete, info.running, info.interrupted), (1, 0, 1));
    assert_eq!((info.schema, info.samples, info.journal.as_str()), (4, 5070, "wal"));
    assert_eq!((info.oldest, info.newest), (Some((id(1), 5)), Some((id(3), 9))));
    assert!(info.problems.is_empty() && info.free_bytes > 0);
}

#[test]
fn a_missing_store_is_not_made_by_reading() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("plumb.db");
    let error = Store::open_read_only(&path).unwrap_err();
    says(&error, &path, &["no store at", "`plumb run` creates one"]);
    assert!(!path.exists());
    fs::write(&path, "").unwrap();
    says(&Store::open_read_only(&path).unwrap_err(), &path, &["it is empty"]);
}

#[test]
fn a_newer_store_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = closed(folder.path());
    Connection::open(&path).unwrap().pragma_update(None, "user_version", 99).unwrap();
    let words = ["schema version 99 and this plumb supports versions up to 4", "use a newer plumb"];
    says(&trouble(&path), &path, &words);
    says(&Store::open_read_only(&path).unwrap_err(), &path, &words);
    let here = Store::open(folder.path().join("here.db")).unwrap();
    says(&here.merge(&path).unwrap_err(), &path, &words);
}

#[test]
fn an_older_store_is_refused_with_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let path = closed(folder.path());
    Connection::open(&path).unwrap().pragma_update(None, "user_version", 3).unwrap();
    let words = [
        "schema version 3, and this plumb reads version 4",
        "export its runs with the version of plumb that wrote it",
    ];
    let before = fs::read(&path).unwrap();
    says(&trouble(&path), &path, &words);
    says(&Store::open_read_only(&path).unwrap_err(), &path, &words);
    let here = Store::open(folder.path().join("here.db")).unwrap();
    says(&here.merge(&path).unwrap_err(), &path, &words);
    assert_eq!(fs::read(&path).unwrap(), before);
}

/// A run that gave no series.
fn nothing_derived(end: RunEnd) -> FreshlyDerived {
    FreshlyDerived { end, series: Vec::new(), costs: BTreeMap::new() }
}

#[test]
fn what_is_derived_from_a_store_that_cannot_be_written_is_lost_without_trouble() {
    let folder = tempfile::tempdir().unwrap();
    let path = closed(folder.path());
    let store = Store::open_read_only(&path).unwrap();
    let ends = store.ends().unwrap();
    let derived: Vec<_> = ends.iter().cloned().map(nothing_derived).collect();
    // Another process writes.
    let writer = Connection::open(&path).unwrap();
    writer.execute_batch("BEGIN IMMEDIATE").unwrap();
    store.keep_derived("1", &derived);
    assert_eq!(store.derived("1", &ends, None), []);
    writer.execute_batch("ROLLBACK").unwrap();
    store.keep_derived("1", &derived);
    assert_eq!(store.derived("1", &ends, None).len(), 1);
    // Damage in what is derived is not a damage of the store.
    writer.execute_batch("DROP TABLE derived_run").unwrap();
    assert_eq!(store.derived("1", &ends, None), []);
    assert_eq!(store.record(id(1)).unwrap().invocations.len(), 1);
    store.keep_derived("1", &derived);
    assert_eq!(store.derived("1", &ends, None).len(), 1);
}

#[test]
fn a_truncated_store_is_named_with_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let path = closed(folder.path());
    let whole = fs::read(&path).unwrap();
    fs::write(&path, &whole[..whole.len() / 2]).unwrap();
    says(&trouble(&path), &path, &["is damaged", ".recover"]);
    let here = Store::open(folder.path().join("here.db")).unwrap();
    says(&here.merge(&path).unwrap_err(), &path, &["is damaged"]);
    assert!(here.runs().unwrap().is_empty());
}

#[test]
fn flipped_bytes_never_pass_unnoticed_by_the_check() {
    let folder = tempfile::tempdir().unwrap();
    let path = closed(folder.path());
    let whole = fs::read(&path).unwrap();
    let pages = whole.len() / 4096;
    assert!(pages > 20);
    let mut noticed = 0;
    for page in 0..pages {
        let mut damaged = whole.clone();
        // The page's kind and the number of its cells.
        for byte in &mut damaged[page * 4096..][..8] {
            *byte ^= 0xff;
        }
        fs::write(&path, &damaged).unwrap();
        let healthy = info(&path).is_ok_and(|info| info.problems.is_empty());
        noticed += usize::from(!healthy);
    }
    assert_eq!(noticed, pages);
}

#[test]
fn a_damaged_page_is_reported_when_it_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = closed(folder.path());
    let mut bytes = fs::read(&path).unwrap();
    // All pages but the first, which holds the schema's root.
    for page in 1..bytes.len() / 4096 {
        bytes[page * 4096..][..8].fill(0xff);
    }
    fs::write(&path, bytes).unwrap();
    says(&trouble(&path), &path, &["is damaged", "restore a backup"]);
}

#[test]
fn a_path_that_cannot_be_written_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    let path = file.join("plumb.db");
    says(
        &trouble(&path),
        &path,
        &["no access", "plumb can't create its folder", "name another file"],
    );
    // A kernel filesystem in which nobody, not even root, can make a file.
    let path = Path::new("/proc/plumb.db");
    says(&trouble(path), path, &["no access"]);
}

#[test]
fn a_store_opened_for_reading_is_never_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = closed(folder.path());
    let before = fs::read(&path).unwrap();
    let store = Store::open_read_only(&path).unwrap();
    says(&store.writer().unwrap_err(), &path, &["opened read-only"]);
    says(&store.merge(&path).unwrap_err(), &path, &["opened read-only"]);
    assert_eq!(store.summaries().unwrap()[0].samples, 5000);
    drop(store);
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[test]
fn runs_that_write_at_the_same_time_all_succeed() {
    let folder = tempfile::tempdir().unwrap();
    // All of them make the store, too.
    for round in 0..20 {
        let path = folder.path().join(format!("plumb-{round}.db"));
        std::thread::scope(|scope| {
            for n in 0..4 {
                let path = &path;
                scope.spawn(move || {
                    let store = Store::open(path).unwrap();
                    fill(
                        &store,
                        &Script::new(id(n), 5, &[]).copy(id(10 + n), 300).end(false).events,
                    );
                });
            }
        });
        let store = Store::open(&path).unwrap();
        for n in 0..4 {
            assert_eq!(store.record(id(n)).unwrap().invocations[0].samples.len(), 300);
        }
    }
}

/// The child of the test below: stores batches without end and says which are acknowledged.
fn store_until_killed(path: &Path) -> ! {
    let store = Store::open(path).unwrap();
    let mut script = Script::new(id(1), 5, &[]);
    script.start(id(2), 0, Role::Workload, work("bandwidth", 1.0));
    let mut writer = store.writer().unwrap();
    for event in &script.events {
        writer.take(event).unwrap();
    }
    let mut out = std::io::stdout();
    for n in 0.. {
        let mut script = Script { run: id(1), events: Vec::new() };
        script.batch(id(2), batch(n * 1_000_000, 1000));
        writer.take(&script.events[0]).unwrap();
        writeln!(out, "acknowledged {}", (n + 1) * 1000).unwrap();
    }
    unreachable!()
}

#[test]
fn kill_9_loses_nothing_that_was_acknowledged() {
    const PATH: &str = "PLUMB_STORE_TEST_CHILD";
    if let Ok(path) = std::env::var(PATH) {
        store_until_killed(Path::new(&path));
    }
    let folder = tempfile::tempdir().unwrap();
    for round in 0..5 {
        let path = folder.path().join(format!("{round}.db"));
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "files::kill_9_loses_nothing_that_was_acknowledged", "--nocapture"])
            .env(PATH, &path)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut acknowledged = 0;
        for line in lines.by_ref() {
            // libtest says something first, without a line's end.
            if let Some((_, n)) = line.unwrap().split_once("acknowledged ") {
                acknowledged = n.parse().unwrap();
            }
            if acknowledged >= (round + 1) * 20_000 {
                child.kill().unwrap();
                break;
            }
        }
        child.wait().unwrap();
        let later = lines.filter_map(|line| line.ok()?.split_once("acknowledged ")?.1.parse().ok());
        let acknowledged: usize = later.last().unwrap_or(acknowledged);
        let store = Store::open(&path).unwrap();
        let samples = store.record(id(1)).unwrap().invocations.remove(0).samples;
        assert!(samples.len() >= acknowledged, "{} of {acknowledged}", samples.len());
        assert_eq!(samples.len() % 1000, 0, "a batch is there whole or not at all");
        assert_eq!(samples.start_ns[19_999], 19_999_000);
        let info = store.info().unwrap();
        assert_eq!((info.interrupted, info.problems.len()), (1, 0));
    }
}

/// Bytes that a sample takes on disk, all else of its invocation included, with so many reported
/// values of full precision.
fn bytes_a_sample(reported: &[&str]) -> f64 {
    const INVOCATIONS: u64 = 100;
    const SAMPLES: usize = 1_000;
    let folder = tempfile::tempdir().unwrap();
    let path = closed(folder.path());
    let store = Store::open(&path).unwrap();
    let before = fs::metadata(&path).unwrap().len();
    let mut script = Script::new(id(3), 5, &[]);
    for n in 0..INVOCATIONS {
        script.start(id(100 + n), 0, Role::Workload, work("bandwidth", 4096.0));
        // A millisecond each and k with its jitter, as the engine wants them.
        let mut samples = batch(n * 10_000_000_000, SAMPLES);
        for i in 0..SAMPLES {
            let jitter = (i as u64 * 7919) % 100;
            samples.start_ns[i] += i as u64 * 1_000_000 + jitter * 1_000;
            samples.elapsed_ns[i] += 900_000 + jitter * 2_000;
            samples.iterations[i] = 450 + jitter;
            samples.cpu[i] = if i < 700 { 63 } else { 17 };
        }
        for name in reported {
            let column = samples.elapsed_ns.iter().map(|t| 1.0 / *t as f64).collect();
            samples.values.insert((*name).into(), column);
        }
        script.batch(id(100 + n), samples);
    }
    fill(&store, &script.events);
    drop(store);
    let grown = fs::metadata(&path).unwrap().len() - before;
    grown as f64 / (INVOCATIONS * SAMPLES as u64) as f64
}

#[test]
fn samples_take_at_most_forty_bytes_each_with_up_to_two_reported_values() {
    for reported in [&[][..], &["p50"], &["p50", "p99"]] {
        let each = bytes_a_sample(reported);
        println!("{reported:?}: {each:.1} bytes a sample");
        assert!((15.0..=40.0).contains(&each), "{reported:?}: {each} bytes a sample");
    }
}
