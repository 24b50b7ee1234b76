//! Until every comparison with the first point is settled: docs/method.md, *Pairs* and *Order*.
//!
//! Each round is one unit of the comparison: a pair in an order that a fair coin chose, ABBA or BAAB, or
//! with more points a row of a Latin square. Looks come at preset numbers of units, each at a level that
//! leaves the confidence after all of them; a comparison that is settled, or can't be within reach, leaves the
//! rounds. All of them share the time, and the last look of each comes when it is over.

use plumb_model::{Compared, Decision, Look, Outlook, Plan, StopReason, VerdictGoal};
use plumb_stats::exclusion::pairs_too_disturbed;
use plumb_stats::outlook::{pair_scale, pairs_to_tell};
use plumb_stats::pairs::hodges_lehmann;
use plumb_stats::rng::Rng;
use plumb_stats::side_effects::choose;
use plumb_stats::turn_order::{latin_square, pair, quad};
use plumb_stats::verdict::{Judgement, LookSchedule, Verdict as Word, interval_of_pairs};

use super::strategy::{Round, Strategy, close, common_stop, decision};
use crate::history::{History, PointHistory};

/// Invocations without a cost after which a point is taken to lack the metric.
const MOST_WITHOUT_COST: usize = 3;

/// Keeps the coins apart from the other random choices of the run's seed.
const COINS: u64 = 0x636f_696e;

/// An invocation that takes longer is slow, in nanoseconds.
const SLOW_NS: u64 = 2_000_000_000;
/// Slow or not, so many units are taken within a time that is not a budget: with fewer, hardly anything is found.
const SLOW_UNITS: usize = 18;

/// Stops a comparison when its interval gives a verdict.
#[derive(Debug, Clone)]
pub struct UntilVerdict {
    goal: VerdictGoal,
    a_unit: usize,
    schedule: LookSchedule,
    /// The number of comparisons that share the confidence.
    comparisons: usize,
    budget_ns: Option<u64>,
    /// Whether it was told how long the units of slow points take.
    told_slow: bool,
    coins: Rng,
    /// Rows that are left of the Latin square, and the points that it is of.
    square: Vec<Vec<usize>>,
    square_of: Vec<usize>,
    /// PairCounts at the last look of each point; None before the first round.
    looked: Vec<Option<usize>>,
    /// PairCounts of each point, excluded ones included, when its pairs were last chosen.
    chosen_at: Vec<usize>,
    /// Whether a side was found to be faster.
    found_faster: bool,
}

impl UntilVerdict {
    /// For all points of `plan` against its first.
    #[must_use]
    pub fn new(plan: &Plan, goal: &VerdictGoal) -> Self {
        Self {
            goal: goal.clone(),
            a_unit: if goal.quad { 2 } else { 1 },
            schedule: LookSchedule::up_to(goal.max_pairs),
            comparisons: plan.points.len().saturating_sub(1),
            budget_ns: plan.budget_ns,
            told_slow: false,
            coins: Rng::new(plan.seed ^ COINS),
            square: Vec::new(),
            square_of: Vec::new(),
            looked: vec![None; plan.points.len()],
            chosen_at: vec![0; plan.points.len()],
            found_faster: false,
        }
    }

    /// The most units of a comparison.
    fn most_pairs(&self) -> usize {
        let most = self.schedule.most_pairs().min(self.goal.max_pairs);
        match self.goal.pairs_after_faster {
            Some(pairs) if self.found_faster => most.min(pairs),
            _ => most,
        }
    }

