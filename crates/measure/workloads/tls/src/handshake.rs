//! `tls.handshake`: handshakes of TLS, full or resumed, with a server of our own or a port that the user names.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use plumb_model::{
    AuditClass, Better, CurveKind, Description, FlagKind, Parameter, Ready, Role, Value,
};
use plumb_protocol::{
    ArrivalSchedule, Arrivals, Failure, Held, Start, StartError, StartedWorkload, Workload,
};
use plumb_workload_ends::cpu_time::{self, CpuTimes};
use plumb_workload_ends::host::{self, HOST, restricted};
use plumb_workload_ends::timed_threads::{SampleSums, ThreadJob, TimedResult, TimedThreads};
use plumb_workload_kit::declare::{
    between, choice, curve, distribution, headline, integer, rate, rate_or, reported_share,
    reported_time, text, work, workload,
};
use plumb_workload_path::{self as path, End};

use crate::client::{ANSWER_TIMEOUT, Client, HandshakeTarget, MadeConnection, is_timeout};
use crate::openssl::OpensslError;
use crate::server::{
    OPENSSL_OF_SERVER, openssl_server, report_handshake, rustls_server, start_server,
};
use crate::settings::parameters;

/// The most handshakes that are made at a time.
const MOST: usize = 256;
/// So many at a time anybody may make with anyone.
const MOST_TO_OTHERS: u64 = 8;
/// Handshakes that show, before anything is timed, whether a server resumes.
const TRIALS: u64 = 4;

/// What is reported next to it, behind the CPU time of both ends.
const VALUES: [&str; 5] =
    [cpu_time::NAMES[0], cpu_time::NAMES[1], "connect_time", "resumed", "in_time"];

/// The workload `tls.handshake`: its parameters and metrics, and how it starts.
pub(super) struct Handshake;

impl Workload for Handshake {
    fn describe(&self) -> Description {
        Description {
            roles: vec![Role::Workload, Role::Server, Role::Load],
            parameters: all_parameters(),
            metrics: vec![
                rate("rate", "handshakes/s", "handshakes per second, all threads together"),
                headline(distribution(
                    "latency",
                    "time of a handshake, from the ClientHello until the client may send data; at a rate, from \
                     when it was due, with the connection (TCP)",
                )),
                reported_time(VALUES[2], "mean time to open the connection (TCP)"),
                reported_share(
                    VALUES[3],
                    Better::Neither,
                    "share of the handshakes that resumed a session",
                ),
                reported_share(
                    VALUES[4],
                    Better::Neither,
                    "share of the handshakes begun within 100 µs of their due time; 1 in a closed loop",
                ),
            ]
            .into_iter()
            .chain(cpu_time::metrics("handshake"))
            .collect(),
            fixture: Some(path::PARAMETERS.map(str::to_owned).to_vec()),
            fixture_kind: Some(path::KIND.to_owned()),
            restricted: Some(restricted(
                HOST,
                "at_once",
                MOST_TO_OTHERS,
                "simultaneous handshakes",
            )),
            audit_class: Some(AuditClass::Scheduler),
            ..workload("tls.handshake", "makes TLS handshakes")
        }
    }

