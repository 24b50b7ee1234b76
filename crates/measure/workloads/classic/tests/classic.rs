//! The family `classic`, driven as the engine drives it: the real tools.

use plumb_workload_classic::ALL;
use plumb_workload_testing::{
    Lack, TestPoint, refusal, refused_settings, samples, skip, take, unsupported,
};

/// The figure of one process.
fn figure(point: &TestPoint, metric: &str) -> f64 {
    let mut started = point.started();
    assert!(!started.ready.versions.is_empty());
    let samples = samples(&mut started, &[1]);
    assert!(
        samples.values["cpu"][0] > 0.0 && samples.values["peak_memory"][0] > 1e5,
        "{samples:?}"
    );
    samples.values[metric][0]
}

fn assert_within(what: &str, value: f64, range: std::ops::Range<f64>) {
    assert!(range.contains(&value), "{what}: {value}");
}

#[test]
fn mbw_copies_as_the_method_says_whatever_its_labels() {
    for method in ["libc", "loop"] {
        let settings = [("method", method), ("size", "4MiB"), ("passes", "3")];
        let point = TestPoint::new(ALL, "classic.mbw", &settings);
        assert_within(method, figure(&point, "bandwidth"), 1e8..1e12);
    }
    let point = TestPoint::new(ALL, "classic.mbw", &[("size", "1500KiB")]);
    assert!(refusal("part of a MiB", point.try_start()).contains("whole MiB"));
    let point = TestPoint::new(ALL, "classic.mbw", &[("size", "1GiB")]);
    assert!(unsupported("all memory", point.try_start()).0.contains("half of the memory"));
}

#[test]
fn hackbench_and_perf_take_the_settings_of_our_workloads() {
    let settings = [("transport", "pipe"), ("mode", "thread"), ("loops", "50")];
    let point = TestPoint::new(ALL, "classic.hackbench", &settings);
    assert_within("hackbench", figure(&point, "time"), 1e-3..10.0);
    for placement in ["same-cpu", "free"] {
        let settings = [("placement", placement), ("loops", "5000")];
        let point = TestPoint::new(ALL, "classic.perfpipe", &settings);
        assert_within("perf", figure(&point, "time"), 3e-7..1e-2);
    }
}

#[test]
fn messages_timers_and_loops_in_c_give_their_figure() {
    let settings = [("transport", "pipe"), ("mode", "thread"), ("loops", "20")];
    let point = TestPoint::new(ALL, "classic.perfmessaging", &settings);
    assert_within("messages", figure(&point, "time"), 1e-3..10.0);
    let point = TestPoint::new(ALL, "classic.cyclictest", &[("threads", "2")]);
    assert_within("late", figure(&point, "latency_p50"), 1e-6..2e-2);
    let folder = tempfile::tempdir().unwrap();
    let loops: [(_, &[_], _); 3] = [
        ("classic.forkloop", &[("forks", "100"), ("threads", "3")], "time"),
        ("classic.forkloop", &[("forks", "100"), ("resident", "4MiB")], "time"),
        ("classic.wakeuploop", &[("wakeups", "100")], "latency_p50"),
    ];
    for (id, settings, metric) in loops {
        let point = TestPoint::new(ALL, id, settings).in_folder(folder.path());
        assert_within(id, figure(&point, metric), 1e-6..2e-2);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "{id} leaves nothing");
    }
    let triad = [("passes", "2"), ("size", "1MiB"), ("threads", "2")];
    assert_within(
        "B/s",
        figure(&TestPoint::new(ALL, "classic.triadloop", &triad), "bandwidth"),
        1e8..1e13,
    );
}

