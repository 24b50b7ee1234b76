//! Until the interval is tight enough: METHOD §1.3, mode P.
//!
//! Looks at preset numbers of processes, each at a level of .97, so that the interval at which it stops
//! covers at least 95 %. All open points take part in every round, so that drift hits them alike.

use plumb_model::{Decision, Look, Plan, SampleIs};
use plumb_stats::precision::{
    FIRST_LOOK, FIRST_LOOK_SINGLE, PER_LOOK_LEVEL, clustered_quantile, looks,
};

use super::{Round, Strategy, close, common_stop, decision};
use crate::{History, PointHistory};

/// Processes before the first prediction of the time left.
const FIRST_PREDICTION: usize = 3;

/// Stops a point when the relative half-width of the median's interval is small enough.
#[derive(Debug, Clone)]
pub struct Precision {
    relative: f64,
    budget_ns: Option<u64>,
    points: Vec<PointState>,
}

#[derive(Debug, Clone)]
struct PointState {
    first_look: usize,
    next_look: usize,
}

impl Precision {
    /// For all points of `plan`, to this relative half-width.
    #[must_use]
    pub fn new(plan: &Plan, relative: f64) -> Self {
        let first = |sample_is| match sample_is {
            SampleIs::Process => FIRST_LOOK_SINGLE,
            SampleIs::Iteration => FIRST_LOOK,
        };
        let points = plan
            .points
            .iter()
            .map(|planned| first(planned.description.sample_is))
            .map(|first_look| PointState { first_look, next_look: first_look })
            .collect();
        Self { relative, budget_ns: plan.budget_ns, points }
    }

    /// Looks at the point if it is time to.
    fn consider(&mut self, history: &History, point: usize) -> Option<Decision> {
        let known = &history.points[point];
        let forced = common_stop(history, point, self.budget_ns);
        let due = known.processes.len() >= self.points[point].next_look;
        let predict = known.processes.len() >= FIRST_PREDICTION;
        if forced.is_none() && !due && !predict {
            return None;
        }
        let look = look(known);
        let reached = look.and_then(|look| look.relative_half_width());
        let precise = due && reached.is_some_and(|reached| reached <= self.relative);
        if due {
            self.advance(point, known.processes.len());
        }
        let stop = if precise { Some("precision") } else { forced };
        let remaining_ns = stop.is_none().then(|| self.remaining_ns(point, known)).flatten();
        Some(Decision {
            look,
            wanted: Some(self.relative),
            remaining_ns,
            ..decision(history, point, stop)
        })
    }

    /// The next preset look beyond what is there already.
    fn advance(&mut self, point: usize, have: usize) {
        let state = &mut self.points[point];
        state.next_look = looks(state.first_look).find(|look| *look > have).unwrap_or(usize::MAX);
    }

    /// Time that the point will need still, if its noise stays as it is: the half-width falls with the
    /// root of the number of processes.
    fn remaining_ns(&self, point: usize, known: &PointHistory) -> Option<u64> {
        let have = known.processes.len();
        let rough = rough_half_width(known)?;
        #[expect(clippy::cast_precision_loss, reason = "small counts")]
        let needed = (rough / self.relative).powi(2) * have as f64;
        let stop = looks(self.points[point].first_look).take(200).find(|look| {
            #[expect(clippy::cast_precision_loss, reason = "small counts")]
            let enough = *look as f64 >= needed;
            enough && *look >= self.points[point].next_look
        })?;
        let each_ns = known.spent_ns / u64::try_from(have).ok()?.max(1);
        Some(each_ns * u64::try_from(stop.saturating_sub(have)).ok()?)
    }
}

impl Strategy for Precision {
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
        round
    }
}

/// The interval as a look sees it; None before the first sample.
fn look(known: &PointHistory) -> Option<Look> {
    let clusters = known.clusters();
    let all: Vec<f64> = known.processes.iter().flatten().copied().collect();
    let estimate = plumb_stats::describe::median(&all)?;
    let interval = clustered_quantile(&clusters, 0.5, PER_LOOK_LEVEL).ok();
    Some(Look {
        estimate: interval.map_or(estimate, |interval| interval.estimate),
        low: interval.map(|interval| interval.low),
        high: interval.map(|interval| interval.high),
        level: PER_LOOK_LEVEL,
    })
}

/// The half-width that the processes' medians suggest, also with too few of them for an interval.
fn rough_half_width(known: &PointHistory) -> Option<f64> {
    if let Some(width) = look(known).and_then(|look| look.relative_half_width()) {
        return Some(width);
    }
    let medians: Vec<f64> =
        known.processes.iter().filter_map(|p| plumb_stats::describe::median(p)).collect();
    let center = plumb_stats::describe::median(&medians)?;
    let spread = plumb_stats::describe::variance(&medians)?.sqrt();
    #[expect(clippy::cast_precision_loss, reason = "small counts")]
    let n = medians.len() as f64;
    // 2.7: the normal quantile of the look's level, 2.17, and the median's 1.25 over a mean's.
    Some(2.7 * spread / n.sqrt() / center.abs())
}
