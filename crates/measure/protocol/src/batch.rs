//! Columns of a batch, allocated before the first sample of it is taken.

use std::collections::BTreeMap;
use std::fmt;

use plumb_model::{Flag, Samples};

/// Where the samples of one batch go, and what the workload says that it is doing.
#[derive(Debug)]
pub struct Batch<'p> {
    start_ns: Vec<u64>,
    elapsed_ns: Vec<u64>,
    iterations: Vec<u64>,
    cpu: Vec<i32>,
    names: &'static [&'static str],
    /// Row by row, `names.len()` numbers a sample.
    values: Vec<f64>,
    row: Vec<f64>,
    flags: Vec<Flag>,
    progress: ProgressSink<'p>,
}

/// Takes what a workload says that it is doing; None if nobody asks.
struct ProgressSink<'p>(Option<&'p mut dyn FnMut(&str)>);

impl fmt::Debug for ProgressSink<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ProgressSink({})", if self.0.is_some() { "open" } else { "closed" })
    }
}

impl<'p> Batch<'p> {
    /// Room for `samples` samples that report these values.
    #[must_use]
    pub fn with_room(samples: usize, names: &'static [&'static str]) -> Self {
        Self {
            start_ns: Vec::with_capacity(samples),
            elapsed_ns: Vec::with_capacity(samples),
            iterations: Vec::with_capacity(samples),
            cpu: Vec::with_capacity(samples),
            names,
            values: Vec::with_capacity(samples * names.len()),
            row: vec![0.0; names.len()],
            flags: Vec::new(),
            progress: ProgressSink(None),
        }
    }

    /// The same batch, which passes on to `progress` what the workload says that it is doing.
    #[must_use]
    pub fn with_progress(mut self, progress: &'p mut dyn FnMut(&str)) -> Self {
        self.progress = ProgressSink(Some(progress));
        self
    }

    /// Says what the workload is doing, for people who wait: outside timed sections only. It costs a write to a pipe.
    pub fn progress(&mut self, text: &str) {
        if let Some(progress) = &mut self.progress.0 {
            progress(text);
        }
    }

    /// Adds the reported values of the sample just recorded, which `report` writes in the order of the
    /// names; nothing if there are none.
    pub fn record_reported(&mut self, report: impl FnOnce(&mut [f64])) {
        if !self.names.is_empty() {
            report(&mut self.row);
            self.values.extend_from_slice(&self.row);
        }
    }

    /// Adds a sample that the workload timed itself. Workloads that report values call
    /// [`Batch::record_values`] right after.
    pub fn record(&mut self, start_ns: u64, elapsed_ns: u64, iterations: u64, cpu: i32) {
        self.start_ns.push(start_ns);
        self.elapsed_ns.push(elapsed_ns);
        self.iterations.push(iterations);
        self.cpu.push(cpu);
    }

    /// Adds the reported values of the sample just recorded, in the order of the names.
    pub fn record_values(&mut self, values: &[f64]) {
        self.values.extend_from_slice(values);
    }

    /// Says why the batch deserves distrust; outside timed sections only.
    pub fn flag(&mut self, flag: Flag) {
        self.flags.push(flag);
    }

    /// Iterations so far.
    #[must_use]
    pub fn total_iterations(&self) -> u64 {
        self.iterations.iter().sum()
    }

    /// The columns and flags.
    #[must_use]
    pub fn finish(self) -> (Samples, Vec<Flag>) {
        let width = self.names.len();
        // The values of one sample stand next to each other, so a column is every so many-th of them.
        let mut values = BTreeMap::new();
        for (index, name) in self.names.iter().enumerate() {
            let column = self.values.iter().skip(index).step_by(width.max(1)).copied().collect();
            values.insert((*name).to_owned(), column);
        }
        let samples = Samples {
            start_ns: self.start_ns,
            elapsed_ns: self.elapsed_ns,
            iterations: self.iterations,
            cpu: self.cpu,
            values,
            ..Samples::default()
        };
        (samples, self.flags)
    }
}
