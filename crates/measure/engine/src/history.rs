//! The state of each point so far: all that a strategy may look at.

use plumb_model::{
    InvocationRecord, Measurement, Outcome, Plan, Role, RunRecord, SampleIs, StopReason,
};
use plumb_stats::describe::median;
use plumb_stats::side_effects::SideOfPairs;

/// The state of all points of a run.
#[derive(Debug, Clone, Default)]
pub struct History {
    /// One entry a planned point, in the plan's order.
    pub points: Vec<PointHistory>,
    /// Time since the run began, in nanoseconds; segments before an interruption count.
    pub elapsed_ns: u64,
}

/// The state of one point.
#[derive(Debug, Clone, Default)]
pub struct PointHistory {
    /// Steady values of the primary metric: a list a process. Where a sample is a process, each list
    /// has one value.
    pub processes: Vec<Vec<f64>>,
    /// The same of the other headline metrics, in their order.
    pub others: Vec<Vec<Vec<f64>>>,
    /// Where points are compared: what this side of the comparison cost in each round, excluded invocations included.
    pub side: SideOfPairs,
    /// Where steady state began in each invocation, as found in its own data.
    pub steady_starts: Vec<usize>,
    /// Invocations that ended well.
    pub invocations: usize,
    /// Invocations that ended well and were excluded.
    pub excluded: usize,
    /// Invocations that ended well while other activity disturbed them, excluded or not.
    pub disturbed: usize,
    /// Invocations that failed.
    pub failures: usize,
    /// Invocations that failed because a result was wrong.
    pub wrong_results: usize,
    /// Failures since the last invocation that ended well.
    pub failures_in_a_row: usize,
    /// Time spent on the point, set-up and failures included, in nanoseconds.
    pub spent_ns: u64,
    /// Time of an invocation outside its samples (spawn, set-up, stop), in nanoseconds; the last one's.
    pub setup_ns: u64,
    /// Iterations of one sample (k), once calibrated.
    pub iterations: Option<u64>,
    /// Fewer iterations make no sample, once known.
    pub least_iterations: Option<u64>,
    /// Length of one sample, in nanoseconds, once known.
    pub sample_ns: Option<u64>,
    /// How many samples there are, if the workload has only so many.
    pub supply: Option<u64>,
    /// Why the point is done; None while it still needs data.
    pub stopped: Option<StopReason>,
}

impl History {
    /// Nothing known of `points` points.
    #[must_use]
    pub fn empty(points: usize) -> Self {
        Self { points: vec![PointHistory::default(); points], elapsed_ns: 0 }
    }

