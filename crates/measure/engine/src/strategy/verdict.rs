//! Until every comparison with the first point is settled: docs/method.md, *Pairs* and *Order*.
//!
//! Each round is one unit of the comparison: a pair in an order that a fair coin chose, ABBA or BAAB, or
//! with more points a row of a Latin square. Looks come at preset numbers of units, each at a level that
//! leaves 95 % after all of them; a comparison that is settled, or can't be within reach, leaves the
//! rounds.

use plumb_model::{Compared, Decision, Look, Plan, StopReason};
use plumb_stats::order::{latin_square, pair, quad};
use plumb_stats::pairs::{hodges_lehmann, log_ratios};
use plumb_stats::rng::Rng;
use plumb_stats::verdict::{
    Confidence, Judgement, Schedule, Verdict as Word, interval_of_pairs, judge_pairs,
};

use super::decide::{Round, Strategy, close, common_stop, decision};
use crate::history::History;

/// Keeps the coins apart from the other random choices of the run's seed.
const COINS: u64 = 0x636f_696e;

/// Stops a comparison when its interval gives a verdict.
#[derive(Debug, Clone)]
pub struct Verdict {
    margin: f64,
    /// Whether a difference settles only beyond the margin.
    beyond: bool,
    a_unit: usize,
    schedule: Schedule,
    budget_ns: Option<u64>,
    coins: Rng,
    /// Rows that are left of the Latin square, and the points that it is of.
    square: Vec<Vec<usize>>,
    square_of: Vec<usize>,
    /// Units at the last look of each point; None before the first round.
    looked: Vec<Option<usize>>,
}

impl Verdict {
    /// For all points of `plan` against its first.
    #[must_use]
    pub fn new(plan: &Plan, margin: f64, quad: bool, max_pairs: usize) -> Self {
        Self {
            margin,
            beyond: false,
            a_unit: if quad { 2 } else { 1 },
            schedule: Schedule::up_to(max_pairs),
            budget_ns: plan.budget_ns,
            coins: Rng::new(plan.seed ^ COINS),
            square: Vec::new(),
            square_of: Vec::new(),
            looked: vec![None; plan.points.len()],
        }
    }

    /// Whether a difference settles a comparison only where its whole interval lies beyond the margin.
    #[must_use]
    pub fn only_beyond(self, beyond: bool) -> Self {
        Self { beyond, ..self }
    }

    /// Looks at a comparison if it is time to, or if it must end.
    fn consider(&mut self, history: &History, point: usize) -> Option<Decision> {
        let (first, later) = (&history.points[0], &history.points[point]);
        let forced = first.stopped.or(common_stop(history, 0, self.budget_ns));
        let forced = forced.or(common_stop(history, point, self.budget_ns));
        let logs = log_ratios(&first.costs, &later.costs, self.a_unit);
        let pairs = logs.len();
        // A resumed run has had the looks before; one at these very units may have been cut off.
        let looked = *self.looked[point].get_or_insert(pairs.saturating_sub(1));
        let due = self.schedule.next_look(looked).is_some_and(|look| pairs >= look);
        if forced.is_none() && !due {
            return None;
        }
        self.looked[point] = Some(pairs);
        let level = self.schedule.level(Confidence::NinetyFive);
        let judged = judge_pairs(&logs, level, self.margin).ok();
        let stop = self.stop(judged.as_ref(), pairs).or(forced);
        let needed = judged.and_then(|judged| judged.pairs_needed);
        let spent_ns = first.spent_ns + later.spent_ns;
        Some(Decision {
            look: look(&logs, level),
            wanted: Some(self.margin),
            remaining_ns: stop
                .is_none()
                .then(|| self.remaining_ns(needed, pairs, spent_ns))
                .flatten(),
            compared: Some(Compared {
                pairs,
                verdict: judged.map(|judged| judged.verdict),
                pairs_needed: needed,
            }),
            ..decision(history, point, stop)
        })
    }

    fn stop(&self, judged: Option<&Judgement>, pairs: usize) -> Option<StopReason> {
        let judged = judged?;
        if judged.settled() && !(self.beyond && is_across(judged)) {
            Some(StopReason::Verdict)
        } else if pairs >= self.schedule.most_pairs() {
            Some(StopReason::MaxPairs)
        } else if self.schedule.hopeless(judged, pairs) {
            Some(StopReason::Hopeless)
        } else {
            None
        }
    }

    /// Time until the look that has the units needed, or until the last one.
    fn remaining_ns(&self, needed: Option<usize>, pairs: usize, spent_ns: u64) -> Option<u64> {
        let needed = needed.unwrap_or(usize::MAX).min(self.schedule.most_pairs());
        let look =
            self.schedule.looks().into_iter().find(|&look| look > pairs && look >= needed)?;
        let each_ns = spent_ns / u64::try_from(pairs).ok()?.max(1);
        Some(each_ns * u64::try_from(look - pairs).ok()?)
    }

    /// A resumed run must not toss the coins of its beginning again: the law of the signs takes each to
    /// be independent. No round takes more coins than it has invocations.
    fn pass_tossed_coins(&mut self, history: &History) {
        let tossed: usize =
            history.points.iter().map(|it| it.invocations + it.excluded + it.failures).sum();
        for _ in 0..tossed {
            self.coins.next_u64();
        }
    }

    /// The order of the next round over the open points.
    fn order(&mut self, points: &[usize]) -> Vec<usize> {
        let row = match (points.len(), self.a_unit) {
            (2, 2) => quad(&mut self.coins).to_vec(),
            (2, _) => pair(&mut self.coins).to_vec(),
            _ => self.row(points),
        };
        row.into_iter().map(|index| points[index]).collect()
    }

    /// The next row of a Latin square over these points; a new square when they have changed.
    fn row(&mut self, points: &[usize]) -> Vec<usize> {
        if self.square.is_empty() || self.square_of != points {
            self.square = latin_square(points.len(), &mut self.coins);
            self.square_of = points.to_vec();
        }
        self.square.pop().unwrap_or_default()
    }
}

impl Strategy for Verdict {
    fn next(&mut self, history: &mut History) -> Round {
        if self.looked.iter().all(Option::is_none) {
            self.pass_tossed_coins(history);
        }
        let mut round = Round { ordered: true, ..Round::default() };
        let later: Vec<usize> = history.open().filter(|&point| point > 0).collect();
        for point in later {
            match self.consider(history, point) {
                Some(decision) if decision.stop.is_some() => close(history, &mut round, decision),
                Some(decision) => round.decisions.push(decision),
                None => {}
            }
        }
        let mut open: Vec<usize> = history.open().filter(|&point| point > 0).collect();
        if !open.is_empty() {
            open.insert(0, 0);
            round.points = self.order(&open);
        }
        round
    }
}

/// Whether a difference is shown, but neither that it is inside the margin nor that it is beyond.
fn is_across(judged: &Judgement) -> bool {
    judged.verdict != Word::Equivalent && !judged.beyond_margin
}

/// The interval of the ratio as a look sees it.
fn look(logs: &[f64], level: f64) -> Option<Look> {
    let centre = hodges_lehmann(logs)?;
    let interval = interval_of_pairs(logs, level).ok().map(|interval| interval.map(f64::exp));
    Some(Look {
        estimate: centre.exp(),
        low: interval.map(|interval| interval.low),
        high: interval.map(|interval| interval.high),
        level,
    })
}
