//! Merging: any order, any number of times, all or nothing, and the other file stays as it is.

use std::fs;
use std::path::{Path, PathBuf};

use crate::events::{Script, batch, eventful, fold, id};
use crate::ops::{op, play};
use plumb_model::{Id, Ready, Role, Stamped};
use plumb_store::{MergeReport, Store, StoreError};
use proptest::prelude::{ProptestConfig, any, prop, prop_assert_eq, proptest};
use rusqlite::Connection;

/// A folder for the stores of a test.
struct StoresFolder(tempfile::TempDir);

impl StoresFolder {
    fn new() -> Self {
        Self(crate::folder::in_memory())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// A store that was told these events, several runs one after the other.
    fn store(&self, name: &str, runs: &[&[Stamped]]) -> Store {
        let store = Store::open(self.path(name)).unwrap();
        for events in runs {
            let mut writer = store.writer().unwrap();
            for event in *events {
                writer.take(event).unwrap();
            }
        }
        store
    }
}

/// Everything in a store but what depends on its history: local integers are replaced by what they
/// stand for; imports and the salt of secrets are left out.
fn dump(path: &Path) -> Vec<String> {
    let db = Connection::open(path).unwrap();
    let tables = strings(
        &db,
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT IN ('import', 'secret_salt') \
         AND name NOT LIKE 'derived%' ORDER BY name",
    );
    let mut lines = Vec::new();
    for table in tables {
        let local = ["run", "series", "invocation"].contains(&table.as_str());
        let columns = strings(&db, &format!("SELECT name FROM pragma_table_info('{table}')"));
        let shown: Vec<_> = columns
            .iter()
            .filter(|column| !(local && *column == "id"))
            .map(|column| match column.as_str() {
                "run" | "invocation" => {
                    format!("(SELECT hex(uuid) FROM {column} AS x WHERE x.id = t.{column})")
                }
                "series" => "(SELECT name || clock || unit || source || hex(machine) \
                             FROM series AS x WHERE x.id = t.series)"
                    .to_owned(),
                "sample" => "(SELECT hex(uuid) || ' ' || t.n FROM invocation AS x \
                             WHERE x.id = t.invocation)"
                    .to_owned(),
                column => format!("quote(t.{column})"),
            })
            .collect();
        let sql = format!("SELECT '{table} ' || {} FROM {table} AS t", shown.join(" || ' ' || "));
        lines.extend(strings(&db, &sql));
    }
    lines.sort();
    lines
}

fn strings(db: &Connection, sql: &str) -> Vec<String> {
    let mut select = db.prepare(sql).unwrap();
    let rows = select.query_map([], |row| row.get(0)).unwrap();
    rows.map(Result::unwrap).collect()
}

/// Merges the stores in this order into a new one.
fn merged(room: &StoresFolder, stores: &[&Store]) -> Store {
    let name = format!("merged-{}", fs::read_dir(room.0.path()).unwrap().count());
    let store = Store::open(room.path(&name)).unwrap();
    for other in stores {
        store.merge(other.path()).unwrap();
    }
    store
}

const ORDERS: [[usize; 3]; 6] = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];

