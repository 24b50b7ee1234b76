//! Who follows a run hears of everything once, whenever they look.

use crate::events::{Script, eventful, id, work};
use plumb_model::{Event, Role, RunStatus, RunUpdate, Stamped};
use plumb_store::{Backend, Follow};

/// Looks after every event.
fn watched(store: &dyn Backend, events: &[Stamped]) -> Vec<RunUpdate> {
    let mut writer = store.writer().unwrap();
    let mut follow: Option<Follow> = None;
    let mut updates = Vec::new();
    for event in events {
        writer.write(event).unwrap();
        let follow = follow.get_or_insert_with(|| store.follow(id(1)).unwrap());
        updates.push(store.updates(follow).unwrap());
    }
    updates
}

/// The facts of several updates in one.
fn joined(updates: Vec<RunUpdate>) -> RunUpdate {
    let join = |mut all: RunUpdate, next: RunUpdate| {
        all.decisions.extend(next.decisions);
        all.ended.extend(next.ended);
        all.excluded.extend(next.excluded);
        all.unsupported.extend(next.unsupported);
        all.log.extend(next.log);
        let at_ns = all.at_ns.max(next.at_ns);
        RunUpdate { status: next.status, current: next.current, at_ns, ..all }
    };
    updates.into_iter().reduce(join).unwrap()
}

pub fn what_is_heard_bit_by_bit_is_what_is_heard_at_once(store: &dyn Backend) {
    let mut events = eventful(id(1), id(2));
    let last = events.len() - 2;
    let excluded = Event::Excluded { invocation: id(2), by: "steal".into() };
    events.insert(last, Stamped { at_ns: 99, event: excluded });
    let bits = watched(store, &events);
    let current: Vec<bool> = bits.iter().map(|bit| bit.current == Some(1)).collect();
    assert_eq!(
        current.iter().filter(|is_current| **is_current).count(),
        4,
        "from its start to its end: {current:?}"
    );
    let joined = joined(bits);
    let mut follow = store.follow(id(1)).unwrap();
    let at_once = store.updates(&mut follow).unwrap();
    assert_eq!(joined, at_once);
    assert_eq!((at_once.decisions.len(), at_once.excluded.as_slice()), (1, [1].as_slice()));
    assert_eq!((at_once.log.len(), at_once.unsupported.len()), (1, 1));
    let ended = &at_once.ended[0];
    assert_eq!((ended.point, ended.flags.len(), ended.interference.len()), (1, 2, 1));
    assert_eq!(ended.amounts.len(), 2);
    assert_eq!(at_once.status, RunStatus::Complete);
    let nothing = store.updates(&mut follow).unwrap();
    assert!(nothing.ended.is_empty() && nothing.decisions.is_empty());
}

pub fn what_was_cut_off_is_not_current_for_ever(store: &dyn Backend) {
    let mut script = Script::new(id(1), 5, &[]);
    script.start(id(2), 0, Role::Workload, work("bandwidth", 1.0));
    let mut script = script.segment(1, 9, "epyc").copy(id(3), 10);
    script.start(id(4), 0, Role::Workload, work("bandwidth", 1.0));
    let updates = watched(store, &script.events);
    let current: Vec<_> = updates.iter().rev().take(3).map(|update| update.current).collect();
    assert_eq!(current, [Some(0), None, Some(0)]);
}

pub fn another_run_is_not_heard_and_an_unknown_one_is_an_error(store: &dyn Backend) {
    watched(store, &eventful(id(1), id(2)));
    let mut follow = store.follow(id(1)).unwrap();
    store.updates(&mut follow).unwrap();
    let before = store.version().unwrap();
    let mut writer = store.writer().unwrap();
    for event in eventful(id(5), id(6)) {
        writer.write(&event).unwrap();
    }
    assert_ne!(store.version().unwrap(), before);
    let updates = store.updates(&mut follow).unwrap();
    assert!(updates.ended.is_empty() && updates.decisions.is_empty() && updates.log.is_empty());
    assert!(store.follow(id(7)).is_err());
}
