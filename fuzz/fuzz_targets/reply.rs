//! Lines that the engine reads from any program: any bytes are a reply or an error. Samples that pass
//! the check give a finite value of every metric or none, and can be joined with themselves; what the
//! engine accepts can be summed over a thousand batches; a description gives its default point or a
//! reason.
#![no_main]

use std::collections::BTreeSet;

use libfuzzer_sys::fuzz_target;
use plumb_launch::SampleShape;
use plumb_model::{Better, Description, Metric, MetricSource, Point, Ready, Samples, Settings};
use plumb_protocol::{Reply, ReplyLine, SampleReply};

fuzz_target!(|line: &str| {
    let Ok(parsed) = serde_json::from_str::<ReplyLine>(line) else { return };
    let written = serde_json::to_string(&parsed).expect("a reply is written as JSON");
    // Numbers may differ in their last digit: serde_json is asked for speed.
    let again: ReplyLine = serde_json::from_str(&written).expect("what was written is read");
    assert_eq!(parsed.id, again.id);
    match parsed.reply {
        Reply::Samples(reply) => {
            samples(&reply.samples);
            accepted(reply);
        }
        Reply::Description { description } => describe(&description),
        _ => {}
    }
});

fn metric(name: &str, source: MetricSource) -> Metric {
    Metric::new(name, "", Better::Neither, source, "")
}

fn samples(samples: &Samples) {
    if samples.check().is_err() {
        return;
    }
    let reported = samples.values.keys().next().cloned().unwrap_or_default();
    for source in [MetricSource::Time, MetricSource::Rate, MetricSource::Value] {
        let Some(values) = samples.metric(&metric(&reported, source), 4096.0) else { continue };
        assert_eq!(values.len(), samples.len());
        assert!(values.iter().all(|value| value.is_finite()));
    }
    let mut twice = samples.clone();
    twice.append(samples.clone()).expect("a batch is like itself");
    assert_eq!(twice.len(), 2 * samples.len());
    twice.check().expect("two good batches are one");
}

/// As the engine takes a batch of a workload that declared the metric `m`.
fn accepted(reply: SampleReply) {
    let description = Description {
        roles: Vec::new(),
        metrics: vec![metric("m", MetricSource::Value)],
        ..Description::new("fuzz.reply", "")
    };
    let mut shape = SampleShape::of(&description, &Ready::default());
    let Ok(reply) = shape.accept(reply) else { return };
    let samples = &reply.samples;
    samples.check().expect("what is accepted passes the check");
    assert!(
        samples.is_empty()
            || samples.metric(&description.metrics[0], 1.0).is_some()
            || samples.histograms.contains_key("m")
    );
    let together: u64 = samples.elapsed_ns.iter().sum();
    let usage = &reply.usage;
    for amount in [together, usage.wall_ns, usage.user_ns, usage.system_ns, usage.iowait_ns] {
        assert!(amount.checked_mul(1000).is_some());
    }
    shape.accept(reply).expect("a batch is like itself");
}

fn describe(description: &Description) {
    let _ = (description.family(), description.primary());
    let names: BTreeSet<&str> = description.parameters.iter().map(|p| p.name.as_str()).collect();
    if names.len() < description.parameters.len() {
        return; // plumb refuses a name that is declared twice.
    }
    let Ok(point) = Point::new(description, &Settings::new(), 4) else { return };
    let again =
        Point::new(description, &point.settings, 4).expect("a point's settings are allowed");
    assert_eq!(point.key, again.key);
    assert_eq!(point.key, "", "the default point has no key");
    for metric in &description.metrics {
        assert!(point.series(&metric.name).starts_with(&description.id));
    }
}