proptest! {
    #![proptest_config(ProptestConfig { cases: 8, ..ProptestConfig::default() })]

    /// Three stores hold three runs, each as far as it had come when the store was copied.
    #[test]
    fn order_does_not_matter_and_a_second_time_changes_nothing(
        ops in prop::collection::vec(prop::collection::vec(op(), 0..12), 3),
        cuts in any::<[[u8; 3]; 3]>(),
    ) {
        let room = StoresFolder::new();
        let runs: Vec<_> = (0..3).map(|n| play(id(n + 1), &ops[n as usize], true)).collect();
        let cut = |store: usize, run: usize| usize::from(cuts[store][run]) % (runs[run].len() + 1);
        let stores: Vec<_> = (0..3)
            .map(|s| {
                let held: Vec<_> = (0..3).map(|r| &runs[r][..cut(s, r)]).collect();
                room.store(&format!("store-{s}"), &held)
            })
            .collect();
        let all: Vec<_> = ORDERS
            .iter()
            .map(|order| merged(&room, &order.map(|n| &stores[n])))
            .collect();
        let expected = dump(all[0].path());
        for store in &all {
            prop_assert_eq!(&dump(store.path()), &expected);
        }
        for (r, run) in runs.iter().enumerate() {
            let longest = (0..3).map(|s| cut(s, r)).max().unwrap();
            if longest > 0 {
                prop_assert_eq!(all[0].record(id(r as u64 + 1)).unwrap(), fold(&run[..longest]));
            }
        }
        let before = fs::read(all[0].path()).unwrap();
        prop_assert_eq!(all[0].merge(stores[1].path()).unwrap(), MergeReport::default());
        prop_assert_eq!(all[0].merge(all[3].path()).unwrap(), MergeReport::default());
        prop_assert_eq!(fs::read(all[0].path()).unwrap(), before);
        // A store that holds some of it already, and a merge of a merge.
        stores[2].merge(merged(&room, &[&stores[0], &stores[1]]).path()).unwrap();
        prop_assert_eq!(&dump(stores[2].path()), &expected);
    }
}

#[test]
fn a_run_that_was_resumed_twice_keeps_both_ways() {
    let room = StoresFolder::new();
    let begun = || Script::new(id(1), 5, &[]).copy(id(10), 20);
    let a = begun().segment(1, 9, "epyc").copy(id(11), 30).end(false);
    let b = begun().segment(1, 8, "xeon").copy(id(12), 40).end(true);
    let a = room.store("a", &[&a.events]);
    let b = room.store("b", &[&b.events]);
    let ab = merged(&room, &[&a, &b]);
    let ba = merged(&room, &[&b, &a]);
    assert_eq!(dump(ab.path()), dump(ba.path()));
    let record = ab.record(id(1)).unwrap();
    assert_eq!(record, ba.record(id(1)).unwrap());
    let found: Vec<_> = record.invocations.iter().map(|i| i.samples.len()).collect();
    assert_eq!(found, [20, 30, 40]);
    assert_eq!(record.segments.len(), 3);
}

#[test]
fn a_run_told_as_events_is_imported_once_and_whole_or_not_at_all() {
    let room = StoresFolder::new();
    let here = room.store("here", &[&eventful(id(1), id(10))]);
    let told = eventful(id(2), id(20));
    let report = here.import("/old/result.json", &told).unwrap();
    assert_eq!(report.runs, 1);
    assert_eq!(here.record(id(2)).unwrap(), fold(&told));
    assert_eq!(here.import("/elsewhere.json", &told).unwrap(), MergeReport::default());
    let db = Connection::open(here.path()).unwrap();
    assert_eq!(strings(&db, "SELECT source FROM import"), ["/old/result.json"]);
    // A run that begins and then contradicts itself leaves nothing.
    let before = dump(here.path());
    let mut broken = eventful(id(3), id(30));
    let batches = |stamped: &Stamped| matches!(stamped.event, plumb_model::Event::Batch { .. });
    let last = broken.iter().rposition(batches).unwrap();
    broken.insert(last, broken[last].clone());
    let plumb_model::Event::Batch { samples, .. } = &mut broken[last].event else { panic!() };
    samples.cpu.pop();
    assert!(matches!(here.import("/broken", &broken), Err(StoreError::Invalid(_))));
    assert_eq!(dump(here.path()), before);
    let left: Vec<_> = contents(room.0.path()).into_iter().map(|(name, _)| name).collect();
    assert!(left.iter().all(|name| !name.contains("import")), "{left:?}");
}

