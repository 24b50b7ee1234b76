//! `network.udp`: numbered datagrams at a rate or as quickly as they go, and where those went that did not arrive.

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::num::NonZeroU64;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use plumb_model::{
    AuditClass, Better, CurveKind, Description, Flag, FlagKind, Metric, Parameter, Ready, Role,
    SearchEffort, Searched, Value,
};
use plumb_protocol::{
    ArrivalSchedule, Arrivals, BOUND_SHARE, Batch, Failure, Held, Instance, Start, StartError,
    StartedWorkload, TrialCounts, Workload, current_cpu, now_ns,
};
use plumb_workload_ends::cpu_time::cpu_time_ns;
use plumb_workload_kit::declare::{
    between, bytes, curve, headline, integer, limit, rate, rate_or, reported, reported_share,
    reported_time, searched, workload,
};
use plumb_workload_path::{self as path, End, FrameCounts};
use rustix::thread::set_current_timer_slack;

use crate::batches::{BATCH, Sending};
use crate::ledger::queue_drops;
use crate::messages::LONGEST;
use crate::receiver::{
    Control, ControlMessage, HEAD, HEAD_WITH_TIME, MOST_SENDERS, Receiver, ReceiverCounts,
};
use crate::tally::Arrived;
use plumb_workload_ends::token::{self, ClientToken};
use plumb_workload_kit::threads::{Member, Team};

/// The values of each sample, in this order; the last seven over all samples that a process takes at once.
const VALUES: [&str; 13] = [
    "received",
    "throughput",
    "lost",
    "reordered",
    "duplicated",
    "jitter",
    "queue_dropped",
    "path_dropped",
    "backlog_dropped",
    "socket_dropped",
    "unexplained",
    "near_cpu",
    "far_cpu",
];

/// Samples are at least this long.
const SHORTEST_SAMPLE_NS: u64 = 60_000_000;
/// What was sent has arrived, or never will, when so long nothing came, longer than the path takes.
const QUIET_NS: u64 = 30_000_000;
/// Waits shorter than this are spent with the clock: a sleep may take longer.
const SPIN_NS: u64 = 80_000;
/// A queue that takes in more than this share of a trial hides what a search looks for.
const HIDDEN: f64 = 0.0025;

/// Sends datagrams to a process that counts them.
pub struct Udp;

impl Workload for Udp {
    fn describe(&self) -> Description {
        Description {
            roles: vec![Role::Workload, Role::Server, Role::Load],
            parameters: parameters(),
            metrics: metrics(),
            fixture: Some(path::PARAMETERS.map(str::to_owned).to_vec()),
            fixture_kind: Some(path::KIND.to_owned()),
            audit_class: Some(AuditClass::Scheduler),
            ..workload(
                "network.udp",
                "sends datagrams to another process and shows where lost ones were dropped",
            )
        }
    }

    fn manual(&self) -> &'static str {
        include_str!("udp.md")
    }

    fn prepare(&self, start: &Start) -> Result<(Ready, Box<dyn Held>), StartError> {
        path::prepare(start)
    }

    fn start_server(&self, start: &Start) -> Result<(Ready, Box<dyn Held>), StartError> {
        let buffer = start.size("buffer");
        let address = path::enter(start, End::Far)?;
        let token = token::fresh()?;
        let receiver = Receiver::start(address, path::device(start, End::Far), token, buffer)
            .map_err(|error| Failure::io(format!("listening on {address}"), &error))?;
        let [control, datagrams] = receiver.addresses();
        let words = token::words(control, token).into_iter();
        let endpoints = words.chain([("datagrams".to_owned(), datagrams.to_string())]).collect();
        Ok((Ready { endpoints, ..Ready::default() }, Box::new(receiver)))
    }

    #[expect(clippy::cast_precision_loss, reason = "a rate that can be kept is far below 2^53")]
    fn start(&self, start: &Start) -> Result<StartedWorkload, StartError> {
        let length = start.size("bytes");
        let (control, token) = token::told(start)?;
        let datagrams: SocketAddr = start
            .endpoints
            .get("datagrams")
            .and_then(|text| text.parse().ok())
            .ok_or_else(|| StartError::Failed("the receiver reported no address".to_owned()))?;
        let datagrams = token::at_far_end(start, datagrams);
        path::enter(start, End::Near)?;
        let control = Control::open(control, &token)?;
        let rate = start.params.get("rate").and_then(Value::integer).map(|rate| rate as f64);
        let senders = start.size("senders");
        let shared = Arc::new(SendersState::default());
        let of_all = Arc::clone(&shared);
        let template = datagram(length, &token);
        let build = move |index: usize| {
            // Timers of this thread would else be up to 50 µs late.
            let _ = set_current_timer_slack(NonZeroU64::new(1));
            let socket = connected(datagrams)
                .map_err(|error| Failure::io(format!("sending to {datagrams}"), &error))?;
            Ok(Sender {
                socket,
                sending: Sending::new(&template),
                has_time: length >= HEAD_WITH_TIME,
                index: index as u64,
                senders: senders as u64,
                shared: Arc::clone(&of_all),
                batch: 0,
                schedule: None,
            })
        };
        let team = Team::start(senders, &start.facts, build)?;
        // What is under way can be late by a round trip and a full queue: it is not lost before.
        let wait_ns = start.integer("rtt") + start.integer("queue");
        let instance = Datagrams {
            team,
            senders,
            shared,
            next: 0,
            rate,
            control,
            start: start.clone(),
            length,
            quiet_ns: QUIET_NS + wait_ns,
            helpers: token::helpers(start),
        };
        let flags = buffered(start).into_iter().collect();
        let ready = Ready { notes: path::notes(start)?, flags, ..Ready::default() };
        Ok(StartedWorkload { instance: Box::new(instance), ready })
    }
}

