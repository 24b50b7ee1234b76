//! Samples and what is known of the invocation that took them.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::flag::Flag;
use crate::search::trials;
use crate::start_up::StartUp;
use crate::workload::{ClockSource, Metric, MetricSource};

/// Samples as columns of equal length, in the order in which they were taken.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Samples {
    /// Start of each sample, on the invocation's clock (CLOCK_MONOTONIC), in nanoseconds.
    pub start_ns: Vec<u64>,
    /// Elapsed time of all iterations of the sample, in nanoseconds.
    pub elapsed_ns: Vec<u64>,
    /// Iterations of each sample (k).
    pub iterations: Vec<u64>,
    /// CPU on which each sample ended; -1 when unknown.
    pub cpu: Vec<i32>,
    /// Reported values: metric → a number a sample.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub values: BTreeMap<String, Vec<f64>>,
    /// Reported distributions: metric → a histogram a sample.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub histograms: BTreeMap<String, Vec<Histogram>>,
}

/// Columns that do not fit together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SamplesError(pub String);

impl fmt::Display for SamplesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for SamplesError {}

impl Samples {
    /// Number of samples.
    #[must_use]
    pub fn len(&self) -> usize {
        self.elapsed_ns.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.elapsed_ns.is_empty()
    }

    /// Checks what every later step relies on: equal lengths, positive times and iterations, finite
    /// values.
    ///
    /// # Errors
    /// The first column or sample that breaks the rule, named.
    pub fn check(&self) -> Result<(), SamplesError> {
        let n = self.len();
        let mut columns = vec![
            ("start_ns", self.start_ns.len()),
            ("iterations", self.iterations.len()),
            ("cpu", self.cpu.len()),
        ];
        columns.extend(self.values.iter().map(|(name, column)| (name.as_str(), column.len())));
        columns.extend(self.histograms.iter().map(|(name, column)| (name.as_str(), column.len())));
        if let Some((name, length)) = columns.into_iter().find(|(_, length)| *length != n) {
            return Err(SamplesError(format!(
                "column `{name}` has {length} entries, `elapsed_ns` has {n}"
            )));
        }
        // Times and iterations are divided by: a 0 would become an infinite rate or time.
        if let Some(i) = self.elapsed_ns.iter().position(|&t| t == 0) {
            return Err(SamplesError(format!(
                "sample {i} took no time: the clock is too coarse or the work was skipped"
            )));
        }
        if let Some(i) = self.iterations.iter().position(|&k| k == 0) {
            return Err(SamplesError(format!("sample {i} has no iterations")));
        }
        match self.values.iter().find(|(_, column)| column.iter().any(|v| !v.is_finite())) {
            Some((name, _)) => {
                Err(SamplesError(format!("metric `{name}` has a value that is not a number")))
            }
            None => Ok(()),
        }
    }

    /// The values of a metric, a number a sample; a limit is one number of all of them. `work` is the work of one
    /// iteration. None when the samples carry no such values.
    #[must_use]
    pub fn metric(&self, metric: &Metric, work: f64) -> Option<Vec<f64>> {
        let per_sample = self.elapsed_ns.iter().zip(&self.iterations);
        #[expect(clippy::cast_precision_loss, reason = "counts and times stay far below 2^53")]
        match metric.source {
            MetricSource::Value => self.values.get(&metric.name).cloned(),
            MetricSource::Time => {
                Some(per_sample.map(|(&t, &k)| t as f64 * 1e-9 / (k as f64 * work)).collect())
            }
            MetricSource::Rate => {
                Some(per_sample.map(|(&t, &k)| k as f64 * work / (t as f64 * 1e-9)).collect())
            }
            MetricSource::Search => {
                let trials = trials(&self.values, &self.elapsed_ns)?;
                Some(vec![metric.search.as_ref()?.limit(&trials)])
            }
        }
    }

