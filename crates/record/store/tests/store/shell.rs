//! The views as people use them: through the `sqlite3` shell of Debian 12 (SQLite 3.40).

use std::path::Path;
use std::process::Command;

use crate::events::{Script, batch, done, eventful, id, work};
use plumb_model::{Event, Ready, Role, Samples};
use plumb_store::Store;

/// The output of `sqlite3 -readonly FILE SQL`.
fn shell(path: &Path, sql: &str) -> String {
    let output = Command::new("sqlite3").arg("-readonly").arg(path).arg(sql).output();
    let Ok(output) = output else { panic!("this test needs `sqlite3`: apt install sqlite3") };
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{sql}: {error}");
    String::from_utf8(output.stdout).unwrap()
}

/// Samples with these values of `queue`, a microsecond each.
fn queue(values: &[f64]) -> Samples {
    let mut samples = batch(5_000, values.len());
    samples.values.insert("queue".into(), values.to_vec());
    samples
}

/// A store with two invocations of `memory.copy` and three of `disk.read`, one of them failed, and
/// a load.
fn store(folder: &Path) -> Store {
    let store = Store::open(folder.join("plumb.db")).unwrap();
    let mut script = Script::new(id(1), 1_700_000_000_000_000_000, &[("host", "a"), ("try", "1")]);
    script = script.copy(id(10), 10).copy(id(11), 11);
    for (n, values) in [[90.0, 4.0, 1.0], [80.0, 3.0, 2.0], [70.0, 0.0, 0.0]].iter().enumerate() {
        let invocation = id(20 + n as u64);
        script.start(invocation, 1, Role::Workload, Ready::default());
        script.batch(invocation, queue(values));
        let mut end = done(1);
        if n == 2 {
            end.outcome = plumb_model::Outcome::Failed("exit status 1".into());
        }
        script.say(Event::InvocationEnded { invocation, end });
    }
    script.start(id(30), 0, Role::Load, work("bandwidth", 1.0));
    script.batch(id(30), batch(0, 4));
    let mut writer = store.writer().unwrap();
    for event in &script.end(false).events {
        writer.take(event).unwrap();
    }
    store
}

#[test]
fn results_are_medians_of_steady_samples() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path());
    let sql = "SELECT run, series, unit, invocations, samples, printf('%.5e', median), \
               printf('%.5e', min), printf('%.5e', max) FROM results ORDER BY series";
    let run = id(1).simple().to_string();
    // 10 iterations of 4096 B in 1000 to 1006 ns; the first sample of an invocation is warm-up,
    // the median of the 19 others took 1002 ns.
    let expected = format!(
        "{run}|disk.read/latency|s|2|4|1.00150e-07|1.00100e-07|1.00200e-07\n\
         {run}|disk.read/queue||2|4|2.50000e+00|1.00000e+00|4.00000e+00\n\
         {run}|memory.copy:method=libc/bandwidth|B/s|2|19|4.08782e+10|4.07157e+10|4.09600e+10\n"
    );
    assert_eq!(shell(store.path(), sql), expected);
}

#[test]
fn samples_have_their_phase_and_value() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path());
    let sql = "SELECT n, phase, start_ns, elapsed_ns, iterations, cpu, value, outcome, role \
               FROM samples WHERE series = 'disk.read/queue' ORDER BY invocation, n LIMIT 4";
    assert_eq!(
        shell(store.path(), sql),
        "0|warm-up|5000|1000|10|1|90.0|done|workload\n\
         1|steady|6000|1001|10|1|4.0|done|workload\n\
         2|steady|7000|1002|10|1|1.0|done|workload\n\
         0|warm-up|5000|1000|10|1|80.0|done|workload\n"
    );
    let sql =
        "SELECT role, outcome, count(*) FROM samples WHERE metric = 'bandwidth' GROUP BY 1, 2";
    assert_eq!(shell(store.path(), sql), "load|cut off|4\nworkload|done|21\n");
}

#[test]
fn runs_are_listed_with_their_labels() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path());
    let run = id(1).simple().to_string();
    assert_eq!(
        shell(store.path(), "SELECT * FROM runs"),
        format!("{run}|2023-11-14T22:13:20Z|complete|first-look|host=a try=1|2|6|34|0.1.0|\n")
    );
}

#[test]
fn the_whole_file_is_sound_for_the_older_program() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path().join("plumb.db")).unwrap();
    let mut writer = store.writer().unwrap();
    for event in &eventful(id(1), id(2)) {
        writer.take(event).unwrap();
    }
    let checks = "PRAGMA integrity_check; PRAGMA foreign_key_check; SELECT count(*) FROM results;";
    assert_eq!(shell(store.path(), checks), "ok\n4\n");
    // While the run goes on, too: the writer is open.
    assert_eq!(shell(store.path(), "SELECT status FROM runs"), "complete\n");
    drop(writer);
}

/// The manual of the store.
fn manual() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/store.md");
    std::fs::read_to_string(path).unwrap()
}

#[test]
fn the_queries_of_the_manual_run() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path());
    let manual = manual();
    let queries: Vec<_> =
        manual.split("```sql\n").skip(1).map(|rest| rest.split("```").next()).collect();
    assert_eq!(queries.len(), 3);
    for query in queries.into_iter().flatten() {
        // The example's series is not in the store of this test.
        let query = query.replace("memory.copy/bandwidth", "disk.read/queue");
        assert!(!shell(store.path(), &query).is_empty(), "{query}");
    }
}

#[test]
fn the_manual_names_every_table_and_every_column_of_the_views() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path());
    let manual = manual();
    let sql = "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view') \
               UNION SELECT c.name FROM pragma_table_info('runs') AS c \
               UNION SELECT c.name FROM pragma_table_info('results') AS c \
               UNION SELECT c.name FROM pragma_table_info('samples') AS c \
               UNION SELECT c.name FROM pragma_table_info('counters') AS c";
    let names = shell(store.path(), sql);
    assert!(names.lines().count() > 50);
    for name in names.lines() {
        assert!(manual.contains(&format!("`{name}`")), "docs/store.md does not name `{name}`");
    }
}
