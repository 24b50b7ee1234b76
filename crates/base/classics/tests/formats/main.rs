//! Every format: real files of the tools, and older forms, told as plumb tells them.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod conformance;
mod mutations;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use insta::assert_snapshot;
use plumb_classics::{
    COUNTING, Format, Import, ImportDetails, ImportError, ResultFile, events, read,
};
use plumb_model::{Description, Event, MetricSource, Outcome, Stamped};
use proptest::prelude::{ProptestConfig, any, prop, proptest};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")
}

fn fixture(name: &str) -> String {
    std::fs::read_to_string(folder().join(name)).unwrap()
}

/// All fixtures, by name, but the one of a test that failed.
fn fixtures() -> Vec<(String, String)> {
    let mut names: Vec<String> = std::fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.retain(|name| name != "iperf3-refused.json");
    names.sort();
    names.into_iter().map(|name| (name.clone(), fixture(&name))).collect()
}

/// The metrics of a file, one line each.
fn told(name: &str, version: Option<&str>) -> String {
    let imports = read(&fixture(name), None, version).unwrap().imports;
    imports.iter().map(lines).collect::<Vec<_>>().join("\n")
}

fn lines(import: &Import) -> String {
    let tool = import.format.word();
    let version = import.version.as_deref().unwrap_or("?");
    let mut out =
        format!("{tool} {version} at {:?} on {:?}\n", import.started_unix_ns, import.machine);
    for series in &import.series {
        let settings: Vec<String> =
            series.settings.iter().map(|(k, v)| format!("{k}={v}")).collect();
        let _ = writeln!(out, "{}:{} {:?}", series.workload, settings.join(","), series.sample_is);
        for invocation in &series.invocations {
            let elapsed: Vec<String> = invocation.elapsed_ns.iter().map(u64::to_string).collect();
            let _ = write!(out, "  {} ns, {} ops", elapsed.join("+"), invocation.iterations);
            for metric in &series.metrics {
                let column = invocation.values.get(&metric.name).into_iter().flatten();
                let values: Vec<String> = column.map(|value| format!("{value:.6e}")).collect();
                let unit = match metric.unit.as_str() {
                    "" => String::new(),
                    unit => format!(" {unit}"),
                };
                let _ = write!(out, "; {} {}{unit}", metric.name, values.join(" "));
            }
            let _ = writeln!(
                out,
                "{}",
                invocation.failed.as_deref().map_or(String::new(), |why| format!("; FAILED {why}"))
            );
        }
    }
    for (series, ..) in &import.missing {
        let _ = writeln!(out, "missing {}", series.workload);
    }
    out
}

