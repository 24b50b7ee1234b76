//! `network.rr`: requests and their answers, one after the other or at a rate.

use std::num::NonZeroU64;

use plumb_model::{
    AuditClass, Better, CurveKind, Description, Flag, FlagKind, Parameter, Ready, Role, Value,
};
use plumb_protocol::{
    Arrivals, BOUND_SHARE, Batch, Distribution, Failure, Held, Instance, Schedule, Start,
    StartError, Started, Workload, current_cpu, now_ns,
};
use plumb_workload_kit::declare::{
    bytes, choice, curve, distribution, headline, rate, rate_or, reported, within, workload,
};
use plumb_workload_path::{self as path, End};
use rustix::thread::set_current_timer_slack;

use crate::messages::{
    DatagramServer, LONGEST, Messages, SHORTEST_ANSWER, SHORTEST_REQUEST, Transport,
    serve_connection,
};
use crate::server::Server;
use crate::token;

/// What is reported beside, in this order.
const VALUES: [&str; 2] = ["lost", "in_time"];

/// A datagram without an answer for so long is lost, and in a closed loop the next is sent.
const PATIENCE_NS: u64 = 1_000_000_000;
/// Without any answer for so long the far end is gone.
const GONE_NS: u64 = 20_000_000_000;
/// After the last sample answers may come for so long, beside what the path takes.
const QUIET_NS: u64 = 200_000_000;
/// The most requests under way in an open loop.
const MOST_UNDER_WAY: u64 = 1 << 16;

/// Sends requests to a process that answers each.
pub struct Rr;

impl Workload for Rr {
    fn describe(&self) -> Description {
        Description {
            roles: vec![Role::Workload, Role::Server, Role::Load],
            parameters: parameters(),
            metrics: vec![
                rate("rate", "ops/s", "requests that were answered"),
                headline(distribution(
                    "latency",
                    "time from when a request was sent, or was due in an open loop, to its answer",
                )),
                reported(
                    VALUES[0],
                    "",
                    Better::Lower,
                    "share of the requests without an answer, over all samples that a process takes at once",
                ),
                reported(
                    VALUES[1],
                    "",
                    Better::Higher,
                    "share of the requests of an open loop that were sent within 100 µs of when they were due",
                ),
            ],
            fixture: Some(path::PARAMETERS.map(str::to_owned).to_vec()),
            audit_class: Some(AuditClass::Scheduler),
            ..workload("network.rr", "requests to another process, and their answers")
        }
    }

    fn manual(&self) -> &'static str {
        include_str!("rr.md")
    }

    fn prepare(&self, start: &Start) -> Result<(Ready, Box<dyn Held>), StartError> {
        path::prepare(start)
    }

    fn start_server(&self, start: &Start) -> Result<(Ready, Box<dyn Held>), StartError> {
        let settings = Settings::read(start)?;
        let address = path::enter(start, End::Far)?;
        let (token, sizes) = (token::fresh()?, settings.sizes);
        let failed = |error| Failure::io(format!("listening on {address}"), &error);
        let (address, held): (_, Box<dyn Held>) = match settings.transport {
            Transport::Tcp => {
                let serve = move |stream: &_| serve_connection(stream, &token, sizes);
                let server = Server::start(address, serve).map_err(failed)?;
                (server.address(), Box::new(server))
            }
            Transport::Udp => {
                let server = DatagramServer::start(address, token, sizes).map_err(failed)?;
                (server.address(), Box::new(server))
            }
        };
        let endpoints = token::words(address, token).into();
        Ok((Ready { endpoints, ..Ready::default() }, held))
    }

    #[expect(clippy::cast_precision_loss, reason = "a rate that can be kept is far below 2^53")]
    fn start(&self, start: &Start) -> Result<Started, StartError> {
        let settings = Settings::read(start)?;
        let (address, token) = token::told(start)?;
        path::enter(start, End::Near)?;
        let messages = Messages::open(settings.transport, address, &token, settings.sizes)
            .map_err(|error| Failure::io(format!("connecting to {address}"), &error))?;
        let mut notes = path::notes(start)?;
        let schedule = settings.rate.map(|rate| {
            notes.push(format!(
                "open loop: {rate} requests a second are due, {}; latency counts from then",
                match settings.arrivals {
                    Arrivals::Fixed => "equally far apart",
                    Arrivals::Poisson => "at random moments (Poisson)",
                }
            ));
            // Timers of this thread would else be up to 50 µs late.
            let _ = set_current_timer_slack(NonZeroU64::new(1));
            Schedule::new(settings.arrivals, rate as f64, start.seed)
        });
        if schedule.is_none() {
            notes.push(
                "closed loop: the next request waits for the answer of the last; rate=5k/s opens it"
                    .to_owned(),
            );
        }
        let instance = Requests {
            messages,
            schedule: schedule.transpose()?,
            transport: settings.transport,
            start: start.clone(),
            quiet_ns: QUIET_NS + start.integer("rtt") + 2 * start.integer("queue"),
            next: 0,
            oldest: 0,
            lost: 0,
            due_ns: vec![0; MOST_UNDER_WAY as usize],
            latency: [Distribution::of("latency")],
            helpers: token::helpers(start),
        };
        let ready = Ready { notes, ..Ready::default() };
        Ok(Started { instance: Box::new(instance), ready })
    }
}