#[test]
fn a_store_whose_log_is_beside_it_is_read_and_nothing_there_changes() {
    let room = StoresFolder::new();
    fs::create_dir(room.path("far")).unwrap();
    let there = room.store("far/plumb.db", &[&Script::new(id(1), 5, &[]).copy(id(10), 20).events]);
    // Never closed, as after kill -9: the rows are in the log only.
    let mut writer = there.writer().unwrap();
    for event in &eventful(id(2), id(20)) {
        writer.take(event).unwrap();
    }
    assert!(fs::metadata(room.path("far/plumb.db-wal")).unwrap().len() > 0);
    let before = contents(&room.path("far"));
    let here = room.store("here.db", &[]);
    assert_eq!(here.merge(there.path()).unwrap().runs, 2);
    assert_eq!(contents(&room.path("far")), before);
    assert_eq!(here.runs().unwrap().len(), 2);
    let left: Vec<_> = contents(room.0.path()).into_iter().map(|(name, _)| name).collect();
    assert!(left.iter().all(|name| !name.contains("import")), "{left:?}");
}

fn contents(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut files: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(Result::unwrap)
        .map(|entry| {
            (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap_or_default())
        })
        .collect();
    files.sort();
    files
}

#[test]
fn a_store_that_is_being_written_is_read_as_it_was_at_one_moment() {
    let room = StoresFolder::new();
    let there = room.store("there", &[]);
    let here = room.store("here", &[]);
    let mut script = Script::new(id(1), 5, &[]);
    script.start(id(10), 0, Role::Workload, Ready::default());
    for n in 0..150 {
        script.batch(id(10), batch(n * 1_000_000, 700));
    }
    let mut writer = there.writer().unwrap();
    std::thread::scope(|scope| {
        let written = scope.spawn(|| {
            for event in &script.events {
                writer.take(event).unwrap();
                std::thread::sleep(std::time::Duration::from_millis(2));
            }
        });
        let mut seen = 0;
        while !written.is_finished() {
            match here.merge(there.path()) {
                Ok(_) | Err(StoreError::Changing { .. }) => {}
                Err(error) => panic!("{error}"),
            }
            let Ok(record) = here.record(id(1)) else { continue };
            let samples: usize = record.invocations.iter().map(|i| i.samples.len()).sum();
            assert!(samples >= seen && samples.is_multiple_of(700));
            seen = samples;
        }
        assert!(seen > 0, "no import succeeded while the run went on");
    });
    here.merge(there.path()).unwrap();
    assert_eq!(here.record(id(1)).unwrap(), fold(&script.events));
}

