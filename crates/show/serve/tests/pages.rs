//! The pages of a store of many runs, as a folder and by name.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::OnceLock;

use plumb_analysis::testing::{events, run_of_years};
use plumb_model::{FleetMachineRecord, FleetRecord, Host, Id, Owner};
use plumb_query::{Selection, SeriesByRun};
use plumb_serve::StorePages;
use plumb_serve::folder::{self, Chosen, WriteControl, WrittenPages};
use plumb_site::{Rendered, names};
use plumb_store::Store;
use tempfile::TempDir;

/// The fleet in the store.
const FLEET: Id = Id::from_u128(1 << 64);
/// Runs: both suites and commands, on both machines, before and after every change.
const RUNS: u32 = 30;

/// A store of these runs. It is written once and copied, because most tests need one.
fn store(folder: &Path) -> Store {
    static WRITTEN: OnceLock<Vec<u8>> = OnceLock::new();
    let file = folder.join("plumb.db");
    let bytes = WRITTEN.get_or_init(|| {
        let folder = TempDir::new().unwrap();
        // Closed before it is read: SQLite then moves what is in the log into the file.
        drop(store_of(folder.path(), RUNS));
        fs::read(folder.path().join("plumb.db")).unwrap()
    });
    fs::write(&file, bytes).unwrap();
    Store::open(file).unwrap()
}

/// A store of so many runs, spread over the same years.
fn store_of(folder: &Path, runs: u32) -> Store {
    let store = Store::open(folder.join("plumb.db")).unwrap();
    let mut writer = store.writer().unwrap();
    for number in 0..runs {
        for event in events(&run_of_years(number, runs), number % 7 == 0) {
            writer.write(&event).unwrap();
        }
    }
    drop(writer);
    // The newest two are those of a fleet.
    let newest = store.runs().unwrap();
    let machines = newest.iter().rev().take(2).zip(["web1", "web2"]);
    let fleet = FleetRecord {
        fleet: FLEET,
        started_unix_ns: 0,
        command: vec!["plumb".to_owned(), "run".to_owned()],
        is_running: false,
        machines: machines
            .map(|(run, name)| FleetMachineRecord { name: name.to_owned(), run: *run, end: None })
            .collect(),
    };
    let owner = Owner { pid: 1, start_ticks: 1, boot_id: "b".to_owned() };
    store.begin_fleet(&fleet, &owner).unwrap();
    store
}

/// Allowed bytes per run: a folder of 1,000 runs may take 200 MB.
const MOST_BYTES_A_RUN: u64 = 200_000;

#[test]
fn a_run_takes_little_room() {
    let folder = TempDir::new().unwrap();
    let store = Store::open(folder.path().join("plumb.db")).unwrap();
    let mut writer = store.writer().unwrap();
    let runs = 20;
    // Every run with what monitors read.
    for event in (0..runs).flat_map(|number| events(&run_of_years(number, runs), true)) {
        writer.write(&event).unwrap();
    }
    drop(writer);
    let all = written(&store, &folder.path().join("pages"));
    let script = plumb_site::assets::SCRIPT;
    let style = plumb_site::assets::STYLE;
    // The page of the method, with the glossary, is the same for every run, too.
    let method = fs::metadata(folder.path().join("pages/method.html")).unwrap().len();
    let shared = (script.len() + style.len()) as u64 + method;
    let each = (all.bytes - shared) / u64::from(runs);
    assert!(each < MOST_BYTES_A_RUN, "{each} bytes a run");
    assert!(each > MOST_BYTES_A_RUN / 10, "{each} bytes a run: where are the samples?");
}

fn written(store: &Store, folder: &Path) -> WrittenPages {
    let control = WriteControl { progress: &|_, _| (), stop: &|| false };
    folder::write(store.path(), Chosen { runs: None, by: None }, folder, false, control).unwrap()
}

fn links(page: &str) -> BTreeSet<String> {
    let hrefs = page.split(" href=\"").skip(1).map(|rest| rest.split('"').next().unwrap());
    hrefs
        .map(|to| to.split('#').next().unwrap().to_owned())
        .filter(|to| !to.is_empty() && !to.starts_with("data:"))
        .collect()
}

