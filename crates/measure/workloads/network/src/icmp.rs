//! `network.icmp`: echo requests to this machine itself, to the far end of a path made here, or to another host.

use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::os::fd::AsFd;

use plumb_model::{AuditClass, CurveKind, Description, Parameter, Ready, Requirement, Value};
use plumb_protocol::{
    ArrivalSchedule, Arrivals, Failure, Held, Instance, SplitMix64, Start, StartError,
    StartedWorkload, Workload,
};
use plumb_workload_kit::declare::{
    between, bytes, curve, distribution, integer, rate, rate_or, time, work, workload,
};
use plumb_workload_kit::threads::{Member, Team, oversubscribed};
use plumb_workload_path::{self as path, End};

use crate::echo::{EchoSocket, OpenError};
use crate::flows::Flows;
use crate::messages::wait_for;
use crate::requests::{
    Exchange, LEAST_OF_DEPTH, NumberedRequests, OF_LOSSES, Patience, in_time, lost, open_loop,
    quiet_ns,
};
use plumb_workload_ends::host::{self, HOST, address_of, restricted};

/// At least this long: with several requests outstanding the borders of a sample would show.
const SHORTEST_SAMPLE_NS: u64 = 1_000_000;

/// Bytes of a payload that tell one request from another.
const MARK: usize = 8;

/// The most requests that may be outstanding; more overflow the socket's buffer.
const MOST_OUTSTANDING: usize = 64;

/// More floods than this tell nothing about one machine.
const MOST_FLOWS: usize = 64;

/// A host that answers none of so many requests in a row, a second each, does not answer.
const ATTEMPTS: u16 = 3;

/// Requests a second that anybody may send to a machine of somebody else.
const MOST_TO_OTHERS: u64 = 1000;

/// The fix that opens unprivileged echo sockets.
const FIX: &str = "sysctl net.ipv4.ping_group_range=\"0 2147483647\"";

/// Sends echo requests, a new one for each reply or at a rate.
pub struct Icmp;

impl Workload for Icmp {
    fn describe(&self) -> Description {
        Description {
            parameters: parameters(),
            metrics: vec![
                rate("rate", "ops/s", "replies per second; a request and its reply count as one"),
                time("time", "time per reply; the round trip if one request is outstanding"),
                rate("packets", "packets/s", "requests and replies per second: twice the rate"),
                distribution(
                    "latency",
                    "time from sending a request (at a rate, from its due time) to its reply",
                ),
                lost(),
                in_time(),
            ],
            requirements: vec![Requirement {
                needs: "an ICMP echo socket".into(),
                why: "the group must be in net.ipv4.ping_group_range, or the process must have \
                      CAP_NET_RAW"
                    .into(),
                fix: FIX.into(),
            }],
            fixture: Some(path::PARAMETERS.map(str::to_owned).to_vec()),
            fixture_kind: Some(path::KIND.to_owned()),
            restricted: Some(restricted(HOST, "rate", MOST_TO_OTHERS, "packets per second")),
            audit_class: Some(AuditClass::Scheduler),
            version: 2,
            ..workload(
                "network.icmp",
                "sends ICMP echo requests, one after each reply or at a fixed rate",
            )
        }
    }

