//! Dated facts: baselines and audits.

use plumb_model::{Event, Host, Id, Target};
use plumb_store::{AuditFact, Backend, KeptFile};

use super::told::write;
use crate::events::{Script, id, target};

/// Sets a baseline at this time, its facts numbered from there.
fn set(store: &dyn Backend, name: &str, runs: &[Id], at_unix_ns: i64) {
    let mut next = at_unix_ns.unsigned_abs() * 100;
    let mut fresh = || {
        next += 1;
        id(next)
    };
    store.set_baseline(name, runs, at_unix_ns, &mut fresh).unwrap();
}

pub fn a_baseline_is_what_was_said_last(store: &dyn Backend) {
    for (n, started) in [(1, 100), (2, 200), (3, 300)] {
        write(store, &Script::new(id(n), started, &[]).end(false).events);
    }
    assert_eq!(store.baselines().unwrap(), []);
    set(store, "main", &[id(1), id(2)], 1);
    set(store, "main", &[id(2), id(3)], 2);
    set(store, "other", &[id(1)], 3);
    let names: Vec<_> =
        store.baselines().unwrap().into_iter().map(|baseline| baseline.name).collect();
    assert_eq!(names, ["main", "other"]);
    let main = store.baseline("main").unwrap().unwrap();
    assert_eq!((main.runs, main.changed_unix_ns), (vec![id(2), id(3)], 2));
    assert_eq!(store.resolve("main").unwrap(), id(3));
    set(store, "other", &[], 4);
    assert!(store.baseline("other").unwrap().is_none());
}

pub fn the_first_baseline_of_a_name_is_known_until_it_is_removed(store: &dyn Backend) {
    for (n, started) in [(1, 100), (2, 200), (3, 300)] {
        write(store, &Script::new(id(n), started, &[]).end(false).events);
    }
    let first = || store.first_baseline("main").unwrap().map(|first| first.runs);
    assert_eq!(first(), None);
    set(store, "main", &[id(1), id(2)], 1);
    set(store, "main", &[id(2), id(3)], 2);
    set(store, "other", &[id(3)], 3);
    assert_eq!(first(), Some(vec![id(1), id(2)]));
    assert_eq!(store.first_baseline("main").unwrap().unwrap().changed_unix_ns, 1);
    set(store, "main", &[], 4);
    assert_eq!(first(), None);
    set(store, "main", &[id(3)], 5);
    assert_eq!(first(), Some(vec![id(3)]));
}

/// An executable file that is kept under this word.
pub fn kept_file(word: &str, content: &[u8]) -> KeptFile {
    let content = content.to_vec();
    KeptFile { word: word.to_owned(), content, is_executable: true, protocol: None }
}

pub fn files_are_kept_of_runs_and_only_of_those_that_are_named(store: &dyn Backend) {
    let data = KeptFile { is_executable: false, ..kept_file("data", b"\0\xff") };
    let own = KeptFile { protocol: Some(1), ..kept_file("plumb", b"elf") };
    assert_eq!(store.kept_files(id(1)).unwrap(), []);
    store.keep_files(&[id(1), id(2)], &[data.clone(), own.clone()]).unwrap();
    assert_eq!(store.kept_files(id(1)).unwrap(), [data.clone(), own.clone()]);
    assert_eq!(store.kept_files(id(3)).unwrap(), []);
    // A run did not execute anything else later.
    store.keep_files(&[id(1)], &[kept_file("plumb", b"other")]).unwrap();
    assert_eq!(store.kept_files(id(1)).unwrap(), [data.clone(), own.clone()]);
    store.drop_files_except(&[id(2), id(3)]).unwrap();
    assert_eq!(store.kept_files(id(1)).unwrap(), []);
    assert_eq!(store.kept_files(id(2)).unwrap(), [data, own]);
    store.drop_files_except(&[]).unwrap();
    assert_eq!(store.kept_files(id(2)).unwrap(), []);
}

pub fn audits_are_of_a_machine(store: &dyn Backend) {
    let epyc = target("epyc");
    let xeon = target("xeon");
    store.add_audit(&epyc, 2, r#"{"n":2}"#).unwrap();
    store.add_audit(&epyc, 1, r#"{"n":1}"#).unwrap();
    store.add_audit(&xeon, 3, r#"{"n":3}"#).unwrap();
    let fact = |at_unix_ns: i64| AuditFact { at_unix_ns, json: format!(r#"{{"n":{at_unix_ns}}}"#) };
    let of = |target: &Target| store.audits(&target.machine.fingerprint, &target.host).unwrap();
    assert_eq!(of(&epyc), [fact(1), fact(2)]);
    assert_eq!(of(&xeon), [fact(3)]);
    assert_eq!(store.audits("fp1:unknown", &Host::default()).unwrap(), []);
    let on = |name: &str| Target { host: name.parse().unwrap(), ..target("epyc") };
    store.add_audit(&on("web1"), 4, r#"{"n":4}"#).unwrap();
    assert_eq!(
        of(&on("web1")),
        [fact(1), fact(2), fact(4)],
        "those of nobody knows which host too"
    );
    assert_eq!(of(&on("web2")), [fact(1), fact(2)]);
    assert_eq!(of(&epyc), [fact(1), fact(2), fact(4)]);
}

pub fn targets_are_read_without_samples(store: &dyn Backend) {
    write(store, &Script::new(id(1), 100, &[]).copy(id(2), 20).end(false).events);
    assert_eq!(store.targets(id(1)).unwrap(), store.record(id(1)).unwrap().targets);
    assert!(store.targets(id(9)).is_err());
}

pub fn hosts_are_kept(store: &dyn Backend) {
    let start = Script::new(id(1), 100, &[]).copy(id(2), 20).end(false).events;
    let on = |host: &str| {
        let mut events = start.clone();
        for event in &mut events {
            if let Event::TargetReady { description, .. } = &mut event.event {
                description.host = host.parse().unwrap();
            }
        }
        events
    };
    write(store, &on("web1"));
    assert_eq!(store.targets(id(1)).unwrap()[0].host.known(), Some("web1"));
    assert_eq!(store.summaries().unwrap()[0].host.known(), Some("web1"));
}
