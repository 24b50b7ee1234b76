//! `network.tcp`: streams between two processes, over loopback or a path made here.

use std::net::TcpStream;
use std::sync::Arc;
use std::{fs, io};

use plumb_model::{
    AuditClass, Better, CurveKind, Description, Metric, Parameter, Ready, Role, Rung,
};
use plumb_protocol::{
    Batch, Failure, Held, Instance, SplitMix64, Start, StartError, StartedWorkload, Workload,
    current_cpu, now_ns,
};

use plumb_workload_ends::cpu_time::cpu_time_ns;
use plumb_workload_kit::declare::{
    between, bytes, choice, curve, headline, integer, neutral, rate, reported, reported_share,
    reported_time, rung, rung_if, switch, text, workload,
};
use plumb_workload_kit::framed_stream::{FramedStreams, shortest_sample_ns};
use plumb_workload_kit::placement::{Placement, in_words, placement};
use plumb_workload_path::{self as path, End};
use rustix::net::sockopt::{
    set_tcp_congestion, socket_recv_buffer_size, socket_send_buffer_size, tcp_congestion,
};

use crate::stream::{Balance, Payload, StreamClient, Way, Witness, serve};
use crate::tcp_info::Info;
use plumb_workload_ends::server::TcpServer;
use plumb_workload_ends::token;

/// Samples are at least this long, so that their borders (an empty pipe, an answer) are a small part.
const SHORTEST_SAMPLE_NS: u64 = 60_000_000;

/// The congestion controls that the kernel has.
const KNOWN: &str = "/proc/sys/net/ipv4/tcp_available_congestion_control";

/// More connections than this tell nothing about one machine.
const MOST_STREAMS: u64 = 64;

/// What is reported next to the throughput, in this order.
const VALUES: [&str; 10] = [
    "near_cpu",
    "far_cpu",
    "retransmitted",
    "rtt",
    "window",
    "receiver_limited",
    "buffer_limited",
    "up_throughput",
    "down_throughput",
    "asymmetry",
];

/// Of these, how many there are if one end sends.
const ONE_WAY: usize = 7;

/// Sends streams to a process that counts what arrives, or has it send them.
pub struct Tcp;

impl Workload for Tcp {
    fn describe(&self) -> Description {
        Description {
            roles: vec![Role::Workload, Role::Server, Role::Load],
            parameters: parameters(),
            metrics: metrics(),
            fixture: Some(path::PARAMETERS.map(str::to_owned).to_vec()),
            fixture_kind: Some(path::KIND.to_owned()),
            audit_class: Some(AuditClass::Scheduler),
            rungs: vec![one_copy()],
            ..workload("network.tcp", "TCP streams between two processes")
        }
    }

