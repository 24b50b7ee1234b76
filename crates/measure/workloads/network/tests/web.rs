//! Connections and files, driven as the engine drives them.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use plumb_workload_network::ALL;
use plumb_workload_testing::{
    TestPoint, alone, assert_doubles, assert_ratio, refusal, samples, unsupported,
};

fn median(mut of: Vec<f64>) -> f64 {
    of.sort_by(f64::total_cmp);
    of[of.len() / 2]
}

#[test]
fn connections_are_opened_closed_and_timed() {
    let _alone = alone();
    let mut point = TestPoint::new(ALL, "network.connect", &[("at_once", "2")]);
    point.serve().unwrap_or_else(|error| panic!("{error:?}"));
    let mut started = point.started();
    assert_doubles("connections", &mut started, 300);
    drop(started);
    point.clean();
    let mut delayed = TestPoint::new(ALL, "network.connect", &[("path", "veth"), ("rtt", "10ms")]);
    delayed.prepare().unwrap_or_else(|error| panic!("{error:?}"));
    delayed.serve().unwrap_or_else(|error| panic!("{error:?}"));
    let mut started = delayed.started();
    // A round trip to open it, and one until the end that the server sends when it knows of it.
    assert_ratio("a connection in ms", 20.0..22.0, || {
        let taken = samples(&mut started, &[1; 20]);
        median(taken.elapsed_ns.iter().map(|ns| *ns as f64 / 1e6).collect())
    });
    drop(started);
    delayed.clean();
}

#[test]
fn a_port_that_somebody_names_is_opened_or_says_why_not() {
    for host in ["127.0.0.1", "::1"] {
        let listener = std::net::TcpListener::bind((host, 0)).unwrap();
        let port = listener.local_addr().unwrap().port().to_string();
        let at = |port: &str| {
            let mut point =
                TestPoint::new(ALL, "network.connect", &[("host", host), ("port", port)]);
            point.serve().unwrap_or_else(|error| panic!("{error:?}"));
            point
        };
        let mut started = at(&port).started();
        assert_eq!(samples(&mut started, &[5, 50]).iterations, [5, 50]);
        drop((started, listener));
        let (why, _) = unsupported("a closed port", at("1").try_start());
        assert!(why.contains("Connection refused"), "{why}");
        let why = refusal("no port", at("0").try_start());
        assert!(why.contains("`port`"), "{why}");
    }
}

#[test]
fn files_arrive_whole_and_their_times_are_apart() {
    let _alone = alone();
    let mut point = TestPoint::new(ALL, "network.http", &[("size", "1MiB"), ("at_once", "2")]);
    point.serve().unwrap_or_else(|error| panic!("{error:?}"));
    let mut started = point.started();
    let taken = samples(&mut started, &[5, 50]);
    let seconds = taken.elapsed_ns[1] as f64 / 1e9;
    let throughput = taken.values["throughput"][1];
    assert!((throughput * seconds / (50.0 * 1_048_576.0) - 1.0).abs() < 1e-6, "{throughput}");
    drop(started);
    point.clean();
    let path = [("path", "veth"), ("rtt", "10ms"), ("size", "1KiB")];
    let mut delayed = TestPoint::new(ALL, "network.http", &path);
    delayed.prepare().unwrap_or_else(|error| panic!("{error:?}"));
    delayed.serve().unwrap_or_else(|error| panic!("{error:?}"));
    let mut started = delayed.started();
    // A round trip to connect, and one for the file; a third one would make it 30 ms.
    assert_ratio("a small file in ms", 20.0..28.0, || {
        let taken = samples(&mut started, &[1; 10]);
        for part in ["connect_time", "first_byte"] {
            assert!(taken.values[part].iter().all(|part| *part >= 0.01), "{taken:?}");
        }
        assert!(taken.values["name_time"].iter().all(|part| *part < 0.001), "{taken:?}");
        median(taken.elapsed_ns.iter().map(|ns| *ns as f64 / 1e6).collect())
    });
    drop(started);
    delayed.clean();
}

#[test]
fn a_url_is_fetched_or_says_why_not() {
    let folder = std::env::temp_dir().join(format!("plumb-http-{}", std::process::id()));
    std::fs::create_dir(&folder).unwrap();
    // As large as that of which `wget` was to say how quick a network is.
    std::fs::File::create(folder.join("file")).unwrap().set_len(100_000_000).unwrap();
    let mut server = Command::new("python3")
        .args(["-u", "-m", "http.server", "0", "--bind", "127.0.0.1"])
        .current_dir(&folder)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut said = String::new();
    BufReader::new(server.stdout.as_mut().unwrap()).read_line(&mut said).unwrap();
    let port = said.split("port ").nth(1).unwrap().split(' ').next().unwrap();
    let at = |url: &str| {
        let mut point = TestPoint::new(ALL, "network.http", &[("url", url)]);
        point.serve().unwrap_or_else(|error| panic!("{error:?}"));
        point
    };
    let mut started = at(&format!("http://localhost:{port}/file")).started();
    assert!(started.ready.notes.contains(&"a file of 100000000 bytes".to_owned()));
    let taken = samples(&mut started, &[3]);
    assert!(taken.values["name_time"][0] > 0.0, "{taken:?}");
    drop(started);
    for (url, why) in [
        (format!("http://127.0.0.1:{port}/nothing"), "404"),
        ("http://127.0.0.1:1/".to_owned(), "Connection refused"),
        ("https://127.0.0.1:1/".to_owned(), "Connection refused"),
        (format!("https://127.0.0.1:{port}/file"), "corrupt message"),
    ] {
        let (told, _) = unsupported(&url, at(&url).try_start());
        assert!(told.contains(why), "{told}");
    }
    for url in ["ftp://127.0.0.1/", "http://me:secret@127.0.0.1/", "http://127.0.0.1:x/"] {
        assert!(refusal(url, at(url).try_start()).contains("a URL is http[s]://"));
    }
    server.kill().unwrap();
    server.wait().unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
}
