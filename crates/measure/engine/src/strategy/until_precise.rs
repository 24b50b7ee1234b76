//! Until the rules hold: a precision, minima and maxima (docs/method.md, *Precision*).
//!
//! A wanted precision is looked at after preset numbers of processes, each at a level of .97, so that the
//! interval at which it stops covers at least 95 %. All open points take part in every round, so that drift
//! hits them alike; if the time for the run is too short for all of them, those that still reach their precision
//! in it come first. Minima and maxima do not look at the values.

use plumb_model::{Decision, Look, Plan, PlannedPoint, SampleIs, StopReason, StoppingRules};
use plumb_stats::precision::{
    FIRST_LOOK, FIRST_LOOK_SINGLE, PER_LOOK_LEVEL, clustered, clustered_estimate,
    clustered_quantile, looks,
};

use plumb_stats::Interval;
use plumb_stats::components::components;
use plumb_stats::describe::{median, quantile, variance};
use plumb_stats::distribution::two_sided_z;
use plumb_stats::flicker;

use super::strategy::{Round, Strategy, close, common_stop, decision};
use crate::history::{History, PointHistory};
use crate::sampling;

/// Processes before the first prediction of the time left.
const FIRST_PREDICTION: usize = 3;

/// From so many processes on their middle half says how many more it takes.
const TELLING_PROCESSES: usize = 16;
/// Standard deviations between the quartiles of normal noise.
const QUARTILES_APART: f64 = 1.349;
/// A point ends at the next preset look, which is that much later on average.
const NEXT_LOOK: f64 = 1.1;
/// The level of the interval that predictions take: ends further out are single values.
const PREDICTING_LEVEL: f64 = 0.7;

/// Variance of a median over that of a mean, for normal noise: pi / 2.
const MEDIAN_COST: f64 = std::f64::consts::FRAC_PI_2;

/// The larger side of an interval counts, and with few processes it is wider than its normal limit: as
/// simulated in the tests of the event stream.
const LARGER_SIDE: f64 = 1.6;

const NS_PER_S: f64 = 1e9;

/// So many equal shares of a budget a point may have before others.
const SHARES: u64 = 2;

/// Stops a point when its rules hold.
#[derive(Debug, Clone)]
pub struct UntilRules {
    budget_ns: Option<u64>,
    spread_ns: u64,
    /// Whether every round is of all open points: what is compared is taken side by side.
    side_by_side: bool,
    points: Vec<PointState>,
}

#[derive(Debug, Clone)]
struct PointState {
    rules: StoppingRules,
    first_look: usize,
    next_look: usize,
}

impl PointState {
    fn of(planned: &PlannedPoint, rules: StoppingRules) -> Self {
        // A process that is searched gives one number, too.
        let is_single = planned.description.sample_is == SampleIs::Process
            || planned.description.searched().is_some();
        let first_look = if is_single { FIRST_LOOK_SINGLE } else { FIRST_LOOK };
        Self { rules: planned.rules.unwrap_or(rules), first_look, next_look: first_look }
    }
}

impl UntilRules {
    /// For all points of `plan`, by these rules or their own.
    #[must_use]
    pub fn new(plan: &Plan, rules: StoppingRules) -> Self {
        let points = plan.points.iter().map(|planned| PointState::of(planned, rules)).collect();
        Self {
            budget_ns: plan.budget_ns,
            spread_ns: plan.spread_ns.unwrap_or(0),
            side_by_side: plan.against_first,
            points,
        }
    }

    /// Decides about a point, if it is time to.
    fn consider(&mut self, history: &History, point: usize) -> Option<Decision> {
        let forced =
            common_stop(history, point, self.budget_ns, plumb_stats::exclusion::too_disturbed)
                .or_else(|| maximum(&self.points[point].rules, &history.points[point]));
        match self.points[point].rules.precision {
            Some(relative) => self.look(history, point, relative, forced),
            None => self.count(history, point, forced),
        }
    }

    /// Whether the minima are reached, if no precision is asked for.
    fn count(
        &self,
        history: &History,
        point: usize,
        forced: Option<StopReason>,
    ) -> Option<Decision> {
        let known = &history.points[point];
        let done = known.invocations > 0 && minima_reached(&self.points[point].rules, known);
        let stop = match forced {
            Some(StopReason::Supply) => forced,
            _ if done => Some(StopReason::Fixed),
            forced => forced,
        };
        stop.map(|_| decision(history, point, stop))
    }