    fn manual(&self) -> &'static str {
        include_str!("icmp.md")
    }

    fn prepare(&self, start: &Start) -> Result<(Ready, Box<dyn Held>), StartError> {
        path::prepare(start)
    }

    #[expect(clippy::cast_precision_loss, reason = "a rate that can be kept is far below 2^53")]
    fn start(&self, start: &Start) -> Result<StartedWorkload, StartError> {
        let outstanding = start.size("outstanding");
        let payload = start.size("bytes");
        path::enter(start, End::Near)?;
        let host = answerer(start)?;
        let mut socket = EchoSocket::open(host).map_err(refused)?;
        let mut notes = vec![format!("socket: {}", socket.kind())];
        notes.extend(path::notes(start)?);
        let mut ready = Ready::default();
        let rate = start.params.get("rate").and_then(Value::integer);
        let flows = start.size("flows");
        if rate.is_some() && flows > 1 {
            let why = "several `flows` can't send at a `rate`: leave out `rate`, or set flows=1";
            return Err(StartError::Failed(why.to_owned()));
        }
        ready.work = work(&[("rate", flows as u64), ("packets", 2 * flows as u64)]);
        ready.flags.extend(oversubscribed(flows, &start.facts));
        let seed = start.seed;
        // Loopback loses nothing: a missing reply is a failure there, elsewhere a loss that is counted.
        let instance: Box<dyn Instance> = if rate.is_none() && host.is_loopback() {
            ready.without.push("latency".to_owned());
            ready.without.extend(OF_LOSSES.iter().map(ToString::to_string));
            let outstanding = u16::try_from(outstanding).unwrap_or(1);
            if flows > 1 {
                let one = move |index| {
                    let socket = EchoSocket::open(host).map_err(refused)?;
                    Ok(Echo::new(socket, outstanding, payload, seed ^ index as u64))
                };
                Box::new(Team::start(flows, &start.facts, one)?)
            } else {
                Box::new(Echo::new(socket, outstanding, payload, seed))
            }
        } else {
            notes.push(format!("host: {host}"));
            answers_at_all(&mut socket, host)?;
            let patience = Patience { may_lose: true, quiet_ns: quiet_ns(start) };
            let schedule = rate.map(|rate| {
                notes.push(open_loop(rate, Arrivals::Fixed));
                ArrivalSchedule::new(Arrivals::Fixed, rate as f64, start.seed)
            });
            let of_one = start.clone();
            let flood = move |socket, schedule, index| {
                let echoes = Echoes::new(socket, payload, seed ^ index)
                    .map_err(|error| Failure::io("an ICMP socket", &error))?;
                let requests = NumberedRequests::new(echoes, schedule, patience, &of_one);
                Ok::<_, Failure>(requests.with_depth(outstanding as u64))
            };
            if flows > 1 {
                if outstanding > 1 {
                    let why = "several `flows` over a path or to a host require outstanding=1";
                    return Err(StartError::Failed(why.to_owned()));
                }
                let one = move |index| {
                    Ok(flood(EchoSocket::open(host).map_err(refused)?, None, index as u64)?)
                };
                Box::new(Flows::start(flows, start, host.to_string(), one)?)
            } else {
                let requests = flood(socket, schedule.transpose()?, 0)?;
                Box::new(requests.explaining_losses_of(host.to_string()))
            }
        };
        ready.notes = notes;
        Ok(StartedWorkload { instance, ready })
    }
}

fn parameters() -> Vec<Parameter> {
    let outstanding =
        between(1, MOST_OUTSTANDING, integer("outstanding", "requests", 1, "requests in flight"));
    let flows = between(
        1,
        MOST_FLOWS,
        integer(
            "flows",
            "floods",
            1,
            "simultaneous floods, each with a separate socket and thread",
        ),
    );
    let mut all = host::parameters("this machine, or the far end of the path").to_vec();
    all.extend([
        rate_or(
            "rate",
            "requests",
            &["closed"],
            "requests due per second, such as 1k/s, regardless of earlier ones; closed: one per reply",
        ),
        curve(CurveKind::Knee, outstanding),
        curve(CurveKind::Knee, flows),
        curve(
            CurveKind::Line,
            between(MARK, 8192, bytes("bytes", 56, "payload of a request, without the 8-byte header")),
        ),
    ]);
    all.extend(path::parameters());
    all
}

/// The address that answers.
fn answerer(start: &Start) -> Result<IpAddr, StartError> {
    let name = start.text(HOST);
    let far = path::far_address(start)?;
    if name.is_empty() {
        return Ok(far);
    }
    if far != IpAddr::from(Ipv4Addr::LOCALHOST) {
        let why = "an emulated path already has a far end: leave out `host` or `path`".to_owned();
        return Err(StartError::Failed(why));
    }
    address_of(name, start)
}

