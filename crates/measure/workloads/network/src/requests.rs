//! Numbered requests and their answers as an instance: in a closed loop, or an open one, with what was lost.

use std::io;
use std::num::NonZeroU64;

use plumb_model::{Better, Flag, FlagKind, Metric, Role};
use plumb_protocol::{
    ArrivalSchedule, Arrivals, BOUND_SHARE, Batch, Distribution, Failure, Instance, Start,
    current_cpu, now_ns,
};
use plumb_workload_ends::cpu_time::{self, CpuTimes};
use plumb_workload_kit::declare::reported_share;
use plumb_workload_path as path;
use rustix::thread::set_current_timer_slack;

use plumb_workload_ends::token;

use crate::losses::Losses;

/// What is reported next to it, in this order: the first two of who has a server.
pub(crate) const VALUES: [&str; 4] = [cpu_time::NAMES[0], cpu_time::NAMES[1], "lost", "in_time"];
/// Where those begin that all have.
const OF_ALL: usize = cpu_time::NAMES.len();
/// The values that exist only if requests may be lost.
pub(crate) const OF_LOSSES: &[&str] = VALUES.split_at(OF_ALL).1;

/// In a closed loop of what may be lost the next is sent after this time without an answer at the latest, and at the earliest, as
/// `ping -f` does.
const LONGEST_PAUSE_NS: u64 = 1_000_000_000;
const SHORTEST_PAUSE_NS: u64 = 10_000_000;
/// Without any answer for so long the far end is gone.
const GONE_NS: u64 = 20_000_000_000;
/// After the last sample answers may come for so long, next to what the path takes.
const QUIET_NS: u64 = 200_000_000;
/// A sample of a closed loop has so many times as many answers as requests are under way.
pub(crate) const LEAST_OF_DEPTH: u64 = 16;
/// The most requests under way in an open loop.
const MOST_UNDER_WAY: u64 = 1 << 16;
/// If there was no room for a request, answers are waited for so long before it is tried again: they make room.
const NO_ROOM_NS: u64 = 100_000;
/// A sample of an open loop lasts so long at least: in a shorter one the answers to a few late requests, which come together, would
/// look like a rate above the one that is offered.
const OPEN_SAMPLE_NS: u64 = 10_000_000;

/// The number of what is asked before the first request; an answer to it that comes late is none to a request.
pub(crate) const PROBE: u64 = u64::MAX;

/// More than this share lost is worth a flag.
pub(crate) const FEW: f64 = 0.01;

/// The trait of a client that sends requests and receives their answers.
pub(crate) trait Exchange {
    /// Sends the request of this number.
    ///
    /// # Errors
    /// When the far end is gone.
    fn send(&mut self, number: u64) -> io::Result<()>;

    /// Sends the request of this number if there is room for all of it now; whether it was sent. If not, the same number comes
    /// again: a part of it may be on its way.
    ///
    /// # Errors
    /// When the far end is gone.
    fn send_now(&mut self, number: u64) -> io::Result<bool> {
        self.send(number).map(|()| true)
    }

    /// The number of an answer that has come, if one has, without waiting.
    ///
    /// # Errors
    /// When the far end is gone.
    fn receive(&mut self) -> io::Result<Option<u64>>;

    /// Waits until an answer comes, or this long; whether one may have come.
    ///
    /// # Errors
    /// When the kernel can't wait.
    fn wait_for_answer(&self, longest_ns: u64) -> io::Result<bool>;

    /// The number of an answer; none if it would come later than that.
    ///
    /// # Errors
    /// When the far end is gone.
    fn receive_within(&mut self, longest_ns: u64) -> io::Result<Option<u64>> {
        receive_or_wait(self, longest_ns)
    }
}

