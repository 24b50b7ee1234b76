//! The monitors that read beside a run.

use plumb_engine::MonitorReader;
use plumb_model::{Plan, Readings};
use plumb_monitors::Recorder;

use crate::error::{CommandError, Result};
use crate::locate;

/// The monitors of a plan, opened.
pub fn recorder(plan: &Plan) -> Result<RunMonitors> {
    let wanted = plumb_monitors::wanted(&plan.monitors).map_err(CommandError::usage)?;
    Ok(RunMonitors {
        recorder: Recorder::start(&locate::root(), &wanted),
        only: None,
        reads: false,
    })
}

/// Monitors that read beside all points, or beside one.
pub struct RunMonitors {
    recorder: Recorder,
    /// The only point beside which they read; None: all.
    pub only: Option<usize>,
    reads: bool,
}

impl MonitorReader for RunMonitors {
    fn begin(&mut self, point: usize, worker: Option<u32>) {
        self.reads = self.only.is_none_or(|only| only == point);
        if self.reads {
            self.recorder.begin(worker);
        }
    }

    fn end(&mut self) -> Readings {
        if self.reads { self.recorder.end() } else { Readings::default() }
    }
}
