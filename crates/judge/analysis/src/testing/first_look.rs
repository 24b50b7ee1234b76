//! A first look at a small virtual machine, and several commands beside each other.

use plumb_model::ParameterType::{Bytes, Choice, Integer, Text, Threads};
use plumb_model::{
    Better, Flag, FlagKind, Goal, MetricSource, ParameterType, RunRecord, StopReason, StoppingRules,
};

use super::{Builder, Spec, fail, flag};

type Parameters = &'static [(&'static str, ParameterType, &'static str, &'static str)];

const SIEVE: Parameters = &[
    ("limit", Integer, "1000000", ""),
    ("growth", Choice, "push", ""),
    ("threads", Threads, "1", ""),
];
const SIEVE_2: Parameters = &[
    ("limit", Integer, "1000000", ""),
    ("growth", Choice, "push", ""),
    ("threads", Threads, "1", "2"),
];
const BLOCKS: Parameters = &[
    ("size", Bytes, "1GiB", ""),
    ("block", Bytes, "1MiB", ""),
    ("operation", Choice, "read", "write"),
    ("direct", Choice, "auto", ""),
];
const RANDOM: Parameters = &[
    ("size", Bytes, "1GiB", ""),
    ("block", Bytes, "4KiB", ""),
    ("operation", Choice, "read", ""),
    ("direct", Choice, "auto", ""),
];

macro_rules! parameters {
    ($($name:literal: $kind:ident $default:literal $value:literal),*) => {
        &[$(($name, $kind, $default, $value)),*]
    };
}

const PLAIN: Spec = Spec {
    id: "",
    metric: "rate",
    unit: "ops/s",
    parameters: &[],
    value: 1.0,
    within: 0.01,
    between: 0.004,
    processes: 13,
    samples: 20,
    cpu: (99, 0, 0),
    memory_mib: 6,
};

/// `plumb run`: every family that the machine supports, with the blemishes of a real run.
#[must_use]
pub fn first_look() -> RunRecord {
    let builder = storage(kernel(processor(Builder::new(Some("first-look")))));
    language(secrets(network(builder)))
        .with(|record| record.plan.labels.extend([("board".to_owned(), "rev-c".to_owned())]))
        .build()
}

fn processor(builder: Builder) -> Builder {
    let copy = |parameters, value| Spec {
        id: "memory.copy",
        metric: "bandwidth",
        unit: "B/s",
        parameters,
        value,
        within: 0.02,
        between: 0.01,
        memory_mib: 132,
        ..PLAIN
    };
    let latency = |parameters, value| Spec {
        id: "memory.latency",
        metric: "latency",
        unit: "s",
        parameters,
        value,
        memory_mib: 68,
        ..PLAIN
    };
    let sieve = Spec { id: "cpu.sieve", parameters: SIEVE, value: 412.0, ..PLAIN };
    let two = Spec { parameters: SIEVE_2, value: 801.0, cpu: (198, 1, 0), ..sieve };
    builder
        .measured(&sieve)
        .stopped(StopReason::Precision)
        .measured(&two)
        .stopped(StopReason::Precision)
        .measured(&copy(parameters!("method": Choice "libc" "", "size": Bytes "64MiB" ""), 11.4e9))
        .stopped(StopReason::Precision)
        .measured(&copy(
            parameters!("method": Choice "libc" "loop", "size": Bytes "64MiB" ""),
            9.7e9,
        ))
        .stopped(StopReason::Precision)
        .measured(&copy(
            parameters!("method": Choice "libc" "block", "size": Bytes "64MiB" ""),
            10.1e9,
        ))
        .stopped(StopReason::Precision)
        .measured(&copy(
            parameters!("method": Choice "libc" "nt", "size": Bytes "64MiB" ""),
            13.2e9,
        ))
        .stopped(StopReason::Precision)
        .measured(&latency(
            parameters!("size": Bytes "64MiB" "16KiB", "pages": Choice "huge" ""),
            1.42e-9,
        ))
        .stopped(StopReason::Precision)
        .measured(&Spec {
            within: 0.05,
            between: 0.035,
            ..latency(parameters!("size": Bytes "64MiB" "", "pages": Choice "huge" ""), 88e-9)
        })
        .stopped(StopReason::Precision)
        .last_point(|planned| {
            planned.capped =
                Some("64 MiB where 4 × the last-level cache of 260 MiB is wanted".into());
        })
}