fn parameters() -> Vec<Parameter> {
    let length = between(
        HEAD,
        LONGEST,
        bytes("bytes", 1400, "payload of a datagram; at least 16 bytes, for a token and a number"),
    );
    let mut all = vec![
        curve(CurveKind::Line, length),
        searched(
            rate_or(
                "rate",
                "datagrams",
                &["unlimited"],
                "datagrams due per second, equally spaced, such as 10k/s or 100Mbit/s of payload; unlimited: full speed; \
                 search: finds the highest rate without loss",
            ),
            loads(),
        ),
        between(
            1,
            MOST_SENDERS,
            integer("senders", "senders", 1, "sending threads, each with a separate port"),
        ),
        between(
            0,
            1 << 30,
            bytes(
                "buffer",
                0,
                "receiver's socket buffer size, doubled by the kernel; 0: the system's default",
            ),
        ),
    ];
    all.extend(path::parameters());
    all
}

/// The loads of a search.
fn loads() -> Searched {
    Searched { from: 100.0, to: 1e6, loss_ratio: 0.0, goal: "no datagram lost".to_owned() }
}

/// Where a search's trials are so short that a queue on the way hides that they send too much.
fn buffered(start: &Start) -> Option<Flag> {
    let effort = SearchEffort::of_word(start.text("rate"))?;
    let trial_ns = loads().by(effort, String::new()).final_trial_ns;
    let share = path::queued_share(start, trial_ns).filter(|share| *share > HIDDEN)?;
    let why = format!(
        "the queue can absorb an extra {:.1} % within a trial of {}; use a shorter `queue`, or longer trials (rate=search-csit)",
        share * 100.0,
        plumb_units::show_time(trial_ns)
    );
    Some(Flag::new(FlagKind::Buffered, why))
}

fn metrics() -> Vec<Metric> {
    vec![
        reported(
            VALUES[0],
            "datagrams/s",
            Better::Higher,
            "datagrams that arrived per second of \
                sending, each counted once",
        ),
        reported(VALUES[1], "B/s", Better::Higher, "payload that arrived per second of sending"),
        rate("sent", "datagrams/s", "datagrams sent per second"),
        limit("limit", "datagrams/s", "highest rate without loss (RFC 2544's throughput)"),
        headline(reported_share(
            VALUES[2],
            Better::Lower,
            "share of sent datagrams that did not arrive",
        )),
        reported_share(
            VALUES[3],
            Better::Lower,
            "share of datagrams that arrived after one that was sent later (RFC 4737)",
        ),
        reported_share(VALUES[4], Better::Lower, "duplicates per datagram that arrived"),
        reported_time(VALUES[5], "delay variation at the end of the sample (RFC 3550)"),
        reported_share(
            VALUES[6],
            Better::Lower,
            "share dropped in the queue of the sender's device or the router",
        ),
        reported_share(VALUES[7], Better::Lower, "share dropped by the relay of the path"),
        reported_share(
            VALUES[8],
            Better::Lower,
            "share dropped between the receiver's device and its socket",
        ),
        reported_share(
            VALUES[9],
            Better::Lower,
            "share dropped because the receiver's socket was full",
        ),
        reported_share(VALUES[10], Better::Neither, "share lost in unknown places"),
        reported(
            VALUES[11],
            "s",
            Better::Lower,
            "CPU time of the sender per datagram that arrived",
        ),
        reported(
            VALUES[12],
            "s",
            Better::Lower,
            "CPU time of the receiver per datagram that arrived",
        ),
    ]
}

