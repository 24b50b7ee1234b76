//! The family `network`, driven as the engine drives it.

use plumb_protocol::{Batch, StartError};
use plumb_workload_network::ALL;
use plumb_workload_testing::{TestPoint, alone, assert_doubles, refusal, samples};

/// The point with its server.
fn tcp(settings: &[(&str, &str)]) -> TestPoint<'static> {
    let mut point = TestPoint::new(ALL, "network.tcp", settings);
    point.serve().unwrap_or_else(|error| panic!("{error:?}"));
    point
}

/// A point that sends echoes.
fn icmp(settings: &[(&str, &str)]) -> TestPoint<'static> {
    let point = TestPoint::new(ALL, "network.icmp", settings);
    if let Err(StartError::Unsupported { why, fix }) = point.try_start() {
        panic!("this test needs sockets for ICMP: {why}; {fix}");
    }
    point
}

#[test]
fn streams_arrive_whole_and_twice_the_bytes_take_about_twice_the_time() {
    let _alone = alone();
    let mut point = tcp(&[]);
    let mut started = point.started();
    assert!((started.ready.work["throughput"] - 131_072.0).abs() < 0.1);
    assert!(started.ready.notes.iter().any(|note| note.contains("congestion control: ")));
    assert_eq!(samples(&mut started, &[1]).iterations, [1]);
    assert_doubles("blocks", &mut started, 100);
    drop(started);
    point.clean();
}

#[test]
fn several_streams_count_together() {
    let point = tcp(&[("streams", "3"), ("block", "1000")]);
    let mut started = point.started();
    assert!((started.ready.work["throughput"] - 3000.0).abs() < 0.1);
    assert_eq!(samples(&mut started, &[5, 100]).iterations, [5, 100]);
}

#[test]
fn a_server_that_dies_fails_the_batch() {
    let mut point = tcp(&[]);
    let mut started = point.started();
    assert_eq!(samples(&mut started, &[10]).iterations, [10]);
    point.clean();
    let mut batch = Batch::with_room(1, &[]);
    let failure = started.instance.batch(&[1000], &mut batch).unwrap_err();
    assert!(failure.0.contains("does not answer"), "{failure}");
}

#[test]
fn streams_without_sense_or_server_are_refused() {
    for settings in [[("streams", "0")], [("streams", "1000")], [("block", "0")]] {
        let mut point = TestPoint::new(ALL, "network.tcp", &settings);
        assert!(point.serve().is_err(), "{settings:?}");
    }
    let why = refusal("no server", TestPoint::new(ALL, "network.tcp", &[]).try_start());
    assert!(why.contains("address"), "{why}");
}

#[test]
fn every_request_has_its_reply() {
    for outstanding in ["1", "2", "64"] {
        let mut started = icmp(&[("outstanding", outstanding)]).started();
        assert_eq!(samples(&mut started, &[1, 7, 1000]).iterations, [1, 7, 1000]);
    }
    // Beyond the 65536 sequence numbers.
    let mut started = icmp(&[("outstanding", "64")]).started();
    assert_eq!(samples(&mut started, &[66_000]).iterations, [66_000]);
}

#[test]
fn twice_the_echoes_take_about_twice_the_time() {
    let _alone = alone();
    assert_doubles("echoes", &mut icmp(&[("bytes", "1000")]).started(), 300);
}

#[test]
fn echoes_without_sense_are_refused() {
    for settings in [[("outstanding", "0")], [("outstanding", "65")], [("bytes", "7")]] {
        let point = TestPoint::new(ALL, "network.icmp", &settings);
        let why = refusal("without sense", point.try_start());
        assert!(why.contains(settings[0].0), "{why}");
    }
}
