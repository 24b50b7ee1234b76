//! Until the time is over, and never because of what was seen: docs/method.md, *Pairs*, open-ended sampling.
//!
//! A run of hours is looked at while it goes on, and often ended by hand once it looks right. So what it
//! tells meanwhile is an interval that covers at all times at once, of the processes' log medians.

use plumb_model::{Decision, Look, StopReason};
use plumb_stats::describe::median;
use plumb_stats::precision::CONFIDENCE;
use plumb_stats::sequence::anytime_interval;

use super::strategy::{Round, Strategy, close, common_stop, decision};
use crate::history::History;

/// Invokes every point once a round until the time is over.
#[derive(Debug, Clone)]
pub struct Soak {
    length_ns: u64,
    /// The log median of every process of each point, as far as they have been read.
    logs: Vec<Vec<f64>>,
}

impl Soak {
    /// Of so many points, for so long.
    #[must_use]
    pub fn new(points: usize, length_ns: u64) -> Self {
        Self { length_ns, logs: vec![Vec::new(); points] }
    }

    fn consider(&mut self, history: &History, point: usize) -> Decision {
        let stop = match common_stop(
            history,
            point,
            Some(self.length_ns),
            plumb_stats::exclusion::too_disturbed,
        ) {
            Some(StopReason::Budget) => Some(StopReason::Time),
            other => other,
        };
        let left_ns = self.length_ns.saturating_sub(history.elapsed_ns);
        Decision {
            look: self.look(history, point),
            remaining_ns: stop.is_none().then_some(left_ns),
            ..decision(history, point, stop)
        }
    }

    /// The interval of the geometric mean of the processes' medians; None before there is one.
    fn look(&mut self, history: &History, point: usize) -> Option<Look> {
        let logs = &mut self.logs[point];
        let fresh = history.points[point].processes.iter().skip(logs.len());
        // One entry for every process, also for one without values: their number says which have been read.
        logs.extend(fresh.map(|values| median(values).map_or(f64::NAN, f64::ln)));
        let interval = anytime_interval(logs, CONFIDENCE).ok()?.map(f64::exp);
        Some(Look {
            estimate: interval.estimate,
            low: Some(interval.low),
            high: Some(interval.high),
            // Over all looks together.
            level: CONFIDENCE,
        })
    }
}

impl Strategy for Soak {
    fn next(&mut self, history: &mut History) -> Round {
        let mut round = Round::default();
        let open: Vec<usize> = history.open().collect();
        for point in open {
            let decision = self.consider(history, point);
            if decision.stop.is_some() {
                close(history, &mut round, decision);
            } else {
                round.points.push(point);
                // Before the first sample there is nothing to tell.
                round.decisions.extend((decision.invocations > 0).then_some(decision));
            }
        }
        round
    }
}
