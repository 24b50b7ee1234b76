//! What is known of each point so far: all that a strategy may look at.

use plumb_model::{InvocationRecord, Plan, RunRecord, SampleIs, StopReason};
use plumb_stats::describe::median;

/// What is known of all points of a run.
#[derive(Debug, Clone, Default)]
pub struct History {
    /// One entry a planned point, in the plan's order.
    pub points: Vec<PointHistory>,
    /// Time since the run began, in nanoseconds; segments before an interruption count.
    pub elapsed_ns: u64,
}

/// What is known of one point.
#[derive(Debug, Clone, Default)]
pub struct PointHistory {
    /// Steady values of the primary metric: a list a process. Where a sample is a process, each list
    /// has one value.
    pub processes: Vec<Vec<f64>>,
    /// Where points are compared: the round of each invocation and its median cost.
    pub costs: Vec<(u32, f64)>,
    /// Where steady state began in each invocation, as found in its own data.
    pub steady_starts: Vec<usize>,
    /// Invocations that ended well.
    pub invocations: usize,
    /// Invocations that ended well and were excluded.
    pub excluded: usize,
    /// Invocations that failed.
    pub failures: usize,
    /// Failures since the last invocation that ended well.
    pub failures_in_a_row: usize,
    /// Time spent on the point, set-up and failures included, in nanoseconds.
    pub spent_ns: u64,
    /// Time of an invocation outside its samples (spawn, set-up, stop), in nanoseconds; the last one's.
    pub setup_ns: u64,
    /// Iterations of one sample (k), once calibrated.
    pub iterations: Option<u64>,
    /// Length of one sample, in nanoseconds, once known.
    pub sample_ns: Option<u64>,
    /// Why the point is done; None while it still needs data.
    pub stopped: Option<StopReason>,
}

impl History {
    /// Nothing known of `points` points.
    #[must_use]
    pub fn empty(points: usize) -> Self {
        Self { points: vec![PointHistory::default(); points], elapsed_ns: 0 }
    }

    /// What an interrupted run left behind.
    #[must_use]
    pub fn of(record: &RunRecord) -> Self {
        let mut history = Self::empty(record.plan.points.len());
        for invocation in &record.invocations {
            let Some(point) = history.points.get_mut(invocation.point) else { continue };
            point.excluded += usize::from(invocation.excluded_by.is_some());
            if invocation.counts_for(invocation.point) {
                point.add(&record.plan, invocation);
                point.spent_ns += length_ns(invocation);
            }
        }
        history
    }

    /// The points that still need data.
    pub fn open(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.points.len()).filter(|&i| self.points[i].stopped.is_none())
    }
}

impl PointHistory {
    /// Takes in an invocation of this point that ended well.
    pub fn add(&mut self, plan: &Plan, invocation: &InvocationRecord) {
        let planned = &plan.points[invocation.point];
        let Some(metric) = planned.description.primary() else { return };
        let steady = invocation.steady(metric).unwrap_or_default();
        match planned.description.sample_is {
            SampleIs::Process => self.processes.extend(steady.iter().map(|value| vec![*value])),
            SampleIs::Iteration => self.processes.push(steady),
        }
        let compared = plan.comparison().map(|comparison| comparison.metric);
        let costs = compared.and_then(|metric| invocation.costs(planned, metric));
        let cost = costs.and_then(|costs| median(&costs));
        self.costs.extend(cost.map(|cost| (invocation.round, cost)));
        self.steady_starts.push(invocation.steady_start());
        self.invocations += 1;
        self.failures_in_a_row = 0;
        self.learn_length(invocation);
    }

    /// Steady samples so far.
    #[must_use]
    pub fn samples(&self) -> usize {
        self.processes.iter().map(Vec::len).sum()
    }

    /// The processes as slices, for the statistics.
    #[must_use]
    pub fn clusters(&self) -> Vec<&[f64]> {
        self.processes.iter().map(Vec::as_slice).collect()
    }

    fn learn_length(&mut self, invocation: &InvocationRecord) {
        let samples = &invocation.samples;
        self.iterations = self.iterations.or_else(|| middle(&samples.iterations));
        let start = invocation.steady_start();
        self.sample_ns =
            middle(samples.elapsed_ns.get(start..).unwrap_or_default()).or(self.sample_ns);
    }
}

fn middle(values: &[u64]) -> Option<u64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    sorted.get(sorted.len() / 2).copied()
}

fn length_ns(invocation: &InvocationRecord) -> u64 {
    invocation.usage.iter().map(|usage| usage.wall_ns).sum()
}