/// The number of an answer that has come, or comes within this time.
///
/// # Errors
/// When the far end is gone.
pub(crate) fn receive_or_wait(
    exchange: &mut (impl Exchange + ?Sized),
    longest_ns: u64,
) -> io::Result<Option<u64>> {
    if let Some(number) = exchange.receive()? {
        return Ok(Some(number));
    }
    let until_ns = now_ns() + longest_ns;
    loop {
        let left_ns = until_ns.saturating_sub(now_ns());
        if left_ns == 0 || !exchange.wait_for_answer(left_ns)? {
            return Ok(None);
        }
        if let Some(number) = exchange.receive()? {
            return Ok(Some(number));
        }
    }
}

/// The metric of what was lost.
pub(crate) fn lost() -> Metric {
    let summary = "share of requests without an answer, over all samples of a batch";
    reported_share(VALUES[2], Better::Lower, summary)
}

/// The metric of what was sent when it was due.
pub(crate) fn in_time() -> Metric {
    let summary =
        "in an open loop, share of the requests due that were sent within 100 µs of their due time";
    reported_share(VALUES[3], Better::Higher, summary)
}

/// Notes for the reader of an open loop.
pub(crate) fn open_loop(rate: u64, arrivals: Arrivals) -> String {
    let how = match arrivals {
        Arrivals::Fixed => "equally spaced",
        Arrivals::Poisson => "at random times (Poisson)",
    };
    format!(
        "open loop: {rate} requests are due per second, {how}; latency counts from the due time"
    )
}

/// How long answers may take after the last sample, on the path that was asked for.
pub(crate) fn quiet_ns(start: &Start) -> u64 {
    QUIET_NS + start.integer("rtt") + 2 * start.integer("queue")
}

/// How long is waited for answers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Patience {
    /// Whether a request or its answer may be lost, so that a closed loop has to go on without it.
    pub may_lose: bool,
    /// After the last sample: when for so long no answer has come, none will.
    pub quiet_ns: u64,
}

/// How long an answer takes, as a retransmission timer estimates it (RFC 6298), in nanoseconds; quicker downwards, as the first
/// answer on a path may wait for a neighbour to be found.
#[derive(Debug, Clone, Copy, Default)]
struct RoundTrip {
    smoothed: u64,
    variation: u64,
}

impl RoundTrip {
    fn took(&mut self, time: u64) {
        if self.smoothed == 0 {
            *self = Self { smoothed: time, variation: time / 2 };
            return;
        }
        // Upwards with the weights of RFC 6298: 1/4 for the variation, 1/8 for the mean.
        let off = self.smoothed.abs_diff(time);
        self.variation = if off < self.variation {
            self.variation.midpoint(off)
        } else {
            (3 * self.variation + off) / 4
        };
        self.smoothed = if time < self.smoothed {
            self.smoothed.midpoint(time)
        } else {
            (7 * self.smoothed + time) / 8
        };
    }

    /// What has no answer by then probably gets none.
    fn pause_ns(self) -> u64 {
        if self.smoothed == 0 {
            return LONGEST_PAUSE_NS;
        }
        (self.smoothed + 4 * self.variation).clamp(SHORTEST_PAUSE_NS, LONGEST_PAUSE_NS)
    }
}

/// Requests with numbers, one after the other or when they are due, and their answers.
pub(crate) struct NumberedRequests<E> {
    exchange: E,
    start: Start,
    patience: Patience,
    /// The most requests under way in a closed loop, and how many are.
    depth: u64,
    under_way: u64,
    /// Those before this number are not waited for any more; an answer that comes late counts all the same.
    given_up: u64,
    round_trip: RoundTrip,
    /// None in a closed loop.
    schedule: Option<ArrivalSchedule>,
    /// The number of the next request, and of the first that is not known to be answered or lost.
    next: u64,
    oldest: u64,
    /// When each request under way was due, at its number modulo their most; 0 for one that was answered.
    due_ns: Vec<u64>,
    latency: [Distribution; 1],
    helpers: Vec<u32>,
    /// Of both ends, if there is a server.
    cpus: Option<CpuTimes>,
    /// The number of the first of a batch.
    first: u64,
    /// Requests of a batch that were lost, and which, by number and in order, as far as there is room.
    lost: u64,
    losses: Vec<u64>,
    /// Who is asked, if a loss is worth a flag.
    asked: Option<String>,
}