    fn manual(&self) -> &'static str {
        include_str!("tcp.md")
    }

    fn prepare(&self, start: &Start) -> Result<(Ready, Box<dyn Held>), StartError> {
        path::prepare(start)
    }

    fn start_server(&self, start: &Start) -> Result<(Ready, Box<dyn Held>), StartError> {
        let settings = StreamSettings::read(start)?;
        let address = path::enter(start, End::Far)?;
        let token = token::fresh()?;
        let mut block = vec![0; settings.block];
        SplitMix64::new(start.seed).fill(&mut block);
        let congestion = settings.congestion.to_owned();
        let cork = settings.cork;
        let server = TcpServer::start(address, move |stream| {
            set_congestion(stream, &congestion)?;
            serve(stream, &token, &block, cork)
        });
        let server =
            server.map_err(|error| Failure::io(format!("listening on {address}"), &error))?;
        if settings.buffer > 0 {
            server
                .set_buffers(settings.buffer)
                .map_err(|error| Failure::io("setting socket buffer sizes", &error))?;
        }
        let endpoints = token::words(server.address(), token);
        let ready = Ready { endpoints: endpoints.into(), ..Ready::default() };
        Ok((ready, Box::new(server)))
    }

    fn start(&self, start: &Start) -> Result<StartedWorkload, StartError> {
        let settings = StreamSettings::read(start)?;
        let (address, token) = token::told(start)?;
        path::enter(start, End::Near)?;
        let mut block = vec![0; settings.block];
        SplitMix64::new(start.seed).fill(&mut block);
        let block: Arc<[u8]> = block.into();
        let balance = settings.at_once.then(|| Arc::new(Balance::new()));
        let cpus = cpus(start, &settings)?;
        let connections: Vec<StreamClient> = (0..settings.streams)
            .flat_map(|_| settings.ways)
            .zip(cpus.each)
            .map(|(way, cpus)| {
                let way = *way;
                let block = Arc::clone(&block);
                let cork = settings.cork;
                let buffer = settings.buffer;
                let payload = Payload { way, block, cork, buffer };
                let opened = StreamClient::open(address, &token, payload, balance.as_ref(), cpus)?;
                let set = set_congestion(opened.stream(), settings.congestion);
                set.map_err(|error| Failure::io("setting the congestion control", &error))?;
                Ok(if start.role == Role::Load { opened.without_pause() } else { opened })
            })
            .collect::<Result<_, Failure>>()?;
        // Nothing else is sent yet: no queue is in these round trips. If the far end does not answer, the first sample says so.
        let round_trip_ns = connections[0].round_trip_ns().unwrap_or(0);
        let shortest_ns = shortest_sample_ns(SHORTEST_SAMPLE_NS, round_trip_ns);
        let witnesses: Vec<Witness> =
            connections.iter().map(StreamClient::witness).collect::<Result<_, Failure>>()?;
        let mut notes = notes_on(&witnesses[0], settings.buffer);
        let path_notes = path::notes(start)?;
        // An emulated path has notes: what this machine's loopback device is set to does not matter there.
        if address.ip().is_loopback() && path_notes.is_empty() {
            notes.push(loopback_note());
        }
        notes.extend(path_notes);
        notes.extend(cpus.note);
        let helpers = token::helpers(start);
        if !helpers.is_empty() {
            notes.push("CPU time covers both ends".to_owned());
        }
        #[expect(clippy::cast_precision_loss, reason = "blocks stay far below 2^53 bytes")]
        let work = (settings.block * connections.len()) as f64;
        let told = if settings.ways.len() > 1 { &VALUES[..] } else { &VALUES[..ONE_WAY] };
        let without = &VALUES[told.len()..];
        let ready = Ready {
            work: [("throughput".to_owned(), work)].into(),
            without: without.iter().map(ToString::to_string).collect(),
            notes,
            ..Ready::default()
        };
        let turns = if settings.ways.len() > 1 && !settings.at_once {
            Vec::from(by_way(connections))
        } else {
            vec![connections]
        };
        let streams = turns.into_iter().filter_map(|mut connections| {
            let first = (!connections.is_empty()).then(|| connections.remove(0))?;
            Some(FramedStreams::new(first, connections, helpers.clone(), shortest_ns, ()))
        });
        let streams = streams.collect::<Result<_, Failure>>()?;
        let seen = StreamTotals::of(&witnesses);
        let start = start.clone();
        let instance = TcpInstance { streams, witnesses, balance, seen, told, helpers, start };
        Ok(StartedWorkload { instance: Box::new(instance), ready })
    }
}

/// Sender and receiver copy each byte once, at the same time, so loopback is hardly faster than one copy. The bytes lie in the
/// socket's buffers, which the kernel lets grow up to 6 MiB, so a copy within a small cache would be too fast.
fn one_copy() -> Rung {
    let is_one_way = [("path", "loopback"), ("direction", "up"), ("streams", "1"), ("buffer", "0")];
    rung_if(
        &is_one_way,
        rung("one copy in memory", "memory.copy", "bandwidth", &[("size", "8MiB")]),
    )
}

fn parameters() -> Vec<Parameter> {
    let streams = integer("streams", "streams", 1, "connections, each with one thread per end");
    let block = bytes("block", 128 << 10, "size of each send and of the receiver's buffer");
    let mut all = vec![
        curve(CurveKind::Knee, streams),
        curve(CurveKind::Line, block),
        choice(
            "direction",
            &["up", "down", "both", "each"],
            "up: the measured process sends; down: the server sends; both: at the same time, on separate connections; each: in turn",
        ),
    ];
    all.push(text(
        "congestion",
        "",
        "congestion control at both ends, such as cubic; by default the system's",
    ));
    all.push(between(
        0,
        1 << 30,
        bytes(
            "buffer",
            0,
            "socket buffer size at both ends, doubled by the kernel; 0: the kernel chooses",
        ),
    ));
    all.push(switch(
        "cork",
        "hold back a partial segment at the end of a block and send it with the next block (MSG_MORE)",
    ));
    all.push(placement());
    all.extend(path::parameters());
    all
}

