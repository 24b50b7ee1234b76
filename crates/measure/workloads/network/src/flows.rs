//! Several floods at a time, each on a socket and its own thread: their sum says what the other end can answer where one flood
//! is bound by its own CPU.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

use plumb_protocol::{
    Batch, Distribution, Failure, Instance, Start, StartError, current_cpu, now_ns,
};
use plumb_workload_kit::threads::{Member, Team};
use plumb_workload_path as path;

use crate::losses::Losses;
use crate::requests::{Exchange, FEW, NumberedRequests};

/// What the threads do next: make room for their latencies, begin a batch, send, or take in what is under way.
const ROOM: u8 = 0;
const BEGIN: u8 = 1;
const WORK: u8 = 2;
const DRAIN: u8 = 3;

/// What the threads share.
#[derive(Default)]
struct FlowsState {
    phase: AtomicU8,
    /// Answers of the sample that nobody waits for yet: none idles while another is slow.
    left: AtomicU64,
}

/// One flow of requests, with its own socket.
struct RequestFlow<E> {
    requests: NumberedRequests<E>,
    shared: Arc<FlowsState>,
}

impl<E: Exchange> RequestFlow<E> {
    fn work(&mut self) -> Result<(), Failure> {
        let one_less = |left: u64| left.checked_sub(1);
        while self.shared.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less).is_ok()
        {
            self.requests.run(1)?;
        }
        Ok(())
    }
}

impl<E: Exchange + Send + 'static> Member for RequestFlow<E> {
    fn run(&mut self, iterations: u64) -> Result<(), Failure> {
        match self.shared.phase.load(Ordering::Relaxed) {
            ROOM => {
                // One may get all answers.
                self.requests.distributions()[0].make_room(1, iterations);
                Ok(())
            }
            BEGIN => {
                self.requests.begin();
                Ok(())
            }
            DRAIN => self.requests.drain(),
            _ => self.work(),
        }
    }

    fn verify(&mut self) -> Result<(), Failure> {
        Ok(())
    }
}

/// All floods. An iteration is as many answers as there are floods, whoever gets them.
pub(crate) struct Flows<E> {
    team: Team<RequestFlow<E>>,
    count: u64,
    shared: Arc<FlowsState>,
    latency: [Distribution; 1],
    host: String,
    start: Start,
}

impl<E: Exchange + Send + 'static> Flows<E> {
    /// So many floods of this host, each with its own requests.
    ///
    /// # Errors
    /// When a thread or its socket can't be had.
    pub(crate) fn start(
        count: usize,
        start: &Start,
        host: String,
        requests: impl Fn(usize) -> Result<NumberedRequests<E>, StartError> + Send + Sync + 'static,
    ) -> Result<Self, StartError> {
        let shared = Arc::new(FlowsState::default());
        let of_all = Arc::clone(&shared);
        let build = move |index| {
            Ok(RequestFlow { requests: requests(index)?, shared: Arc::clone(&of_all) })
        };
        Ok(Self {
            team: Team::start(count, &start.facts, build)?,
            count: count as u64,
            shared,
            latency: [Distribution::of("latency")],
            host,
            start: start.clone(),
        })
    }

    fn all(&mut self, phase: u8, iterations: u64) -> Result<(), Failure> {
        self.shared.phase.store(phase, Ordering::Relaxed);
        self.team.run(iterations)
    }
}

impl<E: Exchange + Send + 'static> Instance for Flows<E> {
    fn run(&mut self, iterations: u64) -> Result<(), Failure> {
        self.shared.left.store(iterations * self.count, Ordering::Relaxed);
        self.all(WORK, iterations)
    }

    #[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
    fn batch(&mut self, iterations: &[u64], batch: &mut Batch) -> Result<(), Failure> {
        let carried = path::carried(&self.start)?;
        self.all(BEGIN, 1)?;
        let mut worked_ns = 0;
        for &k in iterations {
            self.all(ROOM, k * self.count)?;
            let start = now_ns();
            self.run(k)?;
            let elapsed = now_ns() - start;
            batch.record(start, elapsed, k, current_cpu());
            worked_ns += elapsed;
            let latency = &mut self.latency[0];
            self.team.each(|flow| {
                flow.requests.latencies().iter().for_each(|value| latency.record(*value));
            });
            latency.end_sample();
        }
        self.all(DRAIN, 1)?;
        let mut requests = 0;
        let mut lost = 0;
        let mut are_even = true;
        self.team.each(|flow| {
            let (sent, unanswered, how) = flow.requests.losses();
            requests += sent;
            lost += unanswered;
            are_even &= how == Losses::Even;
        });
        let share = lost as f64 / requests.max(1) as f64;
        iterations.iter().for_each(|_| batch.record_values(&[share, 1.0]));
        if share > FEW {
            let answered = requests.saturating_sub(lost) as f64;
            let answers = answered / (worked_ns.max(1) as f64 / 1e9);
            // A limit that several share looks like chance to each.
            let how = if are_even { Losses::Even } else { Losses::Unclear };
            batch.flag(how.flag(&self.host, lost, requests, answers));
        }
        path::flag_limit(&self.start, carried, batch)
    }

    fn value_names(&self) -> &'static [&'static str] {
        crate::requests::OF_LOSSES
    }

    fn distributions(&mut self) -> &mut [Distribution] {
        &mut self.latency
    }

    fn values_per_iteration(&self) -> u64 {
        self.count
    }

    fn shortest_sample_ns(&self) -> u64 {
        self.team.shortest_sample_ns()
    }

    /// It makes room between samples.
    fn has_untimed_parts(&self) -> bool {
        true
    }
}
