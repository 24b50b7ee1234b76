//! One series over all runs.

use plumb_model::{Event, Ready, Role, RunStatus, Target};
use plumb_store::Backend;

use super::told::{take, write};
use crate::events::{Script, batch, environment, id, target};

pub fn a_series_is_read_without_its_records(backend: &dyn Backend) {
    let changed = Target { environment: environment("6.2"), ..target("epyc") };
    let mut second = Script::new(id(2), 200, &[("host", "b")]);
    second.say(Event::TargetReady { target: 0, description: Box::new(changed) });
    write(backend, &second.copy(id(20), 30).copy(id(21), 10).end(false).events);
    write(backend, &Script::new(id(1), 100, &[]).copy(id(10), 20).events);
    let mut failed = Script::new(id(3), 300, &[]);
    failed.start(id(30), 0, Role::Workload, Ready::default());
    failed.batch(id(30), batch(0, 5));
    write(backend, &failed.events);
    let found = backend.series("memory.copy:method=libc/bandwidth").unwrap();
    assert_eq!(found.iter().map(|it| it.run).collect::<Vec<_>>(), [id(1), id(2)]);
    for series in &found {
        let record = backend.record(series.run).unwrap();
        let metric = &record.plan.points[0].description.metrics[0];
        let steady = record.good_invocations(0).map(|it| it.steady(metric).unwrap());
        assert_eq!(series.invocations, steady.collect::<Vec<_>>());
        assert_eq!(series.labels, record.plan.labels);
        assert_eq!(series.environment, record.environments[0]);
        assert_eq!(series.loads, ["memory.copy:method=libc"]);
        assert_eq!((series.version, series.unit.as_str()), (1, "B/s"));
    }
    assert_eq!(found[1].invocations.iter().map(Vec::len).collect::<Vec<_>>(), [27, 9]);
    for series in &found {
        assert_eq!(
            backend.series_of_run("memory.copy:method=libc/bandwidth", series.run).unwrap(),
            std::slice::from_ref(series)
        );
    }
    assert_eq!(backend.series_of_run("memory.copy:method=libc/bandwidth", id(3)).unwrap(), []);
    assert!(backend.series_of_run("memory.copy:method=libc/bandwidth", id(4)).is_err());
    assert_eq!(backend.series_names_alone().unwrap(), ["memory.copy:method=libc/bandwidth"]);
    assert_eq!(backend.series("memory.copy/none").unwrap(), []);
    let ends = backend.ends().unwrap();
    let complete: Vec<_> = ends.iter().map(|it| (it.run, it.state.is_some())).collect();
    assert_eq!(complete, [(id(1), false), (id(2), true), (id(3), false)]);
    let status = |run| backend.record(run).unwrap().status == RunStatus::Complete;
    assert!(complete.iter().all(|&(run, is_complete)| status(run) == is_complete));
    let names = backend.series_names().unwrap();
    assert_eq!(names.len(), 1);
    assert!(names[0].primary && names[0].point == "method=libc", "{names:?}");
}

/// Runs of a whole suite must not be read for one line of it.
pub fn a_long_history_is_read_at_once(backend: &dyn Backend) {
    let mut writer = backend.writer().unwrap();
    for run in 0..100_u32 {
        let mut script = Script::new(id(1000 + u64::from(run)), i64::from(run), &[]);
        for invocation in 0..20_u32 {
            script = script.copy(id(u64::from(10_000 + run * 20 + invocation)), 20);
        }
        take(writer.as_mut(), &script.end(false).events);
    }
    let began = std::time::Instant::now();
    let found = backend.series("memory.copy:method=libc/bandwidth").unwrap();
    let took = began.elapsed();
    assert_eq!(found.len(), 100);
    assert!(took.as_secs() < 2, "{took:?}");
}