fn metrics() -> Vec<Metric> {
    vec![
        rate(
            "throughput",
            "B/s",
            "payload per second counted by the receivers, all streams together, without headers",
        ),
        reported(
            VALUES[0],
            "s/B",
            Better::Lower,
            "CPU time of the measured process per byte of payload",
        ),
        reported(VALUES[1], "s/B", Better::Lower, "CPU time of the server per byte of payload"),
        reported_share(VALUES[2], Better::Lower, "share of sent bytes that were retransmitted"),
        reported_time(
            VALUES[3],
            "smoothed round-trip time in the sender's kernel at the end of a sample, \
                                  mean over streams",
        ),
        neutral(VALUES[4], "B", "congestion window, sum over streams"),
        neutral(VALUES[5], "", "share of the sender's busy time limited by the receiver's window"),
        neutral(VALUES[6], "", "share of the sender's busy time limited by the send buffer"),
        headline(reported(
            VALUES[7],
            "B/s",
            Better::Higher,
            "throughput up, if both directions send",
        )),
        headline(reported(
            VALUES[8],
            "B/s",
            Better::Higher,
            "throughput down, if both directions send",
        )),
        headline(neutral(VALUES[9], "", "throughput down divided by throughput up")),
    ]
}

struct StreamSettings<'s> {
    streams: u64,
    congestion: &'s str,
    block: usize,
    ways: &'static [Way],
    /// Whether both ways are sent at the same time.
    at_once: bool,
    cork: bool,
    /// Bytes of the socket buffers; 0 leaves them to the kernel.
    buffer: usize,
}

impl<'s> StreamSettings<'s> {
    fn read(start: &'s Start) -> Result<Self, StartError> {
        let streams = start.integer("streams");
        let block = start.size("block");
        if !(1..=MOST_STREAMS).contains(&streams) {
            return Err(StartError::Failed(format!(
                "`streams` must be 1 to {MOST_STREAMS}, not {streams}"
            )));
        }
        if !(1..=1 << 30).contains(&block) {
            return Err(StartError::Failed(format!("`block` must be 1B to 1GiB, not {block}")));
        }
        let direction = TcpDirections::read(start);
        let congestion = start.text("congestion");
        check_congestion(congestion)?;
        let ways = direction.ways();
        let at_once = direction == TcpDirections::Both;
        let cork = start.is_on("cork");
        let buffer = start.size("buffer");
        Ok(Self { streams, congestion, block, ways, at_once, cork, buffer })
    }
}

/// The directions that a sample sends in.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TcpDirections {
    /// From the client to the server.
    Up,
    /// From the server to the client.
    Down,
    /// Both directions at the same time.
    Both,
    /// Both directions, one after the other.
    Each,
}

impl TcpDirections {
    fn read(start: &Start) -> Self {
        match start.text("direction") {
            "down" => Self::Down,
            "both" => Self::Both,
            "each" => Self::Each,
            _ => Self::Up,
        }
    }

    fn ways(self) -> &'static [Way] {
        match self {
            Self::Up => &[Way::Up],
            Self::Down => &[Way::Down],
            Self::Both | Self::Each => &[Way::Up, Way::Down],
        }
    }
}

/// Where the threads of connections run.
struct Cpus {
    /// Of each connection the CPU of the near and of the far thread, if they are kept to one.
    each: Vec<[Option<usize>; 2]>,
    note: Option<String>,
}

