//! The monitors that read beside a run.

use plumb_engine::MonitorReader;
use plumb_model::{Plan, PlannedPoint, Readings};
use plumb_monitors::Recorder;

use crate::error::{CommandError, Result};
use crate::locate;

/// The monitors of a plan, opened.
pub fn recorder(plan: &Plan) -> Result<RunMonitors> {
    let own = plan.points.iter().map(|point| &point.monitors).filter(|own| !own.is_empty());
    let mut lists: Vec<&Vec<String>> = vec![&plan.monitors];
    own.for_each(|own| {
        if !lists.contains(&own) {
            lists.push(own)
        }
    });
    let of_list = |words: &&Vec<String>| {
        let wanted = plumb_monitors::wanted(words).map_err(CommandError::usage)?;
        Ok(Recorder::start(&locate::root(), &wanted))
    };
    let recorders = lists.iter().map(of_list).collect::<Result<_>>()?;
    let of_point = |point: &PlannedPoint| lists.iter().position(|own| **own == point.monitors);
    let of_points = plan.points.iter().map(|point| of_point(point).unwrap_or(0)).collect();
    Ok(RunMonitors { recorders, of_points, only: None, reads: None })
}

/// Monitors that read beside all points, or beside one.
pub struct RunMonitors {
    /// The plan's monitors, then each list that points have of their own. What does not read waits.
    recorders: Vec<Recorder>,
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
