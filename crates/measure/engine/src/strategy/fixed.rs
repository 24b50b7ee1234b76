//! So many invocations and so much time, as cbenchsuite's users ask: "at least 5 times and 10 minutes,
//! at most 60".

use plumb_model::StopReason;

use super::decide::{Round, Strategy, close, common_stop, decision};
use crate::history::History;

/// Stops a point after enough invocations and enough time, or after too much time.
#[derive(Debug, Clone)]
pub struct Fixed {
    /// Fewest invocations; where a sample is a process, fewest samples.
    pub min_invocations: usize,
    /// Shortest time on a point, in nanoseconds.
    pub min_time_ns: u64,
    /// Longest time on a point, in nanoseconds; wins over the other two.
    pub max_time_ns: u64,
    /// Time for the whole run, in nanoseconds.
    pub budget_ns: Option<u64>,
}

impl Strategy for Fixed {
    fn next(&mut self, history: &mut History) -> Round {
        let mut round = Round::default();
        let open: Vec<usize> = history.open().collect();
        for point in open {
            match self.stop(history, point) {
                Some(reason) => {
                    let decision = decision(history, point, Some(reason));
                    close(history, &mut round, decision);
                }
                None => round.points.push(point),
            }
        }
        round
    }
}

impl Fixed {
    fn stop(&self, history: &History, point: usize) -> Option<StopReason> {
        if let Some(reason) = common_stop(history, point, self.budget_ns) {
            return Some(reason);
        }
        let known = &history.points[point];
        let enough =
            known.processes.len() >= self.min_invocations && known.spent_ns >= self.min_time_ns;
        if known.spent_ns >= self.max_time_ns && known.invocations > 0 {
            Some(StopReason::MaxTime)
        } else if enough {
            Some(StopReason::Fixed)
        } else {
            None
        }
    }
}
