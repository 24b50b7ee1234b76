//! The monitors that read beside a run.

use plumb_engine::MonitorReader;
use plumb_model::{Plan, Readings};
use plumb_monitors::MonitorThreads;

use crate::error::{CommandError, Result};
use crate::locate;

/// The monitors of a plan, opened.
pub fn recorder(plan: &Plan) -> Result<RunMonitors> {
    // Points with the same list share its recorder, whose threads would otherwise read everything twice.
    let mut lists: Vec<&Vec<String>> = vec![&plan.monitors];
    let mut of_points = Vec::new();
    for own in plan.points.iter().map(|point| &point.monitors) {
        let known =
            if own.is_empty() { Some(0) } else { lists.iter().position(|list| *list == own) };
        of_points.push(known.unwrap_or(lists.len()));
        if known.is_none() {
            lists.push(own);
        }
    }
    let mut recorders = Vec::new();
    for words in lists {
        let wanted = plumb_monitors::wanted(words).map_err(CommandError::usage)?;
        recorders.push(MonitorThreads::start(&locate::root(), &wanted));
    }
    Ok(RunMonitors { recorders, of_points, only: None, reads: None })
}

/// Monitors that read beside all points, or beside one.
pub struct RunMonitors {
    /// The plan's monitors, then each list that points have of their own. What does not read waits.
    recorders: Vec<MonitorThreads>,
    /// The recorder of each point.
    of_points: Vec<usize>,
    /// The only point beside which they read; None: all.
    pub only: Option<usize>,
    /// The recorder that reads now.
    reads: Option<usize>,
}

impl MonitorReader for RunMonitors {
    fn begin(&mut self, point: usize, worker: Option<u32>) {
        let is_watched = self.only.is_none_or(|only| only == point);
        self.reads = self.of_points.get(point).copied().filter(|_| is_watched);
        if let Some(reads) = self.reads {
            self.recorders[reads].begin(worker);
        }
    }

    fn end(&mut self) -> Readings {
        self.reads.map_or_else(Readings::default, |reads| self.recorders[reads].end())
    }
}
