//! The family `datastore`, driven as the engine drives it.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail the test")]

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use plumb_model::FlagKind;
use plumb_workload_datastore::ALL;
use plumb_workload_testing::{TestPoint, alone, samples, take, unsupported};

#[test]
fn an_entity_has_a_time_in_every_phase_and_nothing_is_left_behind() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let metrics = ALL[0].describe().metrics;
    let (total, others) = metrics.split_first().unwrap();
    let phases: Vec<_> = others.iter().filter(|metric| metric.headline).collect();
    for durability in ["none", "batch", "entity"] {
        let settings = [("entities", "20"), ("durability", durability)];
        let mut point = TestPoint::new(ALL, "datastore.batch", &settings).in_folder(folder.path());
        point.prepare().unwrap();
        let mut started = point.started();
        let samples = samples(&mut started, &[2, 1]);
        let whole = samples.metric(total, started.ready.work["time"]).unwrap();
        for (i, whole) in whole.into_iter().enumerate() {
            let parts: Vec<f64> =
                phases.iter().map(|m| samples.metric(m, 1.0).unwrap()[i]).collect();
            let sum: f64 = parts.iter().sum();
            assert!(parts.iter().all(|&part| part > 0.0) && sum <= whole, "{parts:?} of {whole}");
            assert!(sum > 0.9 * whole, "the phases make up the whole: {sum} of {whole}");
        }
        assert_eq!(started.ready.versions["sqlite"].split('.').count(), 3);
        drop(started);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "{durability}");
    }
}

/// Every engine, so that a server that is not installed fails the test.
#[test]
fn every_engine_has_times_versions_and_memory() {
    let folder = tempfile::tempdir().unwrap();
    let engines = [
        ("sqlite", "sqlite"),
        ("redb", "redb"),
        ("files", "kernel"),
        ("log", "log"),
        ("postgresql", "postgresql"),
        ("etcd", "etcd"),
        ("redis", "redis"),
        ("memcached", "memcached"),
    ];
    for (engine, component) in engines {
        let durability = if engine == "etcd" { "entity" } else { "none" };
        let settings =
            [("entities", "200"), ("durability", durability), ("engine", engine), ("pack", "10")];
        let mut point = TestPoint::new(ALL, "datastore.batch", &settings).in_folder(folder.path());
        point.prepare().unwrap();
        let mut started = point.started();
        let taken = samples(&mut started, &[1, 2]);
        for value in ["add", "get", "update", "get_updated", "delete", "encode", "client_memory"] {
            assert!(taken.values[value].iter().all(|value| *value > 0.0), "{engine}: {value}");
        }
        let is_server = matches!(engine, "postgresql" | "etcd" | "redis" | "memcached");
        assert_eq!(taken.values.contains_key("server_memory"), is_server, "{engine}");
        assert_eq!(!started.instance.helpers().is_empty(), is_server, "{engine}");
        assert!(!started.ready.versions[component].is_empty(), "{engine}");
        drop(started);
        point.clean();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "{engine}");
    }
}

#[test]
fn what_cannot_be_run_says_why_and_what_to_set() {
    let cases: [(&[(&str, &str)], &str); 7] = [
        (
            &[("engine", "redis"), ("durability", "batch")],
            "`durability=none` or `durability=entity`",
        ),
        (&[("engine", "memcached"), ("durability", "entity")], "`durability=none`"),
        (&[("pack", "7")], "a multiple of 7"),
        (&[("url", "redis://localhost")], "leave out `url`"),
        (
            &[("engine", "redis"), ("durability", "none"), ("url", "redis://:secret@127.0.0.1:1")],
            "start the server",
        ),
        (&[("bytes", "8")], "`bytes` between"),
        (&[("entities", "10000000"), ("bytes", "1MiB")], "--dir"),
    ];
    for (settings, wanted) in cases {
        let point = TestPoint::new(ALL, "datastore.batch", settings);
        let (why, fix) = unsupported("datastore.batch", point.try_start());
        assert!(!why.is_empty() && fix.contains(wanted), "{why}; {fix}");
        assert!(!why.contains("secret"), "{why}");
    }
}

#[test]
fn files_in_memory_are_flagged() {
    let memory = Path::new("/dev/shm");
    if fs::read_to_string("/proc/mounts").unwrap().contains(" /dev/shm tmpfs ") {
        let point = TestPoint::new(ALL, "datastore.batch", &[("entities", "1")]).in_folder(memory);
        assert_eq!(point.started().ready.flags[0].flag, FlagKind::Tmpfs);
    }
}

/// A mix of operations in a folder, with its server.
fn mixed(folder: &Path, settings: &[(&str, &str)]) -> TestPoint<'static> {
    let mut point = TestPoint::new(ALL, "datastore.mix", settings).in_folder(folder);
    point.prepare().unwrap_or_else(|error| panic!("{settings:?}: {error:?}"));
    point
}

