//! `ssh.login`: logins with the installed ssh and sshd, from the start of the client to the end of its session.

use std::fs::File;
use std::process::Stdio;
use std::sync::Arc;

use plumb_model::{AuditClass, CurveKind, Description, Parameter, Ready, Role};
use plumb_protocol::{Failure, Held, Start, StartError, StartedWorkload, Workload, now_ns};
use plumb_workload_ends::cpu_time::{self, CpuTimes};
use plumb_workload_ends::timed_threads::{ThreadJob, TimedResult, TimedThreads};
use plumb_workload_kit::declare::{
    between, choice, curve, distribution, headline, integer, rate, work, workload,
};
use plumb_workload_kit::ssh::{KeyKind, SshClient, last_line};
use plumb_workload_path::{self as path, End};

use crate::fixture;

/// The most logins at a time.
const MOST: usize = 64;

/// What a session runs.
const SESSION: &str = "exit";

/// Key exchanges: the client's own choice, and those that a client may be told to use.
const EXCHANGES: [&str; 7] = [
    "default",
    "curve25519-sha256",
    "ecdh-sha2-nistp256",
    "sntrup761x25519-sha512@openssh.com",
    "mlkem768x25519-sha256",
    "diffie-hellman-group14-sha256",
    "diffie-hellman-group16-sha512",
];

/// The workload `ssh.login`: its parameters and metrics, and how it starts.
pub struct Login;

impl Workload for Login {
    fn describe(&self) -> Description {
        let mut shared = fixture::shared_parameters();
        shared.push("key".to_owned());
        Description {
            parameters: parameters(),
            metrics: [
                rate("rate", "logins/s", "logins per second, all threads together"),
                headline(distribution(
                    "latency",
                    "time of a login: start ssh, exchange keys, run `exit`, end",
                )),
            ]
            .into_iter()
            .chain(cpu_time::metrics("login"))
            .collect(),
            requirements: fixture::requirements(),
            roles: vec![Role::Workload, Role::Server],
            fixture: Some(shared),
            audit_class: Some(AuditClass::Scheduler),
            ..workload("ssh.login", "logs in with the installed ssh and sshd")
        }
    }

    fn manual(&self) -> &'static str {
        include_str!("login.md")
    }

    fn prepare(&self, start: &Start) -> Result<(Ready, Box<dyn Held>), StartError> {
        fixture::prepare(start, keys(start))
    }

    fn start_server(&self, start: &Start) -> Result<(Ready, Box<dyn Held>), StartError> {
        fixture::start_server(start, keys(start), Some(SESSION.to_owned()))
    }

    fn start(&self, start: &Start) -> Result<StartedWorkload, StartError> {
        let exchange = start.text("kex");
        if exchange != EXCHANGES[0] {
            fixture::check_known(start, "kex", "kexes")?;
        }
        path::enter(start, End::Near)?;
        let options = match exchange {
            "default" => Vec::new(),
            _ => vec!["-o".to_owned(), format!("KexAlgorithms={exchange}")],
        };
        let client = Arc::new(fixture::client(start)?);
        let job = LoginJob { client, options: Arc::new(options) };
        job.try_once()?;
        let mut notes = path::notes(start)?;
        notes.push(format!("key exchange: {exchange}"));
        let make = move || job.clone();
        // Both ends start processes for each login. A server on another machine is not asked: its processes are many.
        let name = if fixture::is_far(start) { "far.sshd" } else { "sshd" };
        let server = fixture::endpoint(start, name)?.parse().ok();
        let mut cpus =
            CpuTimes::of(start).with_children(server.filter(|_| start.far_address().is_none()));
        notes.extend(cpus.note());
        let (lacking, told) = cpu_time::NAMES.split_at(cpus.lacking());
        let without = lacking.iter().map(|name| (*name).to_owned()).collect();
        let at_once = start.size("at_once");
        let instance = TimedThreads::start(at_once, start, make, cpus, (told, |_, _| {}))?;
        let ready = Ready {
            work: work(&[("rate", 1)]),
            versions: fixture::versions(start),
            notes,
            without,
            ..Ready::default()
        };
        Ok(StartedWorkload { instance: Box::new(instance), ready })
    }
}

fn parameters() -> Vec<Parameter> {
    let at_once =
        between(1, MOST, integer("at_once", "logins", 1, "simultaneous logins, one thread each"));
    let mut all = vec![
        choice("key", &["ed25519", "ecdsa-p256", "rsa-3072"], "keys of the host and of the user"),
        choice("kex", &EXCHANGES, "key exchange; default: the client's choice"),
        curve(CurveKind::Knee, at_once),
    ];
    all.extend(fixture::parameters());
    all
}

fn keys(start: &Start) -> KeyKind {
    match start.text("key") {
        "ecdsa-p256" => KeyKind::EcdsaP256,
        "rsa-3072" => KeyKind::Rsa3072,
        _ => KeyKind::Ed25519,
    }
}

/// Logs in once after the other.
#[derive(Clone)]
struct LoginJob {
    client: Arc<SshClient>,
    options: Arc<Vec<String>>,
}

impl LoginJob {
    /// Logs in before anything is timed. A failure reports the client's last words.
    fn try_once(&self) -> Result<(), Failure> {
        let log = self.client.folder.join(format!("login-{}.log", std::process::id()));
        let file = File::create(&log)
            .map_err(|error| Failure::io(format!("creating {}", log.display()), &error))?;
        self.log_in(Stdio::from(file))
            .map(drop)
            .map_err(|failure| Failure(format!("{failure}: {}", last_line(&log))))
    }

    /// Starts the client and waits for its end.
    fn log_in(&self, log: Stdio) -> Result<TimedResult<1>, Failure> {
        let options: Vec<&str> = self.options.iter().map(String::as_str).collect();
        let mut command = self.client.command(&options);
        command.arg(SESSION).stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        let begun = now_ns();
        let status = command
            .spawn()
            .and_then(|mut child| child.wait())
            .map_err(|error| Failure::io("starting ssh", &error))?;
        let ended_ns = now_ns();
        if status.success() {
            return Ok(TimedResult { ended_ns, numbers: [ended_ns - begun] });
        }
        Err(Failure(format!("a login failed: ssh ended with {status}")))
    }
}

impl ThreadJob<1> for LoginJob {
    fn once(&mut self) -> Result<TimedResult<1>, Failure> {
        self.log_in(Stdio::null())
    }
}