fn connected(to: SocketAddr) -> io::Result<UdpSocket> {
    let any = if to.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
    let socket = UdpSocket::bind(any)?;
    socket.connect(to)?;
    Ok(socket)
}

/// A datagram with what does not change in it.
fn datagram(length: usize, token: &ClientToken) -> Vec<u8> {
    let mut datagram = vec![0; length];
    datagram[..8].copy_from_slice(&token[..8]);
    datagram
}

/// What all senders do next.
#[derive(Debug, Clone, Copy, Default)]
struct Order {
    /// Which batch or trial it is of: each has its own schedule.
    batch: u64,
    /// The number of the sample's first datagram.
    first: u64,
    /// Datagrams that are due each second, by all senders; None: as quickly as they go.
    rate: Option<f64>,
    /// When the batch begins, and after when nothing is sent.
    begin_ns: u64,
    end_ns: u64,
}

/// What the senders share.
#[derive(Debug, Default)]
struct SendersState {
    order: Mutex<Order>,
    /// Datagrams of the batch or trial that were sent.
    sent: AtomicU64,
}

impl SendersState {
    fn order(&self) -> MutexGuard<'_, Order> {
        self.order.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One that sends. With others it takes numbers in turn: of a sample of ten, the second of three sends 1, 4 and 7.
struct Sender {
    socket: UdpSocket,
    sending: Sending,
    has_time: bool,
    index: u64,
    senders: u64,
    shared: Arc<SendersState>,
    /// Of this batch.
    batch: u64,
    schedule: Option<ArrivalSchedule>,
}

impl Member for Sender {
    fn run(&mut self, iterations: u64) -> Result<(), Failure> {
        let order = *self.shared.order();
        // One schedule for all samples of a batch: due times go on across their borders.
        if order.batch != self.batch {
            self.batch = order.batch;
            self.schedule =
                order.rate.map(|rate| self.schedule(rate, order.begin_ns)).transpose()?;
        }
        let share = (iterations + self.senders - 1 - self.index) / self.senders;
        let sent = self.send(order.first, share, order.end_ns);
        let sent = sent.map_err(|error| Failure::io("sending a datagram", &error))?;
        self.shared.sent.fetch_add(sent, Ordering::Relaxed);
        Ok(())
    }

    fn verify(&mut self) -> Result<(), Failure> {
        Ok(())
    }
}

impl Sender {
    /// Its part of a rate: equally far apart, between those of the others.
    #[expect(clippy::cast_precision_loss, reason = "there are few senders")]
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a time above 0")]
    fn schedule(&self, rate: f64, begin_ns: u64) -> Result<ArrivalSchedule, Failure> {
        let mut schedule = ArrivalSchedule::new(Arrivals::Fixed, rate / self.senders as f64, 0)?;
        schedule.begin(begin_ns + (self.index as f64 * 1e9 / rate) as u64);
        Ok(schedule)
    }

    /// Sends so many of a sample that begins with this number, none after `end_ns`; how many it sent.
    fn send(&mut self, first: u64, datagrams: u64, end_ns: u64) -> io::Result<u64> {
        let mut sent = 0;
        while sent < datagrams {
            let now = now_ns();
            if now >= end_ns {
                break;
            }
            let ready = self.due(now, (datagrams - sent).min(BATCH as u64) as usize);
            for place in 0..ready {
                let number = first + (sent + place as u64) * self.senders + self.index;
                let datagram = self.sending.datagram(place);
                datagram[8..HEAD].copy_from_slice(&number.to_le_bytes());
                if self.has_time {
                    datagram[HEAD..HEAD_WITH_TIME].copy_from_slice(&now.to_le_bytes());
                }
            }
            // What a batch did not take goes with the next.
            let taken = if ready > 0 { self.sending.send(&self.socket, ready)? } else { 0 };
            for _ in 0..taken {
                self.schedule.as_mut().map(|schedule| schedule.sent(now));
            }
            sent += taken as u64;
        }
        Ok(sent)
    }