    /// Appends another batch of the same invocation.
    ///
    /// # Errors
    /// When the other batch has other metrics.
    pub fn append(&mut self, other: Self) -> Result<(), SamplesError> {
        if self.is_empty() {
            *self = other;
            return Ok(());
        }
        // A column that one batch lacks would give the values of later batches to the wrong samples.
        if !self.values.keys().eq(other.values.keys())
            || !self.histograms.keys().eq(other.histograms.keys())
        {
            return Err(SamplesError(
                "a later batch reports different metrics from the first".into(),
            ));
        }
        self.start_ns.extend(other.start_ns);
        self.elapsed_ns.extend(other.elapsed_ns);
        self.iterations.extend(other.iterations);
        self.cpu.extend(other.cpu);
        for (column, more) in self.values.values_mut().zip(other.values.into_values()) {
            column.extend(more);
        }
        for (column, more) in self.histograms.values_mut().zip(other.histograms.into_values()) {
            column.extend(more);
        }
        Ok(())
    }
}

/// A distribution within one sample.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Histogram {
    /// HdrHistogram's V2 encoding, compressed or not, in base64.
    Hdr(String),
    /// Pairs of value and count, for workloads without a library.
    Sparse(Vec<(u64, u64)>),
}

impl Histogram {
    /// The histogram of these values, in HdrHistogram's encoding of three digits: each is off by less than .1 %.
    #[must_use]
    pub fn of(values: impl IntoIterator<Item = u64>) -> Self {
        Self::Hdr(plumb_hdr::encode(values))
    }

    /// Values with their counts; None for what is not a histogram.
    #[must_use]
    pub fn counts(&self) -> Option<Vec<(u64, u64)>> {
        match self {
            Self::Sparse(pairs) => Some(pairs.clone()),
            Self::Hdr(text) => plumb_hdr::decode(text),
        }
    }
}

/// Where figures of resource use come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum UsageSource {
    /// wait4 on the processes that were measured.
    Wait4,
    /// The worker itself: getrusage of itself and its reaped children, as a delta over the batch.
    #[default]
    #[serde(rename = "self")]
    Own,
    /// The cgroup of the invocation.
    Cgroup,
    /// Another machine's word.
    Remote,
}

/// Resource use over one timed batch: deltas, never whole-life counters.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Usage {
    /// Where it comes from.
    pub source: UsageSource,
    /// Length of the batch, in nanoseconds.
    pub wall_ns: u64,
    /// CPU time in user mode, in nanoseconds.
    pub user_ns: u64,
    /// CPU time in kernel mode, in nanoseconds.
    pub system_ns: u64,
    /// Time that the machine's CPUs idled with I/O under way, summed over CPUs, in nanoseconds
    /// (/proc/stat, whole machine).
    pub iowait_ns: u64,
    /// Page faults served from memory.
    pub minor_faults: u64,
    /// Page faults that needed I/O.
    pub major_faults: u64,
    /// Context switches because the process waited.
    pub voluntary_switches: u64,
    /// Context switches because the scheduler took the CPU away.
    pub involuntary_switches: u64,
    /// Bytes that the process caused to be read from devices, if the kernel reports them.
    pub device_read_bytes: Option<u64>,
    /// Bytes that the process caused to be written to devices, if the kernel reports them.
    pub device_written_bytes: Option<u64>,
}

/// A started workload's reply before the first sample.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Ready {
    /// The clock that its times are read from; None means CLOCK_MONOTONIC in nanoseconds.
    pub clock: Option<ClockSource>,
    /// Metric → work of one iteration (bytes, messages, loads); 1 when not named.
    pub work: BTreeMap<String, f64>,
    /// Names and addresses that other processes need.
    pub endpoints: BTreeMap<String, String>,
    /// Versions of the components that do the work (`ring` → `0.17`, `openssh` → `9.2p1`).
    pub versions: BTreeMap<String, String>,
    /// Remarks for the reader (`method: io_uring, O_DIRECT`).
    pub notes: Vec<String>,
    /// Reasons to distrust that are known before the first sample.
    pub flags: Vec<Flag>,
    /// Bytes that a fixture put on disk.
    pub bytes_on_disk: u64,
    /// What the start of a command loads, if a fixture found that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_up: Option<StartUp>,
    /// Declared metrics that this point does not have; never the first. Empty if it has all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub without: Vec<String>,
    /// Whether a sample is always one iteration, as a pass of a fixed shape is: there is nothing to calibrate.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub fixed_iterations: bool,
    /// The fewest iterations of a sample that is worth taking: several times what is under way at once, because that may end all at
    /// once. None: one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub least_iterations: Option<u64>,
    /// The shortest sample that is worth taking, in nanoseconds: below it, its borders show in its time (a queue that fills, a closing
    /// round trip). None: any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shortest_sample_ns: Option<u64>,
    /// How many samples there are, if no more can be had (one per boot in a journal): at least 1. The engine then takes
    /// all of them in one invocation, each as a process of its own, and stops the point. None if there is no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub supply: Option<u64>,
    /// How long a spread run paused before it started this process, in nanoseconds: 0 if it did not. The engine writes
    /// it, whatever the process says; None in other runs, and in those of versions that did not store it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paused_ns: Option<u64>,
    /// When its samples began, if they began together with those of other machines. The engine writes it, whatever the process says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shared_start: Option<SharedStart>,
}