#[test]
fn stream_is_built_from_the_source_of_the_user() {
    let folder = tempfile::tempdir().unwrap();
    let (_, fix) = unsupported("no source", TestPoint::new(ALL, "classic.stream", &[]).try_start());
    assert!(fix.contains("source="), "{fix}");
    // No STREAM, but its form: the licence keeps the source itself out of here.
    let of_arrays = |text: &str| {
        let source = folder.path().join("stream.c");
        std::fs::write(
            &source,
            format!("#include <stdio.h>\n#include <stdlib.h>\nint main(void) {{ {text} }}"),
        )
        .unwrap();
        let source = source.display().to_string();
        let threads = ("threads", "2");
        let settings = [("source", source.as_str()), ("kernel", "add"), ("size", "1MiB"), threads];
        TestPoint::new(ALL, "classic.stream", &settings).in_folder(folder.path())
    };
    let point = of_arrays(
        r#"printf("Function    Best Rate MB/s  Avg time     Min time     Max time\nAdd: %d 0.2 0.1 0.3\nTriad: 7 0.2 0.1 0.3\n\
Solution Validates\n", STREAM_ARRAY_SIZE * atoi(getenv("OMP_NUM_THREADS"))); return 0;"#,
    );
    assert_within("elements times threads", figure(&point, "bandwidth"), 524_287e6..524_289e6);
    let failed = of_arrays("return 0").try_start();
    assert!(refusal("no program", failed).contains("cc could not build"));
}

#[test]
fn sysbench_divides_and_stress_ng_sieves() {
    for id in ["classic.sysbench", "classic.stressng"] {
        let one = figure(&TestPoint::new(ALL, id, &[]), "rate");
        assert_within(id, one, 10.0..1e10);
    }
    assert!(refused_settings(ALL, "classic.sysbench", &[("limit", "3")]).contains("limit"));
}

#[test]
fn ping_floods_this_machine_alone() {
    let point = TestPoint::new(ALL, "classic.ping", &[("count", "2000")]);
    if !rustix::process::geteuid().is_root() {
        let (why, fix) = unsupported("ping", point.try_start());
        assert_eq!(
            (why.as_str(), fix.as_str()),
            ("only root may use ping -f", "start plumb as root")
        );
        skip(Lack::Root);
        return;
    }
    assert_within("ping", figure(&point, "rate"), 1e2..1e7);
}

#[test]
fn openssl_encrypts_with_and_without_its_widest_instructions() {
    for instructions in ["all", "no-avx512"] {
        let settings = [("cipher", "chacha20-poly1305"), ("instructions", instructions)];
        let point = TestPoint::new(ALL, "classic.openssl", &settings);
        assert_within(instructions, figure(&point, "throughput"), 1e7..1e12);
    }
}

#[test]
fn s_time_counts_handshakes_and_says_whether_they_resume() {
    for mode in ["full", "resumed"] {
        let scratch = tempfile::tempdir().unwrap();
        let settings = [("mode", mode), ("seconds", "1")];
        let mut point = TestPoint::new(ALL, "classic.stime", &settings).in_folder(scratch.path());
        point.serve().unwrap();
        let taken = samples(&mut point.started(), &[1]);
        assert_within(mode, taken.values["rate"][0], 50.0..100_000.0);
        point.clean();
        assert_eq!(std::fs::read_dir(scratch.path()).unwrap().count(), 0, "a key is left");
    }
}

#[test]
fn pgbench_finds_its_server_and_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let mut point = TestPoint::new(ALL, "classic.pgbench", &[]).in_folder(folder.path());
    point.serve().unwrap_or_else(|error| panic!("{error:?}"));
    let taken = samples(&mut point.started(), &[1]);
    assert_within("transactions per second", taken.values["rate"][0], 1e2..1e7);
    point.clean();
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn redis_benchmark_finds_its_server_and_every_key() {
    let folder = tempfile::tempdir().unwrap();
    let point = TestPoint::new(ALL, "classic.redisbenchmark", &[("requests", "5000")]);
    let mut point = point.in_folder(folder.path());
    point.serve().unwrap_or_else(|error| panic!("{error:?}"));
    let taken = samples(&mut point.started(), &[1]);
    assert_within("requests per second", taken.values["rate"][0], 1e3..1e7);
    point.clean();
}