#[test]
fn every_mix_reads_what_was_written_in_every_engine() {
    let folder = tempfile::tempdir().unwrap();
    for engine in ["sqlite", "redb", "postgresql", "etcd", "redis", "memcached"] {
        let is_server = matches!(engine, "postgresql" | "etcd" | "redis" | "memcached");
        for mix in ["a", "b", "c", "d", "e", "f"] {
            let durability = if engine == "etcd" { "entity" } else { "none" };
            let settings = [
                ("engine", engine),
                ("durability", durability),
                ("mix", mix),
                ("entities", "300"),
                ("bytes", "100"),
                ("clients", "3"),
            ];
            let mut point = mixed(folder.path(), &settings);
            if matches!(engine, "redis" | "memcached") && mix == "e" {
                let (why, fix) = unsupported(mix, point.try_start());
                assert!(why.contains("no scans") && fix.contains("engine=sqlite"), "{why}; {fix}");
                continue;
            }
            let mut started = point.started();
            let taken = samples(&mut started, &[100, 900]);
            let count = |name: &str, sample: usize| {
                let histogram = taken.histograms.get(name)?.get(sample)?.counts()?;
                Some(histogram.iter().map(|(_, count)| count).sum::<u64>())
            };
            assert_eq!(count("latency", 1), Some(900), "{engine} {mix}");
            let reads = count("read_latency", 1).unwrap();
            let writes = count("write_latency", 1);
            assert_eq!(reads + writes.unwrap_or(0), 900, "{engine} {mix}");
            assert_eq!(writes.is_none(), mix == "c", "{engine} {mix}");
            let share = reads as f64 / 900.0;
            let wanted = match mix {
                "a" | "f" => 0.42..0.58,
                "c" => 1.0..1.1,
                _ => 0.91..0.99,
            };
            assert!(wanted.contains(&share), "{engine} {mix}: {share}");
            assert_eq!(taken.values.contains_key("far_cpu"), is_server, "{engine}");
            drop(started);
            point.clean();
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "{engine}");
    }
}

/// Sends a command to the Redis server of a point, and waits for the answer.
fn to_redis(point: &TestPoint, command: &str) {
    let port = &point.start.endpoints["port"];
    let mut stream = TcpStream::connect(format!("127.0.0.1:{port}")).unwrap();
    stream.write_all(format!("{command}\r\n").as_bytes()).unwrap();
    let mut answer = [0; 3];
    stream.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"+OK", "{command}");
}

/// The only key that the Redis server of a point has.
fn only_key(point: &TestPoint) -> String {
    let port = &point.start.endpoints["port"];
    let stream = TcpStream::connect(format!("127.0.0.1:{port}")).unwrap();
    (&stream).write_all(b"RANDOMKEY\r\n").unwrap();
    BufReader::new(stream).lines().nth(1).unwrap().unwrap()
}

#[test]
fn entities_that_are_lost_or_altered_behind_our_back_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let settings = [("engine", "redis"), ("mix", "c"), ("entities", "1"), ("bytes", "16")];
    for what in ["is missing", "differs"] {
        let point = mixed(folder.path(), &settings);
        let mut started = point.started();
        assert_eq!(samples(&mut started, &[10]).iterations, [10]);
        let command = match what {
            "differs" => format!("SET {} other", only_key(&point)),
            _ => "FLUSHALL".to_owned(),
        };
        to_redis(&point, &command);
        let failure = take(started.instance.as_mut(), &[10]).unwrap_err().0;
        let wanted = format!("datastore.mix: read: entity 1 {what}");
        assert!(failure.starts_with(&wanted), "{failure}");
    }
}

#[test]
fn a_server_that_ends_is_reported_and_one_that_wants_a_password_is_refused_without_it() {
    let folder = tempfile::tempdir().unwrap();
    let settings = [("engine", "redis"), ("mix", "c"), ("entities", "10")];
    let mut point = mixed(folder.path(), &settings);
    let mut started = point.started();
    let server = started.instance.helpers()[0].to_string();
    to_redis(&point, "CONFIG SET requirepass right");
    let url = |login: &str| format!("redis://{login}127.0.0.1:{}", point.start.endpoints["port"]);
    let refused = |login: &str| {
        let url = url(login);
        let settings = [("engine", "redis"), ("mix", "c"), ("url", url.as_str())];
        let (why, _) = unsupported(login, mixed(folder.path(), &settings).try_start());
        assert!(!why.contains("wrong") && !why.contains("right"), "{why}");
        why
    };
    assert!(refused(":wrong@").contains("refuses the password"));
    assert!(refused("").contains("NOAUTH"), "{}", refused(""));
    let url = url(":right@");
    let settings = [("engine", "redis"), ("mix", "a"), ("entities", "10"), ("url", url.as_str())];
    let mut own = mixed(folder.path(), &settings).started();
    let taken = samples(&mut own, &[50]);
    assert!(!taken.values.contains_key("far_cpu"), "the process of that server is not known");
    assert!(Command::new("kill").args(["-KILL", &server]).status().unwrap().success());
    let failure = take(started.instance.as_mut(), &[10]).unwrap_err().0;
    assert!(failure.starts_with("datastore.mix: read: "), "{failure}");
    point.clean();
}

