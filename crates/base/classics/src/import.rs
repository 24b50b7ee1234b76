//! A file's results, in plumb's terms.

use std::collections::BTreeMap;

use plumb_model::{Better, Flag, Metric, MetricSource, SampleIs, Usage};

use crate::Format;

/// One carrying-out of a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct Import {
    /// The tool that wrote it.
    pub format: Format,
    /// The tool's version, if the file gives it.
    pub version: Option<String>,
    /// When it was measured, in nanoseconds since 1970 (UTC), if the file gives it.
    pub started_unix_ns: Option<i64>,
    /// The file's facts of the machine.
    pub machine: BTreeMap<String, String>,
    /// The measured series.
    pub series: Vec<ImportedSeries>,
    /// Results that the tool could not report, by workload, with the reason and a fix.
    pub missing: Vec<(ImportedSeries, String, String)>,
}

/// One test of a tool with its settings.
#[derive(Debug, Clone, PartialEq)]
pub struct ImportedSeries {
    /// Its id: `fio.randread`.
    pub workload: String,
    /// One line on what it is.
    pub summary: String,
    /// The settings that the file gives, in its words.
    pub settings: Vec<(String, String)>,
    /// The title for people, if the file has a name.
    pub title: Option<String>,
    /// The measured metrics; the first is the primary one.
    pub metrics: Vec<Metric>,
    /// Whether a sample is a process.
    pub sample_is: SampleIs,
    /// A process of the tool each.
    pub invocations: Vec<ImportedInvocation>,
    /// Remarks for the reader.
    pub notes: Vec<String>,
    /// The workload of plumb that it is the same as, by [`COUNTING`](crate::COUNTING).
    pub ours: Option<Ours>,
}

/// A workload of plumb that a test is the same as.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ours {
    /// Id of plumb's workload.
    pub workload: &'static str,
    /// Its parameters with the values that the tool used.
    pub settings: Vec<(&'static str, String)>,
}

/// The output of one process of the tool.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ImportedInvocation {
    /// Length of each sample, in nanoseconds.
    pub elapsed_ns: Vec<u64>,
    /// Operations in each sample.
    pub iterations: u64,
    /// Work of one operation, by metric of plumb's workload.
    pub work: BTreeMap<String, f64>,
    /// Metric → a value a sample, in SI base units.
    pub values: BTreeMap<String, Vec<f64>>,
    /// Resource use, if the file gives it.
    pub usage: Usage,
    /// Reasons to distrust it.
    pub flags: Vec<Flag>,
    /// The failure, if the tool reports one.
    pub failed: Option<String>,
}

impl ImportedSeries {
    /// A test without metrics yet.
    pub(crate) fn new(workload: impl Into<String>, summary: &str) -> Self {
        Self {
            workload: workload.into(),
            summary: summary.to_owned(),
            settings: Vec::new(),
            title: None,
            metrics: Vec::new(),
            sample_is: SampleIs::Iteration,
            invocations: Vec::new(),
            notes: Vec::new(),
            ours: None,
        }
    }

    /// Adds a setting, unless it is empty.
    pub(crate) fn set(&mut self, name: &str, value: impl Into<String>) {
        let value = value.into();
        if !value.is_empty() {
            self.settings.push((name.to_owned(), value));
        }
    }

    /// Names a metric that an invocation without figures would have had.
    pub(crate) fn declare(&mut self, (name, unit, better): (&str, &str, Better), summary: &str) {
        if self.metrics.iter().all(|metric| metric.name != name) {
            self.metrics.push(Metric::new(name, unit, better, MetricSource::Value, summary));
        }
    }

    /// Adds a process that failed, without figures.
    pub(crate) fn fail(&mut self, why: impl Into<String>) {
        let failed = Some(why.into());
        self.invocations.push(ImportedInvocation { failed, ..ImportedInvocation::default() });
    }

    /// Whether both are the same test.
    pub(crate) fn is_same_test(&self, other: &Self) -> bool {
        self.workload == other.workload && self.settings == other.settings
    }

    /// Adds a metric and its values, unless it has none.
    pub(crate) fn measured(
        &mut self,
        (name, unit, better): (&str, &str, Better),
        summary: &str,
        values: impl IntoIterator<Item = f64>,
    ) {
        let values: Vec<f64> = values.into_iter().collect();
        let Some(invocation) = self.invocations.last_mut() else { return };
        if values.is_empty() || values.len() != invocation.elapsed_ns.len() {
            return;
        }
        invocation.values.insert(name.to_owned(), values);
        self.declare((name, unit, better), summary);
    }

    /// Shows a metric next to the first one, in every scorecard.
    pub(crate) fn show_always(&mut self, name: &str) {
        for metric in self.metrics.iter_mut().filter(|metric| metric.name == name) {
            metric.headline = true;
        }
    }
}

impl ImportedInvocation {
    /// One sample of this length and number of operations.
    pub(crate) fn lasting(seconds: f64, iterations: u64) -> Self {
        let elapsed_ns = vec![crate::numbers::nanoseconds(seconds)];
        Self { elapsed_ns, iterations: iterations.max(1), ..Self::default() }
    }
}

impl Import {
    /// Nothing but the format yet.
    pub(crate) fn new(format: Format) -> Self {
        Self {
            format,
            version: None,
            started_unix_ns: None,
            machine: BTreeMap::new(),
            series: Vec::new(),
            missing: Vec::new(),
        }
    }

    /// Adds a test; one with the same settings gets more processes.
    pub(crate) fn add(&mut self, series: ImportedSeries) {
        let Some(known) = self.series.iter_mut().find(|known| known.is_same_test(&series)) else {
            self.series.push(series);
            return;
        };
        // A figure that one process lacks, another may have; the first metric of the fuller one is the headline.
        let is_fuller = series.metrics.len() > known.metrics.len();
        let rest = if is_fuller {
            std::mem::replace(&mut known.metrics, series.metrics)
        } else {
            series.metrics
        };
        for metric in rest {
            if known.metrics.iter().all(|other| other.name != metric.name) {
                known.metrics.push(metric);
            }
        }
        for note in series.notes {
            if !known.notes.contains(&note) {
                known.notes.push(note);
            }
        }
        known.invocations.extend(series.invocations);
    }
}

/// Said if a file has rates and no times.
pub(crate) const BY_RATE: &str =
    "the file has rates but no times: a sample's time is its operations divided by the rate";

impl ImportedInvocation {
    /// One sample of so many operations, whose length follows from the rate; of a second if nothing was done.
    pub(crate) fn by_rate(rate: f64, operations: f64) -> Self {
        if rate <= 0.0 {
            return Self::lasting(1.0, 1);
        }
        Self::lasting(operations / rate, crate::numbers::count(operations))
    }
}