/// As `placement` says: near and far threads in turn, stream by stream. A far end on another machine has other CPUs, and its threads
/// run on any. Directions in turn have the same CPUs.
fn cpus(start: &Start, settings: &StreamSettings<'_>) -> Result<Cpus, StartError> {
    let connections = usize::try_from(settings.streams).unwrap_or(usize::MAX) * settings.ways.len();
    let in_turn = if settings.at_once { 1 } else { settings.ways.len() };
    let ends = if start.far_address().is_some() { 1 } else { 2 };
    let Some(cpus) = Placement::of(start)?.cpus(connections / in_turn * ends, &start.facts)? else {
        return Ok(Cpus { each: vec![[None; 2]; connections], note: None });
    };
    let whose = if ends == 2 { "near and far threads" } else { "near threads" };
    let note = format!("{whose} run {}", in_words(&cpus));
    let mut each = Vec::with_capacity(connections);
    for connection in 0..connections {
        // Connections of both directions in turn share their CPUs, as only one of them works at a time.
        let own = &cpus[connection / in_turn * ends..];
        each.push([own.first().copied(), own.get(1).filter(|_| ends == 2).copied()]);
    }
    Ok(Cpus { each, note: Some(note) })
}

/// Whether the kernel has this congestion control.
fn check_congestion(name: &str) -> Result<(), StartError> {
    // Checked once here, with a hint: otherwise each connection would fail without one.
    let known = fs::read_to_string(KNOWN).unwrap_or_default();
    if name.is_empty() || known.split_whitespace().any(|word| word == name) {
        return Ok(());
    }
    Err(StartError::unsupported(
        format!("the kernel has no congestion control `{name}`; available: {}", known.trim()),
        format!("modprobe tcp_{name}"),
    ))
}

/// Has a connection use this congestion control; what the system has if none is named.
fn set_congestion(stream: &TcpStream, name: &str) -> io::Result<()> {
    if name.is_empty() { Ok(()) } else { Ok(set_tcp_congestion(stream, name)?) }
}

/// The third number of a setting: how large the kernel lets a socket buffer grow, in bytes.
fn largest_buffer(setting: &str) -> Option<usize> {
    let text = fs::read_to_string(format!("/proc/sys/net/ipv4/{setting}")).ok()?;
    text.split_whitespace().nth(2)?.parse().ok()
}

fn kib(bytes: Option<usize>) -> String {
    bytes.map_or("?".to_owned(), |bytes| (bytes >> 10).to_string())
}

fn notes_on(witness: &Witness, buffer: usize) -> Vec<String> {
    vec![
        format!(
            "congestion control: {}",
            tcp_congestion(witness.stream()).unwrap_or_else(|_| "unknown".to_owned())
        ),
        if buffer > 0 {
            let sending = kib(socket_send_buffer_size(witness.stream()).ok());
            let receiving = kib(socket_recv_buffer_size(witness.stream()).ok());
            format!("socket buffers: {sending} KiB sending and {receiving} KiB receiving")
        } else {
            format!(
                "socket buffers: sized by the kernel, up to {} KiB sending and {} KiB receiving",
                kib(largest_buffer("tcp_wmem")),
                kib(largest_buffer("tcp_rmem"))
            )
        },
    ]
}

fn loopback_note() -> String {
    let text = fs::read_to_string("/sys/class/net/lo/mtu").unwrap_or_default();
    format!("loopback with an MTU of {} bytes: no network card, no wire", text.trim())
}

/// Sums over all streams, as they were seen after a sample.
#[derive(Clone, Copy, Default)]
struct StreamTotals {
    near_cpu_ns: u64,
    far_cpu_ns: u64,
    bytes: u64,
    senders: Info,
    /// Bytes a second of the last sample, up and down.
    rates: [f64; 2],
}

impl StreamTotals {
    fn of(witnesses: &[Witness]) -> Self {
        let mut seen = Self { near_cpu_ns: cpu_time_ns(), ..Self::default() };
        for witness in witnesses {
            let told = witness.told();
            let sender = witness.sender();
            seen.bytes += told.bytes;
            // All streams report the CPU time of one process: the largest figure is the newest.
            seen.far_cpu_ns = seen.far_cpu_ns.max(told.cpu_ns);
            let mut sums = seen.senders.words();
            sums.iter_mut().zip(sender.words()).for_each(|(sum, word)| *sum += word);
            seen.senders = Info::of_words(sums);
        }
        seen.rates = [Way::Up, Way::Down].map(|way| rate_of(witnesses, way));
        seen
    }

