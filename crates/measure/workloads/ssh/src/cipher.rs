//! `ssh.cipher`: steady throughput of an ssh session, cipher by cipher.

use std::sync::Arc;

use plumb_model::{
    AuditClass, Better, CurveKind, Description, Metric, Parameter, PossibleBottleneck, Ready, Role,
    Rung,
};
use plumb_protocol::{
    Batch, Failure, Held, Instance, SplitMix64, Start, StartError, StartedWorkload, Workload,
    current_cpu, now_ns,
};

use crate::fixture;
use crate::parts::{OF_SESSION, of_session};
use crate::session::{OpenSession, SessionSettings, SshSession, quoted};
use plumb_workload_ends::cpu_time::{self, CpuTimes};
use plumb_workload_kit::affinity::CpuSet;
use plumb_workload_kit::declare::{bytes, choice, curve, rate, reported, rung, rung_if, workload};
use plumb_workload_kit::framed_stream::{
    Carry, FramedStream, FramedStreams, WantedStream, shortest_sample_ns,
};
use plumb_workload_kit::placement::{Placement, in_words, placement};
use plumb_workload_kit::processes::line_up_to;
use plumb_workload_kit::ssh::KeyKind;
use plumb_workload_path::{self as path, End};

/// Samples are at least this long, so that filling the pipes and the answer are a small part.
const SHORTEST_SAMPLE_NS: u64 = 60_000_000;

/// Short frames that show how long a round trip takes.
const TRIALS: usize = 3;

/// The ciphers of OpenSSH 9, and those that older releases had.
pub(crate) const CIPHERS: [&str; 15] = [
    "aes128-gcm@openssh.com",
    "aes256-gcm@openssh.com",
    "chacha20-poly1305@openssh.com",
    "aes128-ctr",
    "aes192-ctr",
    "aes256-ctr",
    "aes128-cbc",
    "aes256-cbc",
    "3des-cbc",
    "aes192-cbc",
    "arcfour",
    "arcfour128",
    "arcfour256",
    "blowfish-cbc",
    "cast128-cbc",
];

/// The word for the cipher that client and server agree on by themselves.
pub(crate) const DEFAULT: &str = "default";

const MACS: [&str; 8] = [
    "hmac-sha2-256",
    "hmac-sha2-512",
    "hmac-sha1",
    "umac-64@openssh.com",
    "umac-128@openssh.com",
    "hmac-sha2-256-etm@openssh.com",
    "hmac-sha2-512-etm@openssh.com",
    "umac-64-etm@openssh.com",
];

/// Streams through the installed ssh and sshd.
pub struct Cipher;

impl Workload for Cipher {
    fn describe(&self) -> Description {
        Description {
            parameters: parameters(),
            metrics: metrics(),
            requirements: fixture::requirements(),
            roles: vec![Role::Workload, Role::Server],
            fixture: Some(fixture::shared_parameters()),
            audit_class: Some(AuditClass::Scheduler),
            bottlenecks: bottlenecks(),
            rungs: rungs(),
            ..workload("ssh.cipher", "streams data through the installed ssh and sshd")
        }
    }