    /// How many are due of so many; waits if none is.
    fn due(&self, now_ns: u64, most: usize) -> usize {
        let Some(schedule) = &self.schedule else { return most };
        let due_ns = schedule.due_ns();
        if due_ns <= now_ns {
            // One at a time; those that are due by now follow at once.
            return 1;
        }
        let wait = due_ns - now_ns;
        if wait > SPIN_NS {
            thread::sleep(Duration::from_nanos(wait - SPIN_NS));
        } else {
            std::hint::spin_loop();
        }
        0
    }
}

/// The counters of the sender's side.
#[derive(Clone, Copy)]
struct Near {
    queue_drops: u64,
    /// The traffic of the relay, up and down, if there is one.
    relay: Option<[FrameCounts; 2]>,
}

impl Near {
    /// What the relay dropped on the way up since `before`, on purpose and for lack of room.
    fn path_drops_since(&self, before: &Self) -> u64 {
        let [now, then] = [self.relay, before.relay].map(|counts| counts.unwrap_or_default()[0]);
        let up = now.since(&then);
        up.lost + up.dropped
    }
}

struct Datagrams {
    team: Team<Sender>,
    senders: usize,
    shared: Arc<SendersState>,
    /// The number of the next datagram.
    next: u64,
    rate: Option<f64>,
    control: Control,
    start: Start,
    length: usize,
    quiet_ns: u64,
    helpers: Vec<u32>,
}

impl Datagrams {
    /// Begins a batch or a trial.
    fn begin(&mut self, counts: &[u64], rate: Option<f64>) -> Result<(), Failure> {
        let first = self.next;
        let senders = self.senders;
        self.control.ask(&ControlMessage::Begin { first, counts: counts.to_vec(), senders })?;
        self.order(rate, u64::MAX);
        Ok(())
    }

    /// From now on all send at this rate, and nothing after `end_ns`.
    fn order(&mut self, rate: Option<f64>, end_ns: u64) {
        self.shared.sent.store(0, Ordering::Relaxed);
        let mut order = self.shared.order();
        let batch = order.batch + 1;
        *order = Order { batch, first: self.next, rate, begin_ns: now_ns(), end_ns };
    }

    /// The share of the datagrams that were sent in time, by the sender that was latest.
    fn share_in_time(&self) -> f64 {
        let mut share = 1.0_f64;
        self.team.each(|sender| {
            let own = sender.schedule.as_ref().map_or(1.0, ArrivalSchedule::share_in_time);
            share = share.min(own);
        });
        share
    }

    fn near(&self) -> Result<Near, Failure> {
        let has_queue = self.start.params.get("up").and_then(Value::integer).is_some();
        let queue_drops = if has_queue { path::at_queue(&self.start, queue_drops)? } else { 0 };
        Ok(Near { queue_drops, relay: path::carried(&self.start)? })
    }

    fn flag_late(&self, batch: &mut Batch) {
        let in_time = self.share_in_time();
        if in_time < BOUND_SHARE {
            let late = plumb_units::whole_percent(1.0 - in_time);
            let why = format!("{late} of the datagrams were sent over 100 µs late");
            batch.flag(Flag::new(FlagKind::ClientBound, why));
        }
    }
}

impl Instance for Datagrams {
    fn run(&mut self, iterations: u64) -> Result<(), Failure> {
        self.shared.order().first = self.next;
        self.next += iterations;
        self.team.run(iterations)
    }

