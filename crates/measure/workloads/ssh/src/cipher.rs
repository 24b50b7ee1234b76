//! `ssh.cipher`: steady throughput of an ssh session, cipher by cipher.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use plumb_model::{
    AuditClass, Better, CurveKind, Description, Metric, Parameter, Ready, Requirement, Role,
};
use plumb_protocol::{
    Batch, Failure, Held, Instance, SplitMix64, Start, StartError, StartedWorkload, Workload,
    current_cpu, now_ns,
};

use crate::session::{OpenSession, SessionSettings, SshSession, quoted};
use plumb_workload_ends::cpu_time::{self, CpuTimes};
use plumb_workload_ends::token::at_far_end;
use plumb_workload_kit::declare::{bytes, choice, curve, rate, reported, workload};
use plumb_workload_kit::framed_stream::{FramedStream, FramedStreams};
use plumb_workload_kit::processes::{cpu_ns, descendants, line_up_to};
use plumb_workload_kit::ssh::{
    KNOWN_HOSTS, Listening, Serves, SshClient, SshTools, Sshd, UserAccount, known_host,
};
use plumb_workload_path::{self as path, End, PathKind, PathSettings};

/// Samples are at least this long, so that filling the pipes and the answer are a small part.
const SHORTEST_SAMPLE_NS: u64 = 60_000_000;

/// How endpoints begin of a server that is not the fixture's: on another machine, or at the far end of a path.
const FAR: &str = "far.";

const CIPHERS: [&str; 9] = [
    "aes128-gcm@openssh.com",
    "aes256-gcm@openssh.com",
    "chacha20-poly1305@openssh.com",
    "aes128-ctr",
    "aes192-ctr",
    "aes256-ctr",
    "aes128-cbc",
    "aes256-cbc",
    "3des-cbc",
];

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
            requirements: vec![
                Requirement {
                    needs: "ssh, sshd and ssh-keygen".into(),
                    why: "plumb measures the installed OpenSSH".into(),
                    fix: "apt-get install openssh-server openssh-client".into(),
                },
                Requirement {
                    needs: "an account that may log in".into(),
                    why: "the session runs a command as the current user".into(),
                    fix: "a user with a login shell".into(),
                },
            ],
            roles: vec![Role::Workload, Role::Server],
            fixture: Some(path::PARAMETERS.map(str::to_owned).to_vec()),
            audit_class: Some(AuditClass::Scheduler),
            ..workload("ssh.cipher", "streams data through the installed ssh and sshd")
        }
    }

    fn manual(&self) -> &'static str {
        include_str!("cipher.md")
    }

    fn prepare(&self, start: &Start) -> Result<(Ready, Box<dyn Held>), StartError> {
        let (sshd, told) = server(start, &Listening::default())?;
        let tools = SshTools::find()?;
        let own = [
            ("ssh", tools.ssh.display().to_string()),
            ("folder", sshd.folder().display().to_string()),
            ("known_hosts", sshd.folder().join(KNOWN_HOSTS).display().to_string()),
            ("key", sshd.client_key()?),
        ];
        let own = own.map(|(name, value)| (name.to_owned(), value));
        // Last, as it leaves this thread in a namespace.
        let (mut ready, path) = path::prepare(start)?;
        ready.endpoints.extend(told.into_iter().chain(own));
        Ok((ready, Box::new((sshd, path))))
    }

    fn start_server(&self, start: &Start) -> Result<(Ready, Box<dyn Held>), StartError> {
        let is_loopback = PathSettings::read(start)?.kind == PathKind::Loopback;
        if is_loopback && start.far_address().is_none() {
            // It is that of the fixture.
            return Ok((Ready::default(), Box::new(())));
        }
        let address = path::enter_as_user(start, End::Far)?;
        let key = endpoint(start, "key")?.trim().to_owned();
        // Whoever has the key can run this and nothing else.
        let command = format!("{} ssh-sink", quoted(&start.facts.plumb));
        let (sshd, told) = server(start, &Listening { address, client: Some((key, command)) })?;
        let (of_cpu, teller) = match start.far_address() {
            Some(address) => {
                let process = sshd.pid();
                // sshd forks a process per connection, which does the work.
                cpu_time::told_at(address, move || {
                    descendants(process).into_iter().chain([process]).map(cpu_ns).sum()
                })?
            }
            // Their client reads that itself.
            None => (Vec::new(), Box::new(()) as Box<dyn Held>),
        };
        let far = told.into_iter().map(|(name, value)| (format!("{FAR}{name}"), value));
        let host_key = (format!("{FAR}host_key"), sshd.host_key()?);
        let endpoints = far.chain([host_key]).chain(of_cpu).collect();
        Ok((Ready { endpoints, ..Ready::default() }, Box::new((sshd, teller))))
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
        let agreed = agreed_on(&open, &settings.cipher)?;
        let near = vec![open.session.pid()];
        let mut far = Vec::new();
        let mut notes = vec![agreed];
        notes.extend(path::notes(start)?);
        if start.far_address().is_some() {
            notes.push("CPU time covers only this end".to_owned());
        } else {
            let name = if is_far(start) { "far.sshd" } else { "sshd" };
            let server = endpoint(start, name)?.parse().unwrap_or(0);
            far = line_up_to(open.sink, server);
            let count = near.len() + far.len();
            notes.push(format!("CPU time covers both ends: {count} helper processes"));
        }
        let helpers = near.iter().chain(&far).copied().collect();
        let mut cpus = CpuTimes::of(start).and_of(near, far);
        notes.extend(cpus.note());
        let without = cpu_time::NAMES[..cpus.lacking()].iter().map(ToString::to_string).collect();
        let mut versions = vec!["openssh", "openssl"];
        if start.far_address().is_some() {
            versions.extend(["far.openssh", "far.openssl"]);
        }
        #[expect(clippy::cast_precision_loss, reason = "blocks stay far below 2^53 bytes")]
        let ready = Ready {
            work: [("throughput".to_owned(), block as f64)].into(),
            versions: versions
                .into_iter()
                .map(|name| {
                    (name.to_owned(), start.endpoints.get(name).cloned().unwrap_or_default())
                })
                .collect(),
            notes,
            without,
            ..Ready::default()
        };
        let mut data = vec![0; block];
        SplitMix64::new(start.seed).fill(&mut data);
        let OpenSession { session, to, from, .. } = open;
        let flow = FramedStream::new(to, from, Arc::from(data));
        let streams = FramedStreams::new(flow, Vec::new(), helpers, SHORTEST_SAMPLE_NS, session)?;
        let instance = CipherStream { streams, cpus, block: block as u64, start: start.clone() };
        Ok(StartedWorkload { instance: Box::new(instance), ready })
    }
}

