//! The family `tls`, driven as the engine drives it, next to the installed OpenSSL.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "helpers of tests fail by panicking")]

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use plumb_protocol::StartError;
use plumb_workload_testing::{
    TestPoint, alone, assert_doubles, assert_ratio, samples, unsupported,
};
use plumb_workload_tls::ALL;

fn served(id: &str, settings: &[(&str, &str)]) -> TestPoint<'static> {
    let mut point = TestPoint::new(ALL, id, settings);
    point.prepare().unwrap_or_else(|error| panic!("{error:?}"));
    point.serve().unwrap_or_else(|error| panic!("{error:?}"));
    point
}

#[test]
fn every_key_group_version_and_mode_makes_handshakes() {
    let settings: &[&[(&str, &str)]] = &[
        &[],
        &[("mode", "resumed")],
        &[("version", "1.2"), ("key", "rsa-2048"), ("group", "p-256")],
        &[("version", "1.2"), ("mode", "resumed"), ("cipher", "chacha20-poly1305")],
        &[("key", "ed25519"), ("group", "p-384"), ("cipher", "aes-128-gcm")],
        &[("group", "x25519-ml-kem-768"), ("key", "rsa-4096"), ("at_once", "2")],
    ];
    for settings in settings {
        let point = served("tls.handshake", settings);
        let mut started = point.started();
        let taken = samples(&mut started, &[16, 16]);
        let share = if settings.contains(&("mode", "resumed")) { 1.0 } else { 0.0 };
        assert_eq!(taken.values["resumed"], [share, share], "{settings:?}");
    }
}

#[test]
fn openssl_makes_handshakes_at_either_end() {
    for (client, server) in [("openssl", "rustls"), ("rustls", "openssl"), ("openssl", "openssl")] {
        let settings: &[&[(&str, &str)]] = &[
            &[("key", "ed25519"), ("at_once", "2")],
            &[("mode", "resumed"), ("group", "p-256")],
            &[("version", "1.2"), ("key", "rsa-2048"), ("cipher", "chacha20-poly1305")],
            // With a certificate on P-256, OpenSSL refuses a client of version 1.2 that offers P-384 alone.
            &[("version", "1.2"), ("mode", "resumed"), ("group", "p-384"), ("key", "rsa-2048")],
        ];
        for more in settings {
            let mut settings = vec![("client", client), ("server", server)];
            settings.extend(*more);
            let point = served("tls.handshake", &settings);
            let mut started = point.started();
            let taken = samples(&mut started, &[16]);
            let share = if more.contains(&("mode", "resumed")) { 1.0 } else { 0.0 };
            assert_eq!(taken.values["resumed"], [share], "{settings:?}");
            let ends = [("client", "openssl"), ("server", "server.openssl")];
            for (end, component) in ends {
                let is_openssl = settings.contains(&(end, "openssl"));
                let version = started.ready.versions.get(component);
                assert_eq!(version.is_some(), is_openssl, "{settings:?}: {version:?}");
            }
        }
    }
}

#[test]
fn groups_that_this_openssl_lacks_name_the_version_that_has_them() {
    let settings = [("client", "openssl"), ("group", "x25519-ml-kem-768")];
    let point = served("tls.handshake", &settings);
    match point.try_start() {
        // OpenSSL has it since 3.5.
        Ok(mut started) => assert_eq!(samples(&mut started, &[2]).iterations, [2]),
        Err(StartError::Unsupported { why, fix }) => {
            assert!(why.contains("has no group X25519MLKEM768"), "{why}");
            assert!(fix.contains("since version 3.5"), "{fix}");
        }
        Err(StartError::Failed(why)) => panic!("{why}"),
    }
}

#[test]
fn a_delay_is_one_round_trip_of_a_handshake_and_two_of_the_older_version() {
    let _alone = alone();
    for (version, trips) in [("1.3", 1.0), ("1.2", 2.0)] {
        let path = [("path", "veth"), ("rtt", "20ms"), ("version", version)];
        let point = served("tls.handshake", &path);
        let mut started = point.started();
        assert_ratio("milliseconds of a handshake", trips * 20.0..trips * 20.0 + 5.0, || {
            let latencies = &samples(&mut started, &[1; 10]).histograms["latency"];
            let all = latencies.iter().flat_map(|histogram| histogram.counts().unwrap());
            all.map(|(value, _)| value as f64 / 1e6).fold(f64::INFINITY, f64::min)
        });
    }
}

#[test]
fn handshakes_at_a_rate_begin_when_they_are_due() {
    let _alone = alone();
    let settings = [("rate", "100"), ("arrivals", "fixed"), ("at_once", "2")];
    let point = served("tls.handshake", &settings);
    let mut started = point.started();
    assert_ratio("seconds of 40 handshakes at 100/s", 0.39..0.45, || {
        let taken = samples(&mut started, &[40]);
        assert!((0.0..=1.0).contains(&taken.values["in_time"][0]));
        taken.elapsed_ns[0] as f64 / 1e9
    });
    // One thread can't keep a rate of which each handshake waits for a round trip.
    let slow = [("rate", "200"), ("path", "veth"), ("rtt", "20ms")];
    let point = served("tls.handshake", &slow);
    let taken = samples(&mut point.started(), &[10, 10]);
    assert!(taken.values["in_time"][1] < 0.5, "{:?}", taken.values["in_time"]);
    let latencies = taken.histograms["latency"][1].counts().unwrap();
    let longest_ms = latencies.iter().map(|(value, _)| *value as f64 / 1e6).fold(0.0, f64::max);
    // The last was due 100 ms after the first one began, behind 19 others of 40 ms each.
    assert!(longest_ms > 300.0, "{longest_ms}");
}