    fn batch(&mut self, iterations: &[u64], batch: &mut Batch) -> Result<(), Failure> {
        let mut elapsed = Vec::with_capacity(iterations.len());
        let before = self.near()?;
        self.begin(iterations, self.rate)?;
        let cpu_before_ns = cpu_time_ns();
        for &k in iterations {
            let start = now_ns();
            self.run(k)?;
            let took = now_ns() - start;
            batch.record(start, took, k, current_cpu());
            elapsed.push(took);
        }
        // Read before the receiver is asked: waiting for it is no part of sending.
        let near_cpu_ns = cpu_time_ns() - cpu_before_ns;
        let sent = iterations.iter().sum();
        let counted = self.control.ask(&ControlMessage::End { sent, quiet_ns: self.quiet_ns })?;
        let after = self.near()?;
        let dropped = Dropped {
            queue: after.queue_drops.saturating_sub(before.queue_drops),
            path: after.path_drops_since(&before),
            backlog: counted.backlog_drops,
            socket: counted.socket_drops,
        };
        let ledger = dropped.shares(sent, &counted);
        let cpu = [near_cpu_ns, counted.cpu_ns].map(|ns| of_each(ns, &counted));
        for ((arrived, &k), took) in counted.samples.iter().zip(iterations).zip(elapsed) {
            let of_sample = values(arrived, k, took, self.length);
            batch.record_reported(|row| {
                row[..of_sample.len()].copy_from_slice(&of_sample);
                let (places, of_ends) = row[of_sample.len()..].split_at_mut(ledger.len());
                places.copy_from_slice(&ledger);
                of_ends.copy_from_slice(&cpu);
            });
        }
        self.flag_late(batch);
        path::flag_limit(&self.start, before.relay, batch)
    }

    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "loads and times are positive and stay below 2^53"
    )]
    fn trial(&mut self, load: f64, duration_ns: u64) -> Result<TrialCounts, Failure> {
        let offered = (load * duration_ns as f64 / 1e9) as u64;
        let before = path::carried(&self.start)?;
        // First, as the receiver's answer takes a round trip: the schedule below must begin after it.
        self.begin(&[offered], None)?;
        // The last is due at the very end, and may then be sent.
        self.order(Some(load), now_ns() + duration_ns + duration_ns / 100);
        self.run(offered)?;
        let sent = self.shared.sent.load(Ordering::Relaxed);
        let counted = self.control.ask(&ControlMessage::End { sent, quiet_ns: self.quiet_ns })?;
        let good = counted.samples.first().map_or(0, |sample| sample.received);
        // What could not even be sent is not a word on the relay.
        let flags = if sent < offered { Vec::new() } else { path::limits(&self.start, before)? };
        Ok(TrialCounts { offered, good, flags })
    }

    fn value_names(&self) -> &'static [&'static str] {
        &VALUES
    }

    fn least_iterations(&self) -> u64 {
        (BATCH * self.senders) as u64
    }

    /// After its last sample a batch waits for what is under way; of a load that is a part of what it does.
    fn has_untimed_parts(&self) -> bool {
        self.start.role != Role::Load
    }

    fn shortest_sample_ns(&self) -> u64 {
        SHORTEST_SAMPLE_NS
    }

    fn helpers(&self) -> &[u32] {
        &self.helpers
    }
}

/// So many nanoseconds over the datagrams that arrived, in seconds.
#[expect(clippy::cast_precision_loss, reason = "counts and times stay far below 2^53")]
fn of_each(ns: u64, counted: &ReceiverCounts) -> f64 {
    let received: u64 = counted.samples.iter().map(|sample| sample.received).sum();
    ns as f64 / 1e9 / received.max(1) as f64
}

/// Datagrams that were dropped, by place.
struct Dropped {
    queue: u64,
    path: u64,
    backlog: u64,
    socket: u64,
}

impl Dropped {
    /// The ledger of [`VALUES`], as shares of those sent: sent = received + dropped + unexplained.
    #[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
    fn shares(&self, sent: u64, counted: &ReceiverCounts) -> [f64; 5] {
        let received: u64 = counted.samples.iter().map(|sample| sample.received).sum();
        let known = [self.queue, self.path, self.backlog, self.socket];
        // Without a datagram all shares are 0.
        let all = sent.max(1) as f64;
        let [queue, path, backlog, socket] = known.map(|count| count as f64 / all);
        let explained = received + known.iter().sum::<u64>();
        // Below 0 if others use the same devices: their losses are counted there, too.
        [queue, path, backlog, socket, (sent as f64 - explained as f64) / all]
    }
}

/// The first of [`VALUES`], of a sample of `k` datagrams.
#[expect(clippy::cast_precision_loss, reason = "counts and times stay far below 2^53")]
fn values(arrived: &Arrived, k: u64, took_ns: u64, length: usize) -> [f64; 6] {
    let received = arrived.received as f64;
    let per_second = received / (took_ns.max(1) as f64 / 1e9);
    let of_received = |count: u64| if received > 0.0 { count as f64 / received } else { 0.0 };
    [
        per_second,
        per_second * length as f64,
        1.0 - received / k.max(1) as f64,
        of_received(arrived.reordered),
        of_received(arrived.duplicates),
        arrived.jitter_ns / 1e9,
    ]
}

#[cfg(test)]
mod tests {
    use super::{Arrived, Dropped, ReceiverCounts, values};

    #[test]
    fn the_ledger_balances() {
        let dropped = Dropped { queue: 10, path: 20, backlog: 5, socket: 40 };
        let samples = vec![Arrived { received: 60, ..Arrived::default() }; 2];
        let counted = ReceiverCounts { samples, ..ReceiverCounts::default() };
        let shares = dropped.shares(200, &counted);
        assert_eq!(shares, [0.05, 0.1, 0.025, 0.2, 0.025]);
    }

    #[test]
    fn what_arrived_counts_over_the_time_of_sending() {
        let arrived = Arrived { received: 50, duplicates: 5, reordered: 1, jitter_ns: 2e6 };
        let told = values(&arrived, 100, 500_000_000, 1000);
        assert_eq!(told, [100.0, 100_000.0, 0.5, 0.02, 0.1, 0.002]);
    }
}