fn parameters() -> Vec<Parameter> {
    let mut all = vec![
        choice("cipher", &CIPHERS, "cipher of the session"),
        choice(
            "mac",
            &MACS,
            "message authentication code, for ciphers without built-in authentication",
        ),
        curve(CurveKind::Line, bytes("block", 64 << 10, "size of one write to ssh")),
    ];
    all.extend(path::parameters());
    all
}

fn metrics() -> Vec<Metric> {
    vec![
        rate(
            "throughput",
            "B/s",
            "payload per second counted by the far end, without login and key exchange",
        ),
        cpu_metric(cpu_time::NAMES[0], "sshd and the sink"),
        cpu_metric(cpu_time::NAMES[1], "ssh and the process that feeds it"),
    ]
}

fn cpu_metric(name: &str, whose: &str) -> Metric {
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

/// Whether the server is another than the fixture's.
fn is_far(start: &Start) -> bool {
    start.endpoints.contains_key(&format!("{FAR}server"))
}

fn endpoint<'s>(start: &'s Start, name: &str) -> Result<&'s str, StartError> {
    start
        .endpoints
        .get(name)
        .map(String::as_str)
        .ok_or_else(|| StartError::Failed(format!("sshd was not prepared: no `{name}`")))
}

/// A server, and what it and the programs of its machine are.
fn server(
    start: &Start,
    listening: &Listening,
) -> Result<(Sshd, Vec<(String, String)>), StartError> {
    let tools = SshTools::find()?;
    let user = UserAccount::current()?;
    let ciphers = tools.known("cipher")?;
    let macs = tools.known("mac")?;
    let (openssh, openssl) = tools.versions()?;
    let serves = Serves::Commands { ciphers: &ciphers, macs: &macs };
    let sshd = Sshd::start(Path::new(&start.scratch), &tools, &user, (serves, listening))?;
    let told = [
        ("server", sshd.address().to_string()),
        ("sshd", sshd.pid().to_string()),
        ("user", user.name),
        ("ciphers", ciphers),
        ("macs", macs),
        ("openssh", openssh),
        ("openssl", openssl),
    ];
    Ok((sshd, told.map(|(name, value)| (name.to_owned(), value)).into()))
}

fn settings(start: &Start) -> Result<SessionSettings, StartError> {
    let is_far = is_far(start);
    let ends: &[&str] = if is_far { &["", FAR] } else { &[""] };
    for (end, (name, known)) in ends
        .iter()
        .flat_map(|end| [("cipher", "ciphers"), ("mac", "macs")].map(|words| (end, words)))
    {
        let wanted = start.text(name);
        if !endpoint(start, &format!("{end}{known}"))?.split(',').any(|known| known == wanted) {
            let openssh = endpoint(start, &format!("{end}openssh"))?;
            return Err(StartError::unsupported(
                format!("{openssh} does not support {name} {wanted}"),
                format!("`ssh -Q {name}` lists the supported ones"),
            ));
        }
    }
    let folder = PathBuf::from(endpoint(start, "folder")?);
    let (server, user, known_hosts) = if is_far {
        let file = folder.join(format!("known-{}", std::process::id()));
        let known = known_host(endpoint(start, "far.host_key")?)
            .ok_or_else(|| Failure("the far end sent no host key".to_owned()))?;
        std::fs::write(&file, known)
            .map_err(|error| Failure::io(format!("writing {}", file.display()), &error))?;
        ("far.server", "far.user", file)
    } else {
        ("server", "user", PathBuf::from(endpoint(start, "known_hosts")?))
    };
    let server = endpoint(start, server)?.parse().map(|server| at_far_end(start, server));
    let client = SshClient {
        ssh: PathBuf::from(endpoint(start, "ssh")?),
        server: server.map_err(|_| StartError::Failed("sshd reported no address".to_owned()))?,
        folder,
        known_hosts,
        user: endpoint(start, user)?.to_owned(),
        is_compressed: false,
    };
    Ok(SessionSettings {
        client,
        cipher: start.text("cipher").to_owned(),
        mac: start.text("mac").to_owned(),
    })
}

/// The algorithms on which both ends agreed, checked against the requested ones.
fn agreed_on(open: &OpenSession, cipher: &str) -> Result<String, Failure> {
    let agreed = open.agreed();
    let is_right =
        agreed.contains(&format!("cipher: {cipher} ")) && agreed.ends_with("compression: none");
    if is_right {
        return Ok(agreed);
    }
    Err(Failure(format!("requested {cipher} without compression, but the session uses `{agreed}`")))
}
