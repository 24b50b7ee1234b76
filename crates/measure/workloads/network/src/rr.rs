//! `network.rr`: requests and their answers, one after the other or at a rate.

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
        let address = path::enter(start, End::Far)?;
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
        let endpoints = token::words(address, token).into_iter().chain(words).collect();
        Ok((Ready { endpoints, ..Ready::default() }, Box::new((held, teller))))
    }

    #[expect(clippy::cast_precision_loss, reason = "a rate that can be kept is far below 2^53")]
    fn start(&self, start: &Start) -> Result<StartedWorkload, StartError> {
        let settings = RequestSettings::read(start)?;
        let (address, token) = token::told(start)?;
        path::enter(start, End::Near)?;
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
        .with_cpus(cpus);
        let ready = Ready { notes, without, ..Ready::default() };
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
        })
    }
}