    fn manual(&self) -> &'static str {
        include_str!("cipher.md")
    }

    fn prepare(&self, start: &Start) -> Result<(Ready, Box<dyn Held>), StartError> {
        fixture::prepare(start, KeyKind::Ed25519)
    }

    fn start_server(&self, start: &Start) -> Result<(Ready, Box<dyn Held>), StartError> {
        let command = format!("{} ssh-sink", quoted(&start.facts.plumb));
        fixture::start_server(start, KeyKind::Ed25519, Some(command))
    }

    fn start(&self, start: &Start) -> Result<StartedWorkload, StartError> {
        let settings = settings(start)?;
        let block = start.size("block");
        if !(1..=1 << 30).contains(&block) {
            return Err(StartError::Failed(format!("`block` must be 1B to 1GiB, not {block}")));
        }
        if start.facts.plumb.is_empty() {
            return Err(StartError::Failed("the path of the plumb binary is unknown".to_owned()));
        }
        path::enter(start, End::Near)?;
        let open = SshSession::open(&settings, &start.facts.plumb)?;
        let agreed = open.agreed();
        fixture::check_agreed(start, &agreed, DEFAULT)?;
        let near = vec![open.session.pid()];
        let mut far = Vec::new();
        let mut notes = vec![agreed];
        notes.extend(obsolete(start)?);
        notes.extend(path::notes(start)?);
        if start.far_address().is_some() {
            notes.push("CPU time covers only this end".to_owned());
        } else {
            let name = if fixture::is_far(start) { "far.sshd" } else { "sshd" };
            let server = fixture::endpoint(start, name)?.parse().unwrap_or(0);
            far = line_up_to(open.sink, server);
            let count = near.len() + far.len();
            notes.push(format!("CPU time covers both ends: {count} helper processes"));
        }
        notes.extend(place(start, &near, &far)?);
        let helpers = near.iter().chain(&far).copied().collect();
        let mut cpus = CpuTimes::of(start).and_of(near, far);
        notes.extend(cpus.note());
        let without = cpu_time::NAMES[..cpus.lacking()].iter().map(ToString::to_string).collect();
        #[expect(clippy::cast_precision_loss, reason = "blocks stay far below 2^53 bytes")]
        let ready = Ready {
            work: [("throughput".to_owned(), block as f64)].into(),
            versions: fixture::versions(start),
            notes,
            without,
            ..Ready::default()
        };
        let mut data = vec![0; block];
        SplitMix64::new(start.seed).fill(&mut data);
        let OpenSession { session, to, from, .. } = open;
        let streams = match start.text("direction") {
            "down" => {
                let stream = WantedStream::new(to, from, block as u64, data);
                // Nobody answers a frame without bytes.
                streams(stream, 1, helpers, session)?
            }
            _ => streams(FramedStream::new(to, from, Arc::from(data)), 0, helpers, session)?,
        };
        let instance = CipherStream { streams, cpus, block: block as u64, start: start.clone() };
        Ok(StartedWorkload { instance: Box::new(instance), ready })
    }
}

/// Keeps both ends to their CPUs, as `placement` says: this process with ssh, and sshd with the sink if they run here.
fn place(start: &Start, near: &[u32], far: &[u32]) -> Result<Option<String>, StartError> {
    let ends = if far.is_empty() { 1 } else { 2 };
    let Some(cpus) = Placement::of(start)?.cpus(ends, &start.facts)? else { return Ok(None) };
    let mut cpu_of_end = cpus.iter().map(|cpu| CpuSet::only(*cpu));
    if let Some(cpu) = cpu_of_end.next() {
        cpu.apply()?;
        near.iter().try_for_each(|process| cpu.apply_to(*process))?;
    }
    if let Some(cpu) = cpu_of_end.next() {
        far.iter().try_for_each(|process| cpu.apply_to(*process))?;
    }
    Ok(Some(format!("both ends run {}", in_words(&cpus))))
}

/// A note on a cipher that the client has but does not offer unless it is told to.
fn obsolete(start: &Start) -> Result<Option<String>, StartError> {
    let cipher = start.text("cipher");
    let offered = fixture::endpoint(start, "default_ciphers")?;
    if cipher == DEFAULT || offered.is_empty() || offered.split(',').any(|name| name == cipher) {
        return Ok(None);
    }
    Ok(Some(format!("obsolete: this ssh offers {cipher} only if it is told to")))
}

/// One stream, whose samples last many of its round trips: of those that frames of so few blocks take.
fn streams(
    mut stream: impl Carry + 'static,
    trial_blocks: u64,
    helpers: Vec<u32>,
    session: SshSession,
) -> Result<FramedStreams<SshSession>, Failure> {
    let shortest_ns =
        shortest_sample_ns(SHORTEST_SAMPLE_NS, round_trip_ns(&mut stream, trial_blocks)?);
    FramedStreams::new(stream, Vec::new(), helpers, shortest_ns, session)
}

/// The shortest time from a frame of so many blocks to its answer.
fn round_trip_ns(stream: &mut impl Carry, blocks: u64) -> Result<u64, Failure> {
    let mut shortest_ns = u64::MAX;
    for _ in 0..TRIALS {
        let begun = now_ns();
        stream.carry(blocks)?;
        shortest_ns = shortest_ns.min(now_ns() - begun);
    }
    Ok(shortest_ns)
}