fn parameters() -> Vec<Parameter> {
    let request = bytes("request", 24, "bytes of a request, 24 at least: a token and a number");
    let mut all = vec![
        choice("transport", &["tcp", "udp"], "what carries them: a connection, or datagrams"),
        curve(CurveKind::Line, request),
        bytes("answer", 24, "bytes of an answer, 8 at least"),
        rate_or(
            "rate",
            "requests",
            &["closed"],
            "requests that are due each second, whether or not earlier ones are answered (5k/s); closed: one at a time",
        ),
        choice(
            "arrivals",
            &["poisson", "fixed"],
            "how they are due at a rate: at random, or equally far apart",
        ),
    ];
    all.extend(path::parameters());
    all
}

struct Settings {
    transport: Transport,
    /// Bytes of requests and answers.
    sizes: [usize; 2],
    rate: Option<u64>,
    arrivals: Arrivals,
}

impl Settings {
    fn read(start: &Start) -> Result<Self, StartError> {
        let request = within(start, "request", SHORTEST_REQUEST, LONGEST)?;
        let answer = within(start, "answer", SHORTEST_ANSWER, LONGEST)?;
        Ok(Self {
            transport: if start.text("transport") == "udp" {
                Transport::Udp
            } else {
                Transport::Tcp
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

struct Requests {
    messages: Messages,
    transport: Transport,
    start: Start,
    /// When for so long no answer has come, none will.
    quiet_ns: u64,
    /// None in a closed loop.
    schedule: Option<Schedule>,
    /// The number of the next request, and of the first that is not known to be answered or lost.
    next: u64,
    oldest: u64,
    /// Requests that were lost since this was asked last.
    lost: u64,
    /// When each request under way was due, at its number modulo their most; 0 for one that was answered.
    due_ns: Vec<u64>,
    latency: [Distribution; 1],
    helpers: Vec<u32>,
}

impl Requests {
    /// Sends a request that was due at this time.
    fn send(&mut self, due_ns: u64) -> Result<(), Failure> {
        let slot = self.slot(self.next);
        if std::mem::replace(&mut self.due_ns[slot], due_ns) != 0 {
            // The one that had this place was not answered while all others were sent.
            self.lost += 1;
        }
        let sent = self.messages.send(self.next);
        self.next += 1;
        sent.map_err(|error| Failure::io("sending a request", &error))
    }

    /// Takes in an answer, if one has come: when its request was due.
    fn receive(&mut self) -> Result<Option<u64>, Failure> {
        let answer = self
            .messages
            .receive()
            .map_err(|error| Failure::io("the far end does not answer", &error))?;
        let Some(number) = answer else { return Ok(None) };
        if number >= self.next {
            return Err(Failure(format!("an answer to request {number}, which was not sent")));
        }
        let slot = self.slot(number);
        // Of a datagram that came twice, the first counts.
        Ok(Some(std::mem::take(&mut self.due_ns[slot])).filter(|due| *due != 0))
    }

    /// Gives up all requests under way.
    fn give_up(&mut self) {
        for number in self.oldest..self.next {
            let slot = self.slot(number);
            self.lost += u64::from(std::mem::take(&mut self.due_ns[slot]) != 0);
        }
        self.oldest = self.next;
    }

    /// Takes in the answers that are under way, which belong to no sample, and gives up what has none.
    fn drain(&mut self) -> Result<(), Failure> {
        let is_waiting =
            |it: &Self| (it.oldest..it.next).any(|number| it.due_ns[it.slot(number)] != 0);
        while is_waiting(self) && self.wait(self.quiet_ns)? {
            while self.receive()?.is_some() {}
        }
        self.give_up();
        Ok(())
    }

    fn slot(&self, number: u64) -> usize {
        (number % MOST_UNDER_WAY) as usize
    }

    fn flag_late(&self, in_time: f64, batch: &mut Batch) {
        if in_time < BOUND_SHARE {
            let why = format!(
                "{:.0} % of the requests were sent over 100 µs after they were due: latencies are those of the client, too",
                (1.0 - in_time) * 100.0
            );
            batch.flag(Flag::new(FlagKind::ClientBound, why));
        }
    }

    fn wait(&self, longest_ns: u64) -> Result<bool, Failure> {
        self.messages
            .wait_for_answer(longest_ns)
            .map_err(|error| Failure::io("waiting for an answer", &error))
    }

    /// One request after the other.
    fn closed(&mut self, answers: u64) -> Result<(), Failure> {
        let mut answered_ns = now_ns();
        for _ in 0..answers {
            self.send(answered_ns)?;
            let due = loop {
                if let Some(due) = self.receive()? {
                    break due;
                }
                if !self.wait(self.patience_ns())? {
                    self.send_instead(answered_ns)?;
                }
            };
            answered_ns = now_ns();
            self.latency[0].record(answered_ns - due);
        }
        Ok(())
    }

    /// How long a closed loop waits for an answer.
    fn patience_ns(&self) -> u64 {
        match self.transport {
            Transport::Tcp => GONE_NS,
            Transport::Udp => PATIENCE_NS,
        }
    }

    /// Sends the next request, as the last one was lost; unless nothing has been answered for too long.
    fn send_instead(&mut self, answered_ns: u64) -> Result<(), Failure> {
        let now = now_ns();
        if now - answered_ns > GONE_NS {
            return Err(gone());
        }
        self.give_up();
        self.send(now)
    }

    /// Requests when they are due, until so many are answered.
    fn open(&mut self, answers: u64) -> Result<(), Failure> {
        let mut left = answers;
        let mut answered_ns = now_ns();
        while left > 0 {
            let now = now_ns();
            let Some(schedule) = &mut self.schedule else { return Ok(()) };
            if schedule.due_ns() <= now {
                let due = schedule.sent(now);
                self.send(due)?;
                continue;
            }
            let longest = schedule.due_ns() - now;
            match self.receive()? {
                Some(due) => {
                    answered_ns = now_ns();
                    self.latency[0].record(answered_ns - due);
                    left -= 1;
                }
                None if now - answered_ns > GONE_NS => {
                    return Err(Failure(
                        "the far end does not answer: nothing for 20 s".to_owned(),
                    ));
                }
                None => {
                    self.wait(longest)?;
                }
            }
        }
        Ok(())
    }
}

fn gone() -> Failure {
    Failure(format!("the far end does not answer: nothing for {} s", GONE_NS / 1_000_000_000))
}

impl Instance for Requests {
    fn run(&mut self, iterations: u64) -> Result<(), Failure> {
        match self.schedule {
            None => self.closed(iterations),
            Some(_) => self.open(iterations),
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
    fn batch(&mut self, iterations: &[u64], batch: &mut Batch) -> Result<(), Failure> {
        let carried = path::carried(&self.start)?;
        let (first, mut in_time) = (self.next, Vec::with_capacity(iterations.len()));
        self.lost = 0;
        if let Some(schedule) = &mut self.schedule {
            schedule.begin(now_ns());
        }
        for &k in iterations {
            let start = now_ns();
            self.run(k)?;
            batch.record(start, now_ns() - start, k, current_cpu());
            self.latency[0].end_sample();
            in_time.push(self.schedule.as_ref().map_or(1.0, Schedule::share_in_time));
        }
        self.drain()?;
        let lost = self.lost as f64 / (self.next - first).max(1) as f64;
        in_time.iter().for_each(|in_time| batch.record_values(&[lost, *in_time]));
        self.flag_late(in_time.last().copied().unwrap_or(1.0), batch);
        path::flag_limit(&self.start, carried, batch)
    }

    fn value_names(&self) -> &'static [&'static str] {
        &VALUES
    }

    fn distributions(&mut self) -> &mut [Distribution] {
        &mut self.latency
    }

    fn helpers(&self) -> &[u32] {
        &self.helpers
    }
}