    /// Looks at the precision, if it is time to.
    fn look(
        &mut self,
        history: &History,
        point: usize,
        relative: f64,
        forced: Option<StopReason>,
    ) -> Option<Decision> {
        let known = &history.points[point];
        let due = known.processes.len() >= self.points[point].next_look;
        let predict = known.processes.len() >= FIRST_PREDICTION;
        if forced.is_none() && !due && !predict {
            return None;
        }
        let look = look(&known.clusters());
        // The level of .97 pays for preset looks alone: stopping at any other would lower the coverage.
        let precise = due && known.headlines().all(|metric| is_precise(&metric, relative));
        if due {
            self.advance(point, known.processes.len());
        }
        let spread = history.elapsed_ns >= self.spread_ns;
        let rules = &self.points[point].rules;
        let (least_s, most_s) = flicker::default_length_s(known.is_beside());
        let is_default = rules.describe_machine;
        let long = !is_default || seconds(session_ns(history)) >= least_s;
        let done = precise && spread && long && minima_reached(rules, known);
        // A run that is spread over a time takes all of it.
        let may_end = is_default && spread;
        let over = may_end && most_s.is_some_and(|most_s| seconds(known.spent_ns) >= most_s);
        let stop = match forced {
            // All samples were taken at once, so precision did not end it.
            Some(StopReason::Supply) => forced,
            _ if done => Some(StopReason::Precision),
            None if over => Some(StopReason::Budget),
            forced => forced,
        };
        // Of a point that the budget ends, it says what a longer run would take.
        let open = matches!(stop, None | Some(StopReason::Budget));
        let remaining_ns = open.then(|| self.remaining_ns(point, relative, known));
        let spread_ns = self.spread_ns.saturating_sub(history.elapsed_ns);
        Some(Decision {
            look,
            wanted: Some(relative),
            remaining_ns: remaining_ns.flatten().map(|ns| ns.max(spread_ns)),
            ..decision(history, point, stop)
        })
    }

    /// Of these points, those that the rest of the time is spent on. Without a precision, before its first look and
    /// if there is no prediction, a point always takes part. Of the others those that need least come first, as many
    /// as get done, but none that had its share of the time: predictions are often wrong of those. If none is left,
    /// all take part.
    fn worth_while(&self, history: &History, points: Vec<usize>, open: &[Decision]) -> Vec<usize> {
        let Some(budget_ns) = self.budget_ns.filter(|_| !self.side_by_side) else { return points };
        let waits = |point: usize| {
            let looked = history.points[point].processes.len() >= self.points[point].first_look;
            let decision = open.iter().find(|open| open.point == point).filter(|_| looked);
            decision.and_then(|decision| decision.remaining_ns)
        };
        let share_ns = SHARES * budget_ns / u64::try_from(self.points.len()).unwrap_or(1).max(1);
        let mut left_ns = budget_ns.saturating_sub(history.elapsed_ns);
        let (mut may_wait, mut chosen): (Vec<usize>, Vec<usize>) =
            points.iter().partition(|point| waits(**point).is_some());
        may_wait.retain(|point| history.points[*point].spent_ns < share_ns);
        may_wait.sort_by_key(|point| waits(*point));
        for point in may_wait {
            let needed_ns = waits(point).unwrap_or(0);
            if needed_ns > left_ns {
                break;
            }
            left_ns -= needed_ns;
            chosen.push(point);
        }
        if chosen.is_empty() { points } else { chosen }
    }

    /// The next preset look beyond what is there already.
    fn advance(&mut self, point: usize, have: usize) {
        let state = &mut self.points[point];
        // One invocation can bring several processes and jump over a look.
        state.next_look = looks(state.first_look).find(|look| *look > have).unwrap_or(usize::MAX);
    }

    /// Time that the point will need still, if its noise stays as it is.
    fn remaining_ns(&self, point: usize, relative: f64, known: &PointHistory) -> Option<u64> {
        let have = known.processes.len();
        let state = &self.points[point];
        #[expect(clippy::cast_precision_loss, reason = "small counts")]
        let needed = processes_needed(known, relative)?.max(state.rules.min_invocations as f64);
        #[expect(clippy::cast_precision_loss, reason = "small counts")]
        let last_look = looks(state.first_look)
            // Looks grow by a quarter: 200 of them are beyond any run, and the series itself has no end.
            .take(200)
            .find(|look| *look as f64 >= needed && *look >= state.next_look)?;
        let last = last_look.min(state.rules.max_invocations.unwrap_or(usize::MAX));
        let each_ns = known.spent_ns / u64::try_from(have).ok()?.max(1);
        let remaining_ns = each_ns * u64::try_from(last.saturating_sub(have)).ok()?;
        let at_least_ns = state.rules.min_time_ns.saturating_sub(known.spent_ns);
        let at_most_ns = state.rules.max_time_ns.unwrap_or(u64::MAX).saturating_sub(known.spent_ns);
        let remaining_ns = match state.rules.describe_machine {
            true => by_default_ns(remaining_ns, known),
            false => remaining_ns,
        };
        // The maximum last: it ends a point whatever else is asked for.
        Some(remaining_ns.max(at_least_ns).min(at_most_ns))
    }
}

impl Strategy for UntilRules {
    fn next(&mut self, history: &mut History) -> Round {
        let mut round = Round::default();
        let open: Vec<usize> = history.open().collect();
        for point in open {
            match self.consider(history, point) {
                Some(decision) if decision.stop.is_some() => close(history, &mut round, decision),
                Some(decision) => {
                    round.decisions.push(decision);
                    round.points.push(point);
                }
                None => round.points.push(point),
            }
        }
        round.points = self.worth_while(history, round.points, &round.decisions);
        round
    }
}

