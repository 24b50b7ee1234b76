//! `network.rr`: requests and their answers, one after the other or at a rate.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use plumb_model::{AuditClass, CurveKind, Description, Parameter, Ready, Role, Value};
use plumb_protocol::{
    ArrivalSchedule, Arrivals, Failure, Held, Start, StartError, StartedWorkload, Workload,
};
use plumb_workload_ends::cpu_time::{self, CpuTimes};
use plumb_workload_kit::declare::{
    between, bytes, choice, curve, distribution, headline, rate, rate_or, workload,
};
use plumb_workload_path::{self as path, End};

use crate::messages::{
    DatagramServer, LONGEST, MessageTransport, Messages, SHORTEST_ANSWER, SHORTEST_REQUEST,
    serve_connection,
};
use crate::requests::{
    Exchange, NumberedRequests, PROBE, Patience, in_time, lost, open_loop, quiet_ns,
};
use crate::tunnel::{self, RequestTunnel};
use plumb_workload_ends::server::TcpServer;
use plumb_workload_ends::token;

/// How often a server on another machine is asked whether it is there, and how long each answer may take.
const TRIES: usize = 3;
const TRY_NS: u64 = 1_000_000_000;

/// Sends requests to a process that answers each.
pub struct Rr;

impl Workload for Rr {
    fn describe(&self) -> Description {
        Description {
            roles: vec![Role::Workload, Role::Server, Role::Load],
            parameters: parameters(),
            metrics: vec![
                rate("rate", "ops/s", "answered requests per second"),
                headline(distribution(
                    "latency",
                    "time from sending a request (in an open loop, from its due time) to its answer",
                )),
                lost(),
                in_time(),
            ]
            .into_iter()
            .chain(cpu_time::metrics("request"))
            .collect(),
            fixture: Some(path::PARAMETERS.map(str::to_owned).to_vec()),
            fixture_kind: Some(path::KIND.to_owned()),
            audit_class: Some(AuditClass::Scheduler),
            version: 2,
            ..workload("network.rr", "sends requests to another process and times its answers")
        }
    }

    fn manual(&self) -> &'static str {
        include_str!("rr.md")
    }

    fn prepare(&self, start: &Start) -> Result<(Ready, Box<dyn Held>), StartError> {
        path::prepare(start)
    }

    fn start_server(&self, start: &Start) -> Result<(Ready, Box<dyn Held>), StartError> {
        let settings = RequestSettings::read(start)?;
        let (address, tunnel) = match settings.is_tunnelled {
            true => {
                settings.check_tunnel(start)?;
                // sshd asks which user runs it.
                let address = path::enter_as_user(start, End::Far)?;
                (address, Some(tunnel::serve(start, address)?))
            }
            false => (path::enter(start, End::Far)?, None),
        };
        let token = token::fresh()?;
        let sizes = settings.sizes;
        let failed = |error| Failure::io(format!("listening on {address}"), &error);
        let (address, held): (_, Box<dyn Held>) = match settings.transport {
            MessageTransport::Tcp => {
                let server = TcpServer::start(address, move |stream| {
                    serve_connection(stream, &token, sizes)
                })
                .map_err(failed)?;
                (server.address(), Box::new(server))
            }
            MessageTransport::Udp => {
                let server = DatagramServer::start(address, token, sizes).map_err(failed)?;
                (server.address(), Box::new(server))
            }
        };
        let (words, teller) = cpu_time::told(start)?;
        let (of_tunnel, tunnel) = tunnel.unzip();
        let of_tunnel = of_tunnel.unwrap_or_default();
        let endpoints =
            token::words(address, token).into_iter().chain(words).chain(of_tunnel).collect();
        let tunnel: Box<dyn Held> = match tunnel {
            Some(sshd) => Box::new(sshd),
            None => Box::new(()),
        };
        // The tunnel ends before the server of the requests.
        Ok((Ready { endpoints, ..Ready::default() }, Box::new(((tunnel, held), teller))))
    }

    #[expect(clippy::cast_precision_loss, reason = "a rate that can be kept is far below 2^53")]
    fn start(&self, start: &Start) -> Result<StartedWorkload, StartError> {
        let settings = RequestSettings::read(start)?;
        let (address, token) = token::told(start)?;
        path::enter(start, End::Near)?;
        let tunnel = match settings.is_tunnelled {
            true => Some(RequestTunnel::open(start, address)?),
            false => None,
        };
        let address = tunnel.as_ref().map_or(address, |tunnel| tunnel.address);
        let mut messages = Messages::open(settings.transport, address, &token, settings.sizes)
            .map_err(|error| Failure::io(format!("connecting to {address}"), &error))?;
        if start.far_address().is_some() {
            answers(&mut messages, address)?;
        }
        let mut notes = path::notes(start)?;
        let schedule = settings.rate.map(|rate| {
            notes.push(open_loop(rate, settings.arrivals));
            ArrivalSchedule::new(settings.arrivals, rate as f64, start.seed)
        });
        if schedule.is_none() {
            notes.push(
                "closed loop: each request waits for the previous answer; use rate=5k/s for an open loop"
                    .to_owned(),
            );
        }
        let mut cpus = CpuTimes::of(start);
        let mut versions = BTreeMap::new();
        let mut helpers = Vec::new();
        if let Some(tunnel) = tunnel {
            helpers.push(tunnel.near());
            helpers.extend(&tunnel.far);
            cpus = cpus.and_of(vec![tunnel.near()], tunnel.far.clone());
            versions.insert("openssh".to_owned(), tunnel.version.clone());
            notes.push("through a port that ssh forwards (ssh -L)".to_owned());
            messages.keep(tunnel);
        }
        notes.extend(cpus.note());
        let without = cpu_time::NAMES[..cpus.lacking()].iter().map(ToString::to_string).collect();
        let instance = NumberedRequests::new(
            messages,
            schedule.transpose()?,
            Patience {
                may_lose: settings.transport == MessageTransport::Udp,
                quiet_ns: quiet_ns(start),
            },
            start,
        )
        .with_cpus(cpus)
        .with_helpers(helpers);
        let ready = Ready { notes, without, versions, ..Ready::default() };
        Ok(StartedWorkload { instance: Box::new(instance), ready })
    }
}

