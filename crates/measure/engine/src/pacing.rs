//! Pauses between the rounds of a run that is spread over a time (`exec --spread`).
//!
//! What is taken back to back tells of the same second repeatedly. A spread run takes short bursts of rounds
//! and pauses between them. A burst has two rounds at least: the second is what the first, right after the pause,
//! is compared with.

use plumb_model::{Id, MARGIN, Plan, SHORTEST_PAUSE_NS};
use plumb_stats::describe::median;
use plumb_stats::precision::CONFIDENCE;
use plumb_stats::verdict::{Verdict, judge_pairs};

use crate::history::Observation;

/// Bursts over the whole time.
const BURSTS: u64 = 40;
/// From one burst to the next at least, in nanoseconds: on a busy machine, two rounds of a short command would otherwise
/// leave no time for a pause.
const SHORTEST_PERIOD_NS: u64 = 500_000_000;
/// From one burst to the next at most, in nanoseconds.
const LONGEST_PERIOD_NS: u64 = 3_000_000_000;
/// Of a period this part is measured, one part in so many.
const MEASURED_PART: u64 = 3;

/// When to pause, and how long.
#[derive(Debug, Default)]
pub struct Pacing {
    /// From one burst to the next, in nanoseconds; None if nothing is spread.
    period_ns: Option<u64>,
    /// When this burst began, and its rounds so far.
    burst: Option<(u64, u32)>,
}

impl Pacing {
    /// As a plan wants it.
    pub fn of(plan: &Plan) -> Self {
        Self {
            period_ns: plan
                .spread_ns
                .map(|length_ns| (length_ns / BURSTS).clamp(SHORTEST_PERIOD_NS, LONGEST_PERIOD_NS)),
            burst: None,
        }
    }

    /// How long to wait before the next round when so much time has passed, in nanoseconds.
    pub fn pause_ns(&mut self, elapsed_ns: u64) -> u64 {
        let Some(period_ns) = self.period_ns else { return 0 };
        let (began_ns, rounds) = self.burst.unwrap_or((elapsed_ns, 0));
        let measured_ns = elapsed_ns.saturating_sub(began_ns);
        // A round longer than a third of the period would otherwise be alone in its burst, without a partner.
        if rounds < 2 || measured_ns < period_ns / MEASURED_PART {
            self.burst = Some((began_ns, rounds + 1));
            return 0;
        }
        let left_ns = period_ns.saturating_sub(measured_ns);
        let pause_ns = if left_ns < SHORTEST_PAUSE_NS { 0 } else { left_ns };
        self.burst = Some((elapsed_ns + pause_ns, 1));
        pause_ns
    }
}

/// What was taken right after pauses, and what right after that.
#[derive(Debug, Default)]
pub struct AfterPauses {
    /// Whether this round began after a pause.
    now: bool,
    /// Of each point in the last round that did: which, its invocation, and its median.
    first: Option<(usize, Id, f64)>,
    /// Of a pair each: the point, the invocation after the pause, and the log of its value over the next one's.
    pairs: Vec<(usize, Id, f64)>,
}

impl AfterPauses {
    /// Takes note of a round that begins.
    pub fn round(&mut self, after_pause: bool) {
        self.now = after_pause;
        if after_pause {
            // A value whose partner failed must not pair with one of a later burst.
            self.first = None;
        }
    }

    /// Takes note of an invocation, by its point and its position in the round.
    pub fn take(&mut self, invocation: Id, point: usize, position: u32, seen: &Observation) {
        let Some(value) = median(&seen.processes.concat()) else { return };
        if self.now {
            // Only the first invocation of a round runs right after the pause; the others follow one another.
            self.first = self.first.or((position == 0).then_some((point, invocation, value)));
        } else if let Some((_, id, after)) = self.first.take_if(|(of, ..)| *of == point) {
            let log = (after / value).ln();
            self.pairs.extend(log.is_finite().then_some((point, id, log)));
        }
    }

    /// The invocations after pauses of points if they are not equivalent to what follows them: a pause would be a
    /// parameter of theirs.
    pub fn left_out(&self, plan: &Plan) -> Vec<Id> {
        let mut left_out = Vec::new();
        for (point, planned) in plan.points.iter().enumerate() {
            let pairs: Vec<_> = self.pairs.iter().filter(|(of, ..)| *of == point).collect();
            let logs: Vec<f64> = pairs.iter().map(|(_, _, log)| *log).collect();
            let rules = plan.rules_of(planned);
            let margin = rules.and_then(|rules| rules.precision).unwrap_or(MARGIN);
            let judged = judge_pairs(&logs, CONFIDENCE, margin);
            // Too few pairs for a verdict are left out, too: nothing shows that pauses do no harm.
            if !judged.is_ok_and(|found| found.verdict == Verdict::Equivalent) {
                left_out.extend(pairs.iter().map(|(_, invocation, _)| *invocation));
            }
        }
        left_out
    }
}