/// The time since the first invocation began, in nanoseconds, without preparations and pauses.
fn session_ns(history: &History) -> u64 {
    history.points.iter().map(|point| point.spent_ns).sum()
}

#[expect(clippy::cast_precision_loss, reason = "times stay far below 2^53 ns")]
fn seconds(ns: u64) -> f64 {
    ns as f64 / NS_PER_S
}

/// The rest of a session of default length that needs so much more for its precision.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a few seconds")]
fn by_default_ns(remaining_ns: u64, known: &PointHistory) -> u64 {
    let (least_s, most_s) = flicker::default_length_s(known.is_beside());
    let least_ns = (least_s * NS_PER_S) as u64;
    let most_ns = most_s.map_or(u64::MAX, |most_s| (most_s * NS_PER_S) as u64);
    let needed_ns = known.spent_ns.saturating_add(remaining_ns);
    needed_ns.clamp(least_ns, most_ns).saturating_sub(known.spent_ns)
}

fn minima_reached(rules: &StoppingRules, known: &PointHistory) -> bool {
    rules.minima_reached(known.processes.len(), known.spent_ns)
}

/// The maximum that ends a point, whatever was reached; there is always one invocation.
fn maximum(rules: &StoppingRules, known: &PointHistory) -> Option<StopReason> {
    let invocations = known.processes.len();
    if invocations == 0 {
        None
    } else if rules.max_invocations.is_some_and(|most| invocations >= most) {
        Some(StopReason::MaxInvocations)
    } else if rules.max_time_ns.is_some_and(|most| known.spent_ns >= most) {
        Some(StopReason::MaxTime)
    } else {
        None
    }
}

/// Whether the interval is narrow enough, and knows for how long the noise remembers.
fn is_precise(processes: &[&[f64]], relative: f64) -> bool {
    let found = clustered(processes, 0.5, PER_LOOK_LEVEL);
    found.is_ok_and(|found| found.resolved && found.interval.relative_half_width() <= relative)
}

/// The interval as a look sees it; None before the first sample.
fn look(clusters: &[&[f64]]) -> Option<Look> {
    let estimate = clustered_estimate(clusters, 0.5)?;
    let interval = clustered_quantile(clusters, 0.5, PER_LOOK_LEVEL).ok();
    Some(Look {
        estimate: interval.map_or(estimate, |interval| interval.estimate),
        low: interval.map(|interval| interval.low),
        high: interval.map(|interval| interval.high),
        level: PER_LOOK_LEVEL,
    })
}

/// Processes that the wanted half-width takes, for the headline metric that takes most.
fn processes_needed(known: &PointHistory, relative: f64) -> Option<f64> {
    let needed = known.headlines().map(|metric| metric_needs(known, &metric, relative));
    needed.collect::<Option<Vec<f64>>>()?.into_iter().reduce(f64::max)
}

/// Processes that the wanted half-width takes, which narrows with their square root. Few processes have no quartiles
/// worth the name: then it is by the variances within and between them.
fn metric_needs(known: &PointHistory, processes: &[&[f64]], relative: f64) -> Option<f64> {
    if processes.len() >= TELLING_PROCESSES {
        return by_spread(processes, relative);
    }
    let logs: Vec<Vec<f64>> = processes.iter().map(|p| logs(p)).collect();
    let clusters: Vec<&[f64]> = logs.iter().map(Vec::as_slice).collect();
    let variance = match components(&clusters) {
        #[expect(clippy::cast_precision_loss, reason = "small counts")]
        Ok(found) => {
            let samples = sampling::samples_after_pilot(known, known.sample_ns?.max(1)) as f64;
            found.between + MEDIAN_COST * found.within / samples
        }
        // A process a sample: there is nothing within.
        Err(_) => MEDIAN_COST * variance(&logs.concat())?,
    };
    let quantile = two_sided_z(PER_LOOK_LEVEL) / relative;
    Some(LARGER_SIDE * quantile * quantile * variance)
}

/// By the middle half of the processes, whatever the noise beyond; and if neighbours are alike, by what the interval
/// says: the middle half takes them for independent.
#[expect(clippy::cast_precision_loss, reason = "small counts")]
fn by_spread(processes: &[&[f64]], relative: f64) -> Option<f64> {
    let look = two_sided_z(PER_LOOK_LEVEL);
    let medians: Vec<f64> = processes.iter().filter_map(|values| median(values)).collect();
    let levels = logs(&medians);
    let deviation = (quantile(&levels, 0.75)? - quantile(&levels, 0.25)?) / QUARTILES_APART;
    let independent = NEXT_LOOK * MEDIAN_COST * (deviation * look / relative).powi(2);
    let found = clustered(processes, 0.5, PREDICTING_LEVEL).ok();
    let Some(found) = found.filter(|found| found.stretch > 1) else { return Some(independent) };
    let Interval { estimate, low, high } = found.interval;
    let half = 0.5 * (high - low) / estimate.abs() * look / two_sided_z(PREDICTING_LEVEL);
    Some(processes.len() as f64 * (half / relative).powi(2)).filter(|count| count.is_finite())
}

fn logs(values: &[f64]) -> Vec<f64> {
    values.iter().map(|value| value.abs().ln()).collect()
}