#[test]
fn cloudwatch_keeps_sum_count_and_average_apart() {
    assert_snapshot!(told("cloudwatch-efs.json", None), @r#"
    cloudwatch ? at Some(1490609100000000000) on {}
    cloudwatch.metric:metric=DataWriteIOBytes,period=60s Iteration
      60000000000+60000000000+60000000000 ns, 172400 ops; sum 1.173504e7 1.177600e7 1.179648e7 B/s; count 2.865000e3 2.875000e3 2.880000e3 ops/s; average 4.096000e3 4.096000e3 4.096000e3 B; minimum 4.096000e3 4.096000e3 4.096000e3 B; maximum 4.096000e3 4.096000e3 4.096000e3 B
    "#);
    let one =
        r#"{"Label": "x", "Datapoints": [{"Timestamp": "2017-03-27T10:07:00Z", "Sum": 1.0}]}"#;
    assert!(matches!(read(one, None, None), Err(ImportError::Nothing { .. })));
    let wrong = one.replace("2017-03-27", "yesterday");
    assert!(matches!(read(&wrong, None, None), Err(ImportError::Unreadable { .. })));
}

#[test]
fn cloudwatch_gives_a_limit_if_the_file_says_how_much_of_it_was_used() {
    let statistics = |label: &str, unit: &str, points: &[(&str, &str)]| {
        let points: Vec<String> = points
            .iter()
            .map(|(at, value)| {
                format!(r#"{{"Timestamp": "2017-03-27T{at}:00Z", {value}, "Unit": "{unit}"}}"#)
            })
            .collect();
        format!(r#"{{"Label": "{label}", "Datapoints": [{}]}}"#, points.join(", "))
    };
    // 2,880 and 1,440 operations per second.
    let busy = [
        ("10:05", r#""SampleCount": 172800.0"#),
        ("10:06", r#""SampleCount": 86400.0"#),
        ("10:07", r#""SampleCount": 60.0"#),
    ];
    let used = [
        ("10:05", r#""Average": 84.0"#),
        ("10:06", r#""Average": 42.0"#),
        ("10:07", r#""Average": 0.03"#),
    ];
    let limits = |text: &str| {
        let read = read(text, None, None).unwrap();
        let series = read.imports.iter().flat_map(|import| &import.series);
        let limit = series.clone().find(|series| series.workload == "cloudwatch.limit");
        limit.map(|series| series.invocations[0].values["limit"].clone())
    };
    let writes = statistics("DataWriteIOBytes", "Bytes", &busy);
    let percent = statistics("PercentIOLimit", "Percent", &used);
    // Of 0.03 %, the last digit is a third: that period is left out.
    let found = limits(&format!("{writes}{percent}")).unwrap();
    assert_eq!(found.len(), 2);
    assert!(found.iter().all(|limit| (limit - 2880.0 / 0.84).abs() < 1e-9), "{found:?}");
    assert_eq!(limits(&writes), None);
    // The limit is one of all operations, of which a part says nothing.
    let reads = statistics("DataReadIOBytes", "Bytes", &busy);
    assert_eq!(limits(&format!("{reads}{writes}{percent}")), None);
    let total = statistics("TotalIOBytes", "Bytes", &busy);
    assert_eq!(limits(&format!("{reads}{total}{percent}")).unwrap(), found);
}

#[test]
fn bonnie_with_27_fields() {
    assert_snapshot!(told("bonnie-1.03.csv", None), @r#"
    bonnie 1.03 at None on {"name": "bifferboard"}
    bonnie.write_stdio:size=300M Iteration
      469294225 ns, 1 ops; bandwidth 2.234368e6 B/s; cpu 9.700000e-1 share
    bonnie.write_block:size=300M Iteration
      111900339 ns, 1 ops; bandwidth 9.370624e6 B/s; cpu 9.200000e-1 share
    bonnie.rewrite:size=300M Iteration
      231517070 ns, 1 ops; bandwidth 4.529152e6 B/s; cpu 5.200000e-1 share
    bonnie.read_stdio:size=300M Iteration
      458987001 ns, 1 ops; bandwidth 2.284544e6 B/s; cpu 9.800000e-1 share
    bonnie.read_block:size=300M Iteration
      92989466 ns, 1 ops; bandwidth 1.127629e7 B/s; cpu 7.800000e-1 share
    bonnie.seek:size=300M Iteration
      7007708479 ns, 1000 ops; rate 1.427000e2 ops/s; cpu 1.200000e-1 share
    bonnie.create_sequential:files=16 Iteration
      846740051 ns, 1000 ops; rate 1.181000e3 ops/s; cpu 9.900000e-1 share
    bonnie.delete_sequential:files=16 Iteration
      647668394 ns, 1000 ops; rate 1.544000e3 ops/s; cpu 9.800000e-1 share
    bonnie.create_random:files=16 Iteration
      838222967 ns, 1000 ops; rate 1.193000e3 ops/s; cpu 9.900000e-1 share
    bonnie.delete_random:files=16 Iteration
      1122334456 ns, 1000 ops; rate 8.910000e2 ops/s; cpu 9.800000e-1 share
    missing bonnie.stat_sequential
    missing bonnie.stat_random
    "#);
}

#[test]
fn bonnie_with_48_fields() {
    assert_snapshot!(told("bonnie-1.96.csv", None), @r#"
    bonnie 1.96 at None on {"name": "host"}
    bonnie.write_byte:size=4G Iteration
      1928436911 ns, 1 ops; bandwidth 5.437440e5 B/s; cpu 9.900000e-1 share; latency_max 1.700000e-2 s
    bonnie.write_block:size=4G Iteration
      11987544 ns, 1 ops; bandwidth 8.747213e7 B/s; cpu 1.400000e-1 share; latency_max 1.203000e0 s
    bonnie.rewrite:size=4G Iteration
      24832068 ns, 1 ops; bandwidth 4.222669e7 B/s; cpu 9.000000e-2 share; latency_max 2.105000e0 s
    bonnie.read_byte:size=4G Iteration
      825141015 ns, 1 ops; bandwidth 1.270784e6 B/s; cpu 9.800000e-1 share; latency_max 1.100000e-2 s
    bonnie.read_block:size=4G Iteration
      9272675 ns, 1 ops; bandwidth 1.130824e8 B/s; cpu 1.100000e-1 share; latency_max 9.800000e-2 s
    bonnie.seek:size=4G Iteration
      3220611916 ns, 1000 ops; rate 3.105000e2 ops/s; cpu 1.200000e-1 share; latency_max 3.800000e-1 s
    bonnie.create_sequential:files=16 Iteration
      46849379 ns, 1000 ops; rate 2.134500e4 ops/s; cpu 4.800000e-1 share; latency_max 1.203000e-3 s
    bonnie.delete_sequential:files=16 Iteration
      34764471 ns, 1000 ops; rate 2.876500e4 ops/s; cpu 5.500000e-1 share; latency_max 1.310000e-3 s
    bonnie.create_random:files=16 Iteration
      45226358 ns, 1000 ops; rate 2.211100e4 ops/s; cpu 4.900000e-1 share; latency_max 6.400000e-4 s
    bonnie.delete_random:files=16 Iteration
      36161134 ns, 1000 ops; rate 2.765400e4 ops/s; cpu 5.200000e-1 share; latency_max 7.020000e-4 s
    missing bonnie.stat_sequential
    missing bonnie.stat_random
    "#);
}

#[test]
fn bonnie_with_50_fields_under_a_header_of_48_names() {
    assert_snapshot!(told("bonnie-x2.csv", None), @r#"
    bonnie 2.00a at None on {"name": "box"}
    bonnie.write_byte:size=32M,seeks=8192,seekers=5 Iteration
      222850925 ns, 1 ops; bandwidth 4.705280e6 B/s; cpu 9.900000e-1 share; latency_max 2.199000e-3 s
      264873254 ns, 1 ops; bandwidth 3.958784e6 B/s; cpu 9.600000e-1 share; latency_max 5.588000e-3 s
    bonnie.read_byte:size=32M,seeks=8192,seekers=5 Iteration
      230371204 ns, 1 ops; bandwidth 4.551680e6 B/s; cpu 8.300000e-1 share; latency_max 1.350400e-2 s
    missing bonnie.write_block
    missing bonnie.rewrite
    missing bonnie.read_byte
    missing bonnie.read_block
    missing bonnie.seek
    missing bonnie.create_sequential
    missing bonnie.stat_sequential
    missing bonnie.delete_sequential
    missing bonnie.create_random
    missing bonnie.stat_random
    missing bonnie.delete_random
    "#);
}

#[test]
fn fio_3() {
    assert_snapshot!(told("fio-mixed.json", None), @"
    fio 3.33 at Some(1795306814301000000) on {}
    fio.randrw:job=m,direction=read,bs=4k,ioengine=psync,size=4M,directory=d Iteration
      1001000000 ns, 37378 ops; rate 3.734066e4 ops/s; bandwidth 1.529473e8 B/s; latency_mean 2.009180e-5 s; latency_max 1.450593e-3 s; latency_p1 1.491200e-5 s; latency_p5 1.529600e-5 s; latency_p10 1.580800e-5 s; latency_p20 1.702400e-5 s; latency_p30 1.779200e-5 s; latency_p40 1.830400e-5 s; latency_p50 1.881600e-5 s; latency_p60 1.958400e-5 s; latency_p70 2.035200e-5 s; latency_p80 2.112000e-5 s; latency_p90 2.342400e-5 s; latency_p95 2.598400e-5 s; latency_p99 4.121600e-5 s; latency_p995 6.604800e-5 s; latency_p999 1.751040e-4 s; latency_p9995 2.222080e-4 s; latency_p9999 3.706880e-4 s
    fio.randrw:job=m,direction=write,bs=4k,ioengine=psync,size=4M,directory=d Iteration
      1001000000 ns, 37375 ops; rate 3.733766e4 ops/s; bandwidth 1.529351e8 B/s; latency_mean 1.867527e-6 s; latency_max 1.588720e-3 s; latency_p1 9.320000e-7 s; latency_p5 1.032000e-6 s; latency_p10 1.112000e-6 s; latency_p20 1.304000e-6 s; latency_p30 1.480000e-6 s; latency_p40 1.560000e-6 s; latency_p50 1.640000e-6 s; latency_p60 1.752000e-6 s; latency_p70 1.976000e-6 s; latency_p80 2.160000e-6 s; latency_p90 2.384000e-6 s; latency_p95 2.832000e-6 s; latency_p99 4.448000e-6 s; latency_p995 5.984000e-6 s; latency_p999 1.651200e-5 s; latency_p9995 2.214400e-5 s; latency_p9999 6.912000e-5 s
    fio.write:job=w,bs=64k,ioengine=psync,size=4M,directory=d Iteration
      1000000 ns, 64 ops; bandwidth 4.194304e9 B/s; rate 6.400000e4 ops/s; latency_mean 1.244792e-5 s; latency_max 3.517900e-5 s; latency_p1 9.920000e-6 s; latency_p5 1.043200e-5 s; latency_p10 1.056000e-5 s; latency_p20 1.081600e-5 s; latency_p30 1.107200e-5 s; latency_p40 1.120000e-5 s; latency_p50 1.145600e-5 s; latency_p60 1.171200e-5 s; latency_p70 1.209600e-5 s; latency_p80 1.260800e-5 s; latency_p90 1.363200e-5 s; latency_p95 1.555200e-5 s; latency_p99 3.507200e-5 s; latency_p995 3.507200e-5 s; latency_p999 3.507200e-5 s; latency_p9995 3.507200e-5 s; latency_p9999 3.507200e-5 s
    ");
    assert_snapshot!(told("fio-randread.json", None), @"
    fio 3.33 at Some(1795306813020000000) on {}
    fio.randread:job=t,bs=4k,ioengine=psync,direct=1,size=4M,directory=d Iteration
      1001000000 ns, 64001 ops; rate 6.393706e4 ops/s; bandwidth 2.618862e8 B/s; latency_mean 1.525511e-5 s; latency_max 7.572480e-4 s; latency_p1 1.286400e-5 s; latency_p5 1.299200e-5 s; latency_p10 1.324800e-5 s; latency_p20 1.337600e-5 s; latency_p30 1.363200e-5 s; latency_p40 1.376000e-5 s; latency_p50 1.401600e-5 s; latency_p60 1.427200e-5 s; latency_p70 1.491200e-5 s; latency_p80 1.568000e-5 s; latency_p90 1.702400e-5 s; latency_p95 1.932800e-5 s; latency_p99 2.752000e-5 s; latency_p995 3.763200e-5 s; latency_p999 1.751040e-4 s; latency_p9995 2.590720e-4 s; latency_p9999 4.116480e-4 s
    ");
}

#[test]
fn fio_2_has_other_units_and_failed_jobs_fail() {
    assert_snapshot!(told("fio-2.16.json", None), @"
    fio 2.16 at Some(1500000000000000000) on {}
    fio.randread:job=old,bs=4k,iodepth=4 Iteration
      10000000000 ns, 1000 ops; rate 1.005000e2 ops/s; bandwidth 4.096000e5 B/s; latency_mean 9.050000e-5 s; latency_max 9.000000e-4 s; latency_p50 8.000000e-5 s; latency_p99 3.100000e-4 s
    fio.write:job=broken Iteration
      1000000000 ns, 2 ops; bandwidth 1.024000e4 B/s; rate 2.500000e0 ops/s; FAILED fio reports error 5
    ");
}

#[test]
fn iperf3() {
    assert_snapshot!(told("iperf3-tcp.json", None), @r#"
    iperf3 3.12 at Some(1795306807000000000) on {"system": "Linux vm 6.1.0 #1 SMP x86_64"}
    iperf3.tcp:direction=up,streams=1,block=131072,duration=1,host=127.0.0.1 Iteration
      1000404000 ns, 1 ops; throughput 6.172308e9 B/s; sent 6.174592e9 B/s; retransmits 0.000000e0
    "#);
    assert_snapshot!(told("iperf3-udp.json", None), @r#"
    iperf3 3.12 at Some(1795306809000000000) on {"system": "Linux vm 6.1.0 #1 SMP x86_64"}
    iperf3.udp:direction=up,streams=1,block=1400,duration=1,target_bitrate=50000000,host=127.0.0.1 Iteration
      1000166000 ns, 1 ops; throughput 6.244363e6 B/s; sent 6.244719e6 B/s; loss 0.000000e0 share; jitter 2.567274e-6 s
    "#);
    assert_snapshot!(told("iperf3-bidir.json", None), @r#"
    iperf3 3.12 at Some(1795306810000000000) on {"system": "Linux vm 6.1.0 #1 SMP x86_64"}
    iperf3.tcp:direction=up,bidirectional=yes,streams=2,block=131072,duration=1,host=127.0.0.1 Iteration
      1000428000 ns, 1 ops; throughput 4.755878e9 B/s; sent 4.755992e9 B/s; retransmits 1.000000e0
    iperf3.tcp:direction=down,bidirectional=yes,streams=2,block=131072,duration=1,host=127.0.0.1 Iteration
      1000428000 ns, 1 ops; throughput 1.294830e9 B/s; sent 1.304950e9 B/s; retransmits 0.000000e0
    "#);
}

#[test]
fn hyperfine() {
    assert_snapshot!(told("hyperfine-1.15.json", None), @"
    hyperfine ? at None on {}
    hyperfine.command:command=sleep 0,parameter_n=0 Process
      897457+676369+666308+653197+676127 ns, 1 ops; wall 8.974570e-4 6.763690e-4 6.663080e-4 6.531970e-4 6.761270e-4 s
    hyperfine.command:command=sleep 0.001,parameter_n=0.001 Process
      1700300+1705612+1695276+1693479+1741026 ns, 1 ops; wall 1.700300e-3 1.705612e-3 1.695276e-3 1.693479e-3 1.741026e-3 s
    ");
    assert_snapshot!(told("hyperfine-1.19.json", None), @"
    hyperfine ? at None on {}
    hyperfine.command:command=sort, 'a=b' | x Process
      250000000 ns, 1 ops; wall 2.500000e-1 s; peak_memory 2.097152e6 B; status 1.000000e0
    hyperfine.command:command=summary only Iteration
      1500000000 ns, 1 ops; wall 1.500000e0 s
    ");
}

#[test]
fn mbw_without_a_version_has_its_labels_only() {
    assert_snapshot!(told("mbw-1.2.2.txt", None), @"
    mbw ? at None on {}
    mbw.copy:method=labelled_DUMB,size=16MiB Iteration
      1344000+1344000+1271000 ns, 1 ops; bandwidth 1.248305e10 1.248305e10 1.320001e10 B/s
    mbw.copy:method=labelled_MCBLOCK,size=16MiB Iteration
      687000+646000+730000 ns, 1 ops; bandwidth 2.442098e10 2.597092e10 2.298249e10 B/s
    mbw.copy:method=labelled_MEMCPY,size=16MiB Iteration
      3218000+2960000+1730000 ns, 1 ops; bandwidth 5.213553e9 5.667978e9 9.697813e9 B/s
    ");
}

#[test]
fn averages_of_mbw_count_where_there_is_nothing_else() {
    let whole = fixture("mbw-1.2.2.txt");
    let averages: String = whole
        .lines()
        .filter(|line| line.starts_with("AVG"))
        .map(|line| format!("{line}\n"))
        .collect();
    assert!(averages.lines().count() >= 3, "{averages}");
    let import = &read(&averages, None, Some("1.2.2")).unwrap().imports[0];
    assert_eq!(import.series.len(), averages.lines().count());
    for series in &import.series {
        assert_eq!(series.invocations[0].elapsed_ns.len(), 1);
        assert!(series.notes.iter().any(|note| note.contains("no spread")), "{:?}", series.notes);
    }
    // Next to passes, averages are no samples.
    let with_passes = &read(&whole, None, None).unwrap().imports[0];
    assert!(with_passes.series.iter().all(|series| series.invocations[0].elapsed_ns.len() > 1));
}

#[test]
fn labels_are_those_of_the_user_and_the_tool() {
    let content = fixture("mbw-1.5.txt");
    let labels = BTreeMap::from([("kernel".to_owned(), "6.12".to_owned())]);
    let events = events(
        &read(&content, None, None).unwrap().imports[0],
        content.as_bytes(),
        &ImportDetails { labels, ..ImportDetails::default() },
        &|_| None,
    );
    let Event::RunStarted { plan, .. } = &events[0].event else { panic!("{:?}", events[0]) };
    let told: Vec<_> = plan.labels.iter().map(|(k, v)| format!("{k}={v}")).collect();
    assert_eq!(told, ["kernel=6.12", "tool=mbw"]);
}

#[test]
fn the_labels_of_mbw_are_put_right() {
    let methods = |name: &str, version: Option<&str>| {
        let imports = read(&fixture(name), None, version).unwrap().imports;
        let of = |series: &plumb_classics::ImportedSeries| {
            let ours = series.ours.as_ref().map(|ours| ours.settings[0].1.clone());
            (
                series.settings[0].1.clone(),
                ours,
                series.invocations[0].values["bandwidth"][0].round(),
            )
        };
        imports[0].series.iter().map(of).collect::<Vec<_>>()
    };
    let mib = 1_048_576.0;
    let libc = |rate: f64| ("libc".to_owned(), Some("libc".to_owned()), (rate * mib).round());
    // Up to 1.3 DUMB is memcpy; up to 1.2 MCBLOCK is not a copy of an array.
    let old = methods("mbw-1.2.2.txt", Some("1.2.2"));
    assert_eq!(old[0], libc(11904.762));
    assert_eq!((old[1].0.as_str(), &old[1].1), ("same_block", &None));
    assert_eq!(old[2].0, "loop");
    assert_eq!(methods("mbw-1.2.2.txt", Some("1.3"))[1].0, "block");
    let new = methods("mbw-1.5.txt", None);
    assert_eq!([&new[0].0, &new[1].0, &new[2].0], ["loop", "block", "libc"]);
    assert_eq!(new[2], libc(10000.0));
}

#[test]
fn openssl_3() {
    assert_snapshot!(told("openssl-3.0.txt", None), @"
    openssl ? at None on {}
    openssl.speed:algorithm=sha256,block=16 Iteration
      1000080 ns, 6971 ops; throughput 1.115270e8 B/s
    openssl.speed:algorithm=sha256,block=64 Iteration
      1000091 ns, 6484 ops; throughput 4.149382e8 B/s
    openssl.speed:algorithm=sha256,block=256 Iteration
      1000054 ns, 4001 ops; throughput 1.024201e9 B/s
    openssl.speed:algorithm=sha256,block=1024 Iteration
      1000218 ns, 1476 ops; throughput 1.511094e9 B/s
    openssl.speed:algorithm=sha256,block=8192 Iteration
      1001990 ns, 214 ops; throughput 1.749606e9 B/s
    openssl.speed:algorithm=sha256,block=16384 Iteration
      1002408 ns, 112 ops; throughput 1.830601e9 B/s
    openssl.sign:algorithm=rsa2048 Iteration
      1056803 ns, 4 ops; rate 3.785000e3 ops/s
    openssl.verify:algorithm=rsa2048 Iteration
      1000612 ns, 67 ops; rate 6.695900e4 ops/s
    openssl.sign:algorithm=ecdsa256 Iteration
      1016124 ns, 53 ops; rate 5.215900e4 ops/s
    openssl.verify:algorithm=ecdsa256 Iteration
      1038295 ns, 17 ops; rate 1.637300e4 ops/s
    openssl.derive:algorithm=ecdh253 Iteration
      1011970 ns, 35 ops; rate 3.458600e4 ops/s
    openssl.sign:algorithm=ed25519 Iteration
      1020213 ns, 32 ops; rate 3.136600e4 ops/s
    openssl.verify:algorithm=ed25519 Iteration
      1005025 ns, 11 ops; rate 1.094500e4 ops/s
    ");
}

#[test]
fn openssl_before_1_1_has_seconds_an_operation() {
    assert_snapshot!(told("openssl-1.0.2.txt", None), @"
    openssl ? at None on {}
    openssl.speed:algorithm=aes-128 cbc,block=16 Iteration
      1000037 ns, 6126 ops; throughput 9.801235e7 B/s
    openssl.speed:algorithm=aes-128 cbc,block=64 Iteration
      1000111 ns, 1641 ops; throughput 1.050123e8 B/s
    openssl.speed:algorithm=aes-128 cbc,block=256 Iteration
      1002352 ns, 419 ops; throughput 1.070123e8 B/s
    openssl.speed:algorithm=aes-128 cbc,block=1024 Iteration
      1004922 ns, 106 ops; throughput 1.080123e8 B/s
    openssl.speed:algorithm=aes-128 cbc,block=8192 Iteration
      1056912 ns, 14 ops; throughput 1.085123e8 B/s
    openssl.sign:algorithm=rsa2048 Iteration
      1250000 ns, 1 ops; rate 8.000000e2 ops/s
    openssl.verify:algorithm=rsa2048 Iteration
      1000000 ns, 25 ops; rate 2.500000e4 ops/s
    openssl.sign:algorithm=ecdsa256 Iteration
      1000000 ns, 10 ops; rate 1.000000e4 ops/s
    openssl.verify:algorithm=ecdsa256 Iteration
      1000000 ns, 8 ops; rate 8.000000e3 ops/s
    openssl.derive:algorithm=ecdh256 Iteration
      1040000 ns, 13 ops; rate 1.250000e4 ops/s
    ");
}

#[test]
fn sysbench() {
    assert_snapshot!(told("sysbench-cpu.txt", None), @"
    sysbench 1.0.20 at None on {}
    sysbench.cpu:limit=10000,version=1.0.20,threads=1 Iteration
      1000300000 ns, 2969 ops; rate 2.964490e3 ops/s; events 2.968110e3 ops/s; latency_mean 3.400000e-4 s; latency_min 3.100000e-4 s; latency_max 9.700000e-4 s; latency_p95 3.600000e-4 s
    ");
    assert_snapshot!(told("sysbench-memory.txt", None), @"
    sysbench 1.0.20 at None on {}
    sysbench.memory:block=1KiB,total=1024MiB,operation=write,scope=global,version=1.0.20,threads=1 Iteration
      164700000 ns, 1048576 ops; bandwidth 6.464953e9 B/s; events 6.366582e6 ops/s; latency_mean 0.000000e0 s; latency_min 0.000000e0 s; latency_max 6.000000e-5 s; latency_p95 0.000000e0 s
    ");
    assert_snapshot!(told("sysbench-fileio.txt", None), @"
    sysbench 1.0.20 at None on {}
    sysbench.fileio:size=16MiB,block=16KiB,mode=random r/w,files=4,io=synchronous,fsync_each=100,ratio=1.50,version=1.0.20,threads=1 Iteration
      1000300000 ns, 174926 ops; reads 1.007788e5 ops/s; writes 6.718585e4 ops/s; fsyncs 6.720580e3 ops/s; read 1.651161e9 B/s; written 1.100774e9 B/s; events 1.748735e5 ops/s; latency_mean 1.000000e-5 s; latency_min 0.000000e0 s; latency_max 6.200000e-4 s; latency_p95 0.000000e0 s
    ");
    assert_snapshot!(told("sysbench-threads.txt", None), @"
    sysbench 1.0.20 at None on {}
    sysbench.events:version=1.0.20,threads=1 Iteration
      1000200000 ns, 5000 ops; events 4.999000e3 ops/s; latency_mean 2.000000e-4 s; latency_min 1.800000e-4 s; latency_max 9.000000e-4 s; latency_p95 2.100000e-4 s
    ");
    assert_snapshot!(told("sysbench-0.4.12.txt", None), @"
    sysbench 0.4.12 at None on {}
    sysbench.cpu:limit=10000,version=0.4.12,threads=2 Iteration
      9125000000 ns, 10000 ops; events 1.095890e3 ops/s; latency_mean 1.820000e-3 s; latency_min 9.000000e-4 s; latency_max 2.190000e-2 s; latency_p95 1.930000e-3 s
    ");
}

#[test]
fn a_test_that_only_writes_is_about_its_writes() {
    let text = fixture("sysbench-fileio.txt").replace("100778.77", "0.00");
    let file = read(&text, None, None).unwrap();
    let series = &file.imports[0].series[0];
    assert_eq!(series.metrics[0].name, "writes");
    assert_eq!(series.invocations[0].values["reads"], [0.0]);
}

#[test]
fn hackbench_perf_and_ping() {
    assert_snapshot!(told("hackbench-2.4.txt", None), @r"
    hackbench ? at None on {}
    hackbench.messaging:mode=process,groups=1,fds=20,loops=100,bytes=100 Process
      171000000 ns, 1 ops; time 1.710000e-1 s
      329000000 ns, 1 ops; time 3.290000e-1 s
    hackbench.messaging:mode=thread,groups=2,fds=20,loops=50,bytes=100 Process
      39000000 ns, 1 ops; time 3.900000e-2 s
    ");
    assert_snapshot!(told("perf-bench-6.1.txt", None), @r"
    perf ? at None on {}
    perf.sched_pipe:operations=20000,tasks=processes Process
      293000000 ns, 19933 ops; time 1.469915e-5 s
    perf.sched_messaging:pairs=20,tasks=processes,groups=1 Process
      96000000 ns, 1 ops; time 9.600000e-2 s
    ");
    assert_snapshot!(told("ping-flood.txt", None), @r"
    ping ? at None on {}
    ping.echo:host=127.0.0.1,bytes=56 Process
      531000000 ns, 1 ops; latency_mean 5.000000e-6 s; latency_min 4.000000e-6 s; latency_max 2.130000e-4 s; rate 3.766478e4 ops/s; loss 0.000000e0 share
    ");
    let silent = "PING 127.0.0.1 (127.0.0.1) 56(84) bytes of data.\n\n--- 127.0.0.1 ping statistics ---\n\
                  3 packets transmitted, 0 received, 100% packet loss, time 2031ms\n";
    let silent = &read(silent, None, None).unwrap().imports[0].series[0].invocations[0].values;
    assert_eq!((&silent["loss"][..], silent.get("latency_mean")), (&[1.0][..], None));
}

#[test]
fn replies_and_errors_that_ping_counts_apart_are_read() {
    assert_snapshot!(told("ping-duplicates.txt", None), @r"
    ping ? at None on {}
    ping.echo:host=192.0.2.7,bytes=56 Process
      3005000000 ns, 1 ops; latency_mean 1.243000e-3 s; latency_min 1.180000e-3 s; latency_max 1.340000e-3 s; rate 6.655574e-1 ops/s; loss 5.000000e-1 share; duplicates 1.000000e0 packets; errors 1.000000e0 packets
    ");
    let imports = read(&fixture("ping-duplicates.txt"), None, None).unwrap().imports;
    let metrics = &imports[0].series[0].metrics;
    let shown: Vec<&str> = metrics
        .iter()
        .filter(|metric| metric.headline)
        .map(|metric| metric.name.as_str())
        .collect();
    assert_eq!(shown, ["loss"], "next to the round trip, which is first");
    let other = fixture("ping-duplicates.txt").replace("+1 errors", "+1 strangers");
    let listed = read(&other, None, None).unwrap().not_read;
    assert_eq!(listed[0].what, "a count of strangers");
}

#[test]
fn a_memory_test_of_sysbench_0_5_has_no_header_and_a_histogram_is_listed() {
    assert_snapshot!(told("sysbench-0.5-memory.txt", None), @r"
    sysbench 0.5 at None on {}
    sysbench.memory:version=0.5,threads=4 Iteration
      60000000 ns, 65536 ops; bandwidth 1.789570e10 B/s; events 1.092267e6 ops/s; latency_mean 0.000000e0 s; latency_min 0.000000e0 s; latency_max 9.600000e-4 s; latency_p95 0.000000e0 s
    ");
    let file = read(&fixture("sysbench-1.1-fileio-histogram.txt"), None, None).unwrap();
    let listed: Vec<&str> = file.not_read.iter().map(|part| part.what.as_str()).collect();
    assert_eq!(listed, ["a latency histogram"]);
}

#[test]
fn dd_ioping_fs_mark_cyclictest_and_stress_ng() {
    assert_snapshot!(told("dd-9.1.txt", None), @r"
    dd ? at None on {}
    dd.copy:bytes=1048576 Process
      930377 ns, 1 ops; bandwidth 1.127044e9 B/s
    dd.copy:bytes=1000 Process
      116133 ns, 1 ops; bandwidth 8.610817e6 B/s
    ");
    assert_snapshot!(told("ioping-1.3.txt", None), @r"
    ioping ? at None on {}
    ioping.request: Process
      2578684 ns, 49 ops; rate 1.900200e4 ops/s; bandwidth 7.783195e7 B/s; latency_mean 5.262600e-5 s; latency_min 4.650900e-5 s; latency_max 1.386170e-4 s
    ");
    assert_snapshot!(told("sockperf-3.7.txt", None), @r"
    sockperf 3.7 at None on {}
    sockperf.pingpong:transport=udp,host=127.0.0.1 Process
      550000000 ns, 53909 ops; rate 9.801636e4 ops/s; latency_p50 9.914000e-6 s; latency_max 8.960150e-4 s; latency_p99999 5.811250e-4 s; latency_p9999 2.177400e-4 s; latency_p999 3.457100e-5 s; latency_p99 1.112600e-5 s; latency_p90 1.048500e-5 s; latency_p75 1.033500e-5 s; latency_p25 9.804000e-6 s; latency_min 9.474000e-6 s; dropped 0.000000e0; duplicated 0.000000e0; out_of_order 0.000000e0
    ");
    let halved = fixture("sockperf-3.7.txt").replace("Summary: Round trip", "Summary: Latency");
    let rtt = read(&halved, None, None).unwrap().imports[0].series[0].invocations[0].values["latency_min"]
        [0];
    assert!((rtt - 2.0 * 9.474e-6).abs() < 1e-12, "{rtt}");
    let under_load =
        fixture("sockperf-3.7.txt").replace("ReceivedMessages=53909", "ReceivedMessages=539");
    let why = read(&under_load, None, None).unwrap_err().to_string();
    assert!(why.contains("not a ping-pong test: 539 of 53909"), "{why}");
    assert_snapshot!(told("fs_mark-3.3.txt", None), @r"
    fs_mark 3.3 at Some(1795468995000000000) on {}
    fs_mark.create:files=200,threads=1,sync=INBAND FSYNC,size=0 Iteration
      1124100719 ns, 1000 ops; rate 8.896000e2 files/s
      3133813851 ns, 1000 ops; rate 3.191000e2 files/s
    ");
    assert_snapshot!(told("cyclictest-2.40.txt", None), @r"
    cyclictest ? at None on {}
    cyclictest.timer:threads=2 Process
      922000000 ns, 922 ops; latency_p50 6.900000e-5 s; latency_mean 1.985000e-4 s; latency_min 3.400000e-5 s; latency_max 5.925000e-3 s
    ");
    let longer = fixture("cyclictest-2.40.txt")
        .replace("# Histogram Overflows: ", "# Histogram Overflows: 9");
    assert!(read(&longer, None, None).unwrap().not_read[0].what.contains("increase -h"));
    assert_snapshot!(told("stress-ng-0.15.txt", None), @r"
    stress-ng ? at None on {}
    stressng.stressor:stressor=cpu Process
      1000000000 ns, 1602 ops; rate 1.601930e3 ops/s
    ");
    // Written by hand, after a report of May 2022: the end of the run stands above the table.
    assert_snapshot!(told("stress-ng-old-verbose.txt", None), @r"
    stress-ng ? at None on {}
    stressng.stressor:stressor=cpu,instances=2 Process
      10000000000 ns, 16020 ops; rate 1.602000e3 ops/s
    stressng.stressor:stressor=vm Process
      10000000000 ns, 40000 ops; rate 4.000000e3 ops/s
    ");
    let both = fixture("stress-ng-old-verbose.txt").repeat(2);
    assert_eq!(read(&both, None, None).unwrap().imports[0].series[1].invocations.len(), 2);
    let failed = fixture("stress-ng-0.15.txt").replace("successful run", "unsuccessful run");
    let failed = &read(&failed, None, None).unwrap().imports[0].series[0].invocations[0].failed;
    assert!(failed.as_ref().unwrap().contains("unsuccessful run"), "{failed:?}");
    let nothing = "0+0 records in\n0+0 records out\n0 bytes copied, 3.4922e-05 s, 0.0 kB/s\n";
    let nothing = &read(nothing, None, None).unwrap().imports[0].series[0].invocations[0];
    assert_eq!(nothing.values["bandwidth"], [0.0], "zero is a finding");
}

#[test]
fn stream() {
    assert_snapshot!(told("stream-5.10.txt", None), @r"
    stream 5.10 at None on {}
    stream.loop:kernel=copy,size=67108864,threads=2 Iteration
      6399000 ns, 1 ops; bandwidth 2.097510e10 B/s; time_mean 7.189000e-3 s; time_max 8.271000e-3 s
    stream.loop:kernel=scale,size=67108864,threads=2 Iteration
      6668000 ns, 1 ops; bandwidth 2.012840e10 B/s; time_mean 7.225000e-3 s; time_max 8.280000e-3 s
    stream.loop:kernel=add,size=67108864,threads=2 Iteration
      9317000 ns, 1 ops; bandwidth 2.160870e10 B/s; time_mean 1.002800e-2 s; time_max 1.121300e-2 s
    stream.loop:kernel=triad,size=67108864,threads=2 Iteration
      9014000 ns, 1 ops; bandwidth 2.233510e10 B/s; time_mean 1.065700e-2 s; time_max 1.232100e-2 s
    ");
    let wrong = fixture("stream-5.10.txt").replace("Solution Validates", "Failed Validation");
    let error =
        read(&wrong, None, None).unwrap().imports[0].series[0].invocations[0].failed.clone();
    assert!(error.unwrap().contains("Failed Validation"));
    let missing = fixture("stream-5.10.txt").replace("Solution Validates", "");
    assert!(read(&missing, None, None).unwrap_err().to_string().contains("Solution Validates"));
}

#[test]
fn every_file_is_recognised_by_its_content_alone() {
    for (name, text) in fixtures() {
        let format =
            Format::ALL.into_iter().find(|format| name.starts_with(format.word())).unwrap();
        let fitting = read(&text, None, None).unwrap().imports;
        assert!(fitting.iter().all(|import| import.format == format), "{name}");
        for other in Format::ALL.into_iter().filter(|other| *other != format) {
            assert!(read(&text, Some(other), None).is_err(), "{name} as {}", other.word());
        }
        // Warnings before a document and shell prompts before lines do not hide it.
        assert!(read(&format!("fio: this is a warning\n\n{text}"), None, None).is_ok(), "{name}");
    }
    assert_eq!(read("milk, eggs\n", None, None), Err(ImportError::Unknown));
    assert_eq!(read("", None, None), Err(ImportError::Unknown));
}

#[test]
fn a_test_that_failed_gives_nothing_and_its_reason() {
    let error = read(&fixture("iperf3-refused.json"), None, None).unwrap_err().to_string();
    assert_snapshot!(error, @"no results in iperf3 JSON: it reports `unable to connect to server: Connection refused`");
}

/// The events of a file, as any caller gets them.
fn run(import: &Import, content: &str) -> Vec<Stamped> {
    events(import, content.as_bytes(), &ImportDetails::default(), &|_| None)
}

/// What every run must be, whatever it was made of.
fn check(events: &[Stamped]) {
    let Some(Event::RunStarted { plan, .. }) = events.first().map(|stamped| &stamped.event) else {
        panic!("no run");
    };
    for point in &plan.points {
        let id = &point.description.id;
        assert!(
            id.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || "._".contains(c)),
            "{id}"
        );
        assert!(
            !point.description.metrics.is_empty()
                || events.iter().any(|e| matches!(e.event, Event::Unsupported(_)))
        );
        assert!(
            point.description.metrics.iter().all(|metric| metric.source == MetricSource::Value)
        );
    }
    for stamped in events {
        if let Event::Batch { samples, .. } = &stamped.event {
            samples.check().unwrap();
        }
    }
    assert!(matches!(events.last().unwrap().event, Event::RunEnded { interrupted: false, .. }));
}

#[test]
fn the_same_content_is_the_same_run_and_says_nothing_of_this_machine() {
    for (name, text) in fixtures() {
        for import in read(&text, None, None).unwrap().imports {
            let told = run(&import, &text);
            check(&told);
            assert_eq!(told, run(&import, &text), "{name}");
            let other = run(&import, &format!("{text}\n"));
            assert_ne!(format!("{:?}", told[0]), format!("{:?}", other[0]), "{name}");
            let Event::TargetReady { description, .. } = &told[2].event else { panic!("{name}") };
            assert!(description.machine.fingerprint.starts_with("unknown:"));
            assert!(description.environment.facts.is_empty());
        }
    }
}

#[test]
fn a_failed_job_is_a_failed_invocation() {
    let text = fixture("fio-2.16.json");
    let told = run(&read(&text, None, None).unwrap().imports[0], &text);
    let outcomes = told.iter().filter_map(|stamped| match &stamped.event {
        Event::InvocationEnded { end, .. } => Some(end.outcome.clone()),
        _ => None,
    });
    let failed = Outcome::Failed("fio reports error 5".into());
    assert_eq!(outcomes.collect::<Vec<_>>(), [Outcome::Done, failed]);
}

#[test]
fn only_what_counts_the_same_becomes_a_series_of_plumbs_workload() {
    let text = fixture("mbw-1.5.txt");
    let imports = read(&text, None, None).unwrap().imports;
    let asked = std::cell::RefCell::new(Vec::new());
    let describe = |id: &str| -> Option<Description> {
        asked.borrow_mut().push(id.to_owned());
        None
    };
    let _ = events(&imports[0], text.as_bytes(), &ImportDetails::default(), &describe);
    assert_eq!(*asked.borrow(), ["memory.copy"; 3]);
    // Every rule of the table gives its reason.
    assert!(COUNTING.iter().all(|counting| counting.sentence().len() > counting.ours.len() + 30));
}

#[test]
fn a_document_cut_off_anywhere_gives_nothing() {
    for (name, text) in fixtures().into_iter().filter(|(name, _)| name.ends_with(".json")) {
        let end = text.trim_end().len();
        for cut in (0..end).step_by(31).chain([end - 1]).filter(|&cut| text.is_char_boundary(cut)) {
            let error = read(&text[..cut], None, None);
            // Between two documents nothing is cut.
            let is_between = text[..cut].ends_with("}\n") || text[cut..].starts_with('\n');
            assert!(error.is_err() || is_between, "{name} cut at {cut}");
        }
    }
}

#[test]
fn a_figure_cut_off_is_found() {
    for (name, lost) in [
        ("mbw-1.5.txt", 6),
        ("mbw-1.5.txt", 60),
        ("openssl-3.0.txt", 3),
        ("openssl-3.0-evp.txt", 5),
        ("sysbench-cpu.txt", 8),
        ("bonnie-2.00.csv", 2),
        ("bonnie-2.00.csv", 30),
        ("bonnie-1.96.csv", 3),
        ("hackbench-2.4.txt", 1),
        ("perf-bench-6.1.txt", 7),
        ("ping-flood.txt", 75),
        ("dd-9.1.txt", 3),
        ("ioping-1.3.txt", 10),
        ("fs_mark-3.3.txt", 16),
        ("cyclictest-2.40.txt", 124),
        ("stream-5.10.txt", 220),
        ("sockperf-3.7.txt", 10),
        ("sockperf-3.7.txt", 800),
        ("stress-ng-0.15.txt", 20),
        ("stress-ng-0.15.txt", 80),
    ] {
        let text = fixture(name);
        let text = text.trim_end();
        let error = read(&text[..text.len() - lost], None, None).unwrap_err();
        assert!(matches!(error, ImportError::Damaged { .. }), "{name}: {error}");
        assert!(error.to_string().contains("damaged or truncated"), "{error}");
    }
}

/// Where the numbers of a text begin and end.
fn numbers(text: &str) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(begin) = text[at..].find(|c: char| c.is_ascii_digit()).map(|skip| at + skip) {
        let rest = &text[begin..];
        let length = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        found.push((begin, begin + length));
        at = begin + length;
    }
    found
}

#[test]
fn extreme_numbers_are_refused_or_stay_finite() {
    let mut refused = 0;
    for (name, text) in fixtures() {
        let numbers = numbers(&text);
        for (begin, end) in numbers.iter().step_by(numbers.len().div_ceil(60)) {
            for extreme in ["1e308", "5e-324"] {
                let changed = format!("{}{extreme}{}", &text[..*begin], &text[*end..]);
                let Ok(ResultFile { imports, .. }) = read(&changed, None, None) else {
                    refused += 1;
                    continue;
                };
                let series = imports.iter().flat_map(|import| &import.series);
                for invocation in series.flat_map(|series| &series.invocations) {
                    let all = invocation.values.values().flatten().chain(invocation.work.values());
                    let mut infinite = all.filter(|value| !value.is_finite());
                    assert!(infinite.next().is_none(), "{name} with {extreme} at {begin}");
                    // 100 years, and a count that no tool reaches: more was cut off, and would show as a wrong figure.
                    let times = invocation.elapsed_ns.iter().chain([&invocation.iterations]);
                    let longest = times.max().unwrap();
                    assert!(*longest < 1 << 61, "{name} with {extreme} at {begin}: {longest}");
                }
            }
        }
    }
    assert!(refused > 100, "{refused}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_content_makes_a_reader_panic(
        which in any::<prop::sample::Index>(), edits in prop::collection::vec((any::<prop::sample::Index>(), 0_usize..9, any::<String>()), 1..12),
        number in prop::sample::select(vec!["-1", "0", "1e400", "nan", "+++++", "99999999999999999999", "null", "\"", ",", ":", "(", "\t"]),
    ) {
        let fixtures = fixtures();
        let (_, mut text) = which.get(&fixtures).clone();
        for (place, length, mut new) in edits {
            let mut at = place.index(text.len().max(1)).min(text.len());
            while !text.is_char_boundary(at) { at -= 1; }
            let mut end = (at + length).min(text.len());
            while !text.is_char_boundary(end) { end += 1; }
            if length % 2 == 0 { new = number.to_owned(); }
            text.replace_range(at..end, &new);
        }
        for format in Format::ALL.into_iter().map(Some).chain([None]) {
            for import in read(&text, format, Some("1.2")).unwrap_or_default().imports {
                check(&run(&import, &text));
            }
        }
    }

    #[test]
    fn no_text_makes_a_reader_panic(text in any::<String>(), version in any::<String>()) {
        for format in Format::ALL.into_iter().map(Some).chain([None]) {
            let _ = read(&text, format, Some(&version));
        }
    }
}

/// With `UPDATE_DOCS` set, the table in the documentation is written again instead.
#[test]
fn the_documented_counting_rules_are_those_of_the_table() {
    let rows = COUNTING.iter().map(|counting| {
        let ends = if counting.imported.ends_with('.') { "*" } else { "" };
        let rand = if counting.imported == "fio.rand" { "*" } else { ends };
        format!("| `{}{rand}` | {} |\n", counting.imported, counting.sentence())
    });
    let table = format!("| import | rule |\n| --- | --- |\n{}", rows.collect::<String>());
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/imports.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let start = page.find("| import | rule |").unwrap();
    let end = page[start..].find("\n\n").unwrap() + start + 1;
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, format!("{}{table}{}", &page[..start], &page[end..])).unwrap();
        return;
    }
    assert_eq!(page[start..end], table, "UPDATE_DOCS=1 cargo test -p plumb-classics mends it");
}