#[test]
fn dd_through_ssh_has_its_login_taken_out() {
    let scratch = tempfile::tempdir().unwrap();
    let settings = [("size", "256MiB")];
    let mut point = TestPoint::new(ALL, "classic.sshdd", &settings).in_folder(scratch.path());
    point.prepare().unwrap();
    let taken = samples(&mut point.started(), &[1]);
    assert_within("bytes per second", taken.values["throughput"][0], 10e6..100e9);
    point.clean();
    assert_eq!(std::fs::read_dir(scratch.path()).unwrap().count(), 0, "keys are left");
}

#[test]
fn iperf3_finds_its_server_and_leaves_none() {
    let mut point = TestPoint::new(ALL, "classic.iperf3", &[]);
    assert!(refusal("without a server", point.try_start()).contains("no port"));
    point.serve().unwrap_or_else(|error| panic!("{error:?}"));
    assert_within("iperf3", figure(&point, "throughput"), 1e7..1e12);
    let port = point.start.endpoints["port"].clone();
    let named = [("host", "127.0.0.1"), ("port", port.as_str()), ("placement", "same-cpu")];
    let mut elsewhere = TestPoint::new(ALL, "classic.iperf3", &named);
    elsewhere.serve().unwrap_or_else(|error| panic!("{error:?}"));
    assert_within("iperf3 at a host", figure(&elsewhere, "throughput"), 1e7..1e12);
    let address = format!("127.0.0.1:{port}");
    point.clean();
    assert!(std::net::TcpStream::connect(address).is_err(), "the server still listens");
}

#[test]
fn datagrams_and_requests_of_iperf3_and_sockperf_come_back() {
    let udp = [("transport", "udp"), ("block", "1400")];
    let mut point = TestPoint::new(ALL, "classic.iperf3", &udp);
    point.serve().unwrap_or_else(|error| panic!("{error:?}"));
    assert_within("iperf3", figure(&point, "throughput"), 1e6..1e11);
    point.clean();
    for (transport, floods) in [("tcp", Some(0)), ("udp", None)] {
        let elsewhere = [("transport", transport), ("host", "192.0.2.1")];
        let point = TestPoint::new(ALL, "classic.iperf3", &elsewhere);
        let iperf3 = ALL
            .iter()
            .map(|workload| workload.describe())
            .find(|description| description.id == "classic.iperf3");
        let rule = iperf3
            .and_then(|description| description.restricted)
            .unwrap_or_else(|| panic!("no rule"));
        assert_eq!(rule.sent(&point.start.params), Some(("192.0.2.1", floods)));
    }
    for transport in ["tcp", "udp"] {
        let mut point = TestPoint::new(ALL, "classic.sockperf", &[("transport", transport)]);
        assert!(refusal("without a server", point.try_start()).contains("no port"));
        point.serve().unwrap_or_else(|error| panic!("{error:?}"));
        assert_within("sockperf", figure(&point, "rate"), 1e3..1e7);
        point.clean();
    }
}

#[test]
fn fio_reads_the_file_that_it_laid_out_and_leaves_none() {
    let folder = tempfile::tempdir().unwrap_or_else(|error| panic!("{error}"));
    let settings = [("size", "4MiB"), ("engine", "psync")];
    let mut point = TestPoint::new(ALL, "classic.fio", &settings).in_folder(folder.path());
    point.prepare().unwrap_or_else(|error| panic!("{error:?}"));
    assert_within("fio", figure(&point, "rate"), 1e2..1e8);
    point.clean();
    assert_eq!(std::fs::read_dir(folder.path()).map(Iterator::count).ok(), Some(0));
}

#[test]
fn fio_writes_files_of_its_own_and_leaves_none() {
    let folder = tempfile::tempdir().unwrap_or_else(|error| panic!("{error}"));
    for (id, settings) in
        [("classic.fiooneblock", [("workers", "2")]), ("classic.fiolog", [("size", "1MiB")])]
    {
        let point = TestPoint::new(ALL, id, &settings).in_folder(folder.path());
        assert_within(id, figure(&point, "rate"), 1.0..1e8);
        assert_eq!(std::fs::read_dir(folder.path()).map(Iterator::count).ok(), Some(0));
    }
}