    /// The values of a sample that began as `before` says, in the order of [`VALUES`].
    #[expect(clippy::cast_precision_loss, reason = "times and sizes stay below 2^53")]
    fn values(&self, before: &Self, streams: usize) -> [f64; VALUES.len()] {
        let ratio =
            |part: u64, whole: u64| if whole == 0 { 0.0 } else { part as f64 / whole as f64 };
        let now = self.senders;
        let then = before.senders;
        let since = |of: fn(&Info) -> u64| of(&now).saturating_sub(of(&then));
        let sent = since(|info| info.sent);
        let busy = since(|info| info.busy_us);
        [
            ratio(self.near_cpu_ns.saturating_sub(before.near_cpu_ns), self.bytes) / 1e9,
            ratio(self.far_cpu_ns.saturating_sub(before.far_cpu_ns), self.bytes) / 1e9,
            ratio(since(|info| info.sent_again), sent),
            ratio(now.rtt_us, streams as u64) / 1e6,
            now.window as f64,
            ratio(since(|info| info.receiver_limited_us), busy),
            ratio(since(|info| info.buffer_limited_us), busy),
            self.rates[0],
            self.rates[1],
            if self.rates[0] > 0.0 { self.rates[1] / self.rates[0] } else { 0.0 },
        ]
    }
}

/// Bytes a second of one direction in the last sample, from its begin until the last of its streams ended.
#[expect(clippy::cast_precision_loss, reason = "times and sizes stay below 2^53")]
fn rate_of(witnesses: &[Witness], way: Way) -> f64 {
    let of_way = witnesses.iter().filter(|witness| witness.way() == way).map(Witness::told);
    let (bytes, took_ns) =
        of_way.fold((0, 0), |(bytes, took), told| (bytes + told.bytes, told.took_ns.max(took)));
    if took_ns == 0 { 0.0 } else { bytes as f64 * 1e9 / took_ns as f64 }
}

/// Those that send up, and those that send down.
fn by_way(connections: Vec<StreamClient>) -> [Vec<StreamClient>; 2] {
    let (up, down) = connections.into_iter().partition(|connection| connection.way() == Way::Up);
    [up, down]
}

struct TcpInstance {
    /// Those that send at the same time; each after the other.
    streams: Vec<FramedStreams<()>>,
    witnesses: Vec<Witness>,
    /// Where both directions are sent at the same time.
    balance: Option<Arc<Balance>>,
    seen: StreamTotals,
    /// The reported values.
    told: &'static [&'static str],
    helpers: Vec<u32>,
    start: Start,
}

impl Instance for TcpInstance {
    fn run(&mut self, iterations: u64) -> Result<(), Failure> {
        self.streams.iter_mut().try_for_each(|streams| streams.run(iterations))
    }

    fn batch(&mut self, iterations: &[u64], batch: &mut Batch) -> Result<(), Failure> {
        let before = path::carried(&self.start)?;
        self.seen = StreamTotals::of(&self.witnesses);
        for &k in iterations {
            let start = now_ns();
            self.run(k)?;
            let elapsed = now_ns() - start;
            batch.record(start, elapsed, k, current_cpu());
            batch.record_reported(|row| self.values(row));
        }
        path::flag_limit(&self.start, before, batch)
    }

    fn value_names(&self) -> &'static [&'static str] {
        self.told
    }

    fn values(&mut self, out: &mut [f64]) {
        let seen = StreamTotals::of(&self.witnesses);
        let values = seen.values(&self.seen, self.witnesses.len());
        out.copy_from_slice(&values[..out.len()]);
        if let Some(balance) = &self.balance {
            balance.learn(seen.rates[0], seen.rates[1]);
        }
        self.seen = seen;
    }

    fn least_iterations(&self) -> u64 {
        self.streams.iter().map(Instance::least_iterations).max().unwrap_or(1)
    }

    fn shortest_sample_ns(&self) -> u64 {
        self.streams.iter().map(Instance::shortest_sample_ns).sum()
    }

    fn helpers(&self) -> &[u32] {
        &self.helpers
    }
}