/// A start that several machines share, on the clock of one of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SharedStart {
    /// When the samples were to begin, on this machine's CLOCK_MONOTONIC, in nanoseconds.
    pub at_ns: u64,
    /// What this clock showed more than the one that all machines are compared with, in nanoseconds.
    pub ahead_ns: i64,
    /// The largest error of `ahead_ns`: half of the fastest round trip, in nanoseconds.
    pub error_ns: u64,
}

/// How an invocation ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct InvocationEnd {
    /// Whether it counts.
    pub outcome: Outcome,
    /// Index of the first steady sample; everything before is warm-up.
    pub steady_start: usize,
    /// The class of the warm-up (`flat`, `warm-up`, `slowdown`, `trend`, `unsteady`), or empty.
    pub warmup: String,
    /// Version of the method that found the two above.
    pub method: u32,
    /// Peak resident memory of the worker itself, in bytes (wait4).
    pub peak_memory_bytes: u64,
    /// The last lines that it wrote to stderr.
    pub log: String,
}

/// Whether an invocation counts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", tag = "outcome", content = "why")]
pub enum Outcome {
    /// Its samples are good.
    Done,
    /// Garbage, silence or early exit; its samples do not count.
    Failed(String),
    /// It computed wrongly. Its samples do not count, and no other invocation makes up for it.
    #[serde(rename = "wrong-result")]
    WrongResult(String),
    /// It can't run here.
    Unsupported {
        /// Why it can't run, in words.
        why: String,
        /// The fix of the problem.
        fix: String,
    },
}

impl Outcome {
    /// Why the invocation failed, if it did.
    #[must_use]
    pub fn failure(&self) -> Option<&str> {
        match self {
            Self::Failed(why) | Self::WrongResult(why) => Some(why),
            Self::Done | Self::Unsupported { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Samples;
    use crate::{Better, Metric, MetricSource};

    fn two() -> Samples {
        Samples {
            start_ns: vec![10, 1_000_010],
            elapsed_ns: vec![1_000_000, 2_000_000],
            iterations: vec![10, 10],
            cpu: vec![0, 0],
            ..Samples::default()
        }
    }

    #[test]
    fn columns_that_do_not_fit_are_refused_by_name() {
        let mut samples = two();
        samples.check().unwrap();
        samples.cpu.pop();
        assert!(samples.check().unwrap_err().to_string().contains("`cpu`"));
        let mut samples = two();
        samples.elapsed_ns[1] = 0;
        assert!(samples.check().unwrap_err().to_string().contains("sample 1 took no time"));
        let mut samples = two();
        samples.values.insert("x".into(), vec![1.0, f64::NAN]);
        assert!(samples.check().is_err());
    }

    #[test]
    fn rates_and_times_follow_from_elapsed_time_and_work() {
        let metric = |source| Metric::new("m", "", Better::Higher, source, "");
        let rate = two().metric(&metric(MetricSource::Rate), 100.0).unwrap();
        assert!((rate[0] - 1e6).abs() < 1e-3 && (rate[1] - 5e5).abs() < 1e-3);
        let time = two().metric(&metric(MetricSource::Time), 1.0).unwrap();
        assert!((time[0] - 1e-4).abs() < 1e-12);
        assert!(two().metric(&metric(MetricSource::Value), 1.0).is_none());
    }

    #[test]
    fn a_batch_with_other_metrics_is_not_appended() {
        let mut samples = two();
        samples.append(two()).unwrap();
        assert_eq!(samples.len(), 4);
        let mut other = two();
        other.values.insert("x".into(), vec![1.0, 1.0]);
        assert!(samples.append(other).is_err());
    }
}