#[test]
fn a_folder_holds_the_pages_that_are_made_by_name() {
    let place = TempDir::new().unwrap();
    let store = store(place.path());
    let folder = place.path().join("report");
    let written = written(&store, &folder);
    assert_eq!(written.runs, RUNS as usize);
    let known = SeriesByRun::default();
    let reader = StorePages::of(&store, &known).unwrap();
    let mut count = 0;
    for entry in fs::read_dir(&folder).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let Some(name) = name.strip_suffix(".html") else { continue };
        let found = fs::read_to_string(folder.join(format!("{name}.html"))).unwrap();
        for to in links(&found) {
            assert!(folder.join(&to).exists(), "{name}: {to}");
        }
        count += 1;
        // Pages of runs are most of them and alike, and each reads the record of its run again.
        if name.starts_with("run-") && count % 4 != 0 {
            continue;
        }
        let Rendered { html, charts } = reader.page(name).unwrap().unwrap();
        // A folder has fewer comparisons to link to.
        if !name.starts_with("run-") && name != names::INDEX {
            assert!(html == found, "{name}");
        }
        let data = fs::read_to_string(folder.join(format!("data/{name}.js")));
        assert!(data.is_ok() == found.contains("<figure"), "{name}");
        assert!(data.is_err() || data.unwrap() == charts, "{name}");
    }
    assert_eq!(count, written.pages);
    let search = fs::read_to_string(folder.join("data/search.js")).unwrap();
    assert_eq!(search, reader.search().unwrap().render());
}

#[test]
fn what_is_no_page_is_none() {
    let place = TempDir::new().unwrap();
    let store = store(place.path());
    let known = SeriesByRun::default();
    let reader = StorePages::of(&store, &known).unwrap();
    let [first, other] = [store.runs().unwrap()[0], store.runs().unwrap()[1]];
    assert!(reader.page(&names::compare_page(&[first, other])).unwrap().is_some());
    assert!(reader.page(&names::fleet_page(FLEET)).unwrap().is_some());
    let run = names::run_page(first);
    let none = [
        String::new(),
        "run".into(),
        "run-".into(),
        format!("{run}-"),
        format!("{run}-nosuch.workload"),
        run.to_uppercase(),
        format!("{run}/../index"),
        names::run_page(plumb_model::Id::from_u128(7)),
        names::compare_page(&[first]),
        names::compare_page(&[first; 9]),
        names::groups_page("nosuch"),
        names::fleet_page(first),
        names::history_page("nosuch/series", "fp1:x", &Host::UNKNOWN),
        names::machine_page("fp1:x", &Host::UNKNOWN),
        "../plumb.db".into(),
        "history-\u{202e}".into(),
    ];
    for name in none {
        assert!(reader.page(&name).unwrap().is_none(), "{name}");
    }
}

/// Every page is made from kept rows, and again after these were dropped: few runs, because that reads every record.
#[test]
fn pages_of_series_are_the_same_whatever_is_kept() {
    let place = TempDir::new().unwrap();
    let store = store_of(place.path(), 6);
    // From the records.
    let first = StorePages::of(&store, &SeriesByRun::default()).unwrap().search().unwrap().render();
    // From what the store kept of them.
    let known = SeriesByRun::default();
    let reader = StorePages::of(&store, &known).unwrap();
    assert_eq!(reader.search().unwrap().render(), first);
    let db = rusqlite::Connection::open(store.path()).unwrap();
    let mut names = BTreeSet::new();
    for series in plumb_query::read(&store, Selection::All).unwrap().iter().step_by(11) {
        names.insert(names::history_page(&series.name, series.run.machine(), series.run.host()));
    }
    assert!(names.len() > 10, "{}", names.len());
    for name in names {
        let kept = reader.page(&name).unwrap().unwrap();
        assert!(kept.html.contains("Runs, newest first") && kept.charts.len() > 500, "{name}");
        db.execute_batch("DELETE FROM derived_run").unwrap();
        assert!(reader.page(&name).unwrap().unwrap() == kept, "{name}");
    }
}