/// Whether the host answers echo requests.
fn answers_at_all(socket: &mut EchoSocket, host: IpAddr) -> Result<(), StartError> {
    let mut reply = vec![0; MARK + 64];
    for attempt in 0..ATTEMPTS {
        let asked = socket.send(attempt, &[0; MARK]).and_then(|()| {
            let (sequence, _) = socket.receive(&mut reply)?;
            Ok(sequence)
        });
        match asked {
            Ok(_) => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => {
                return Err(StartError::unsupported(
                    format!("can't send echo requests to {host}: {error}"),
                    "check the route with `ip route get`; a firewall that rejects requests also makes a host look unreachable",
                ));
            }
        }
    }
    Err(StartError::unsupported(
        format!("{host} did not answer {ATTEMPTS} echo requests in {ATTEMPTS} s"),
        "the host is down, or a firewall drops the requests; a TCP workload may get through",
    ))
}

fn refused(error: OpenError) -> StartError {
    match error {
        OpenError::Forbidden(why) => StartError::unsupported(why, FIX),
        OpenError::Other(why) => StartError::Failed(why),
    }
}

struct Echo {
    socket: EchoSocket,
    outstanding: u16,
    /// Requests without a reply.
    waiting: u16,
    /// Of the next request; the sequence number is its low 16 bits.
    next: u64,
    /// Marks the requests of this invocation.
    secret: u64,
    /// Which sequence numbers have no reply yet.
    sent: Vec<bool>,
    request: Vec<u8>,
    reply: Vec<u8>,
}

impl Echo {
    fn new(socket: EchoSocket, outstanding: u16, payload: usize, seed: u64) -> Self {
        let mut random = SplitMix64::new(seed);
        let mut request = vec![0; payload];
        random.fill(&mut request);
        Self {
            socket,
            outstanding,
            waiting: 0,
            next: 0,
            secret: random.next_u64(),
            sent: vec![false; 1 << 16],
            request,
            reply: vec![0; payload + 64],
        }
    }

    fn send(&mut self) -> Result<(), Failure> {
        let number = self.next;
        self.request[..MARK].copy_from_slice(&mark(self.secret, number));
        let sequence = low_bits(number);
        self.socket
            .send(sequence, &self.request)
            .map_err(|error| Failure::io("sending an echo request", &error))?;
        self.sent[usize::from(sequence)] = true;
        self.next += 1;
        self.waiting += 1;
        Ok(())
    }

    fn receive(&mut self) -> Result<(), Failure> {
        let (sequence, payload) = self.socket.receive(&mut self.reply).map_err(|error| {
            Failure::io(format!("{} requests got no reply within 1 s", self.waiting), &error)
        })?;
        if !std::mem::take(&mut self.sent[usize::from(sequence)]) {
            return Err(Failure(format!("reply {sequence} matches no outstanding request")));
        }
        let number = newest_with(sequence, self.next - 1).unwrap_or(0);
        if !answers(payload, mark(self.secret, number), &self.request[MARK..]) {
            return Err(Failure(format!(
                "the payload of reply {sequence} differs from its request's"
            )));
        }
        self.waiting -= 1;
        Ok(())
    }
}

/// The newest number, none above `newest`, with this sequence number.
fn newest_with(sequence: u16, newest: u64) -> Option<u64> {
    newest.checked_sub(low_bits(newest).wrapping_sub(sequence).into())
}

/// Whether a payload is that of the request with this mark.
fn answers(payload: &[u8], mark: [u8; MARK], rest: &[u8]) -> bool {
    payload.strip_prefix(&mark) == Some(rest)
}

/// What tells the request of this number from all others.
fn mark(secret: u64, number: u64) -> [u8; MARK] {
    (number ^ secret).to_le_bytes()
}

#[expect(clippy::cast_possible_truncation, reason = "the low 16 bits are wanted")]
fn low_bits(number: u64) -> u16 {
    number as u16
}