    fn manual(&self) -> &'static str {
        include_str!("handshake.md")
    }

    fn prepare(&self, start: &Start) -> Result<(Ready, Box<dyn Held>), StartError> {
        path::prepare(start)
    }

    fn start_server(&self, start: &Start) -> Result<(Ready, Box<dyn Held>), StartError> {
        if !start.text(HOST).is_empty() {
            return Ok((Ready::default(), Box::new(())));
        }
        let resumes = start.text("mode") == "resumed";
        start_server(start, start.size("at_once"), |name, identity| match start.text("server") {
            "openssl" => openssl_server(start, name, &identity, resumes),
            _ => rustls_server(start, name, identity, resumes, report_handshake),
        })
    }

    fn start(&self, start: &Start) -> Result<StartedWorkload, StartError> {
        path::enter(start, End::Near)?;
        let mut ready = Ready { notes: path::notes(start)?, ..Ready::default() };
        let target = Arc::new(HandshakeTarget::of(start)?);
        let mut first = Client::new(Arc::clone(&target))?;
        let trial = Trial::of(&mut first, &target)?;
        ready.notes.push(format!(
            "client: {}",
            first
                .version()
                .map_or("rustls with ring".to_owned(), |version| format!("OpenSSL {version}"))
        ));
        ready.versions = versions(start, &first);
        if target.resumes && trial.resumed < TRIALS - 1 {
            return Err(not_resumed(trial.resumed));
        }
        ready.notes.extend(trial.notes);
        let mut cpus = CpuTimes::of(start);
        ready.notes.extend(cpus.note());
        ready.work = work(&[("rate", 1)]);
        let lacking = VALUES[..cpus.lacking()].iter();
        ready.without = lacking.map(|name| (*name).to_owned()).collect();
        let names = &VALUES[cpus.lacking()..];
        let clients = move || first.sibling();
        let schedule = schedule(start)?;
        let threads = start.size("at_once");
        let instance = TimedThreads::start(threads, start, clients, cpus, (names, report))?
            .on_schedule(schedule);
        Ok(StartedWorkload { instance: Box::new(instance), ready })
    }
}

fn all_parameters() -> Vec<Parameter> {
    let at_once = between(
        1,
        MOST,
        integer("at_once", "handshakes", 1, "simultaneous handshakes, one thread each"),
    );
    let mut all = host::parameters("plumb's server").to_vec();
    all.extend([
        integer("port", "port", 443, "port of the host"),
        text("name", "", "name that the host must prove; by default the host as given"),
        choice(
            "verify",
            &["on", "off"],
            "off: do not check the certificate of the host (it must still have its key)",
        ),
        choice("mode", &["full", "resumed"], "full handshakes, or resumed sessions"),
        choice("client", &["rustls", "openssl"], "library of the client; openssl: the installed one"),
        choice("server", &["rustls", "openssl"], "library of plumb's server"),
        curve(CurveKind::Knee, at_once),
        rate_or(
            "rate",
            "handshakes",
            &["closed"],
            "handshakes due per second, such as 500/s, made by `at_once` threads; closed: each thread begins \
             when the last one has ended",
        ),
        choice(
            "arrivals",
            &["poisson", "fixed"],
            "at a rate, due times are random (Poisson) or equally spaced",
        ),
    ]);
    all.extend(parameters());
    all.extend(path::parameters());
    all
}

/// The versions of the system's libraries, of either end.
fn versions(start: &Start, client: &Client) -> BTreeMap<String, String> {
    let mut versions = BTreeMap::new();
    if let Some(version) = client.version() {
        versions.insert("openssl".to_owned(), version.to_owned());
    }
    if let Some(version) = start.endpoints.get(OPENSSL_OF_SERVER) {
        versions.insert(OPENSSL_OF_SERVER.to_owned(), version.clone());
    }
    versions
}

/// When handshakes are due; none in a closed loop.
fn schedule(start: &Start) -> Result<Option<ArrivalSchedule>, StartError> {
    let Some(rate) = start.params.get("rate").and_then(Value::integer) else { return Ok(None) };
    let arrivals = match start.text("arrivals") {
        "fixed" => Arrivals::Fixed,
        _ => Arrivals::Poisson,
    };
    #[expect(clippy::cast_precision_loss, reason = "rates stay far below 2^53")]
    let per_second = rate as f64;
    Ok(Some(ArrivalSchedule::new(arrivals, per_second, start.seed)?))
}

/// [`VALUES`] of a sample, behind those of the CPUs.
fn report(done: &SampleSums<3>, into: &mut [f64]) {
    let [_, connect, resumed] = done.sums;
    let handshakes = done.count.max(1.0);
    let values = [connect / handshakes / 1e9, resumed / handshakes, done.in_time];
    into.iter_mut().zip(values).for_each(|(into, value)| *into = value);
}

