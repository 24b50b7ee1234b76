//! Points behind a link: which belong together, and what is found of them.

use plumb_model::{Better, MetricSource, RunRecord, Settings, Value};

use crate::testing::remote_disk;
use crate::{Binds, LinkFit, LinkFound, summarise};

fn fits(record: &RunRecord) -> Vec<LinkFit> {
    summarise(record).links
}

fn found(fit: &LinkFit) -> &LinkFound {
    fit.found.as_ref().unwrap()
}

fn set(record: &mut RunRecord, point: usize, name: &str, value: Value) {
    let settings: &mut Settings = &mut record.plan.points[point].point.settings;
    settings.insert(name.to_owned(), value);
}

#[test]
fn points_that_differ_in_their_link_alone_are_fitted_together() {
    let fits = fits(&remote_disk());
    let names: Vec<&str> = fits.iter().map(|fit| fit.of.as_str()).collect();
    assert_eq!(names, ["block.mkfs:scale=100", "block.mkfs:zeroes=small,scale=100"]);
    let large = &fits[0];
    assert_eq!(large.by, ["up", "rtt"]);
    // The direction without a limit takes no time, however many bytes go there.
    let first = &large.points[0];
    assert!((first.sending_s - 3.92).abs() < 1e-9, "{first:?}");
    assert!((first.round_trip_s - 75e-5).abs() < 1e-12 && first.operations > 399.0, "{first:?}");
}

#[test]
fn many_under_way_wait_for_bandwidth_and_lone_ones_for_round_trips() {
    let fits = fits(&remote_disk());
    let large = found(&fits[0]);
    let small = found(&fits[1]);
    assert!(large.shares.iter().all(|share| share.binds == Binds::Bandwidth), "{large:?}");
    assert!(small.shares.iter().all(|share| share.binds == Binds::RoundTrips), "{small:?}");
    let depth = small.depth();
    assert!(depth.low.unwrap() <= 1.0 && depth.high.unwrap() >= 1.0, "{depth:?}");
    assert!(depth.high.unwrap() - depth.low.unwrap() < 0.3, "{depth:?}");
    // Of 4 s, 9 ms are waiting: it can only be bounded.
    assert!(large.depth().low.unwrap() > 1.0, "{:?}", large.depth());
    for shares in large.shares.iter().chain(&small.shares) {
        assert!(shares.left_out.unwrap() < 0.05, "{shares:?}");
    }
}

#[test]
fn a_rate_is_the_time_of_its_work() {
    let mut record = remote_disk();
    for planned in &mut record.plan.points {
        let metric = &mut planned.description.metrics[0];
        (metric.unit, metric.better, metric.source) =
            ("B/s".into(), Better::Higher, MetricSource::Rate);
    }
    for invocation in &mut record.invocations {
        invocation.ready.work.insert("time".into(), 11e6);
    }
    let rates = fits(&record);
    let times = fits(&remote_disk());
    let rate = found(&rates[1]);
    let time = found(&times[1]);
    assert!((rate.wait.value / time.wait.value - 1.0).abs() < 1e-3, "{rate:?} {time:?}");
    assert!((rate.rest.value / time.rest.value - 1.0).abs() < 1e-3, "{rate:?} {time:?}");
}

#[test]
fn what_belongs_to_no_link_or_is_too_little_has_no_fit() {
    let mut record = remote_disk();
    for invocation in &mut record.invocations {
        invocation.samples.values.remove("up_bytes");
    }
    assert_eq!(fits(&record), [], "its bytes are unknown");
    let mut record = remote_disk();
    for planned in &mut record.plan.points {
        planned.description.link = None;
    }
    assert_eq!(fits(&record), []);
    let mut record = remote_disk();
    for point in [0, 1] {
        set(&mut record, point, "zeroes", Value::Text("told".into()));
    }
    let names: Vec<String> = fits(&record).into_iter().map(|fit| fit.of).collect();
    assert_eq!(names, ["block.mkfs:zeroes=small,scale=100"], "two points each are left");
}

#[test]
fn one_round_trip_and_one_point_planned_twice_tell_nothing() {
    let mut record = remote_disk();
    for (point, up) in [125_000, 250_000, 375_000, 500_000].into_iter().enumerate() {
        set(&mut record, point, "up", Value::Integer(up));
        set(&mut record, point, "rtt", Value::Integer(75_000_000));
    }
    let fit = fits(&record).remove(0);
    assert_eq!((fit.points.len(), fit.by.as_slice()), (4, &["up".to_owned()][..]));
    let why = fit.found.unwrap_err();
    assert_eq!(why, "all points have the same round-trip time");
    for point in [1, 2] {
        set(&mut record, point, "up", Value::Integer(125_000));
    }
    assert_eq!(fits(&record).len(), 1, "two points are left");
}