    /// Looks at a comparison if it is time to, or if it must end.
    fn consider(&mut self, history: &History, point: usize) -> Option<Decision> {
        let first = &history.points[0];
        let later = &history.points[point];
        let forced =
            first.stopped.or(self.common_stop(history, 0)).or(self.common_stop(history, point));
        // Upper bounds that need no matching of rounds: mostly they say already that no look is due.
        let units = PairCounts::of(first, later, self.a_unit);
        let mut pace = Pace::of(history, point, units.counted);
        let forced = forced.or(self.time_is_up(history, &pace).then_some(StopReason::Budget));
        let is_missing = lacks_metric(first) || lacks_metric(later);
        let forced = forced.or(is_missing.then_some(StopReason::Hopeless));
        // Whether exclusions are too many is judged where a look may be due: those that belong to a side are none.
        let can_wait = forced.is_none_or(|stop| stop == StopReason::Interference);
        if can_wait && !self.may_be_due(point, &units) {
            return None;
        }
        self.chosen_at[point] = units.all;
        let chosen = choose(&first.side, &later.side, self.a_unit, &|pairs| self.level(pairs));
        let logs = &chosen.judged;
        let pairs = logs.len();
        pace.pairs = pairs;
        let is_disturbed = pairs_too_disturbed(chosen.all.len() - pairs, pairs);
        let forced =
            forced.filter(|stop| *stop != StopReason::Interference || is_disturbed || pairs == 0);
        // A resumed run has had the looks before; one at these very units may have been cut off.
        let looked = *self.looked[point].get_or_insert(pairs.saturating_sub(1));
        if forced.is_none() && !self.is_due(looked, pairs) {
            return None;
        }
        self.looked[point] = Some(pairs);
        let level = self.level(pairs);
        let judged = chosen.judge(level, self.goal.margin).ok();
        let reach = self.reach(history, &pace);
        let stop = self.stop(judged.as_ref(), &pace, reach);
        // What is over is not hopeless.
        let stop = stop.filter(|stop| *stop != StopReason::Hopeless || forced.is_none()).or(forced);
        let needed = judged.and_then(|judged| judged.pairs_needed);
        let open = stop.is_none();
        Some(Decision {
            look: look(logs, level),
            wanted: Some(self.goal.margin),
            remaining_ns: open.then(|| self.remaining_ns(needed, reach, &pace)).flatten(),
            compared: Some(Compared {
                pairs,
                verdict: judged.map(|judged| judged.verdict),
                pairs_needed: needed,
            }),
            outlook: self.outlook(logs, &pace),
            ..decision(history, point, stop)
        })
    }

    /// Why a point ends whatever its comparison shows.
    fn common_stop(&self, history: &History, point: usize) -> Option<StopReason> {
        common_stop(history, point, self.budget_ns, pairs_too_disturbed)
    }

    /// The level of the interval of so many pairs.
    fn level(&self, pairs: usize) -> f64 {
        self.schedule.level_of_each(self.goal.confidence, pairs, self.comparisons)
    }

    /// Whether a look may be due: by the units that count, or by all of them, as exclusions may turn out to belong to a
    /// side.
    fn may_be_due(&self, point: usize, units: &PairCounts) -> bool {
        let Some(looked) = self.looked[point] else { return true };
        let has_more = self.is_due(self.chosen_at[point], units.all);
        self.is_due(looked, units.counted) || (units.counted < units.all && has_more)
    }

    fn outlook(&self, logs: &[f64], pace: &Pace) -> Option<Outlook> {
        let margin = self.goal.margin;
        let scale = pair_scale(logs)?;
        let level = |look: usize| self.level(look);
        let pairs = |share: f64| pairs_to_tell(share.ln_1p(), scale, self.schedule, &level);
        let to_tell = [pairs(2.0 * margin), pairs(margin)];
        Some(Outlook { scale, pair_ns: pace.pair_ns, to_tell })
    }

    fn is_due(&self, looked: usize, pairs: usize) -> bool {
        let look = self.schedule.next_look(looked).map(|look| look.min(self.most_pairs()));
        look.is_some_and(|look| pairs >= look)
    }

    /// Whether the time of all comparisons is over, and slow points have had their units.
    fn time_is_up(&self, history: &History, pace: &Pace) -> bool {
        let over = self.goal.time_ns.is_some_and(|time_ns| history.elapsed_ns >= time_ns);
        over && pace.pairs >= self.least(pace)
    }

    /// The fewest units of slow points, if a time is the limit.
    fn least(&self, pace: &Pace) -> usize {
        if self.goal.time_ns.is_some() && pace.is_slow { SLOW_UNITS } else { 0 }
    }

    /// The units that a comparison may have, by its limits in units and in time.
    fn reach(&self, history: &History, pace: &Pace) -> usize {
        let most = self.most_pairs();
        // What was planned by units alone is hopeless by units alone.
        let limits =
            [self.goal.time_ns, self.budget_ns.filter(|_| self.schedule == LookSchedule::Long)];
        let Some(limit_ns) = limits.into_iter().flatten().min() else { return most };
        let left_ns = limit_ns.saturating_sub(history.elapsed_ns);
        let more = usize::try_from(left_ns / pace.round_ns.max(1)).unwrap_or(usize::MAX);
        pace.pairs.saturating_add(more).max(self.least(pace)).min(most)
    }

