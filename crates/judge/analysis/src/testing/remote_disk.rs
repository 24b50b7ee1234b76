//! A filesystem made on a remote disk, over links that differ in bandwidth and round trip.

use plumb_model::ParameterType::{Choice, Integer, Rate, Time};
use plumb_model::{
    Better, LinkDirection, LinkTerms, Metric, MetricSource, PlannedPoint, Point, RunRecord,
    Settings, StopReason, Value,
};

use super::{Builder, Spec};

/// Bandwidths as typed and in bytes a second.
const UP: [(&str, f64); 2] = [("1Mbit/s", 125e3), ("3Mbit/s", 375e3)];
/// Round trips as typed and in seconds.
const ROUND_TRIPS: [(&str, f64); 2] = [("75ms", 75e-3), ("37500us", 37.5e-3)];
/// How much faster the links are than that.
const SCALE: f64 = 100.0;
/// What does not depend on the link, in seconds.
const REST: f64 = 0.2;

/// What goes through the link.
#[derive(Clone, Copy)]
struct Writes {
    zeroes: &'static str,
    bytes: f64,
    count: f64,
    /// How many share a round trip.
    depth: f64,
}

const LARGE: Writes = Writes { zeroes: "written", bytes: 49e6, count: 400.0, depth: 32.0 };
const SMALL: Writes = Writes { zeroes: "small", bytes: 5e6, count: 3000.0, depth: 1.0 };

/// `plumb run remote-disk`: large writes of which many are under way, then small ones, each after the one before, over
/// four links each.
#[must_use]
pub fn remote_disk() -> RunRecord {
    let links = || UP.into_iter().flat_map(|up| ROUND_TRIPS.map(|trip| (up, trip)));
    let points =
        [LARGE, SMALL].into_iter().flat_map(|writes| links().map(move |link| (writes, link)));
    let suite = Builder::new(Some("remote-disk"));
    points.fold(suite, |builder, (writes, (up, trip))| made(builder, writes, up, trip)).build()
}

fn made(builder: Builder, writes: Writes, up: (&str, f64), trip: (&str, f64)) -> Builder {
    let waiting = writes.count * trip.1 / SCALE / writes.depth;
    let spec = Spec {
        id: "block.mkfs",
        metric: "time",
        unit: "s",
        parameters: &[
            ("zeroes", Choice, "written", ""),
            ("up", Rate, "unlimited", ""),
            ("down", Rate, "unlimited", ""),
            ("rtt", Time, "1ms", ""),
            ("scale", Integer, "1", ""),
        ],
        value: writes.bytes / (up.1 * SCALE) + waiting + REST,
        within: 0.01,
        between: 0.0,
        processes: 13,
        samples: 0,
        cpu: (4, 7, 0),
        memory_mib: 60,
    };
    let typed = [("zeroes", writes.zeroes), ("up", up.0), ("rtt", trip.0), ("scale", "100")];
    let count = writes.count;
    let bytes = writes.bytes;
    let columns = [("writes", count), ("up_bytes", bytes), ("down_bytes", 16.0 * count)];
    builder
        .measured(&spec)
        .last_point(|planned| go_through_link(planned, &typed))
        .invocations(|_, invocation| {
            let length = invocation.samples.len();
            let values = columns.map(|(name, value)| (name.to_owned(), vec![value; length]));
            invocation.samples.values.extend(values);
        })
        .stopped(StopReason::Precision)
}

/// Says what of a point its link is, and sets that.
fn go_through_link(planned: &mut PlannedPoint, typed: &[(&str, &str)]) {
    let description = &mut planned.description;
    for parameter in description.parameters.iter_mut().filter(|parameter| parameter.kind == Rate) {
        parameter.unit = "bytes".into();
        parameter.allowed = vec![Value::Text("unlimited".into())];
    }
    let reported = [("writes", "requests"), ("up_bytes", "B"), ("down_bytes", "B")];
    let first = description.metrics.first().cloned();
    description.metrics.extend(first.into_iter().flat_map(|time| {
        reported.map(|(name, unit)| Metric {
            name: name.into(),
            unit: unit.into(),
            better: Better::Neither,
            source: MetricSource::Value,
            ..time.clone()
        })
    }));
    let direction = |bandwidth: &str, bytes: &str| LinkDirection {
        bandwidth: bandwidth.into(),
        bytes: bytes.into(),
    };
    description.link = Some(LinkTerms {
        directions: vec![direction("up", "up_bytes"), direction("down", "down_bytes")],
        round_trip: "rtt".into(),
        scale: Some("scale".into()),
        operations: vec!["writes".into()],
    });
    let settings: Settings =
        typed.iter().map(|(name, value)| ((*name).into(), Value::Text((*value).into()))).collect();
    if let Ok(point) = Point::new(description, &settings, 2) {
        planned.point = point;
    }
}
