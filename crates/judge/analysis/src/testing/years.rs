//! A store's worth of runs: two suites and commands on two machines over two years, with kernels that change,
//! a step that nobody recorded, noise between runs, and now and then something that went wrong.

use plumb_model::{
    Environment, Goal, Id, Interference, ParameterType, RunRecord, StopReason, StoppingRules,
};
use plumb_stats::rng::Rng;

use super::{Builder, Spec};

/// Between two runs.
const PAUSE_NS: i64 = 63_072_000_000_000;
/// Moments since 1970 at which the first began.
const FIRST_UNIX_NS: i64 = 1_732_219_200_000_000_000;
/// Relative deviation of runs.
const BETWEEN_RUNS: f64 = 0.004;
/// What `memory.copy` costs after the step.
const STEP: f64 = 1.05;

const PLAIN: Spec = Spec {
    id: "",
    metric: "rate",
    unit: "ops/s",
    parameters: &[],
    value: 1.0,
    within: 0.01,
    between: 0.004,
    processes: 13,
    samples: 28,
    cpu: (97, 2, 0),
    memory_mib: 20,
};

const CHOICE: ParameterType = ParameterType::Choice;
const BYTES: ParameterType = ParameterType::Bytes;
const THREADS: ParameterType = ParameterType::Threads;

/// Ids, metrics, units and levels, each at the values of one parameter.
type YearsWorkload = (
    &'static str,
    &'static str,
    &'static str,
    f64,
    &'static [&'static [(&'static str, ParameterType, &'static str, &'static str)]],
);

const WORKLOADS: [YearsWorkload; 12] = [
    (
        "cpu.sieve",
        "rate",
        "ops/s",
        412.0,
        &[&[("threads", THREADS, "1", "")], &[("threads", THREADS, "1", "2")]],
    ),
    (
        "memory.copy",
        "bandwidth",
        "B/s",
        11.4e9,
        &[
            &[("method", CHOICE, "libc", "")],
            &[("method", CHOICE, "libc", "loop")],
            &[("method", CHOICE, "libc", "block")],
            &[("method", CHOICE, "libc", "nt")],
        ],
    ),
    (
        "memory.latency",
        "latency",
        "s",
        9e-9,
        &[
            &[("size", BYTES, "64MiB", "16KiB")],
            &[("size", BYTES, "64MiB", "1MiB")],
            &[("size", BYTES, "64MiB", "8MiB")],
            &[("size", BYTES, "64MiB", "")],
        ],
    ),
    ("scheduler.messaging", "time", "s", 1.8e-3, &[&[]]),
    (
        "scheduler.pipe",
        "latency",
        "s",
        4.1e-6,
        &[&[("cpus", CHOICE, "same", "")], &[("cpus", CHOICE, "same", "across")]],
    ),
    ("process.fork", "time", "s", 131e-6, &[&[]]),
    (
        "storage.sequential",
        "bandwidth",
        "B/s",
        85e6,
        &[&[("direction", CHOICE, "write", "")], &[("direction", CHOICE, "write", "read")]],
    ),
    ("storage.random", "rate", "ops/s", 7e3, &[&[]]),
    (
        "network.tcp",
        "throughput",
        "B/s",
        2.4e9,
        &[&[("size", BYTES, "64KiB", "")], &[("size", BYTES, "64KiB", "1KiB")]],
    ),
    (
        "crypto.aead",
        "bandwidth",
        "B/s",
        4.1e9,
        &[
            &[("cipher", CHOICE, "aes-256-gcm", "")],
            &[("cipher", CHOICE, "aes-256-gcm", "chacha20-poly1305")],
        ],
    ),
    (
        "ssh.cipher",
        "bandwidth",
        "B/s",
        0.8e9,
        &[&[("cipher", CHOICE, "aes", "")], &[("cipher", CHOICE, "aes", "chacha")]],
    ),
    ("datastore.batch", "time", "s", 13e-6, &[&[]]),
];

/// The run of this number of so many.
#[must_use]
pub fn run_of_years(number: u32, of: u32) -> RunRecord {
    let mut rng = Rng::new(u64::from(number) + 1);
    let (suite, wanted, processes, samples): (_, &[&str], _, _) = match number % 10 {
        0..6 => (Some("first-look"), &[], 13, 31),
        6..9 => (Some("memory"), &["memory.copy", "memory.latency"], 13, 120),
        _ => (None, &["process.fork"], 25, 40),
    };
    let mut builder = Builder { rng: rng.fork(), ..Builder::new(suite) };
    let chosen = |workload: &&YearsWorkload| wanted.is_empty() || wanted.contains(&workload.0);
    for (id, metric, unit, value, points) in WORKLOADS.iter().filter(chosen) {
        for (place, parameters) in (0_u32..).zip(points.iter()) {
            let cost = cost(id, number, of) * (1.0 + BETWEEN_RUNS * rng.normal());
            let level = value / (1.0 + 0.3 * f64::from(place));
            let value = if *unit == "s" { level * cost } else { level / cost };
            let spec = Spec { id, metric, unit, parameters, value, processes, samples, ..PLAIN };
            builder = builder.measured(&spec).stopped(StopReason::Precision);
        }
    }
    builder.with(|record| surroundings(record, number, of, &mut rng)).build()
}

/// What a workload costs when this run takes place.
fn cost(id: &str, number: u32, of: u32) -> f64 {
    if id == "memory.copy" && number * 2 > of { STEP } else { 1.0 }
}

fn surroundings(record: &mut RunRecord, number: u32, of: u32, rng: &mut Rng) {
    let started_unix_ns = FIRST_UNIX_NS + i64::from(number) * PAUSE_NS;
    #[expect(clippy::cast_sign_loss, reason = "long after 1970")]
    let stamp = u128::from(started_unix_ns as u64 / 1_000_000) << 80;
    record.run =
        Id::from_u128(stamp | 0x7000_8000_0000_0000_0000 | u128::from(rng.next_u64() >> 8));
    record.started_unix_ns = started_unix_ns;
    record.ended_unix_ns = Some(started_unix_ns);
    record.segments[0].started_unix_ns = started_unix_ns;
    record.plan.goal = Goal::Rules(StoppingRules::precision(0.03));
    record.plan.labels.insert("build".to_owned(), number.to_string());
    let kernel = match number * 10 / of.max(1) {
        0..3 => "6.1.148",
        3..7 => "6.12.43",
        _ => "6.18.44",
    };
    let target = &mut record.targets[0];
    if number % 10 == 5 {
        target.machine.fingerprint = "fp1:0b7d3f29c5e8a641".to_owned();
        target.machine.facts.insert("cpu".to_owned(), "AMD EPYC 7R13".to_owned());
    }
    target.environment.facts.insert("kernel".to_owned(), kernel.to_owned());
    target.environment.fingerprint = format!("env1:{kernel}");
    record.environments = vec![Environment::clone(&target.environment)];
    for invocation in record.invocations.iter_mut().filter(|_| rng.below(200) == 0) {
        let evidence = "3.1 % of the time was stolen".to_owned();
        invocation.interference.push(Interference {
            rule: "steal".to_owned(),
            first: 0,
            last: 1,
            evidence,
        });
    }
}