impl Instance for Echo {
    fn run(&mut self, iterations: u64) -> Result<(), Failure> {
        for _ in 0..iterations {
            while self.waiting < self.outstanding {
                self.send()?;
            }
            self.receive()?;
        }
        Ok(())
    }

    fn verify(&mut self) -> Result<(), Failure> {
        while self.waiting > 0 {
            self.receive()?;
        }
        Ok(())
    }

    fn least_iterations(&self) -> u64 {
        LEAST_OF_DEPTH * u64::from(self.outstanding)
    }

    fn shortest_sample_ns(&self) -> u64 {
        SHORTEST_SAMPLE_NS
    }
}

impl Member for Echo {
    fn run(&mut self, iterations: u64) -> Result<(), Failure> {
        Instance::run(self, iterations)
    }

    fn verify(&mut self) -> Result<(), Failure> {
        Instance::verify(self)
    }
}

/// Echo requests of which some may be lost.
struct Echoes {
    socket: EchoSocket,
    /// Marks the requests of this invocation.
    secret: u64,
    /// The number of the newest that was sent.
    newest: u64,
    request: Vec<u8>,
    reply: Vec<u8>,
}

impl Echoes {
    fn new(socket: EchoSocket, payload: usize, seed: u64) -> io::Result<Self> {
        socket.waits_for_nothing()?;
        let mut random = SplitMix64::new(seed);
        let mut request = vec![0; payload];
        random.fill(&mut request);
        let secret = random.next_u64();
        let reply = vec![0; payload + 64];
        Ok(Self { socket, secret, newest: 0, request, reply })
    }
}

impl Exchange for Echoes {
    fn send(&mut self, number: u64) -> io::Result<()> {
        self.request[..MARK].copy_from_slice(&mark(self.secret, number));
        self.newest = number;
        match self.socket.send(low_bits(number), &self.request) {
            // What finds no room, or was refused on the way, is lost as others are.
            Err(error) if is_loss(&error) => Ok(()),
            sent => sent,
        }
    }

    fn receive(&mut self) -> io::Result<Option<u64>> {
        loop {
            let (sequence, payload) = match self.socket.receive(&mut self.reply) {
                Ok(reply) => reply,
                Err(error) if is_loss(&error) => return Ok(None),
                Err(error) => return Err(error),
            };
            // Late replies to what asked whether it answers at all are no replies to these.
            let number = newest_with(sequence, self.newest).filter(|number| {
                answers(payload, mark(self.secret, *number), &self.request[MARK..])
            });
            if number.is_some() {
                return Ok(number);
            }
        }
    }

    fn wait_for_answer(&self, longest_ns: u64) -> io::Result<bool> {
        wait_for(self.socket.as_fd(), longest_ns)
    }
}

/// Whether an error says that there was no room or nothing to read, or that something on the way refused one request.
fn is_loss(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionRefused, HostUnreachable, NetworkUnreachable, WouldBlock};
    matches!(error.kind(), WouldBlock | HostUnreachable | NetworkUnreachable | ConnectionRefused)
        || error.raw_os_error() == Some(libc::ENOBUFS)
}

#[cfg(test)]
mod tests {
    use super::{answers, mark, newest_with};

    #[test]
    fn a_reply_with_other_bytes_is_no_answer() {
        let request = [mark(9, 1).as_slice(), b"rest"].concat();
        assert!(answers(&request, mark(9, 1), b"rest"));
        assert!(!answers(&request, mark(9, 2), b"rest"), "another request");
        assert!(!answers(&request[..11], mark(9, 1), b"rest"), "cut short");
        assert!(!answers(&[&request[..11], b"x"].concat(), mark(9, 1), b"rest"), "corrupted");
    }

    #[test]
    fn sequence_numbers_wrap() {
        assert_eq!(newest_with(5, 5), Some(5));
        assert_eq!(newest_with(0xffff, 0x1_0003), Some(0xffff));
        assert_eq!(newest_with(3, 0x1_0003), Some(0x1_0003));
        assert_eq!(newest_with(2, 0), None, "of an earlier flood");
    }
}