impl<E: Exchange> NumberedRequests<E> {
    /// One under way at a time if there is no schedule.
    pub(crate) fn new(
        exchange: E,
        schedule: Option<ArrivalSchedule>,
        patience: Patience,
        start: &Start,
    ) -> Self {
        if schedule.is_some() {
            // Timers of this thread would else be up to 50 µs late.
            let _ = set_current_timer_slack(NonZeroU64::new(1));
        }
        Self {
            exchange,
            start: start.clone(),
            patience,
            depth: 1,
            under_way: 0,
            given_up: 0,
            round_trip: RoundTrip::default(),
            schedule,
            next: 0,
            oldest: 0,
            due_ns: vec![0; MOST_UNDER_WAY as usize],
            latency: [Distribution::of("latency")],
            helpers: token::helpers(start),
            cpus: None,
            first: 0,
            lost: 0,
            losses: Vec::with_capacity(MOST_UNDER_WAY as usize),
            asked: None,
        }
    }

    /// With a flag if more than a hundredth is lost, which says why this host may not have answered.
    pub(crate) fn explaining_losses_of(self, host: String) -> Self {
        Self { asked: Some(host), ..self }
    }

    /// With the CPU time of both ends.
    pub(crate) fn with_cpus(self, cpus: CpuTimes) -> Self {
        Self { cpus: Some(cpus), ..self }
    }

    /// With these processes that work for it, next to its server.
    pub(crate) fn with_helpers(mut self, helpers: Vec<u32>) -> Self {
        self.helpers.extend(helpers);
        self
    }

    /// With so many under way at a time in a closed loop.
    pub(crate) fn with_depth(self, depth: u64) -> Self {
        Self { depth, ..self }
    }

    /// Sends a request that was due at this time.
    fn send(&mut self, due_ns: u64) -> Result<(), Failure> {
        self.keep(due_ns);
        let sent = self.exchange.send(self.next);
        self.next += 1;
        sent.map_err(|error| Failure::io("sending a request", &error))
    }

    /// Keeps when the next request was due.
    fn keep(&mut self, due_ns: u64) {
        let slot = self.slot(self.next);
        if std::mem::replace(&mut self.due_ns[slot], due_ns) != 0 {
            // The one that had this place was not answered while all others were sent.
            self.lose(self.next - MOST_UNDER_WAY);
        }
    }

    /// Sends the request that is due in an open loop, if there is room for it; whether it was sent.
    fn send_due(&mut self, now_ns: u64) -> Result<bool, Failure> {
        // What can't be lost is waited for: its place must not go to another.
        let is_full = !self.patience.may_lose && self.next - self.oldest >= MOST_UNDER_WAY;
        if is_full {
            return Ok(false);
        }
        let sent = self.exchange.send_now(self.next);
        if !sent.map_err(|error| Failure::io("sending a request", &error))? {
            return Ok(false);
        }
        if let Some(schedule) = &mut self.schedule {
            let due_ns = schedule.sent(now_ns);
            self.keep(due_ns);
            self.next += 1;
        }
        Ok(true)
    }

    /// Passes those that are answered, and gives up those for which nobody waits any longer: the oldest under way is then the first
    /// that may still be answered.
    fn expire(&mut self, now_ns: u64) {
        self.oldest = self.oldest.max(self.next.saturating_sub(MOST_UNDER_WAY));
        while self.oldest < self.next {
            let slot = self.slot(self.oldest);
            let due_ns = self.due_ns[slot];
            if due_ns != 0 {
                if now_ns.saturating_sub(due_ns) <= GONE_NS || !self.patience.may_lose {
                    return;
                }
                self.due_ns[slot] = 0;
                self.lose(self.oldest);
            }
            self.oldest += 1;
        }
    }

    /// The latencies of the last sample.
    pub(crate) fn latencies(&self) -> &[u64] {
        self.latency[0].values()
    }

