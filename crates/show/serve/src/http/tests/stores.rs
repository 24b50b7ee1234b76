//! Stores that are not as they should be, and stores that change while they are served.

use std::fs;

use plumb_store::Store;
use rusqlite::Connection;

use super::{HttpLimits, TestServer, eventful, hostile, id, server, write};

const PATHS: [&str; 5] = ["/", "/history.html", "/api/runs", "/api/runs/last", "/data/search.js"];

/// All answers are errors that say what is wrong; another store in its place is served at once.
fn fails_and_mends(served: &TestServer, words: &str) {
    for path in PATHS {
        let reply = served.get(path);
        assert_eq!(reply.status(), 500, "{path}: {}", reply.body);
        assert!(reply.body.contains(words), "{path}: no `{words}` in {}", reply.body);
    }
    assert_eq!(served.get("/plumb.css").status(), 200);
    let other = served.folder.path().join("other.db");
    write(&other, &eventful(id(7), id(8)));
    if served.store().is_dir() {
        fs::remove_dir(served.store()).unwrap();
    }
    fs::rename(other, served.store()).unwrap();
    let runs = served.get("/api/runs");
    assert!(runs.status() == 200 && runs.body.contains(&id(7).to_string()), "{runs:?}");
    assert_eq!(served.get("/").status(), 200);
}

/// Puts something else where the store was, without its log.
fn replace(served: &TestServer, with: impl FnOnce(&std::path::Path)) {
    let store = served.store();
    for end in ["", "-wal", "-shm"] {
        let _ = fs::remove_file(format!("{}{end}", store.display()));
    }
    with(&store);
}

#[test]
fn a_folder_a_text_nothing_or_a_newer_store_in_its_place() {
    let served = TestServer::new();
    assert_eq!(served.get("/").status(), 200);
    replace(&served, |store| fs::create_dir(store).unwrap());
    fails_and_mends(&served, "it is a folder");
    replace(&served, |store| fs::write(store, "no database, but long enough to be one").unwrap());
    fails_and_mends(&served, "not an SQLite file");
    replace(&served, |_| {});
    fails_and_mends(&served, "no store");
    replace(&served, |store| {
        drop(Store::open(store).unwrap());
        Connection::open(store).unwrap().pragma_update(None, "user_version", 99).unwrap();
    });
    fails_and_mends(&served, "99");
}

#[test]
fn a_damaged_store_is_an_error_page_and_never_the_end() {
    let served = TestServer::new();
    let store = served.store();
    Connection::open(&store).unwrap().pragma_update(None, "wal_checkpoint", "TRUNCATE").ok();
    let bytes = fs::read(&store).unwrap();
    for step in 1..12 {
        let mut damaged = bytes.clone();
        let from = bytes.len() * step / 12;
        damaged[from..(from + 3000).min(bytes.len())].fill(0x5a);
        replace(&served, |store| fs::write(store, &damaged).unwrap());
        for path in PATHS.into_iter().chain(["/live-01932c5f-0001-7000-8000-000000000001.html"]) {
            let status = served.get(path).status();
            assert!([200, 404, 500].contains(&status), "{path}: {status}");
        }
    }
    replace(&served, |store| fs::write(store, &bytes[..bytes.len() / 2]).unwrap());
    assert!(PATHS.iter().any(|path| served.get(path).status() == 500));
    assert_eq!(served.get("/plumb.css").status(), 200);
}

#[test]
fn impossible_numbers_are_shown_or_refused() {
    let served = TestServer::new();
    let db = Connection::open(served.store()).unwrap();
    db.execute_batch(
        "UPDATE decision SET estimate = 9e999, low = -9e999, high = 9e999, wanted = -1;
         UPDATE sample SET elapsed_ns = 9223372036854775807;
         UPDATE segment SET started_unix_ns = -9223372036854775808;
         UPDATE invocation SET at_ns = -5;
         UPDATE run_end SET ended_unix_ns = 9223372036854775807;
         UPDATE counter_amount SET amount = -1, duration_ns = 0;
         INSERT INTO decision VALUES (1, 0, 99, -1, 4000000, 9, 9, 1e308, -1e308, 1e308, 9, 1e-300, 'fixed', -1, NULL, NULL, NULL);",
    )
    .unwrap();
    for run in [id(1), id(3)] {
        for path in
            ["/", &format!("/run-{run}.html"), &format!("/live-{run}.html"), "/history.html"]
        {
            assert_eq!(served.get(path).status(), 200, "{path}");
        }
    }
    db.execute_batch("UPDATE decision SET stop = 'unheard-of'").unwrap();
    let newer = served.get(&format!("/live-{}.html", id(1)));
    assert_eq!(newer.status(), 500);
    assert!(newer.body.contains("unheard-of"), "{}", newer.body);
    db.execute_batch(
        "UPDATE decision SET stop = NULL, invocations = -1; UPDATE invocation SET point = -7;",
    )
    .unwrap();
    let broken = served.get(&format!("/live-{}.html", id(1)));
    assert_eq!(broken.status(), 500);
    assert!(broken.body.contains("is not a count"), "{}", broken.body);
    assert_eq!(served.get("/plumb.css").status(), 200);
}

#[test]
fn a_store_that_somebody_writes_is_read_meanwhile() {
    let served = TestServer::new();
    let db = Connection::open(served.store()).unwrap();
    db.execute_batch("BEGIN IMMEDIATE; INSERT INTO log VALUES (1, 0, 999, 0, 'not yet');").unwrap();
    for path in PATHS {
        assert_eq!(served.get(path).status(), 200, "{path}");
    }
    db.execute_batch("COMMIT").unwrap();
    assert_eq!(served.get("/").status(), 200);
}

#[test]
fn nothing_is_ever_written() {
    let served = TestServer::new();
    let before = fs::read(served.store()).unwrap();
    for path in PATHS {
        served.get(path);
    }
    served.get(&format!("/events?run={}", id(1)));
    assert_eq!(before, fs::read(served.store()).unwrap());
}

#[test]
fn an_empty_store_has_pages_too() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("plumb.db");
    drop(Store::open(&store).unwrap());
    let served = TestServer { server: server(&store, HttpLimits::default(), None), folder };
    for (path, status) in [
        ("/", 200),
        ("/api/runs", 200),
        ("/history.html", 200),
        ("/api/runs/last", 404),
        ("/run-x.html", 404),
    ] {
        assert_eq!(served.get(path).status(), status, "{path}");
    }
    write(&store, &hostile());
    assert_eq!(served.get("/api/runs/last").status(), 200);
}