#[test]
fn dd_and_ioping_work_on_the_file_that_is_laid_out_for_them() {
    let folder = tempfile::tempdir().unwrap_or_else(|error| panic!("{error}"));
    for (id, other, metric) in [
        ("classic.dd", ("operation", "write"), "bandwidth"),
        ("classic.dd", ("sync", "sample"), "bandwidth"),
        ("classic.dd", ("operation", "read"), "bandwidth"),
        ("classic.dd", ("direct", "yes"), "bandwidth"),
        ("classic.ioping", ("operation", "read"), "rate"),
        ("classic.ioping", ("operation", "write"), "rate"),
    ] {
        let settings = [("size", "4MiB"), other];
        let mut point = TestPoint::new(ALL, id, &settings).in_folder(folder.path());
        assert!(refusal("no file", point.try_start()).contains("not laid out"));
        point.prepare().unwrap_or_else(|error| panic!("{error:?}"));
        let least = if metric == "rate" { 1e2 } else { 1e6 };
        assert_within(id, figure(&point, metric), least..1e12);
        point.clean();
        assert_eq!(std::fs::read_dir(folder.path()).map(Iterator::count).ok(), Some(0));
    }
    let odd = [("size", "4MiB"), ("block", "3MiB")];
    let mut point = TestPoint::new(ALL, "classic.dd", &odd).in_folder(folder.path());
    point.prepare().unwrap_or_else(|error| panic!("{error:?}"));
    assert!(refusal("part of a block", point.try_start()).contains("multiple of `block`"));
    point.clean();
}

#[test]
fn nbdkit_is_as_late_as_it_is_told_and_ends() {
    let mut point = TestPoint::new(ALL, "classic.nbdkit", &[("rtt", "20ms"), ("size", "1MiB")]);
    assert!(refusal("no server", point.try_start()).contains("no server"));
    point.prepare().unwrap_or_else(|error| panic!("{error:?}"));
    // At most 50 per second, however busy the machine is.
    assert_within("nbdkit", figure(&point, "rate"), 5.0..51.0);
    let socket = point.start.endpoints["socket"].clone();
    point.clean();
    assert!(!std::path::Path::new(&socket).exists(), "{socket} is left");
}

#[test]
fn fs_mark_creates_files_and_leaves_none() {
    let folder = tempfile::tempdir().unwrap_or_else(|error| panic!("{error}"));
    for sync in ["fsync", "none"] {
        let settings = [("files", "50"), ("sync", sync), ("threads", "2")];
        let mut point = TestPoint::new(ALL, "classic.fsmark", &settings).in_folder(folder.path());
        point.prepare().unwrap_or_else(|error| panic!("{error:?}"));
        assert_within(sync, figure(&point, "rate"), 1e1..1e8);
        point.clean();
        assert_eq!(std::fs::read_dir(folder.path()).map(Iterator::count).ok(), Some(0));
    }
}

#[test]
fn bonnie_does_not_rate_what_is_over_too_soon() {
    let folder = tempfile::tempdir().unwrap_or_else(|error| panic!("{error}"));
    let settings = [("files", "1024")];
    let point = TestPoint::new(ALL, "classic.bonniefiles", &settings).in_folder(folder.path());
    let mut started = point.started();
    // On a slow machine these take more than half a second.
    match take(started.instance.as_mut(), &[1]) {
        Ok((samples, _)) => {
            assert_within("bonnie++", samples.values["create_sequential"][0], 1e1..2048.0);
        }
        Err(failure) => assert!(failure.0.contains("bonnie++ printed no"), "{failure}"),
    }
    assert_eq!(std::fs::read_dir(folder.path()).map(Iterator::count).ok(), Some(0));
}