    /// Begins a batch, with nothing lost.
    pub(crate) fn begin(&mut self) {
        self.first = self.next;
        self.lost = 0;
        self.losses.clear();
    }

    /// Requests of the batch, those lost, and how they lie.
    pub(crate) fn losses(&self) -> (u64, u64, Losses) {
        let requests = self.next - self.first;
        let how = match self.losses.len() as u64 == self.lost {
            true => Losses::of(self.first, requests, &self.losses),
            false => Losses::Unclear,
        };
        (requests, self.lost, how)
    }

    fn lose(&mut self, number: u64) {
        self.lost += 1;
        if self.losses.len() < self.losses.capacity() {
            self.losses.push(number);
        }
    }

    /// Takes in an answer, if one has come: when its request was due.
    fn receive(&mut self) -> Result<Option<u64>, Failure> {
        match self.exchange.receive().map_err(unanswered)? {
            Some(number) => self.due_of(number),
            None => Ok(None),
        }
    }

    /// When the request of this number was due, to which an answer has come; none for a second one.
    fn due_of(&mut self, number: u64) -> Result<Option<u64>, Failure> {
        if number == PROBE {
            return Ok(None);
        }
        if number >= self.next {
            return Err(Failure(format!("answer {number} matches no outstanding request")));
        }
        if number + MOST_UNDER_WAY < self.next {
            // Its place has another request's.
            return Ok(None);
        }
        let slot = self.slot(number);
        // Of a datagram that came twice, the first counts.
        let due = std::mem::take(&mut self.due_ns[slot]);
        Ok((due != 0).then_some(due))
    }

    /// Gives up all requests under way.
    fn give_up(&mut self) {
        // Older ones have lost their place to newer ones, and were counted then.
        for number in self.oldest.max(self.next.saturating_sub(MOST_UNDER_WAY))..self.next {
            let slot = self.slot(number);
            if std::mem::take(&mut self.due_ns[slot]) != 0 {
                self.lose(number);
            }
        }
        self.oldest = self.next;
        self.given_up = self.next;
        self.under_way = 0;
    }

    /// Takes in the answers that are under way, which belong to no sample, and gives up what has none.
    pub(crate) fn drain(&mut self) -> Result<(), Failure> {
        self.expire(now_ns());
        while self.oldest < self.next && self.wait(self.patience.quiet_ns)? {
            while self.receive()?.is_some() {}
            self.expire(now_ns());
        }
        self.give_up();
        Ok(())
    }

    /// How long a closed loop waits for an answer before it sends the next request.
    fn pause_ns(&self) -> u64 {
        if self.patience.may_lose { self.round_trip.pause_ns() } else { GONE_NS }
    }

    fn slot(&self, number: u64) -> usize {
        (number % MOST_UNDER_WAY) as usize
    }

    fn flag_late(&self, in_time: f64, batch: &mut Batch) {
        if in_time < BOUND_SHARE {
            let why = format!(
                "{:.0} % of the requests due were sent over 100 µs late, or not at all: latencies include the \
                 client's delay, and while the client catches up, the rate can exceed the offered one",
                (1.0 - in_time) * 100.0
            );
            batch.flag(Flag::new(FlagKind::ClientBound, why));
        }
    }

    fn wait(&self, longest_ns: u64) -> Result<bool, Failure> {
        self.exchange
            .wait_for_answer(longest_ns)
            .map_err(|error| Failure::io("waiting for an answer", &error))
    }

    /// A new request for each answer.
    fn closed(&mut self, answers: u64) -> Result<(), Failure> {
        let mut now = now_ns();
        let mut left = answers;
        let mut answered_ns = now;
        while left > 0 {
            while self.under_way < self.depth {
                self.send(now)?;
                self.under_way += 1;
            }
            let answer = self.exchange.receive_within(self.pause_ns()).map_err(unanswered)?;
            now = now_ns();
            if let Some(number) = answer {
                let Some(due) = self.due_of(number)? else {
                    if now - answered_ns > GONE_NS {
                        return Err(gone());
                    }
                    continue;
                };
                answered_ns = now;
                self.latency[0].record(now - due);
                self.round_trip.took(now - due);
                // A late answer to a request that was given up: its place was freed then.
                self.under_way -= u64::from(number >= self.given_up);
                left -= 1;
            } else {
                if now - answered_ns > GONE_NS {
                    return Err(gone());
                }
                self.given_up = self.next;
                self.under_way = 0;
            }
        }
        Ok(())
    }

