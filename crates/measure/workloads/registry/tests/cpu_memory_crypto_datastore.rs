//! The workloads of cpu, memory, crypto and datastore, used as the engine uses them.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail the test")]

use std::io::Write;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use plumb_model::{
    Description, Facts, FlagKind, Metric, ParameterType, Point, Ready, Role, Samples, Settings,
    Value,
};
use plumb_protocol::{Batch, Instance, Start, StartError, Started, Workload, serve};

/// A workload's parameters as they are typed.
type Typed = &'static [(&'static str, &'static str)];

/// Held by tests that time something: two at once would time each other.
static TIMING: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    TIMING.lock().unwrap_or_else(PoisonError::into_inner)
}

const IDS: [&str; 8] = [
    "cpu.sieve",
    "cpu.dhrystone",
    "cpu.whetstone",
    "cpu.linpack",
    "memory.copy",
    "memory.latency",
    "crypto.aead",
    "datastore.batch",
];

fn workload(id: &str) -> &'static dyn Workload {
    plumb_workloads::find(id).unwrap_or_else(|| panic!("{id} is not registered"))
}

fn facts() -> Facts {
    Facts {
        cpus: vec![0, 1],
        l1d_bytes: 32 << 10,
        l2_bytes: 1 << 20,
        llc_bytes: 32 << 20,
        memory_bytes: 1 << 30,
        page_bytes: 4096,
        ..Facts::default()
    }
}

fn start(id: &str, settings: &[(&str, &str)], dir: &Path) -> Result<Started, StartError> {
    workload(id).start(&message(id, settings, dir))
}

fn message(id: &str, settings: &[(&str, &str)], dir: &Path) -> Start {
    let given: Settings = settings
        .iter()
        .map(|(name, value)| ((*name).to_owned(), Value::Text((*value).to_owned())))
        .collect();
    let point = Point::new(&workload(id).describe(), &given, 2).unwrap();
    Start {
        role: Role::Workload,
        params: point.settings,
        dir: dir.to_string_lossy().into_owned(),
        scratch: String::new(),
        seed: 42,
        endpoints: std::collections::BTreeMap::new(),
        facts: facts(),
    }
}

fn started(id: &str, settings: &[(&str, &str)]) -> Started {
    start(id, settings, Path::new("/")).unwrap_or_else(|error| panic!("{id}: {error:?}"))
}

/// Takes these samples and verifies them.
fn samples(started: &mut Started, iterations: &[u64]) -> Samples {
    let instance: &mut dyn Instance = &mut *started.instance;
    let mut batch = Batch::with_room(iterations.len(), instance.value_names());
    instance.batch(iterations, &mut batch).unwrap();
    instance.verify().unwrap();
    let (samples, _) = batch.finish();
    samples.check().unwrap();
    samples
}

/// Takes these samples, verifies them, and gives the values of a metric.
fn values(started: &mut Started, metric: &Metric, iterations: &[u64]) -> Vec<f64> {
    let work = started.ready.work.get(&metric.name).copied().unwrap_or(1.0);
    samples(started, iterations).metric(metric, work).unwrap()
}

/// The least time of a few samples of k iterations, in nanoseconds.
fn least_ns(started: &mut Started, k: u64) -> u64 {
    samples(started, &[k; 7]).elapsed_ns.into_iter().min().unwrap()
}

/// Twice the iterations take about twice the time: the work is done each time, and nothing else.
fn assert_time_follows_work(id: &str, started: &mut Started, k: u64) {
    assert_ratio(id, 1.8..2.2, || {
        let once = least_ns(started, k);
        least_ns(started, 2 * k) as f64 / once as f64
    });
}

/// Measures a ratio until it lies where it should; other work on the machine gets a few chances to
/// pass by.
fn assert_ratio(what: &str, range: std::ops::Range<f64>, mut ratio: impl FnMut() -> f64) {
    let mut seen = Vec::new();
    while seen.len() < 8 {
        seen.push(ratio());
        if seen.last().is_some_and(|ratio| range.contains(ratio)) {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(10 << seen.len()));
    }
    panic!("{what}: not in {range:?}: {seen:?}");
}

#[test]
fn descriptions_and_manuals_name_everything() {
    for id in IDS {
        let (description, manual) = (workload(id).describe(), workload(id).manual());
        assert_eq!(description.id, id);
        assert!(!description.metrics.is_empty() && description.version == 1);
        let heading = format!("# {id}\n");
        assert!(manual.starts_with(&heading), "{id}: the manual begins with its name");
        for name in names(&description) {
            assert!(manual.contains(&format!("`{name}`")), "{id}: `{name}` is not in the manual");
        }
        for parameter in &description.parameters {
            assert!(!parameter.summary.is_empty(), "{id}: {}", parameter.name);
            for value in &parameter.allowed {
                assert!(manual.contains(&value.to_string()), "{id}: {value} is not in the manual");
            }
            assert_ne!(parameter.kind, ParameterType::Text);
        }
    }
}

