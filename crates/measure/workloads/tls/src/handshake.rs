//! `tls.handshake`: handshakes of TLS, full or resumed, with a server of our own or a port that the user names.

use std::io::{self, Read};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use plumb_model::{
    AuditClass, Better, CurveKind, Description, FlagKind, Parameter, Ready, Role, Value,
};
use plumb_protocol::{
    ArrivalSchedule, Arrivals, Failure, Held, Start, StartError, StartedWorkload, Workload, now_ns,
};
use plumb_workload_ends::cpu_time::{self, CpuTimes};
use plumb_workload_ends::host::{self, HOST, address_of, restricted};
use plumb_workload_ends::timed_threads::{SampleSums, ThreadJob, TimedThreads};
use plumb_workload_ends::token::{self, at_far_end};
use plumb_workload_kit::declare::{
    between, choice, curve, distribution, headline, integer, rate, rate_or, reported_share,
    reported_time, text, work, workload,
};
use plumb_workload_path::{self as path, End};
use rustix::net::sockopt::set_socket_linger;
use rustls::client::Resumption;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, HandshakeKind, ProtocolVersion};

use crate::certificate::from_hex;
use crate::server::{FULL, RESUMED, report_handshake, start_server};
use crate::settings::{TlsSettings, Trust, parameters};

/// The most handshakes that are made at a time.
const MOST: usize = 256;
/// So many at a time anybody may make with anyone.
const MOST_TO_OTHERS: u64 = 8;
/// A server that does not connect or answer for so long is gone.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a server of somebody else may take to send a ticket after a handshake.
const TICKET_TIMEOUT: Duration = Duration::from_millis(300);
/// Servers whose sessions a client remembers; there is only one.
const SESSIONS: usize = 4;
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
        start_server(start, start.size("at_once"), is_resumed(start), report_handshake)
    }

    fn start(&self, start: &Start) -> Result<StartedWorkload, StartError> {
        path::enter(start, End::Near)?;
        let mut ready = Ready { notes: path::notes(start)?, ..Ready::default() };
        let target = Arc::new(HandshakeTarget::of(start)?);
        let mut first = Client::new(Arc::clone(&target))?;
        let trial = Trial::of(&mut first, &target)?;
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

fn is_resumed(start: &Start) -> bool {
    start.text("mode") == "resumed"
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

/// Where handshakes are made, and with which settings.
struct HandshakeTarget {
    address: SocketAddr,
    name: ServerName<'static>,
    settings: TlsSettings,
    start: Start,
    is_own: bool,
    resumes: bool,
}

impl HandshakeTarget {
    fn of(start: &Start) -> Result<Self, StartError> {
        let settings = TlsSettings::of(start)?;
        let resumes = is_resumed(start);
        let host = start.text(HOST);
        let is_own = host.is_empty();
        let (address, name) = if is_own {
            let (address, _) = token::told(start)?;
            (at_far_end(start, address), word(start, "name")?.to_owned())
        } else {
            let port = u16::try_from(start.integer("port"))
                .ok()
                .filter(|port| *port > 0)
                .ok_or_else(|| StartError::Failed("`port` must be 1 to 65535".to_owned()))?;
            let name = match start.text("name") {
                "" => host,
                name => name,
            };
            (SocketAddr::new(address_of(host, start)?, port), name.to_owned())
        };
        let name = ServerName::try_from(name.clone())
            .map_err(|error| StartError::Failed(format!("`{name}`: {error}")))?;
        Ok(Self { address, name, settings, start: start.clone(), is_own, resumes })
    }

    fn trust(&self) -> Result<Trust, StartError> {
        if self.is_own {
            let certificate = from_hex(word(&self.start, "certificate")?)
                .ok_or_else(|| StartError::Failed("the server sent no certificate".to_owned()))?;
            return Ok(Trust::Certificate(CertificateDer::from(certificate)));
        }
        match self.start.text("verify") {
            "off" => Ok(Trust::Anyone),
            _ => Ok(Trust::Authorities),
        }
    }
}

fn word<'s>(start: &'s Start, name: &str) -> Result<&'s str, StartError> {
    let word = start.endpoints.get(name).map(String::as_str);
    word.ok_or_else(|| StartError::Failed("the server reported no name".to_owned()))
}

/// A thread's client, with a memory of its own for sessions.
struct Client {
    target: Arc<HandshakeTarget>,
    settings: Arc<ClientConfig>,
}

/// One handshake, as both ends saw it.
struct HandshakeResult {
    connect_ns: u64,
    handshake_ns: u64,
    was_resumed: bool,
}

impl Client {
    fn new(target: Arc<HandshakeTarget>) -> Result<Self, StartError> {
        let mut settings = target.settings.client(target.trust()?)?;
        if target.resumes {
            settings.resumption = Resumption::in_memory_sessions(SESSIONS);
        }
        Ok(Self { target, settings: Arc::new(settings) })
    }