    fn stop(&self, judged: Option<&Judgement>, pace: &Pace, reach: usize) -> Option<StopReason> {
        let judged = judged?;
        let pairs = pace.pairs;
        if judged.settled() && !(self.goal.beyond && is_across(judged)) {
            Some(StopReason::Verdict)
        } else if pairs >= self.most_pairs() {
            Some(StopReason::MaxPairs)
        } else if pairs >= self.least(pace) && self.schedule.hopeless(judged, pairs, reach) {
            Some(StopReason::Hopeless)
        } else {
            None
        }
    }

    /// Time until the look that has the units needed, or until the last one.
    fn remaining_ns(&self, needed: Option<usize>, reach: usize, pace: &Pace) -> Option<u64> {
        let needed = needed.unwrap_or(usize::MAX);
        let look =
            self.schedule.looks().into_iter().find(|&look| look > pace.pairs && look >= needed);
        let until = look.unwrap_or(usize::MAX).min(reach).max(pace.pairs);
        Some(pace.pair_ns * u64::try_from(until - pace.pairs).ok()?)
    }

    /// After the first unit of slow points: how long those take that they get.
    fn slow(&mut self, history: &History, point: usize) -> Option<Decision> {
        let units = PairCounts::of(&history.points[0], &history.points[point], self.a_unit);
        let pace = Pace::of(history, point, units.counted);
        self.goal.time_ns.filter(|_| pace.pairs > 0 && pace.is_slow && !self.told_slow)?;
        self.told_slow = true;
        Some(Decision {
            wanted: Some(self.goal.margin),
            remaining_ns: self.remaining_ns(None, self.reach(history, &pace), &pace),
            ..decision(history, point, None)
        })
    }

    /// A resumed run must not toss the coins of its beginning again: the law of the signs takes each to
    /// be independent. No round takes more coins than it has invocations.
    fn pass_tossed_coins(&mut self, history: &History) {
        let tossed: usize = history
            .points
            .iter()
            .map(|point| point.invocations + point.excluded + point.failures)
            .sum();
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

impl Strategy for UntilVerdict {
    fn next(&mut self, history: &mut History) -> Round {
        if self.looked.iter().all(Option::is_none) {
            self.pass_tossed_coins(history);
        }
        let mut round = Round { ordered: true, ..Round::default() };
        let later: Vec<usize> = history.open().filter(|&point| point > 0).collect();
        for point in later {
            match self.consider(history, point).or_else(|| self.slow(history, point)) {
                Some(decision) if decision.stop.is_some() => {
                    self.found_faster |= decision.stop == Some(StopReason::Verdict)
                        && decision.compared.as_ref().and_then(|compared| compared.verdict)
                            == Some(Word::Faster);
                    close(history, &mut round, decision);
                }
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

/// The most units that a comparison can have: an invocation may lack its partner.
struct PairCounts {
    /// PairCounts that are not excluded.
    counted: usize,
    /// Units, excluded ones included.
    all: usize,
}

impl PairCounts {
    fn of(first: &PointHistory, later: &PointHistory, a_unit: usize) -> Self {
        let (all_first, excluded_first) = first.side.counts();
        let (all_later, excluded_later) = later.side.counts();
        let counted = (all_first - excluded_first).min(all_later - excluded_later);
        Self { counted: counted / a_unit, all: all_first.min(all_later) / a_unit }
    }
}

/// How fast the units of a comparison come.
struct Pace {
    /// PairCounts so far.
    pairs: usize,
    /// Time of a unit of this comparison, in nanoseconds.
    pair_ns: u64,
    /// Time of a round of all points that are open, in nanoseconds.
    round_ns: u64,
    /// Whether an invocation takes over 2 s.
    is_slow: bool,
}

impl Pace {
    fn of(history: &History, point: usize, pairs: usize) -> Self {
        let first = &history.points[0];
        let later = &history.points[point];
        let pair_ns = share_ns(first, pairs) + share_ns(later, pairs);
        let mut round_ns = pair_ns;
        for other in history.open().filter(|&other| other > 0 && other != point) {
            round_ns += share_ns(&history.points[other], pairs);
        }
        let invocation_ns =
            share_ns(first, first.invocations).max(share_ns(later, later.invocations));
        Self { pairs, pair_ns, round_ns, is_slow: invocation_ns > SLOW_NS }
    }
}

/// Whether so many invocations went well without a cost that there will be none: the point does not have the metric here.
fn lacks_metric(history: &PointHistory) -> bool {
    history.invocations >= MOST_WITHOUT_COST && history.side.counts().0 == 0
}

/// The time that a point took so far over so many parts; all of it if there is none yet.
fn share_ns(known: &PointHistory, parts: usize) -> u64 {
    known.spent_ns / u64::try_from(parts.max(1)).unwrap_or(1)
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