impl ThreadJob<3> for Client {
    fn once(&mut self) -> Result<TimedResult<3>, Failure> {
        let (result, _) = self.handshake().map_err(|error| {
            Failure::io(format!("a handshake with {}", self.target().address), &error)
        })?;
        if self.target().resumes && !result.was_resumed {
            return Err(Failure(format!("{}: a session was not resumed", FlagKind::NotResumed)));
        }
        let numbers = [result.handshake_ns, result.connect_ns, u64::from(result.was_resumed)];
        Ok(TimedResult { ended_ns: result.ended_ns, numbers })
    }
}

/// Handshakes before anything is timed: the first fills the session memory, the others show whether it is used.
struct Trial {
    resumed: u64,
    notes: Vec<String>,
}

impl Trial {
    fn of(client: &mut Client, target: &HandshakeTarget) -> Result<Self, StartError> {
        let mut trial = Self { resumed: 0, notes: Vec::new() };
        for number in 0..TRIALS {
            let (result, connection) =
                client.handshake().map_err(|error| refused(&error, target))?;
            trial.resumed += u64::from(result.was_resumed);
            if number == 0 {
                trial.notes = notes(&connection, target);
            }
        }
        Ok(trial)
    }
}

/// What the server is, and what was agreed on.
fn notes(connection: &MadeConnection, target: &HandshakeTarget) -> Vec<String> {
    let mut notes = Vec::new();
    if !target.is_own {
        notes.push(format!("to {}; connections end with a reset (SO_LINGER)", target.address));
    }
    notes.extend(connection.notes());
    notes
}

/// Times of handshakes that were meant to be resumed and were not are no figures of resumption.
fn not_resumed(resumed: u64) -> StartError {
    let flag = FlagKind::NotResumed;
    let of = TRIALS - 1;
    StartError::unsupported(
        format!("{flag}: the server resumed {resumed} of {of} sessions"),
        "set `mode=full`, or let the server send tickets (openssl s_server: -num_tickets 2)",
    )
}

/// Why a server can't be measured, with the remedy.
fn refused(error: &io::Error, target: &HandshakeTarget) -> StartError {
    let address = target.address;
    if let Some(why) = error.get_ref().and_then(|inner| inner.downcast_ref::<OpensslError>()) {
        return StartError::unsupported(
            format!("no handshake with {address}: {why}"),
            "set another `version`, `group`, `cipher` or `name`, SSL_CERT_FILE to the authority of the server, or \
             `verify=off`",
        );
    }
    let cause = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    let fix = match cause {
        Some(rustls::Error::InvalidCertificate(_)) => {
            "set `name` to the name in the certificate, SSL_CERT_FILE to its authority, or `verify=off`"
        }
        Some(rustls::Error::AlertReceived(_) | rustls::Error::PeerIncompatible(_)) => {
            "set another `version`, `group` or `cipher`; the server accepts none of these"
        }
        Some(_) => "check that the port speaks TLS: openssl s_client -connect HOST:PORT",
        None if is_timeout(error) => {
            "check that the port speaks TLS and that no firewall blocks it"
        }
        None => "check that a server listens there and that no firewall blocks the port",
    };
    let why = match cause {
        Some(cause) => cause.to_string(),
        None if is_timeout(error) => {
            format!("no answer within {} s", ANSWER_TIMEOUT.as_secs())
        }
        None => error.to_string(),
    };
    StartError::unsupported(format!("no handshake with {address}: {why}"), fix)
}

#[cfg(test)]
mod tests {
    use plumb_workload_ends::timed_threads::SampleSums;

    use super::report;

    #[test]
    fn times_are_means_and_resumptions_a_share() {
        let mut values = [0.0; 3];
        let sums = [12e9, 4e9, 1.0];
        report(&SampleSums { sums, count: 4.0, elapsed_ns: 5e9, in_time: 0.5 }, &mut values);
        assert_eq!(values, [1.0, 0.25, 0.5]);
    }
}