fn names(description: &Description) -> Vec<&str> {
    let parameters = description.parameters.iter().map(|p| p.name.as_str());
    parameters.chain(description.metrics.iter().map(|m| m.name.as_str())).collect()
}

#[test]
fn time_follows_work() {
    let _alone = alone();
    let dir = tempfile::tempdir().unwrap();
    let points: [(&str, Typed, u64); 12] = [
        ("cpu.sieve", &[("limit", "30000")], 10),
        ("cpu.sieve", &[("limit", "30000"), ("growth", "reserved")], 10),
        ("cpu.dhrystone", &[], 10_000),
        ("cpu.whetstone", &[], 4),
        ("cpu.linpack", &[], 4),
        ("memory.copy", &[("size", "1MiB")], 4),
        ("memory.copy", &[("size", "1MiB"), ("method", "loop")], 4),
        ("memory.copy", &[("size", "1MiB"), ("method", "block")], 4),
        ("memory.latency", &[("size", "16KiB")], 200),
        ("crypto.aead", &[], 50),
        ("crypto.aead", &[("bytes", "16"), ("cipher", "chacha20-poly1305")], 2000),
        ("datastore.batch", &[("entities", "50"), ("durability", "none")], 4),
    ];
    for (id, settings, k) in points {
        let mut started = start(id, settings, dir.path()).unwrap();
        assert_time_follows_work(id, &mut started, k);
    }
}

#[test]
fn larger_work_takes_longer() {
    let _alone = alone();
    let time = |id, name, value| least_ns(&mut started(id, &[(name, value)]), 3) as f64;
    let ratio = |id, name, large, small| time(id, name, large) / time(id, name, small);
    assert_ratio("twice the limit", 1.5..3.0, || ratio("cpu.sieve", "limit", "200000", "100000"));
    assert_ratio("twice the equations", 5.0..12.0, || ratio("cpu.linpack", "order", "200", "100"));
    assert_ratio("four times the text", 3.2..4.8, || {
        ratio("crypto.aead", "bytes", "256KiB", "64KiB")
    });
    assert_ratio("four times the array", 3.0..8.0, || ratio("memory.copy", "size", "8MiB", "2MiB"));
}

#[test]
fn every_method_of_copying_gives_a_plausible_bandwidth() {
    let metric = workload("memory.copy").describe().metrics[0].clone();
    for method in ["libc", "loop", "block", "nt"] {
        let settings = [("size", "512KiB"), ("method", method), ("threads", "2")];
        let mut started = match start("memory.copy", &settings, Path::new("/")) {
            Err(StartError::Unsupported { why, .. }) if method == "nt" => {
                assert!(why.contains("non-temporal"), "{why}");
                continue;
            }
            other => other.unwrap(),
        };
        assert_eq!(started.ready.work["bandwidth"], f64::from(2 << 19));
        let rates = values(&mut started, &metric, &[2, 3, 2]);
        assert!(rates.iter().all(|rate| (1e7..1e12).contains(rate)), "{method}: {rates:?}");
    }
}

#[test]
fn larger_cycles_are_slower_and_no_load_is_faster_than_a_cache() {
    let _alone = alone();
    let metric = workload("memory.latency").describe().metrics[0].clone();
    let latency = |size: &str, k| {
        let mut started = started("memory.latency", &[("size", size)]);
        let all = values(&mut started, &metric, &[k; 5]);
        all.into_iter().fold(f64::INFINITY, f64::min)
    };
    assert_ratio("ns of a load from the first-level cache", 0.2..10.0, || {
        latency("16KiB", 20) * 1e9
    });
    assert_ratio("64 MiB against 16 KiB", 3.0..1000.0, || {
        latency("64MiB", 5) / latency("16KiB", 20)
    });
}

#[test]
fn huge_pages_are_there_or_the_reader_learns_why_not() {
    match start("memory.latency", &[("size", "4MiB"), ("pages", "huge")], Path::new("/")) {
        Ok(mut started) => {
            started.instance.run(100).unwrap();
            started.instance.verify().unwrap();
        }
        Err(StartError::Unsupported { why, fix }) => {
            assert!(why.contains("huge pages") && fix.contains("transparent_hugepage"), "{why}");
        }
        Err(StartError::Failed(why)) => panic!("{why}"),
    }
}

#[test]
fn what_cannot_be_run_says_why_and_what_to_set() {
    let cases: [(&str, Typed, &str); 10] = [
        ("cpu.sieve", &[("limit", "10")], "`limit` between"),
        ("cpu.sieve", &[("limit", "1000000000")], "smaller `limit`"),
        ("cpu.linpack", &[("order", "9")], "`order` between"),
        ("cpu.linpack", &[("order", "8000")], "smaller `order`"),
        ("memory.copy", &[("size", "1GiB")], "`size` below"),
        ("memory.copy", &[("size", "100")], "multiple of 64"),
        ("memory.latency", &[("size", "1GiB")], "`size` below"),
        ("crypto.aead", &[("bytes", "2MiB")], "`bytes` between"),
        ("datastore.batch", &[("bytes", "8")], "`bytes` between"),
        ("datastore.batch", &[("entities", "10000000"), ("bytes", "1MiB")], "--dir"),
    ];
    for (id, settings, wanted) in cases {
        match start(id, settings, Path::new("/")) {
            Err(StartError::Unsupported { why, fix }) => {
                assert!(!why.is_empty() && fix.contains(wanted), "{id}: {why}; {fix}");
            }
            Err(StartError::Failed(why)) => panic!("{id}: {why}"),
            Ok(_) => panic!("{id} {settings:?} started"),
        }
    }
}

