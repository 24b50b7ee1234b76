//! Several stores become one.

use plumb_model::{Event, Stamped};
use plumb_store::{MergeReport, StoreError};

use super::StoreRoom;
use super::facts::kept_file;
use super::told::write;
use crate::events::{Script, eventful, fold, id};

pub fn a_merge_brings_what_is_missing_once(room: &dyn StoreRoom) {
    let here = room.store("here");
    let there = room.store("there");
    let longer = Script::new(id(1), 5, &[]).copy(id(10), 20).copy(id(11), 7).end(false).events;
    let other = eventful(id(2), id(20));
    write(&*here, &Script::new(id(1), 5, &[]).copy(id(10), 20).events);
    write(&*there, &longer);
    write(&*there, &other);
    let report = here.merge(there.path()).unwrap();
    assert_eq!(report, MergeReport { runs: 1, invocations: 2, samples: 10 });
    assert_eq!(here.record(id(1)).unwrap(), fold(&longer));
    assert_eq!(here.record(id(2)).unwrap(), fold(&other));
    assert_eq!(here.merge(there.path()).unwrap(), MergeReport::default());
}

pub fn a_run_that_was_resumed_twice_keeps_both_ways(room: &dyn StoreRoom) {
    let begun = || Script::new(id(1), 5, &[]).copy(id(10), 20);
    let a = room.store("a");
    let b = room.store("b");
    write(&*a, &begun().segment(1, 9, "epyc").copy(id(11), 30).end(false).events);
    write(&*b, &begun().segment(1, 8, "xeon").copy(id(12), 40).end(true).events);
    let merged = ["ab", "ba"].map(|name| room.store(name));
    for (store, others) in merged.iter().zip([[&a, &b], [&b, &a]]) {
        for other in others {
            store.merge(other.path()).unwrap();
        }
    }
    let record = merged[0].record(id(1)).unwrap();
    assert_eq!(record, merged[1].record(id(1)).unwrap());
    let found: Vec<_> =
        record.invocations.iter().map(|invocation| invocation.samples.len()).collect();
    assert_eq!((found, record.segments.len()), (vec![20, 30, 40], 3));
}

pub fn a_run_told_as_events_is_imported_once_and_whole_or_not_at_all(room: &dyn StoreRoom) {
    let here = room.store("here");
    write(&*here, &eventful(id(1), id(10)));
    let told = eventful(id(2), id(20));
    assert_eq!(here.import("/old/result.json", &told).unwrap().runs, 1);
    assert_eq!(here.record(id(2)).unwrap(), fold(&told));
    assert_eq!(here.import("/elsewhere.json", &told).unwrap(), MergeReport::default());
    // A run that begins and then contradicts itself leaves nothing.
    let mut broken = eventful(id(3), id(30));
    let is_batch = |stamped: &Stamped| matches!(stamped.event, Event::Batch { .. });
    let last = broken.iter().rposition(is_batch).unwrap();
    broken.insert(last, broken[last].clone());
    let Event::Batch { samples, .. } = &mut broken[last].event else { panic!() };
    samples.cpu.pop();
    assert!(matches!(here.import("/broken", &broken), Err(StoreError::Invalid(_))));
    assert_eq!(here.runs().unwrap(), [id(1), id(2)]);
}

pub fn kept_files_come_with_their_runs(room: &dyn StoreRoom) {
    let here = room.store("here");
    let there = room.store("there");
    let file = kept_file("./work", b"one");
    here.keep_files(&[id(1)], std::slice::from_ref(&file)).unwrap();
    there.keep_files(&[id(1), id(2)], std::slice::from_ref(&file)).unwrap();
    for _ in 0..2 {
        here.merge(there.path()).unwrap();
        assert_eq!(here.kept_files(id(2)).unwrap(), std::slice::from_ref(&file));
    }
}