    /// The remains of an interrupted run.
    #[must_use]
    pub fn of(record: &RunRecord) -> Self {
        let mut history = Self::empty(record.plan.points.len());
        for (invocation, follows_itself) in record.turns() {
            let Some(point) = history.points.get_mut(invocation.point) else { continue };
            let rules = invocation.interference.iter().map(|found| found.rule.as_str());
            point.add_turn(invocation.round, rules, follows_itself);
        }
        for invocation in &record.invocations {
            let Some(point) = history.points.get_mut(invocation.point) else { continue };
            let is_wrong = invocation
                .end
                .as_ref()
                .is_some_and(|end| matches!(end.outcome, Outcome::WrongResult(_)));
            // No later segment makes up for it.
            point.wrong_results += usize::from(is_wrong && invocation.role == Role::Workload);
            point.excluded += usize::from(invocation.is_disturbed());
            point.disturbed += usize::from(!invocation.interference.is_empty());
            if !invocation.is_workload_done() {
                continue;
            }
            let measured = invocation.measurement();
            let observation =
                Observation::of(&record.plan, invocation.point, invocation.round, measured);
            point.supply = invocation.ready.supply;
            if invocation.is_disturbed() {
                point.add_excluded(observation.as_ref());
            }
            if invocation.counts_for(invocation.point) {
                if let Some(observation) = observation {
                    point.add(observation);
                }
                // The plan's budget goes by this time, so a resumed run has what the first part left of it.
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

/// The part of a finished invocation that a strategy sees.
#[derive(Debug, Clone, PartialEq)]
pub struct Observation {
    /// Steady values of the primary metric: one list, or a list a sample if a sample is a process.
    pub processes: Vec<Vec<f64>>,
    /// The same of the other headline metrics, in their order.
    pub others: Vec<Vec<Vec<f64>>>,
    /// Where points are compared: its round and its median cost.
    pub cost: Option<(u32, f64)>,
    /// Where steady state began.
    pub steady_start: usize,
    /// The middle of its samples' iterations.
    pub iterations: Option<u64>,
    /// The middle length of its steady samples, in nanoseconds.
    pub sample_ns: Option<u64>,
}

impl Observation {
    /// Of what was measured at a point of a plan, in this round; None of a workload without a metric.
    #[must_use]
    pub fn of(plan: &Plan, point: usize, round: u32, measured: Measurement<'_>) -> Option<Self> {
        let planned = &plan.points[point];
        let mut headlines = planned.description.headlines().map(|metric| {
            let steady = measured.steady(metric).unwrap_or_default();
            match planned.description.sample_is {
                SampleIs::Process => steady.into_iter().map(|value| vec![value]).collect(),
                SampleIs::Iteration => vec![steady],
            }
        });
        let processes = headlines.next()?;
        let others = headlines.collect();
        let compared = plan.comparison().map(|comparison| comparison.metric);
        let costs = compared.and_then(|metric| measured.costs(planned, metric));
        let cost = costs.and_then(|costs| median(&costs)).map(|cost| (round, cost));
        let steady_start = measured.steady_start;
        let lengths_ns = measured.samples.elapsed_ns.get(steady_start..).unwrap_or_default();
        Some(Self {
            processes,
            others,
            cost,
            steady_start,
            iterations: middle(&measured.samples.iterations),
            sample_ns: middle(lengths_ns),
        })
    }
}

impl PointHistory {
    /// Takes in an invocation of this point that ended well.
    pub fn add(&mut self, observation: Observation) {
        self.processes.extend(observation.processes);
        self.others.resize(observation.others.len(), Vec::new());
        for (known, new) in self.others.iter_mut().zip(observation.others) {
            known.extend(new);
        }
        if let Some((round, cost)) = observation.cost {
            self.side.add(round, cost, false);
        }
        self.steady_starts.push(observation.steady_start);
        self.invocations += 1;
        self.failures_in_a_row = 0;
        // Iterations stay as they were calibrated first, or samples would not compare; their length follows the machine.
        self.iterations = self.iterations.or(observation.iterations);
        self.sample_ns = observation.sample_ns.or(self.sample_ns);
    }

    /// Takes note of what disturbed an invocation that ended well, and whether the one before it was of this point, too.
    pub fn add_turn<'r>(
        &mut self,
        round: u32,
        rules: impl Iterator<Item = &'r str>,
        follows_itself: bool,
    ) {
        let mut is_disturbed = false;
        for rule in rules {
            is_disturbed = true;
            self.side.add_rule(round, rule);
        }
        self.side.add_turn(round, is_disturbed, follows_itself);
    }

    /// Keeps what an excluded invocation cost: the exclusion may belong to a side of the comparison.
    pub fn add_excluded(&mut self, observation: Option<&Observation>) {
        if let Some((round, cost)) = observation.and_then(|observation| observation.cost) {
            self.side.add(round, cost, true);
        }
    }

    /// Whether the workload has no more samples.
    #[must_use]
    pub fn supply_is_taken(&self) -> bool {
        self.supply.is_some_and(|supply| self.processes.len() as u64 >= supply)
    }

    /// Whether more than a fifth of it was measured next to other work.
    #[must_use]
    pub fn is_beside(&self) -> bool {
        5 * self.disturbed > self.invocations + self.excluded
    }

    /// Takes note of an invocation that failed.
    pub fn add_failure(&mut self) {
        self.failures += 1;
        self.failures_in_a_row += 1;
    }

    /// Steady samples so far.
    #[must_use]
    pub fn samples(&self) -> usize {
        self.processes.iter().map(Vec::len).sum()
    }

    /// The processes as slices, for the statistics.
    #[must_use]
    pub fn clusters(&self) -> Vec<&[f64]> {
        slices(&self.processes)
    }

    /// The processes of every headline metric that the point has, the first included.
    pub fn headlines(&self) -> impl Iterator<Item = Vec<&[f64]>> {
        // A started point may lack a metric that its workload declares.
        let others = self.others.iter().filter(|all| all.iter().any(|values| !values.is_empty()));
        std::iter::once(&self.processes).chain(others).map(|processes| slices(processes))
    }
}

fn slices(processes: &[Vec<f64>]) -> Vec<&[f64]> {
    processes.iter().map(Vec::as_slice).collect()
}

fn middle(values: &[u64]) -> Option<u64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    sorted.get(sorted.len() / 2).copied()
}

fn length_ns(invocation: &InvocationRecord) -> u64 {
    invocation.usage.iter().map(|usage| usage.wall_ns).sum()
}
