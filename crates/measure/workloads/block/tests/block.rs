//! The workloads of remote disks, driven as the engine drives them.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "helpers of tests fail by panicking")]

use std::net::{TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use plumb_protocol::{StartError, StartedWorkload};
use plumb_workload_block::ALL;
use plumb_workload_testing::{
    Lack, TestPoint, alone, assert_ratio, refusal, samples, skip, unsupported,
};

fn try_point(
    dir: &Path,
    id: &str,
    settings: &[(&str, &str)],
) -> Result<StartedWorkload, StartError> {
    TestPoint::new(ALL, id, settings).in_folder(dir).try_start()
}

fn remote(dir: &Path, settings: &[(&str, &str)]) -> StartedWorkload {
    let settings = [&[("size", "4MiB")], settings].concat();
    try_point(dir, "block.remote", &settings).unwrap_or_else(|error| panic!("{error:?}"))
}

/// Seconds an iteration of the last of some samples, and its values by name.
fn last(started: &mut StartedWorkload, iterations: &[u64]) -> (f64, impl Fn(&str) -> f64 + use<>) {
    let taken = samples(started, iterations);
    let at = iterations.len() - 1;
    let seconds = taken.elapsed_ns[at] as f64 / 1e9 / iterations[at] as f64;
    (seconds, move |name: &str| taken.values[name][at])
}

#[test]
fn a_link_goes_by_names_of_parameters_and_metrics() {
    for description in ALL.iter().map(|workload| workload.describe()) {
        let terms = description.link.as_ref().unwrap();
        let mut parameters = terms.parameters().chain(terms.scale.as_deref());
        assert!(
            parameters.all(|parameter| description.parameter(parameter).is_some()),
            "{terms:?}"
        );
        let bytes = terms.directions.iter().map(|direction| &direction.bytes);
        let mut metrics = bytes.chain(&terms.operations);
        assert!(metrics.all(|metric| description.metric(metric).is_some()), "{terms:?}");
    }
}

#[test]
fn every_request_is_answered_and_what_was_written_is_read() {
    let _alone = alone();
    let dir = tempfile::tempdir().unwrap();
    for operation in ["read", "write", "flush", "trim"] {
        for (pattern, depth) in [("random", "1"), ("sequential", "7")] {
            let settings = [("operation", operation), ("pattern", pattern), ("depth", depth)];
            let mut started = remote(dir.path(), &settings);
            assert_eq!(started.instance.least_iterations(), 4 * depth.parse::<u64>().unwrap());
            let taken = samples(&mut started, &[40, 100]);
            let counts = taken.histograms["latency"][1].counts().unwrap();
            assert_eq!(counts.iter().map(|entry| entry.1).sum::<u64>(), 100, "{settings:?}");
            let up = taken.values["up_bytes"][1];
            let down = taken.values["down_bytes"][1];
            let data = |is: &str| if operation == is { 4096.0 } else { 0.0 };
            // At the borders of samples requests may be on their way.
            assert!((up - data("write") - 28.0).abs() < 600.0, "{settings:?}: {up}");
            assert!((down - data("read") - 16.0).abs() < 600.0, "{settings:?}: {down}");
        }
    }
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn the_round_trip_binds_a_lone_request_and_many_share_it() {
    let _alone = alone();
    let dir = tempfile::tempdir().unwrap();
    let of = |depth: &str| {
        let mut started = remote(dir.path(), &[("rtt", "10ms"), ("depth", depth)]);
        let (seconds, value) = last(&mut started, &[64]);
        assert!(value("up_busy") < 0.01, "{}", value("up_busy"));
        (seconds, value("under_way"))
    };
    assert_ratio("seconds of a lone request over its round trip", 1.0..1.3, || of("1").0 / 0.010);
    assert_ratio("what 16 save", 11.0..21.0, || of("1").0 / of("16").0);
    assert_ratio("under way of 16", 13.0..16.8, || of("16").1);
}

#[test]
fn the_bandwidth_binds_many_requests_whatever_the_round_trip() {
    let _alone = alone();
    let dir = tempfile::tempdir().unwrap();
    for rtt in ["2ms", "4ms"] {
        let settings = [
            ("up", "80Mbit/s"),
            ("rtt", rtt),
            ("depth", "16"),
            ("operation", "write"),
            ("block", "16KiB"),
        ];
        assert_ratio("bandwidth over that of the link", 0.97..1.03, || {
            let mut started = remote(dir.path(), &settings);
            let (seconds, value) = last(&mut started, &[200]);
            assert!(value("down_busy") < 0.01, "{}", value("down_busy"));
            (16_384.0 + 28.0) / seconds / 1e7
        });
    }
    let settings = [("up", "8Mbit/s"), ("scale", "10"), ("rtt", "20ms"), ("operation", "write")];
    assert_ratio("time over that of the scaled link", 0.95..1.2, || {
        let mut started = remote(dir.path(), &settings);
        assert!(started.ready.notes.iter().any(|note| note.contains("scaled: 10 times")));
        let (seconds, _) = last(&mut started, &[50]);
        seconds / (0.002 + (4096.0 + 28.0) / 1e7)
    });
}

/// nbdkit with a disk of zeroes, until it is dropped.
struct NbdkitServer(Child);

impl NbdkitServer {
    fn start(socket: &Path) -> Self {
        let mut nbdkit = Command::new("nbdkit");
        nbdkit.args(["-f", "-U"]).arg(socket).args(["memory", "4M"]).stderr(Stdio::null());
        let nbdkit = Self(nbdkit.spawn().expect("nbdkit is installed"));
        let begun = Instant::now();
        while UnixStream::connect(socket).is_err() {
            assert!(begun.elapsed() < Duration::from_secs(30), "nbdkit makes no socket");
            std::thread::sleep(Duration::from_millis(10));
        }
        nbdkit
    }
}

impl Drop for NbdkitServer {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

#[test]
fn another_server_is_read_and_never_written() {
    let dir = tempfile::tempdir().unwrap();
    let socket = dir.path().join("nbdkit");
    let _nbdkit = NbdkitServer::start(&socket);
    let address = format!("nbd+unix:///?socket={}", socket.display());
    let mut started = remote(dir.path(), &[("address", &address), ("depth", "4")]);
    assert!(started.ready.without.contains(&"up_busy".to_owned()));
    assert_eq!(samples(&mut started, &[64, 64]).len(), 2);
    let point = |operation| {
        let settings = [("address", address.as_str()), ("operation", operation)];
        try_point(dir.path(), "block.remote", &settings)
    };
    let (why, _) = unsupported("writing", point("write"));
    assert!(why.contains("would destroy"), "{why}");
    let linked = [("address", address.as_str()), ("rtt", "1ms")];
    let why = refusal("a link", try_point(dir.path(), "block.remote", &linked));
    assert!(why.contains("leave them out with `address`"), "{why}");
    assert!(point("flush").is_ok());
}

#[test]
fn a_server_that_refuses_is_unsupported_and_one_that_hangs_fails() {
    let dir = tempfile::tempdir().unwrap();
    let point = |address: &str| try_point(dir.path(), "block.remote", &[("address", address)]);
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let silent = refusal("a silent server", point(&format!("nbd://127.0.0.1:{port}")));
    assert!(silent.contains(&format!("127.0.0.1:{port} did not answer for 5 s")), "{silent}");
    drop(listener);
    let (why, fix) = unsupported("nobody", point(&format!("nbd://127.0.0.1:{port}/disk")));
    assert!(why.contains("refused") && fix.contains("nbdkit"), "{why}; {fix}");
    let wrong = refusal("no address", point("localhost"));
    assert!(wrong.contains("nbd://HOST:PORT/NAME"), "{wrong}");
}

#[test]
fn through_ssh_the_link_carries_what_ssh_makes_of_the_requests() {
    let _alone = alone();
    let dir = tempfile::tempdir().unwrap();
    let of = |tunnel: &str, more: &[(&str, &str)]| {
        let mut started = remote(dir.path(), &[&[("tunnel", tunnel)], more].concat());
        assert_eq!(started.ready.without, ["under_way"]);
        assert!(started.instance.helpers().len() > 1);
        last(&mut started, &[50])
    };
    // What is read are zeroes, but for a stamp in each sector.
    let (_, plain) = of("ssh", &[]);
    let (_, compressed) = of("ssh-compressed", &[]);
    let bytes = (plain("down_bytes"), compressed("down_bytes"));
    assert!(bytes.0 > 4112.0 && bytes.0 < 4500.0 && bytes.1 < 0.2 * bytes.0, "{bytes:?}");
    assert!(plain("down_packets") >= 3.0 && plain("ssh_cpu") > 0.0);
    assert_ratio("a request over its round trip", 1.0..1.4, || {
        of("ssh", &[("rtt", "10ms")]).0 / 0.010
    });
    let narrow = [("operation", "write"), ("up", "40Mbit/s"), ("block", "64KiB"), ("depth", "8")];
    assert_ratio("bytes of ssh over what the link carries", 0.95..1.05, || {
        let (seconds, value) = of("ssh", &narrow);
        value("up_bytes") / seconds / 5e6
    });
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    let deep = [("tunnel", "ssh"), ("method", "stream"), ("depth", "8")];
    let (why, fix) = unsupported("a depth", try_point(dir.path(), "block.copy", &deep));
    assert!(why.contains("through ssh") && fix.contains("depth"), "{why}; {fix}");
}

/// Its own host, a network namespace, behind `tc tbf` of 40 Mbit/s; until it is dropped.
struct Shaped {
    name: String,
    nbdkit: Option<Child>,
}

impl Shaped {
    /// The address of its server.
    const ADDRESS: &str = "nbd://10.203.113.2:10809";

    fn start() -> Self {
        let name = format!("plumb-tbf-{}", std::process::id());
        let mut shaped = Self { name, nbdkit: None };
        let inside = format!("{}-in", std::process::id());
        for words in [
            format!("netns add {}", shaped.name),
            format!("link add v{inside} type veth peer name eth0 netns {}", shaped.name),
            format!("addr add 10.203.113.1/30 dev v{inside}"),
            format!("link set v{inside} up"),
            format!("-n {} addr add 10.203.113.2/30 dev eth0", shaped.name),
            format!("-n {} link set eth0 up", shaped.name),
            format!(
                "netns exec {} tc qdisc add dev eth0 root tbf rate 40mbit burst 16kb latency 400ms",
                shaped.name
            ),
        ] {
            let ended =
                Command::new("ip").args(words.split(' ')).output().expect("ip is installed");
            assert!(
                ended.status.success(),
                "ip {words}: {}",
                String::from_utf8_lossy(&ended.stderr)
            );
        }
        let mut nbdkit = Command::new("ip");
        nbdkit.args(["netns", "exec", &shaped.name, "nbdkit", "-f", "-i", "10.203.113.2"]);
        nbdkit.args(["memory", "16M"]).stderr(Stdio::null());
        shaped.nbdkit = Some(nbdkit.spawn().expect("nbdkit is installed"));
        let begun = Instant::now();
        while TcpStream::connect("10.203.113.2:10809").is_err() {
            assert!(begun.elapsed() < Duration::from_secs(30), "nbdkit does not listen");
            std::thread::sleep(Duration::from_millis(10));
        }
        shaped
    }
}

impl Drop for Shaped {
    fn drop(&mut self) {
        if let Some(nbdkit) = &mut self.nbdkit {
            nbdkit.kill().ok();
            nbdkit.wait().ok();
        }
        // The pair of interfaces goes with it.
        Command::new("ip").args(["netns", "del", &self.name]).status().ok();
    }
}

#[test]
fn the_link_is_as_fast_as_one_that_the_kernel_shapes() {
    let _alone = alone();
    if !rustix_is_root() {
        skip(Lack::Root);
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let _shaped = Shaped::start();
    let wide = [("pattern", "sequential"), ("block", "64KiB"), ("depth", "8")];
    let seconds = |more: &[(&str, &str)]| {
        let settings = [&wide[..], more].concat();
        let mut started = remote(dir.path(), &settings);
        // The first sample empties the bucket.
        drop(samples(&mut started, &[32]));
        let taken = samples(&mut started, &[64]);
        taken.elapsed_ns[0] as f64 / 1e9 / 64.0
    };
    assert_ratio("bytes a second of plumb's link over those of tbf", 0.97..1.03, || {
        let own = (65_536.0 + 16.0) / seconds(&[("down", "40Mbit/s")]);
        // tbf counts the heads of Ethernet, IPv4 and TCP: 1,514 bytes for 1,448.
        let theirs = (65_536.0 + 16.0) * 1514.0 / 1448.0 / seconds(&[("address", Shaped::ADDRESS)]);
        own / theirs
    });
}

/// Whether devices can be made here; if not, it must be said why.
fn has_devices(dir: &Path) -> bool {
    match try_point(dir, "block.mkfs", &[("size", "16MiB")]) {
        Ok(_) => true,
        Err(StartError::Unsupported { why, .. }) => {
            assert!(["root", "installed", "has no", "mount"].iter().any(|word| why.contains(word)));
            assert!(!rustix_is_root() || !why.contains("root"), "{why}");
            skip(Lack::of_reason(&why));
            false
        }
        Err(StartError::Failed(why)) => panic!("{why}"),
    }
}

fn rustix_is_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|me| std::os::unix::fs::MetadataExt::uid(&me) == 0)
}

#[test]
fn a_full_mkfs_writes_more_than_a_lazy_one_and_its_time_is_that_of_what_binds() {
    let _alone = alone();
    let dir = tempfile::tempdir().unwrap();
    if !has_devices(dir.path()) {
        return;
    }
    let made = |settings: &[(&str, &str)]| {
        let settings = [&[("size", "64MiB")], settings].concat();
        let mut started = try_point(dir.path(), "block.mkfs", &settings).unwrap();
        last(&mut started, &[1])
    };
    let (_, lazy) = made(&[("mode", "lazy")]);
    let (_, full) = made(&[("mode", "full")]);
    assert!(full("up_bytes") > 1.5 * lazy("up_bytes"), "{} {}", full("up_bytes"), lazy("up_bytes"));
    assert!(lazy("writes") > 1.0 && lazy("server_cpu") > 0.0);
    // 20 ms for each request, one after the other.
    let (seconds, lone) = made(&[("rtt", "20ms"), ("depth", "1")]);
    let requests = lone("reads") + lone("writes") + lone("flushes") + lone("discards");
    assert!(seconds > 0.9 * 0.020 * requests, "{seconds} s for {requests} requests");
    assert!(lone("under_way") < 1.05, "{}", lone("under_way"));
    let (seconds, narrow) = made(&[("up", "20Mbit/s"), ("mode", "full")]);
    let least = narrow("up_bytes") / 2.5e6;
    assert!(seconds > 0.97 * least && narrow("up_busy") > 0.7, "{seconds} {least}");
}

#[test]
fn a_copy_is_compared_and_a_stream_costs_no_more_than_its_bytes() {
    let _alone = alone();
    let dir = tempfile::tempdir().unwrap();
    let mut stream = try_point(
        dir.path(),
        "block.copy",
        &[("method", "stream"), ("size", "1MiB"), ("up", "80Mbit/s")],
    )
    .unwrap();
    let (seconds, value) = last(&mut stream, &[1, 1]);
    assert!((value("up_bytes") / f64::from(1 << 20) - 1.0).abs() < 0.01, "{}", value("up_bytes"));
    assert_eq!((value("writes"), value("flushes")), (16.0, 1.0));
    assert!(seconds > 0.104, "{seconds}");
    drop(stream);
    if !has_devices(dir.path()) {
        return;
    }
    let mut file = try_point(dir.path(), "block.copy", &[("size", "1MiB")]).unwrap();
    let (_, value) = last(&mut file, &[1, 1]);
    assert!(value("up_bytes") > f64::from(1 << 20), "{}", value("up_bytes"));
    assert!(value("flushes") >= 1.0);
    drop(file);
    let settings = [("size", "1MiB"), ("encryption", "gocryptfs")];
    let mut encrypted = try_point(dir.path(), "block.copy", &settings).unwrap();
    assert_eq!(encrypted.instance.helpers().len(), 1, "gocryptfs works for it");
    let (_, value) = last(&mut encrypted, &[1, 1]);
    assert!(value("up_bytes") > f64::from(1 << 20), "{}", value("up_bytes"));
    drop(encrypted);
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
}