    /// Requests when they are due, until so many are answered. Every turn sends one at most and takes in one answer, also while the
    /// client is behind: otherwise answers would fill the socket, the far end would drop them or stop, and none would ever be
    /// counted at a rate that the client can't reach.
    fn open(&mut self, answers: u64) -> Result<(), Failure> {
        let mut left = answers;
        let mut answered_ns = now_ns();
        while left > 0 {
            let now = now_ns();
            let Some(due_ns) = self.schedule.as_ref().map(ArrivalSchedule::due_ns) else {
                return Ok(());
            };
            let is_due = due_ns <= now;
            let has_room = !is_due || self.send_due(now)?;
            if let Some(due) = self.receive()? {
                answered_ns = now_ns();
                self.latency[0].record(answered_ns - due);
                left -= 1;
            } else if now.saturating_sub(answered_ns) > GONE_NS {
                return Err(gone());
            } else if !has_room {
                self.wait(NO_ROOM_NS)?;
            } else {
                self.wait_until_due()?;
            }
            self.expire(now);
        }
        Ok(())
    }

    /// Waits for an answer until the next request is due.
    fn wait_until_due(&self) -> Result<(), Failure> {
        let due_ns = self.schedule.as_ref().map_or(0, ArrivalSchedule::due_ns);
        match due_ns.saturating_sub(now_ns()) {
            0 => Ok(()),
            left_ns => self.wait(left_ns).map(|_| ()),
        }
    }

    /// The share of the requests due so far in this batch that were sent in time.
    fn share_in_time(&self) -> f64 {
        self.schedule.as_ref().map_or(1.0, |schedule| schedule.share_in_time_by(now_ns()))
    }
}

fn unanswered(error: io::Error) -> Failure {
    Failure::io("the far end does not answer", &error)
}

fn gone() -> Failure {
    Failure(format!("the far end does not answer: no data for {} s", GONE_NS / 1_000_000_000))
}