/// How many keys the Redis server of a point has.
fn count_keys(point: &TestPoint) -> String {
    let port = &point.start.endpoints["port"];
    let stream = TcpStream::connect(format!("127.0.0.1:{port}")).unwrap();
    (&stream).write_all(b"DBSIZE\r\n").unwrap();
    BufReader::new(stream).lines().next().unwrap().unwrap()
}

#[test]
fn two_processes_share_a_server_and_leave_nothing_there() {
    let folder = tempfile::tempdir().unwrap();
    let server = mixed(folder.path(), &[("engine", "redis")]);
    let url = format!("redis://127.0.0.1:{}", server.start.endpoints["port"]);
    let settings = [("engine", "redis"), ("entities", "50"), ("url", url.as_str())];
    let mut first = mixed(folder.path(), &settings).started();
    let mut second = mixed(folder.path(), &settings).started();
    assert_eq!(count_keys(&server), ":100");
    take(first.instance.as_mut(), &[100]).unwrap();
    take(second.instance.as_mut(), &[100]).unwrap();
    drop(first);
    take(second.instance.as_mut(), &[100]).unwrap();
    assert_eq!(count_keys(&server), ":50");
    to_redis(&server, "FLUSHALL");
    assert!(take(second.instance.as_mut(), &[100]).is_err());
    drop(second);
    assert_eq!(count_keys(&server), ":0");
    let settings = [&settings[..], &[("durability", "none")]].concat();
    let point = TestPoint::new(ALL, "datastore.batch", &settings).in_folder(folder.path());
    let mut batch = point.started();
    take(batch.instance.as_mut(), &[1]).unwrap();
    to_redis(&server, "CONFIG SET maxmemory 1");
    assert!(take(batch.instance.as_mut(), &[1]).is_err());
    assert_eq!(count_keys(&server), ":0");
}

#[test]
fn entities_fit_into_the_memory_of_a_server() {
    let folder = tempfile::tempdir().unwrap();
    for (engine, wanted) in [("redis", "half of the memory"), ("memcached", "memcached's limit")] {
        let settings = [("engine", engine), ("entities", "5000000"), ("bytes", "1024")];
        let mut point = mixed(folder.path(), &settings);
        point.start.facts.memory_bytes = if engine == "redis" { 1 << 30 } else { 1 << 40 };
        let (why, fix) = unsupported(engine, point.try_start());
        assert!(why.contains(wanted) && fix.contains("set entities="), "{why}; {fix}");
    }
}

/// Milliseconds that one operation in a thousand exceeds while the server stands still for a tenth of each second.
fn slowest_with_stalls(settings: &[(&str, &str)], operations: u64) -> (f64, f64) {
    let folder = tempfile::tempdir().unwrap();
    let point = mixed(folder.path(), settings);
    let mut started = point.started();
    let server = started.instance.helpers()[0].to_string();
    let (ended, has_ended) = std::sync::mpsc::channel::<()>();
    let stalling = std::thread::spawn(move || {
        let signal = |name: &str| Command::new("kill").args([name, &server]).status().unwrap();
        while has_ended.recv_timeout(Duration::from_millis(900)).is_err() {
            signal("-STOP");
            std::thread::sleep(Duration::from_millis(100));
            signal("-CONT");
        }
    });
    let taken = samples(&mut started, &[operations]);
    ended.send(()).unwrap();
    stalling.join().unwrap();
    let counts = taken.histograms["latency"][0].counts().unwrap();
    let total: u64 = counts.iter().map(|(_, count)| count).sum();
    let mut below = 0;
    let slowest = counts.iter().find(|(_, count)| {
        below += count;
        below as f64 >= 0.999 * total as f64
    });
    (slowest.unwrap().0 as f64 / 1e6, taken.values["all_waiting"][0])
}

#[test]
fn a_stalled_server_shows_in_the_tail_of_an_open_loop_and_not_in_that_of_a_closed_one() {
    let _alone = alone();
    let common = [("engine", "redis"), ("mix", "c"), ("entities", "100"), ("arrivals", "fixed")];
    let open = [&common[..], &[("rate", "500"), ("clients", "4")]].concat();
    let (open_ms, _) = slowest_with_stalls(&open, 1500);
    assert!(open_ms >= 80.0, "{open_ms}");
    let (closed_ms, all_waiting) = slowest_with_stalls(&common, 50_000);
    assert!(closed_ms < 40.0, "{closed_ms}");
    // Its only client waits for each reply, and says so.
    assert!(all_waiting > 0.5, "{all_waiting}");
}
