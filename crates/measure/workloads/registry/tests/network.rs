//! The network workloads, driven through their traits as the engine drives them.
#![expect(clippy::expect_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;

use plumb_model::{Point, Role, Samples, Settings, Value};
use plumb_protocol::{Batch, Held, Instance, Start, StartError, Started, Workload};

fn workload(id: &str) -> &'static dyn Workload {
    plumb_workloads::find(id).expect("it is registered")
}

fn start_of(id: &str, settings: &[(&str, u64)]) -> Start {
    let given: Settings =
        settings.iter().map(|(k, v)| ((*k).to_owned(), Value::Integer(*v))).collect();
    let point = Point::new(&workload(id).describe(), &given, 1).expect("the point is valid");
    Start {
        role: Role::Workload,
        params: point.settings,
        dir: "/nowhere".into(),
        scratch: "/nowhere".into(),
        seed: 42,
        endpoints: BTreeMap::new(),
        facts: plumb_model::Facts::default(),
    }
}

fn tcp(settings: &[(&str, u64)]) -> (Started, Box<dyn Held>) {
    let mut start = start_of("network.tcp", settings);
    let (ready, server) = workload("network.tcp").start_server(&start).expect("it listens");
    start.endpoints = ready.endpoints;
    (workload("network.tcp").start(&start).expect("it connects"), server)
}

fn sample(instance: &mut dyn Instance, iterations: &[u64]) -> Samples {
    let mut batch = Batch::with_room(iterations.len(), instance.value_names());
    instance.batch(iterations, &mut batch).expect("the batch worked");
    instance.verify().expect("the result is right");
    let samples = batch.finish().0;
    samples.check().expect("the columns fit");
    samples
}

fn least(samples: &Samples) -> u64 {
    samples.elapsed_ns.iter().copied().min().unwrap_or(0)
}

/// Times on a shared machine are noisy: the least of several, and a few attempts.
#[expect(clippy::cast_precision_loss, reason = "times stay far below 2^53 ns")]
fn assert_doubles(instance: &mut dyn Instance, k: u64) {
    let mut ratios = Vec::new();
    for _ in 0..8 {
        let once = least(&sample(instance, &[k; 8]));
        let twice = least(&sample(instance, &[2 * k; 8]));
        let ratio = twice as f64 / once as f64;
        if (1.5..2.7).contains(&ratio) {
            return;
        }
        ratios.push(ratio);
    }
    panic!("twice the work took {ratios:?} times as long");
}

#[test]
fn streams_arrive_whole_and_twice_the_bytes_take_about_twice_the_time() {
    let (mut started, server) = tcp(&[]);
    assert!((started.ready.work["throughput"] - 131_072.0).abs() < 0.1);
    assert!(started.ready.notes.iter().any(|note| note.contains("congestion control: ")));
    sample(started.instance.as_mut(), &[1]);
    assert_doubles(started.instance.as_mut(), 200);
    drop(started);
    server.clean().expect("the server ends");
}

#[test]
fn several_streams_count_together() {
    let (mut started, _server) = tcp(&[("streams", 3), ("block", 1000)]);
    assert!((started.ready.work["throughput"] - 3000.0).abs() < 0.1);
    let samples = sample(started.instance.as_mut(), &[5, 100]);
    assert_eq!(samples.iterations, [5, 100]);
}

#[test]
fn a_server_that_dies_fails_the_batch() {
    let (mut started, server) = tcp(&[]);
    sample(started.instance.as_mut(), &[10]);
    drop(server);
    let mut batch = Batch::with_room(1, &[]);
    let failure = started.instance.batch(&[1000], &mut batch).expect_err("nobody answers");
    assert!(failure.0.contains("does not answer"), "{failure}");
}

#[test]
fn streams_without_sense_or_server_are_refused() {
    for settings in [[("streams", 0)], [("streams", 1000)], [("block", 0)]] {
        let start = start_of("network.tcp", &settings);
        assert!(workload("network.tcp").start_server(&start).is_err(), "{settings:?}");
    }
    let Err(StartError::Failed(why)) = workload("network.tcp").start(&start_of("network.tcp", &[]))
    else {
        panic!("it has no server");
    };
    assert!(why.contains("address"), "{why}");
}

/// What sends echoes.
fn icmp(settings: &[(&str, u64)]) -> Started {
    match workload("network.icmp").start(&start_of("network.icmp", settings)) {
        Ok(started) => started,
        Err(StartError::Unsupported { why, fix }) => {
            panic!("this test needs sockets for ICMP: {why}; {fix}")
        }
        Err(StartError::Failed(why)) => panic!("{why}"),
    }
}

#[test]
fn every_request_has_its_reply() {
    for outstanding in [1, 2, 64] {
        let mut started = icmp(&[("outstanding", outstanding)]);
        sample(started.instance.as_mut(), &[1, 7, 1000]);
        // Beyond the 65536 sequence numbers.
        sample(started.instance.as_mut(), &[66_000]);
    }
}

#[test]
fn twice_the_echoes_take_about_twice_the_time() {
    let mut started = icmp(&[("bytes", 1000)]);
    assert_doubles(started.instance.as_mut(), 500);
}

#[test]
fn echoes_without_sense_are_refused() {
    for settings in [[("outstanding", 0)], [("outstanding", 65)], [("bytes", 7)]] {
        let start = start_of("network.icmp", &settings);
        let refused = workload("network.icmp").start(&start);
        assert!(matches!(refused, Err(StartError::Failed(_))), "{settings:?}");
    }
}

#[test]
fn manuals_name_every_parameter_and_metric() {
    for id in ["network.tcp", "network.icmp"] {
        let (manual, description) = (workload(id).manual(), workload(id).describe());
        for parameter in &description.parameters {
            assert!(manual.contains(&format!("`{}`", parameter.name)), "{id}: {}", parameter.name);
        }
        for metric in &description.metrics {
            assert!(manual.contains(&format!("`{}`", metric.name)), "{id}: {}", metric.name);
        }
    }
}
