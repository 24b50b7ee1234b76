//! Readings of monitors next to invocations, and the interference found in them.

use std::collections::BTreeSet;

use plumb_model::{Event, Id, Interference, Readings, Samples};
use plumb_monitors::interference;

use crate::error::EngineError;
use crate::monitor_reader::MonitorReader;
use crate::stream::EventStream;

/// The monitors of a run.
pub struct Monitoring<'r> {
    monitors: &'r mut dyn MonitorReader,
    /// Monitors whose first gap was told.
    told_gaps: BTreeSet<String>,
}

impl<'r> Monitoring<'r> {
    /// A run that these monitors watch; no gap is reported yet.
    pub fn by(monitors: &'r mut dyn MonitorReader) -> Self {
        Self { monitors, told_gaps: BTreeSet::new() }
    }

    /// A process is ready to be measured.
    pub fn begin(&mut self, point: usize, worker: Option<u32>) {
        self.monitors.begin(point, worker);
    }

    /// Its samples are taken: what was read meanwhile.
    pub fn end(&mut self) -> Readings {
        self.monitors.end()
    }

    /// Tells what was read next to an invocation and what that says; a monitor that fails is told once.
    pub fn tell(
        &mut self,
        stream: &mut EventStream<'_>,
        invocation: Id,
        readings: Readings,
        samples: &Samples,
    ) -> Result<Vec<Interference>, EngineError> {
        for gap in &readings.gaps {
            if self.told_gaps.insert(gap.monitor.clone()) {
                stream.log(format!("monitor {} has a gap: {}", gap.monitor, gap.why))?;
            }
        }
        let interference: Vec<_> = interference::find(&readings)
            .iter()
            .map(|found| interference::touched(found, samples))
            .collect();
        if !readings.traces.is_empty() {
            stream.emit(Event::Monitored {
                invocation,
                readings: Box::new(readings),
                interference: interference.clone(),
            })?;
        }
        Ok(interference)
    }
}
