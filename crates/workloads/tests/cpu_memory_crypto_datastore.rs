//! The workloads of cpu, memory, crypto and datastore, used as the engine uses them.

use std::path::Path;

use plumb_model::{
    Description, Facts, FlagKind, Metric, ParameterType, Point, Ready, Role, Settings, Value,
};
use plumb_protocol::{Batch, Instance, Start, StartError, Started, Workload};

const IDS: [&str; 5] =
    ["cpu.sieve", "memory.copy", "memory.latency", "crypto.aead", "datastore.batch"];

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
    let workload = workload(id);
    let given: Settings = settings
        .iter()
        .map(|(name, value)| ((*name).to_owned(), Value::Text((*value).to_owned())))
        .collect();
    let point = Point::new(&workload.describe(), &given, 2).unwrap();
    workload.start(&Start {
        role: Role::Workload,
        params: point.settings,
        dir: dir.to_string_lossy().into_owned(),
        scratch: String::new(),
        seed: 42,
        endpoints: std::collections::BTreeMap::new(),
        facts: facts(),
    })
}

fn started(id: &str, settings: &[(&str, &str)]) -> Started {
    start(id, settings, Path::new("/")).unwrap_or_else(|error| panic!("{id}: {error:?}"))
}

/// Takes these samples, verifies them, and gives the values of a metric.
fn values(started: &mut Started, metric: &Metric, iterations: &[u64]) -> Vec<f64> {
    let instance: &mut dyn Instance = &mut *started.instance;
    let mut batch = Batch::with_room(iterations.len(), instance.value_names());
    instance.batch(iterations, &mut batch).unwrap();
    instance.verify().unwrap();
    let (samples, _) = batch.finish();
    samples.check().unwrap();
    let work = started.ready.work.get(&metric.name).copied().unwrap_or(1.0);
    samples.metric(metric, work).unwrap()
}

/// The least time of a few samples of k iterations, in nanoseconds.
fn least_ns(instance: &mut dyn Instance, k: u64) -> u64 {
    let mut batch = Batch::with_room(7, instance.value_names());
    instance.batch(&[k; 7], &mut batch).unwrap();
    instance.verify().unwrap();
    batch.finish().0.elapsed_ns.into_iter().min().unwrap()
}

/// Twice the iterations take about twice the time: the work is done each time, and nothing else.
fn assert_time_follows_work(id: &str, started: &mut Started, k: u64) {
    let ratio = || -> f64 {
        let once = least_ns(&mut *started.instance, k);
        let twice = least_ns(&mut *started.instance, 2 * k);
        twice as f64 / once as f64
    };
    let ratios: Vec<f64> = std::iter::repeat_with(ratio).take(5).collect();
    assert!(ratios.iter().any(|r| (1.8..2.2).contains(r)), "{id}: {ratios:?}");
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
    let dir = tempfile::tempdir().unwrap();
    let points: [(&str, &[(&str, &str)], u64); 9] = [
        ("cpu.sieve", &[("limit", "30000")], 10),
        ("cpu.sieve", &[("limit", "30000"), ("growth", "reserved")], 10),
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
fn larger_work_takes_longer_and_rates_stay() {
    let time =
        |id, settings: &[(&str, &str)], k| least_ns(&mut *started(id, settings).instance, k) as f64;
    let ratio =
        time("cpu.sieve", &[("limit", "200000")], 3) / time("cpu.sieve", &[("limit", "100000")], 3);
    assert!((1.5..3.0).contains(&ratio), "twice the limit: {ratio}");
    let ratio = time("crypto.aead", &[("bytes", "256KiB")], 3)
        / time("crypto.aead", &[("bytes", "64KiB")], 3);
    assert!((3.0..5.5).contains(&ratio), "four times the bytes: {ratio}");
    let ratio =
        time("memory.copy", &[("size", "8MiB")], 2) / time("memory.copy", &[("size", "2MiB")], 2);
    assert!((2.5..10.0).contains(&ratio), "four times the bytes: {ratio}");
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
    let metric = workload("memory.latency").describe().metrics[0].clone();
    let latency = |size: &str, k| {
        let mut started = started("memory.latency", &[("size", size)]);
        let all = values(&mut started, &metric, &[k; 5]);
        all.into_iter().fold(f64::INFINITY, f64::min)
    };
    let (small, large) = (latency("16KiB", 100), latency("32MiB", 20));
    assert!((2e-10..2e-8).contains(&small), "a load from the first-level cache: {small} s");
    assert!(large > 2.0 * small, "{large} s against {small} s");
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
    let cases: [(&str, &[(&str, &str)], &str); 8] = [
        ("cpu.sieve", &[("limit", "10")], "`limit` between"),
        ("cpu.sieve", &[("limit", "1000000000")], "smaller `limit`"),
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
fn an_entity_has_a_time_in_every_phase_and_nothing_is_left_behind() {
    let dir = tempfile::tempdir().unwrap();
    let description = workload("datastore.batch").describe();
    for durability in ["none", "batch", "entity"] {
        let settings = [("entities", "20"), ("durability", durability)];
        let mut started = start("datastore.batch", &settings, dir.path()).unwrap();
        let total = values(&mut started, &description.metrics[0], &[2, 1])[0];
        let instance = &mut *started.instance;
        assert_eq!(
            instance.value_names(),
            description.metrics[1..].iter().map(|m| m.name.as_str()).collect::<Vec<_>>()
        );
        let mut phases = [0.0; 5];
        instance.run(2).unwrap();
        instance.values(&mut phases);
        let sum: f64 = phases.iter().sum();
        assert!(phases.iter().all(|&phase| phase > 0.0), "{phases:?}");
        assert!((0.05..20.0).contains(&(sum / total)), "{sum} of {total}");
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