#[test]
fn a_store_in_a_folder_that_cannot_be_written_is_read() {
    use std::os::unix::fs::PermissionsExt as _;
    let room = StoresFolder::new();
    fs::create_dir(room.path("far")).unwrap();
    let path = room.store("far/plumb.db", &[&eventful(id(1), id(2))]).path().to_owned();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).unwrap();
    fs::set_permissions(room.path("far"), fs::Permissions::from_mode(0o555)).unwrap();
    let here = room.store("here.db", &[]);
    assert_eq!(here.merge(&path).unwrap().runs, 1);
    assert_eq!(contents(&room.path("far")).len(), 1);
    let record = Store::open_read_only(&path).unwrap().record(id(1)).unwrap();
    assert_eq!(record, fold(&eventful(id(1), id(2))));
    fs::set_permissions(room.path("far"), fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn a_store_that_contradicts_is_refused_and_leaves_no_trace() {
    let room = StoresFolder::new();
    let here = room.store("here", &[&Script::new(id(1), 5, &[]).copy(id(10), 20).events]);
    let there = room.store(
        "there",
        &[&Script::new(id(1), 5, &[]).copy(id(10), 20).events, &eventful(id(2), id(20))],
    );
    let db = Connection::open(there.path()).unwrap();
    db.execute("UPDATE sample SET elapsed_ns = 1 WHERE n = 3", []).unwrap();
    let before = dump(here.path());
    let error = here.merge(there.path()).unwrap_err();
    assert!(matches!(error, StoreError::Contradiction { .. }), "{error}");
    assert!(
        error.to_string().contains("the same row of `sample` has different contents"),
        "{error}"
    );
    assert_eq!(dump(here.path()), before);
}

#[test]
fn a_store_that_was_spoiled_by_hand_is_refused() {
    let room = StoresFolder::new();
    let here = room.store("here", &[]);
    for (n, spoil) in [
        "UPDATE plan SET json = 'no json'",
        "UPDATE plan SET json = '{}'",
        "UPDATE invocation SET ready = '[1]'",
        "DELETE FROM description",
        "UPDATE invocation SET role = 'spectator'",
    ]
    .into_iter()
    .enumerate()
    {
        let there = room.store(&format!("there-{n}"), &[&eventful(id(1), id(2))]);
        Connection::open(there.path()).unwrap().execute(spoil, []).unwrap();
        let error = here.merge(there.path()).unwrap_err().to_string();
        assert!(error.contains(there.path().to_str().unwrap()), "{error}");
        assert_eq!(here.runs().unwrap(), [] as [Id; 0], "{spoil}");
        assert!(here.summaries().unwrap().is_empty());
    }
}

#[test]
fn what_is_no_store_is_refused_by_name() {
    let room = StoresFolder::new();
    let here = room.store("here", &[]);
    fs::write(room.path("text"), "a,b\n1,2\n".repeat(1000)).unwrap();
    fs::write(room.path("empty"), "").unwrap();
    for (name, why) in [
        ("text", "not an SQLite file"),
        ("empty", "empty"),
        ("", "folder"),
        ("gone", "no store at"),
    ] {
        let error = here.merge(&room.path(name)).unwrap_err().to_string();
        assert!(
            error.contains(why) && error.contains(room.path(name).to_str().unwrap()),
            "{error}"
        );
    }
}

#[test]
fn every_table_is_merged_but_imports_and_salt() {
    // A store in which every table has a row, so that a table that merging forgets shows.
    let room = StoresFolder::new();
    let there = room.store("there", &[&eventful(id(1), id(2))]);
    let db = Connection::open(there.path()).unwrap();
    db.execute_batch(include_str!("../../src/sqlite/fleet.sql")).unwrap();
    db.execute_batch(include_str!("../../src/sqlite/slurm.sql")).unwrap();
    db.execute_batch(
        "INSERT INTO preparation VALUES (1, 0, 90, 0, 'governor', 'powersave', 'performance', 9);
         INSERT INTO exclusion VALUES (1, 'steal');
         INSERT INTO baseline VALUES (x'01930000000070008000000000000001', 1, 'good',
           x'01930000000070008000000000000002', 'add');
         INSERT INTO kept_file VALUES (x'00112233445566778899aabbccddeeff', x'7f454c46');
         INSERT INTO kept VALUES (x'01930000000070008000000000000002', './work',
           x'00112233445566778899aabbccddeeff', 1, NULL);
         INSERT INTO fleet VALUES (x'01930000000070008000000000000003', 1, '[]', 7, 12, 'boot');
         INSERT INTO fleet_machine VALUES (x'01930000000070008000000000000003', 0, 'web1',
           x'01930000000070008000000000000002');
         INSERT INTO fleet_outcome VALUES (x'01930000000070008000000000000003', 0, 2, 'complete', NULL, '[]');
         INSERT INTO slurm_fleet VALUES (x'01930000000070008000000000000003', '/srv/fleet', '[]', 0, 100);
         INSERT INTO slurm_job VALUES (x'01930000000070008000000000000003', 0, 1, 12, 0, 1);
         INSERT INTO slurm_fact VALUES (x'01930000000070008000000000000003', 0, 1, 2, 'failed', NULL, 'n1', 4, 0);
         INSERT INTO slurm_run VALUES (x'01930000000070008000000000000003', 0, 1, 3, 'n1',
           x'01930000000070008000000000000002');
         INSERT INTO audit SELECT machine, environment, 1, '{}', 'web1' FROM target LIMIT 1;",
    )
    .unwrap();
    for table in strings(&db, "SELECT name FROM sqlite_schema WHERE type = 'table'") {
        let rows = strings(&db, &format!("SELECT CAST(count(*) AS TEXT) FROM {table}"));
        let is_merged =
            table != "import" && table != "secret_salt" && !table.starts_with("derived_");
        assert!(!is_merged || rows != ["0"], "no row in {table} for this test");
    }
    let here = room.store("here", &[]);
    here.merge(there.path()).unwrap();
    assert_eq!(dump(here.path()), dump(there.path()));
}