fn kernel(builder: Builder) -> Builder {
    let pipe = |parameters, value, cpu| Spec {
        id: "scheduler.pipe",
        metric: "time",
        unit: "s",
        parameters,
        value,
        within: 0.04,
        between: 0.02,
        cpu,
        ..PLAIN
    };
    builder
        .measured(&Spec {
            id: "scheduler.messaging",
            metric: "time",
            unit: "s",
            parameters: parameters!("groups": Integer "1" "10", "transport": Choice "socket" ""),
            value: 1.83,
            within: 0.03,
            between: 0.02,
            processes: 10,
            samples: 3,
            cpu: (12, 186, 0),
            ..PLAIN
        })
        .stopped(StopReason::Budget)
        .measured(&pipe(parameters!("placement": Choice "same" ""), 4.1e-6, (14, 84, 0)))
        .stopped(StopReason::Precision)
        .measured(&pipe(parameters!("placement": Choice "same" "across"), 19.6e-6, (11, 96, 0)))
        .stopped(StopReason::Precision)
        .invocations(|i, invocation| {
            let factor = if i % 3 == 0 { 138 } else { 100 };
            invocation.samples.elapsed_ns.iter_mut().for_each(|t| *t = *t * factor / 100);
        })
        .measured(&Spec {
            id: "process.fork",
            metric: "time",
            unit: "s",
            value: 131.9e-6,
            cpu: (8, 91, 0),
            ..PLAIN
        })
        .stopped(StopReason::Precision)
        .measured(&Spec {
            id: "process.command",
            metric: "wall",
            unit: "s",
            parameters: parameters!("command": Text r#"["/bin/true"]"# ""),
            value: 612e-6,
            within: 0.06,
            processes: 220,
            samples: 0,
            cpu: (31, 64, 0),
            memory_mib: 2,
            ..PLAIN
        })
        .stopped(StopReason::Precision)
}

fn storage(builder: Builder) -> Builder {
    let cached = Flag::new(FlagKind::Cached, "3 % of the bytes reached the device");
    builder
        .measured(&Spec {
            id: "storage.sequential",
            metric: "bandwidth",
            unit: "B/s",
            parameters: BLOCKS,
            value: 85.2e6,
            within: 0.15,
            between: 0.08,
            processes: 10,
            samples: 8,
            cpu: (1, 12, 71),
            memory_mib: 7,
        })
        .stopped(StopReason::Budget)
        .measured(&Spec {
            id: "storage.random",
            parameters: RANDOM,
            value: 22_400.0,
            within: 0.2,
            between: 0.18,
            processes: 10,
            samples: 10,
            cpu: (4, 31, 58),
            ..PLAIN
        })
        .stopped(StopReason::Budget)
        .last_point(|planned| {
            let mut latency = planned.description.metrics[0].clone();
            latency.name = "latency_p99".into();
            latency.unit = "s".into();
            latency.better = Better::Lower;
            latency.source = MetricSource::Value;
            planned.description.metrics.push(latency);
        })
        .invocations(move |i, invocation| {
            flag(invocation, cached.clone());
            let slow = if i % 4 == 0 { 2.1e-4 } else { 1.6e-4 };
            invocation
                .samples
                .values
                .insert("latency_p99".into(), vec![slow; invocation.samples.len()]);
            invocation.ready.notes.push("method: io_uring, O_DIRECT".into());
        })
}

fn network(builder: Builder) -> Builder {
    builder
        .measured(&Spec {
            id: "network.tcp",
            metric: "throughput",
            unit: "B/s",
            parameters: parameters!("streams": Integer "1" ""),
            value: 2.91e9,
            within: 0.06,
            between: 0.03,
            processes: 1,
            samples: 240,
            cpu: (6, 121, 0),
            ..PLAIN
        })
        .stopped(StopReason::Budget)
        .planned(&Spec { id: "network.icmp", ..PLAIN })
        .unsupported(
            "raw sockets need CAP_NET_RAW and ping sockets are closed to this group",
            "sysctl -w net.ipv4.ping_group_range='0 2147483647', or run as root",
        )
}

fn secrets(builder: Builder) -> Builder {
    let aead = |cipher, value| Spec {
        id: "crypto.aead",
        metric: "throughput",
        unit: "B/s",
        parameters: cipher,
        value,
        ..PLAIN
    };
    let ssh = |cipher, value| Spec {
        id: "ssh.cipher",
        metric: "throughput",
        unit: "B/s",
        parameters: cipher,
        value,
        processes: 4,
        samples: 3,
        cpu: (142, 38, 0),
        ..PLAIN
    };
    builder
        .measured(&aead(parameters!("cipher": Choice "aes-256-gcm" "", "bytes": Bytes "16KiB" ""), 4.31e9))
        .stopped(StopReason::Precision)
        .measured(&aead(
            parameters!("cipher": Choice "aes-256-gcm" "aes-128-gcm", "bytes": Bytes "16KiB" ""),
            5.12e9,
        ))
        .stopped(StopReason::Precision)
        .measured(&aead(
            parameters!("cipher": Choice "aes-256-gcm" "chacha20-poly1305", "bytes": Bytes "16KiB" ""),
            1.87e9,
        ))
        .stopped(StopReason::Precision)
        .measured(&ssh(parameters!("cipher": Choice "aes256-gcm@openssh.com" ""), 612e6))
        .stopped(StopReason::Budget)
        .measured(&ssh(
            parameters!("cipher": Choice "aes256-gcm@openssh.com" "chacha20-poly1305@openssh.com"),
            331e6,
        ))
        .stopped(StopReason::Budget)
}

fn language(builder: Builder) -> Builder {
    let sieve = |language, value, memory_mib| Spec {
        id: "language.sieve",
        metric: "wall",
        unit: "s",
        parameters: language,
        value,
        within: 0.02,
        processes: 31,
        samples: 0,
        cpu: (97, 2, 0),
        memory_mib,
        ..PLAIN
    };
    builder
        .measured(&sieve(parameters!("language": Choice "c" ""), 4.9e-3, 4))
        .stopped(StopReason::Precision)
        .measured(&sieve(parameters!("language": Choice "c" "javascript"), 61.3e-3, 71))
        .stopped(StopReason::Precision)
        .measured(&sieve(parameters!("language": Choice "c" "python"), 214e-3, 47))
        .stopped(StopReason::Precision)
        .measured(&Spec {
            id: "datastore.batch",
            parameters: parameters!("backend": Choice "sqlite" "", "entities": Integer "1000" ""),
            value: 5_230.0,
            processes: 3,
            samples: 2,
            ..PLAIN
        })
        .stopped(StopReason::Failed)
        .invocations(|_, invocation| {
            fail(
                invocation,
                "the database answered: disk I/O error",
                "opening store\ndisk I/O error (10)\n",
            );
        })
}

/// `plumb exec` of three commands, compared with the first.
#[must_use]
pub fn exec() -> RunRecord {
    let command = |command, value| Spec {
        id: "process.command",
        metric: "wall",
        unit: "s",
        parameters: command,
        value,
        within: 0.01,
        processes: 20,
        samples: 0,
        cpu: (93, 5, 0),
        memory_mib: 3,
        ..PLAIN
    };
    let builder = Builder::new(None)
        .measured(&command(parameters!("command": Text "true" "gzip -1 corpus"), 0.412))
        .last_point(|planned| planned.title = Some("gzip -1 corpus".into()))
        .measured(&command(parameters!("command": Text "true" "zstd -1 corpus"), 0.103))
        .last_point(|planned| planned.title = Some("zstd -1 corpus".into()))
        .measured(&command(parameters!("command": Text "true" "pigz -1 corpus"), 0.4122))
        .last_point(|planned| planned.title = Some("pigz -1 corpus".into()));
    builder
        .with(|record| {
            record.plan.against_first = true;
            record.plan.budget_ns = None;
            record.plan.goal = Goal::Rules(StoppingRules {
                min_time_ns: 3_000_000_000,
                max_time_ns: Some(60_000_000_000),
                ..StoppingRules::fixed(20)
            });
            record.command =
                ["plumb", "exec", "gzip -1 corpus", "zstd -1 corpus", "pigz -1 corpus"]
                    .map(str::to_owned)
                    .to_vec();
            one_sample_a_round(record);
        })
        .build()
}

/// Turns every invocation of many samples into as many invocations of one, a round each.
fn one_sample_a_round(record: &mut RunRecord) {
    let long = std::mem::take(&mut record.invocations);
    for invocation in &long {
        for sample in 0..invocation.samples.len() {
            let mut one = invocation.clone();
            one.round = u32::try_from(sample).unwrap_or(0);
            one.samples.start_ns = vec![invocation.samples.start_ns[sample]];
            one.samples.elapsed_ns = vec![invocation.samples.elapsed_ns[sample]];
            one.samples.iterations = vec![1];
            one.samples.cpu = vec![0];
            record.invocations.push(one);
        }
    }
}