impl<E: Exchange> Instance for NumberedRequests<E> {
    fn run(&mut self, iterations: u64) -> Result<(), Failure> {
        match self.schedule {
            None => self.closed(iterations),
            Some(_) => self.open(iterations),
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
    fn batch(&mut self, iterations: &[u64], batch: &mut Batch) -> Result<(), Failure> {
        let carried = path::carried(&self.start)?;
        let mut in_time = Vec::with_capacity(iterations.len());
        self.begin();
        self.cpus.as_mut().map_or(Ok(()), CpuTimes::begin)?;
        let begun_ns = now_ns();
        if let Some(schedule) = &mut self.schedule {
            schedule.begin(begun_ns);
        }
        for &k in iterations {
            let start = now_ns();
            self.run(k)?;
            batch.record(start, now_ns() - start, k, current_cpu());
            self.latency[0].end_sample();
            in_time.push(self.share_in_time());
        }
        let took_ns = now_ns() - begun_ns;
        // What is still under way is not lost: the count of losses is right only after this.
        self.drain()?;
        let requests = self.next - self.first;
        let lost = self.lost as f64 / requests.max(1) as f64;
        let cpus = self.cpus.as_mut().map(|cpus| cpus.of_each(requests)).transpose()?;
        let [far_cpu, near_cpu] = cpus.unwrap_or_default();
        let first = VALUES.len() - self.value_names().len();
        for in_time in &in_time {
            batch.record_values(&[far_cpu, near_cpu, lost, *in_time][first..]);
        }
        if let Some(host) = self.asked.as_ref().filter(|_| lost > FEW) {
            let (requests, lost, how) = self.losses();
            let answered = requests.saturating_sub(lost) as f64;
            let answers = answered / (took_ns.max(1) as f64 / 1e9);
            batch.flag(how.flag(host, lost, requests, answers));
        }
        self.flag_late(in_time.last().copied().unwrap_or(1.0), batch);
        path::flag_limit(&self.start, carried, batch)
    }

    /// Of several under way some are answered in a burst: a sample has many times as many.
    fn least_iterations(&self) -> u64 {
        let is_deep = self.depth > 1 && self.schedule.is_none();
        if is_deep { LEAST_OF_DEPTH * self.depth } else { 1 }
    }

    fn shortest_sample_ns(&self) -> u64 {
        if self.schedule.is_some() { OPEN_SAMPLE_NS } else { 0 }
    }

    /// After its last sample a batch waits for what is under way; of a load that is a part of what it does.
    fn has_untimed_parts(&self) -> bool {
        self.start.role != Role::Load
    }

    fn value_names(&self) -> &'static [&'static str] {
        const ALL: &[&str] = &VALUES;
        &ALL[self.cpus.as_ref().map_or(OF_ALL, CpuTimes::lacking)..]
    }

    fn distributions(&mut self) -> &mut [Distribution] {
        &mut self.latency
    }

    fn helpers(&self) -> &[u32] {
        &self.helpers
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::io;

    use plumb_protocol::{ArrivalSchedule, Arrivals, Instance, now_ns};

    use super::{
        Exchange, GONE_NS, LONGEST_PAUSE_NS, MOST_UNDER_WAY, NumberedRequests, Patience, RoundTrip,
        SHORTEST_PAUSE_NS,
    };

    /// Answers the first request together with the second, and all others at once.
    #[derive(Default)]
    struct LateOnce {
        answers: VecDeque<u64>,
        received: u64,
        /// How many are under way after each is sent.
        under_way: Vec<u64>,
    }

    impl Exchange for LateOnce {
        fn send(&mut self, number: u64) -> io::Result<()> {
            match number {
                0 => {}
                1 => self.answers.extend([0, 1]),
                _ => self.answers.push_back(number),
            }
            self.under_way.push(number + 1 - self.received);
            Ok(())
        }

        fn receive(&mut self) -> io::Result<Option<u64>> {
            let answer = self.answers.pop_front();
            self.received += u64::from(answer.is_some());
            Ok(answer)
        }

        fn wait_for_answer(&self, _longest_ns: u64) -> io::Result<bool> {
            Ok(!self.answers.is_empty())
        }
    }

    #[test]
    fn an_answer_that_comes_late_counts_and_leaves_the_depth_as_it_is() {
        let start = serde_json::json!({"role": "workload", "params": {}, "dir": "", "seed": 1});
        let start = serde_json::from_value(start).unwrap();
        let patience = Patience { may_lose: true, quiet_ns: 0 };
        let mut requests = NumberedRequests::new(LateOnce::default(), None, patience, &start);
        requests.closed(6).unwrap();
        requests.drain().unwrap();
        assert_eq!(requests.exchange.under_way, [1, 2, 1, 1, 1, 1]);
        assert_eq!(requests.lost, 0);
    }

    /// Answers at once, with room for so few answers that nobody has read yet.
    struct SmallSocket {
        answers: VecDeque<u64>,
        /// Whether what finds no room is lost (as a datagram), or waits (as in a connection).
        may_lose: bool,
        sent_unread: u64,
    }

    /// Room of a [`SmallSocket`].
    const ROOM: usize = 16;
    /// Who sends so many without reading an answer will never read one.
    const NEVER_READS: u64 = 100_000;

    impl SmallSocket {
        fn of(may_lose: bool) -> Self {
            Self { answers: VecDeque::new(), may_lose, sent_unread: 0 }
        }
    }

    impl Exchange for SmallSocket {
        fn send(&mut self, number: u64) -> io::Result<()> {
            self.sent_unread += 1;
            if self.sent_unread > NEVER_READS {
                return Err(io::Error::other("nobody reads the answers"));
            }
            if self.answers.len() < ROOM {
                self.answers.push_back(number);
            }
            Ok(())
        }

        fn send_now(&mut self, number: u64) -> io::Result<bool> {
            let has_room = self.may_lose || self.answers.len() < ROOM;
            if has_room {
                self.send(number)?;
            }
            Ok(has_room)
        }

        fn receive(&mut self) -> io::Result<Option<u64>> {
            self.sent_unread = 0;
            Ok(self.answers.pop_front())
        }

        fn wait_for_answer(&self, _longest_ns: u64) -> io::Result<bool> {
            Ok(!self.answers.is_empty())
        }
    }

    /// In an open loop at a rate that nobody can reach.
    fn overwhelmed(may_lose: bool) -> NumberedRequests<SmallSocket> {
        let start = serde_json::json!({"role": "workload", "params": {}, "dir": "", "seed": 1});
        let start = serde_json::from_value(start).unwrap();
        let mut schedule = ArrivalSchedule::new(Arrivals::Fixed, 1e9, 1).unwrap();
        schedule.begin(now_ns());
        let patience = Patience { may_lose, quiet_ns: 0 };
        let exchange = SmallSocket::of(may_lose);
        let mut requests = NumberedRequests::new(exchange, Some(schedule), patience, &start);
        requests.begin();
        requests.latency[0].make_room(1, 10_000);
        requests
    }

    #[test]
    fn an_open_loop_takes_in_answers_while_it_is_behind() {
        for may_lose in [true, false] {
            let mut requests = overwhelmed(may_lose);
            requests.run(10_000).unwrap();
            let in_time = requests.share_in_time();
            requests.drain().unwrap();
            let (sent, lost, _) = requests.losses();
            assert!(sent >= 10_000 && lost == 0, "{sent} sent, {lost} lost");
            // Of those due most were not sent by now; of those sent the first 100 µs were in time.
            assert!(in_time < 0.9, "{in_time}");
        }
    }

    #[test]
    fn the_oldest_request_under_way_moves_on_with_the_answers() {
        let mut requests = overwhelmed(true);
        for _ in 0..3 {
            assert!(requests.send_due(now_ns()).unwrap());
        }
        requests.receive().unwrap();
        requests.expire(now_ns());
        assert_eq!((requests.oldest, requests.lost), (1, 0));
        // Long after the far end has gone, the other two are lost.
        requests.expire(now_ns() + 2 * GONE_NS);
        assert_eq!((requests.oldest, requests.lost), (3, 2));
        assert_eq!(requests.receive().unwrap(), None, "its answer comes too late");
    }

    #[test]
    fn a_request_that_can_not_be_lost_keeps_its_place() {
        let mut requests = overwhelmed(false);
        requests.next = MOST_UNDER_WAY;
        assert!(!requests.send_due(now_ns()).unwrap(), "all places are taken");
        requests.oldest = 1;
        assert!(requests.send_due(now_ns()).unwrap());
    }

    #[test]
    fn a_closed_loop_waits_as_a_retransmission_timer_does() {
        let mut round_trip = RoundTrip::default();
        assert_eq!(round_trip.pause_ns(), LONGEST_PAUSE_NS);
        round_trip.took(20_000);
        assert_eq!(round_trip.pause_ns(), SHORTEST_PAUSE_NS);
        // The first one has half of itself as variation: 100 + 4 · 50 ms.
        let mut slow = RoundTrip::default();
        slow.took(100_000_000);
        assert_eq!(slow.pause_ns(), 300_000_000);
        (0..100).for_each(|_| slow.took(100_000_000));
        assert!(slow.pause_ns() < 101_000_000, "{slow:?}");
        slow.took(2_000_000_000);
        assert_eq!(slow.pause_ns(), LONGEST_PAUSE_NS);
        (0..20).for_each(|_| slow.took(100_000));
        assert_eq!(slow.pause_ns(), SHORTEST_PAUSE_NS, "{slow:?}");
    }
}