#[test]
fn samples_over_a_long_path_are_long() {
    for direction in ["up", "down"] {
        let settings = [("direction", direction), ("path", "veth"), ("rtt", "20ms")];
        let shortest_ns = served("tls.bulk", &settings).started().instance.shortest_sample_ns();
        assert!((400_000_000..2_000_000_000).contains(&shortest_ns), "{direction}: {shortest_ns}");
    }
}

#[test]
fn bytes_go_either_way_and_time_follows_them() {
    let _alone = alone();
    for direction in ["up", "down"] {
        let point = served("tls.bulk", &[("direction", direction)]);
        assert_doubles(direction, &mut point.started(), 40);
    }
}

/// A server of the installed OpenSSL on a free port. Dropping it ends it.
struct OpensslServer {
    child: Child,
    port: String,
}

impl OpensslServer {
    fn start(folder: &Path, options: &[&str]) -> Self {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let child = Command::new("openssl")
            .args(["s_server", "-quiet", "-www", "-accept", &format!("127.0.0.1:{port}")])
            .args(["-cert", "cert.pem", "-key", "key.pem"])
            .args(options)
            .current_dir(folder)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("this test needs the program openssl");
        let until = Instant::now() + Duration::from_secs(10);
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(Instant::now() < until, "openssl s_server does not listen");
            thread::sleep(Duration::from_millis(20));
        }
        Self { child, port: port.to_string() }
    }
}

impl Drop for OpensslServer {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// Makes a certificate for `localhost` with its key in this folder.
fn make_certificate(folder: &Path, days: &str) {
    let made = Command::new("openssl")
        .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"])
        .args(["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"])
        .args(["-keyout", "key.pem", "-out", "cert.pem", "-days", days])
        .current_dir(folder)
        .output()
        .expect("this test needs the program openssl");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
}

fn to(port: &str, more: &[(&'static str, &'static str)]) -> TestPoint<'static> {
    let mut settings = vec![("host", "127.0.0.1"), ("port", port), ("name", "localhost")];
    settings.extend(more.iter().copied());
    TestPoint::new(ALL, "tls.handshake", &settings)
}

#[test]
fn openssl_resumes_every_session_or_the_result_says_so() {
    let folder = tempfile::tempdir().unwrap();
    make_certificate(folder.path(), "2");
    let server = OpensslServer::start(folder.path(), &["-tls1_3"]);
    let resumed = [("verify", "off"), ("mode", "resumed")];
    let mut started = to(&server.port, &resumed).started();
    assert_eq!(samples(&mut started, &[5]).values["resumed"], [1.0]);
    let mut full = to(&server.port, &[("verify", "off")]).started();
    assert_eq!(samples(&mut full, &[5]).values["resumed"], [0.0]);
    let notes = &full.ready.notes;
    assert!(notes.iter().any(|note| note.contains("1 certificate, ")), "{notes:?}");
    let by_openssl = [("verify", "off"), ("mode", "resumed"), ("client", "openssl")];
    let mut started = to(&server.port, &by_openssl).started();
    assert_eq!(samples(&mut started, &[5]).values["resumed"], [1.0]);
    drop(server);
    let server = OpensslServer::start(folder.path(), &["-tls1_3", "-num_tickets", "0"]);
    let (why, fix) = unsupported("no tickets", to(&server.port, &resumed).try_start());
    assert_eq!(why, "not-resumed: the server resumed 0 of 3 sessions");
    assert!(fix.contains("mode=full"), "{fix}");
}

#[test]
fn certificates_are_verified_and_faults_are_named() {
    let folder = tempfile::tempdir().unwrap();
    make_certificate(folder.path(), "2");
    let server = OpensslServer::start(folder.path(), &[]);
    let (why, fix) = unsupported("an unknown authority", to(&server.port, &[]).try_start());
    assert!(why.contains("certificate") && fix.contains("`verify=off`"), "{why}; {fix}");
    let other = to(&server.port, &[("server", "openssl")]);
    let (_, fix) = unsupported("a library of a server that is not ours", other.try_start());
    assert_eq!(fix, "leave out `server` or `host`");
    let by_openssl = to(&server.port, &[("client", "openssl")]);
    let (why, fix) = unsupported("an unknown authority", by_openssl.try_start());
    assert!(why.contains("certificate") && fix.contains("`verify=off`"), "{why}; {fix}");
    drop(server);
    let server = OpensslServer::start(folder.path(), &["-tls1_1", "-cipher", "ALL:@SECLEVEL=0"]);
    let old = to(&server.port, &[("verify", "off")]);
    let (why, fix) = unsupported("TLS 1.1", old.try_start());
    assert!(fix.contains("`version`") || fix.contains("speaks TLS"), "{why}; {fix}");
}

#[test]
fn servers_that_close_or_stay_silent_are_named() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    let closing = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut hello = [0; 16];
        stream.read_exact(&mut hello).unwrap();
    });
    let (why, _) = unsupported("a server that closes", to(&port, &[]).try_start());
    assert!(why.contains("no handshake with 127.0.0.1"), "{why}");
    closing.join().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    let silent = thread::spawn(move || listener.accept().unwrap());
    let begun = Instant::now();
    let (why, fix) = unsupported("a silent server", to(&port, &[]).try_start());
    assert!(why.contains("no answer within 10 s") && fix.contains("firewall"), "{why}; {fix}");
    assert!(begun.elapsed() < Duration::from_secs(15));
    drop(silent.join().unwrap());
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    let plain = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.write_all(b"SSH-2.0-OpenSSH_9.2\r\n").unwrap();
        let mut rest = Vec::new();
        stream.read_to_end(&mut rest).ok();
    });
    let (_, fix) = unsupported("a server of SSH", to(&port, &[]).try_start());
    assert!(fix.contains("speaks TLS"), "{fix}");
    plain.join().unwrap();
}