fn parameters() -> Vec<Parameter> {
    let mut ciphers = CIPHERS.to_vec();
    ciphers.push(DEFAULT);
    let mut all = vec![
        choice(
            "cipher",
            &ciphers,
            "cipher of the session; default: the client's choice, as for MACs",
        ),
        choice(
            "mac",
            &MACS,
            "message authentication code, for ciphers without built-in authentication",
        ),
        choice("direction", &["up", "down"], "up: from this end to the server; down: back"),
        curve(CurveKind::Line, bytes("block", 64 << 10, "size of one write to ssh")),
        fixture::compression(),
        placement(),
    ];
    all.extend(fixture::parameters());
    all
}

/// What may limit a stream over a path, or to another machine.
fn bottlenecks() -> Vec<PossibleBottleneck> {
    let own = [&OF_SESSION[..], &["mac", "block"]].concat();
    let [path, mut cipher, window] = of_session(&own);
    // On loopback that is the point itself.
    cipher.unless.clone_from(&path.unless);
    cipher.also_far = true;
    vec![path, cipher, window]
}

/// The cipher alone, in the library that ssh uses. Other ciphers of ssh have no counterpart: `crypto.aead` measures
/// authenticated ciphers only.
fn rungs() -> Vec<Rung> {
    const CIPHERS: [(&str, &str); 3] = [
        ("aes128-gcm@openssh.com", "aes-128-gcm"),
        ("aes256-gcm@openssh.com", "aes-256-gcm"),
        ("chacha20-poly1305@openssh.com", "chacha20-poly1305"),
    ];
    CIPHERS.map(|(of_ssh, cipher)| cipher_alone(of_ssh, cipher)).into()
}

/// A cipher by its name in ssh and in `crypto.aead`.
fn cipher_alone(of_ssh: &str, cipher: &str) -> Rung {
    let settings = [("cipher", cipher), ("provider", "system")];
    let name = format!("{cipher} without ssh");
    let is_local = [("cipher", of_ssh), ("path", "loopback")];
    rung_if(&is_local, rung(&name, "crypto.aead", "throughput", &settings))
}

fn metrics() -> Vec<Metric> {
    vec![
        rate(
            "throughput",
            "B/s",
            "payload per second counted by the receiver, without login and key exchange",
        ),
        cpu_metric(cpu_time::NAMES[0], "sshd and the sink"),
        cpu_metric(cpu_time::NAMES[1], "ssh and the process that feeds it"),
    ]
}

pub(crate) fn cpu_metric(name: &str, whose: &str) -> Metric {
    reported(name, "s/B", Better::Lower, &format!("CPU time of {whose} per byte of payload"))
}

/// A session that carries frames, over loopback, a path or a network.
struct CipherStream {
    streams: FramedStreams<SshSession>,
    cpus: CpuTimes,
    /// Bytes of a block.
    block: u64,
    start: Start,
}

impl Instance for CipherStream {
    fn run(&mut self, iterations: u64) -> Result<(), Failure> {
        self.streams.run(iterations)
    }

    fn batch(&mut self, iterations: &[u64], batch: &mut Batch) -> Result<(), Failure> {
        let carried = path::carried(&self.start)?;
        self.cpus.begin()?;
        for &k in iterations {
            let start = now_ns();
            self.run(k)?;
            batch.record(start, now_ns() - start, k, current_cpu());
        }
        let of_byte = self.cpus.of_each(iterations.iter().sum::<u64>() * self.block)?;
        iterations.iter().for_each(|_| batch.record_values(&of_byte[self.cpus.lacking()..]));
        path::flag_limit(&self.start, carried, batch)
    }

    fn value_names(&self) -> &'static [&'static str] {
        const ALL: &[&str] = &cpu_time::NAMES;
        &ALL[self.cpus.lacking()..]
    }

    fn has_untimed_parts(&self) -> bool {
        self.cpus.asks()
    }

    fn least_iterations(&self) -> u64 {
        self.streams.least_iterations()
    }

    fn shortest_sample_ns(&self) -> u64 {
        self.streams.shortest_sample_ns()
    }

    fn helpers(&self) -> &[u32] {
        self.streams.helpers()
    }
}

fn settings(start: &Start) -> Result<SessionSettings, StartError> {
    let cipher = start.text("cipher");
    if cipher == DEFAULT {
        return Ok(SessionSettings { client: fixture::client(start)?, algorithms: None });
    }
    for (name, known) in [("cipher", "ciphers"), ("mac", "macs")] {
        fixture::check_known(start, name, known)?;
    }
    let algorithms = Some((cipher.to_owned(), start.text("mac").to_owned()));
    Ok(SessionSettings { client: fixture::client(start)?, algorithms })
}