    /// The client of another thread, with a memory of its own for sessions. A first handshake fills it; untimed.
    fn sibling(&self) -> Self {
        let mut settings = ClientConfig::clone(&self.settings);
        if self.target.resumes {
            settings.resumption = Resumption::in_memory_sessions(SESSIONS);
        }
        let sibling = Self { target: Arc::clone(&self.target), settings: Arc::new(settings) };
        if sibling.target.resumes {
            // If it fails, so does the first handshake that is timed.
            let _ = sibling.handshake();
        }
        sibling
    }

    fn handshake(&self) -> io::Result<(HandshakeResult, ClientConnection)> {
        let begun = now_ns();
        let mut socket = TcpStream::connect_timeout(&self.target.address, ANSWER_TIMEOUT)?;
        let connected = now_ns();
        socket.set_nodelay(true)?;
        socket.set_read_timeout(Some(ANSWER_TIMEOUT))?;
        let name = self.target.name.clone();
        // A new connection makes its key share for the ClientHello, which is a part of the handshake.
        let hello = now_ns();
        let made = ClientConnection::new(Arc::clone(&self.settings), name);
        let mut connection = made.map_err(io::Error::other)?;
        while connection.is_handshaking() {
            connection.complete_io(&mut socket)?;
        }
        let ended = now_ns();
        let was_resumed = connection.handshake_kind() == Some(HandshakeKind::Resumed);
        if self.target.is_own {
            self.compare(was_resumed, &mut connection, &mut socket)?;
        } else {
            if self.target.resumes {
                wait_for_ticket(&mut connection, &mut socket)?;
            }
            // A reset keeps no port in use (TIME_WAIT).
            set_socket_linger(&socket, Some(Duration::ZERO))?;
        }
        let result = HandshakeResult {
            connect_ns: connected - begun,
            handshake_ns: ended - hello,
            was_resumed,
        };
        Ok((result, connection))
    }

    /// Reads how the server saw the handshake, and until it has closed: tickets come on the way.
    fn compare(
        &self,
        was_resumed: bool,
        connection: &mut ClientConnection,
        socket: &mut TcpStream,
    ) -> io::Result<()> {
        let mut seen = Vec::with_capacity(2);
        let mut stream = rustls::Stream::new(connection, socket);
        stream.read_to_end(&mut seen)?;
        let expected = if was_resumed { RESUMED } else { FULL };
        if seen != [expected] {
            let failure = "client and server disagree about a handshake: resumed or full";
            return Err(io::Error::other(failure));
        }
        Ok(())
    }
}

/// Reads until a ticket has come; none within the time-out is no error.
fn wait_for_ticket(connection: &mut ClientConnection, socket: &mut TcpStream) -> io::Result<()> {
    if connection.protocol_version() != Some(ProtocolVersion::TLSv1_3) {
        return Ok(());
    }
    socket.set_read_timeout(Some(TICKET_TIMEOUT))?;
    while connection.tls13_tickets_received() == 0 {
        match connection.read_tls(socket) {
            Ok(0) => return Ok(()),
            Ok(_) => {
                connection.process_new_packets().map_err(io::Error::other)?;
            }
            Err(error) if is_timeout(&error) => return Ok(()),
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}

impl ThreadJob<3> for Client {
    fn once(&mut self) -> Result<[u64; 3], Failure> {
        let (result, _) = self.handshake().map_err(|error| {
            Failure::io(format!("a handshake with {}", self.target.address), &error)
        })?;
        if self.target.resumes && !result.was_resumed {
            return Err(Failure(format!("{}: a session was not resumed", FlagKind::NotResumed)));
        }
        Ok([result.handshake_ns, result.connect_ns, u64::from(result.was_resumed)])
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

/// What was agreed on, and how long the server's chain of certificates is.
fn notes(connection: &ClientConnection, target: &HandshakeTarget) -> Vec<String> {
    let mut notes = Vec::new();
    if !target.is_own {
        notes.push(format!("to {}; connections end with a reset (SO_LINGER)", target.address));
    }
    let suite = connection.negotiated_cipher_suite().and_then(|suite| suite.suite().as_str());
    let group = connection.negotiated_key_exchange_group().map(|group| group.name());
    if let Some((suite, group)) = suite.zip(group.and_then(|name| name.as_str())) {
        notes.push(format!("{suite}, key exchange {group}"));
    }
    if let Some(chain) = connection.peer_certificates() {
        let bytes: usize = chain.iter().map(|certificate| certificate.len()).sum();
        let count = chain.len();
        let certificates = if count == 1 { "certificate" } else { "certificates" };
        notes.push(format!("the server sends {count} {certificates}, {bytes} bytes"));
    }
    notes.push("client: rustls with ring".to_owned());
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