#[test]
fn both_sizes_are_shown_where_a_cache_may_help() {
    let flags = |id, settings: &[(&str, &str)]| -> Ready { started(id, settings).ready };
    for id in ["memory.copy", "memory.latency"] {
        let ready = flags(id, &[("size", "8MiB")]);
        assert_eq!(ready.flags[0].flag, FlagKind::Capped);
        assert_eq!(ready.flags[0].why, "8MiB, where 4 × last-level cache would be 128MiB");
        assert!(flags(id, &[("size", "16KiB")]).flags.is_empty());
    }
    let ready = flags("memory.copy", &[("size", "64KiB"), ("threads", "3")]);
    assert_eq!(ready.flags[0].why, "3 threads share 2 CPUs");
}

#[test]
fn threads_share_nothing_but_the_clock() {
    let metric = workload("cpu.sieve").describe().metrics[0].clone();
    let mut two = started("cpu.sieve", &[("limit", "20000"), ("threads", "2")]);
    assert_eq!(two.ready.work["rate"], 2.0);
    assert!(values(&mut two, &metric, &[5, 5, 5]).iter().all(|rate| *rate > 100.0));
}

#[test]
fn the_legacy_benchmarks_count_in_the_units_of_old() {
    // So many iterations that a thread that waits for a CPU does not make the rate.
    for (id, unit, works, k) in [
        ("cpu.dhrystone", "dhrystones/s", &[("rate", 3.0), ("dmips", 3.0 / 1757.0)][..], 20_000),
        ("cpu.whetstone", "WIPS", &[("rate", 3e6)], 5),
        ("cpu.linpack", "FLOP/s", &[("rate", 3.0 * (2e6 / 3.0 + 2e4))], 5),
    ] {
        let metric = workload(id).describe().metrics[0].clone();
        assert_eq!(metric.unit, unit);
        let mut three = started(id, &[("threads", "3")]);
        for &(name, work) in works {
            assert!((three.ready.work[name] / work - 1.0).abs() < 1e-12, "{id}: {name}");
        }
        assert_eq!(three.ready.flags[0].why, "3 threads share 2 CPUs");
        assert!(values(&mut three, &metric, &[k; 3]).iter().all(|rate| *rate > 1e4), "{id}");
    }
}

#[test]
fn an_entity_has_a_time_in_every_phase_and_nothing_is_left_behind() {
    let dir = tempfile::tempdir().unwrap();
    let metrics = workload("datastore.batch").describe().metrics;
    let (total, phases) = metrics.split_first().unwrap();
    for durability in ["none", "batch", "entity"] {
        let settings = [("entities", "20"), ("durability", durability)];
        let mut started = start("datastore.batch", &settings, dir.path()).unwrap();
        assert!(started.instance.value_names().iter().eq(phases.iter().map(|m| &m.name)));
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
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0, "{durability}");
    }
}

#[test]
fn files_in_memory_are_flagged() {
    let shm = Path::new("/dev/shm");
    if std::fs::read_to_string("/proc/mounts").unwrap().contains(" /dev/shm tmpfs ") {
        let started = start("datastore.batch", &[("entities", "1")], shm).unwrap();
        assert_eq!(started.ready.flags[0].flag, FlagKind::Tmpfs);
    }
}

#[test]
fn a_whole_invocation_goes_over_the_line_protocol() {
    let dir = tempfile::tempdir().unwrap();
    for id in IDS {
        let settings = if id.starts_with("memory") { vec![("size", "64KiB")] } else { vec![] };
        let start = serde_json::to_string(&message(id, &settings, dir.path())).unwrap();
        let (reader, mut writer) = std::io::pipe().unwrap();
        let start = start.replacen('{', r#"{"id":1,"type":"start","#, 1);
        let lines = format!(
            "{start}\n{}\n{}\n{}\n",
            r#"{"id":2,"type":"calibrate","target_ns":100000}"#,
            r#"{"id":3,"type":"sample","iterations":[1,2]}"#,
            r#"{"id":4,"type":"stop"}"#
        );
        writer.write_all(lines.as_bytes()).unwrap();
        let mut output = Vec::new();
        serve(workload(id), reader, &mut output).unwrap();
        let text = String::from_utf8(output).unwrap();
        let types: Vec<String> = text
            .lines()
            .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap())
            .map(|line| line["type"].as_str().unwrap().to_owned())
            .collect();
        assert_eq!(types, ["ready", "calibrated", "samples", "done"], "{id}: {text}");
    }
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0, "nothing is left behind");
}
