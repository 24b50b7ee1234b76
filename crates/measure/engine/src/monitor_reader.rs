//! What is read next to invocations.

use plumb_model::Readings;
use plumb_monitors::MonitorThreads;

/// Reads counters next to invocations: monitors on this machine, made-up ones in tests.
pub trait MonitorReader {
    /// A process is ready to be measured at a point of the plan; its number if it is known.
    fn begin(&mut self, point: usize, worker: Option<u32>);

    /// Its samples are taken: what was read meanwhile.
    fn end(&mut self) -> Readings;
}

impl MonitorReader for MonitorThreads {
    fn begin(&mut self, _: usize, worker: Option<u32>) {
        MonitorThreads::begin(self, worker);
    }

    fn end(&mut self) -> Readings {
        MonitorThreads::end(self)
    }
}

#[cfg(test)]
mod tests {
    use super::MonitorReader;
    use plumb_machine::Root;
    use plumb_monitors::{MonitorThreads, wanted};

    #[test]
    fn a_recorder_reads() {
        let wanted = wanted(&["none".into(), "stat".into()]).unwrap();
        let mut recorder = MonitorThreads::start(&Root::default(), &wanted);
        let monitors: &mut dyn MonitorReader = &mut recorder;
        monitors.begin(0, None);
        assert!(monitors.end().trace("stat.procs_running").is_some());
    }
}