/// That the server is at this address, before it gets many requests per second: another host may have the address that ssh reached.
fn answers(messages: &mut Messages, address: SocketAddr) -> Result<(), StartError> {
    for _ in 0..TRIES {
        let answer = messages.send(PROBE).and_then(|()| messages.receive_within(TRY_NS));
        if answer
            .map_err(|error| Failure::io(format!("sending a test request to {address}"), &error))?
            .is_some()
        {
            return Ok(());
        }
    }
    Err(StartError::unsupported(
        format!("can't reach the server at {address}: {TRIES} requests got no answer"),
        "open its port in all firewalls in between, or use transport=tcp",
    ))
}

fn parameters() -> Vec<Parameter> {
    let request = between(
        SHORTEST_REQUEST,
        LONGEST,
        bytes("request", 24, "size of a request; at least 24 bytes, for a token and a number"),
    );
    let mut all = vec![
        choice("transport", &["tcp", "udp"], "TCP connection, or UDP datagrams"),
        curve(CurveKind::Line, request),
        between(
            SHORTEST_ANSWER,
            LONGEST,
            bytes("answer", 24, "size of an answer; at least 8 bytes"),
        ),
        rate_or(
            "rate",
            "requests",
            &["closed"],
            "requests due per second, such as 5k/s, regardless of earlier ones; closed: one at a time",
        ),
        choice(
            "arrivals",
            &["poisson", "fixed"],
            "at a rate, due times are random (Poisson) or equally spaced",
        ),
        choice(
            "tunnel",
            &["none", "ssh"],
            "ssh: through a port that the installed OpenSSH forwards (ssh -L)",
        ),
    ];
    all.extend(path::parameters());
    all
}

struct RequestSettings {
    transport: MessageTransport,
    /// Bytes of requests and answers.
    sizes: [usize; 2],
    rate: Option<u64>,
    arrivals: Arrivals,
    is_tunnelled: bool,
}

impl RequestSettings {
    fn read(start: &Start) -> Result<Self, StartError> {
        let request = start.size("request");
        let answer = start.size("answer");
        Ok(Self {
            transport: if start.text("transport") == "udp" {
                MessageTransport::Udp
            } else {
                MessageTransport::Tcp
            },
            sizes: [request, answer],
            rate: start.params.get("rate").and_then(Value::integer),
            arrivals: match start.text("arrivals") {
                "fixed" => Arrivals::Fixed,
                _ => Arrivals::Poisson,
            },
            is_tunnelled: start.text("tunnel") == "ssh",
        })
    }

    /// Whether ssh can carry these requests.
    fn check_tunnel(&self, start: &Start) -> Result<(), StartError> {
        if self.transport == MessageTransport::Udp {
            return Err(StartError::unsupported(
                "ssh forwards TCP connections alone",
                "set transport=tcp, or tunnel=none",
            ));
        }
        if start.far_address().is_some() {
            return Err(StartError::unsupported(
                "plumb makes a tunnel only on this machine, but --to selects another one",
                "leave out `tunnel` or --to; `path=veth` has two ends on this machine",
            ));
        }
        Ok(())
    }
}
