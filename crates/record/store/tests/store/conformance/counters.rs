//! Readings of monitors are stored and read back, and excluded invocations do not count.

use plumb_model::{CounterKind, Event};
use plumb_store::Backend;

use super::told::write;
use crate::events::{Script, eventful, id, monitored};

pub fn amounts_and_readings_come_back(store: &dyn Backend) {
    write(store, &eventful(id(1), id(2)));
    let found = store.counters(id(1)).unwrap();
    assert_eq!(found.len(), 1);
    let (invocation, amounts) = &found[0];
    assert_eq!(*invocation, id(2));
    let shown = |amount: &plumb_model::CounterAmount| {
        (
            amount.counter.name.clone(),
            amount.counter.unit.clone(),
            amount.amount,
            amount.rate().unwrap(),
        )
    };
    assert_eq!(
        amounts.iter().map(shown).collect::<Vec<_>>(),
        [
            ("meminfo.free".into(), "kB".into(), 150, 153_600.0),
            ("stat.user".into(), "tick".into(), 9, 0.045)
        ]
    );
    assert_eq!(amounts[0].counter.kind, CounterKind::Gauge);
    let Event::Monitored { readings, .. } = monitored(id(2)) else { unreachable!() };
    // The gauge was read twice: its mean is all that is kept.
    assert_eq!(store.traces(id(2)).unwrap(), readings.traces[..1]);
}

pub fn an_excluded_invocation_counts_nowhere(store: &dyn Backend) {
    let script = Script::new(id(1), 5, &[]).copy(id(2), 20).copy(id(3), 20);
    let mut excluded = script.end(false);
    excluded.say(Event::Excluded { invocation: id(3), by: "steal".into() });
    // An exclusion comes before the end of its run.
    let last = excluded.events.len() - 1;
    excluded.events.swap(last - 1, last);
    write(store, &excluded.events);
    let record = store.record(id(1)).unwrap();
    assert_eq!(
        record.good_invocations(0).map(|invocation| invocation.invocation).collect::<Vec<_>>(),
        [id(2)]
    );
}

pub fn nobody_is_excluded_who_never_started(store: &dyn Backend) {
    let mut script = Script::new(id(1), 5, &[]);
    script.say(Event::Excluded { invocation: id(9), by: "steal".into() });
    let mut writer = store.writer().unwrap();
    let last = script.events.pop().unwrap();
    script.events.iter().for_each(|event| writer.write(event).unwrap());
    assert!(writer.write(&last).unwrap_err().to_string().contains("never started"));
}
