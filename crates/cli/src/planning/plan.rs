//! From points, goal and preparations to a plan.

use std::collections::BTreeMap;
use std::path::Path;

use plumb_model::{
    Companion, ENERGY_KNOB, Expectation, Goal, OnInterference, Plan, PlannedPoint, Preparation,
    StoppingRules,
};
use plumb_stats::precision::DEFAULT_PRECISION;
use plumb_suite::{Suite, checked, label, time_ns};

use crate::error::Result;
use crate::planning::arguments::{ExecutionArgs, GoalArgs};
use crate::planning::monitors::monitors;
use crate::planning::other_machines::{companion_at, each_address, refuse_flood, with_far_end};
use crate::planning::points::{NamedPoints, measures_clock};
use crate::planning::prepare::Prepare;
use crate::planning::several_suites;

/// Time for each point when neither the user nor a suite states a budget, in nanoseconds.
const POINT_BUDGET_NS: u64 = 60_000_000_000;
/// The interval of a ceiling may be so many times as wide as that of a result. The interval of the share contains both.
const CEILING_PRECISION: f64 = 2.0;

/// What a command wants measured, besides the options that all commands share that measure. Commands add to it; the plan
/// that [`plan`] makes of it is complete and does not change.
#[derive(Debug)]
pub struct PlanRequest {
    /// The points, in the order in which results are shown.
    pub points: Vec<PlannedPoint>,
    /// When a point is done.
    pub goal: Goal,
    /// What is prepared.
    pub prepare: Prepare,
    /// What runs in the background; points name theirs by index.
    pub companions: Vec<Companion>,
    /// Time for the whole run, in nanoseconds; None: what `--budget` says.
    pub budget_ns: Option<u64>,
    /// The least time over which rounds are spread, in nanoseconds.
    pub spread_ns: Option<u64>,
    /// The seed of every random choice; None: what `--seed` says, or the clock.
    pub seed: Option<u64>,
    /// The name of the suite, if the run is of one.
    pub suite: Option<String>,
    /// The labels of suites; those of `--label` win.
    pub suite_labels: BTreeMap<String, String>,
    /// Labels that the command itself gives; they win over all others.
    pub labels: BTreeMap<String, String>,
    /// The monitors of the suite, if `--monitor` names none.
    pub monitors: Vec<String>,
    /// Whether all points are compared with the first.
    pub against_first: bool,
    /// The results that suites and the user expect.
    pub expectations: Vec<Expectation>,
    /// What is done with disturbed invocations if `--on-interference` does not say.
    pub on_interference: OnInterference,
}

impl PlanRequest {
    /// These points until the goal is reached, on a machine that is prepared so; with nothing else.
    pub fn new(points: Vec<PlannedPoint>, goal: Goal, prepare: Prepare) -> Self {
        // An interval that decides a comparison must not contain what a neighbour did to one side.
        let on_interference = match goal {
            Goal::Verdict(_) | Goal::Health(_) => OnInterference::Retry,
            Goal::Rules(_) | Goal::Soak => OnInterference::Keep,
        };
        Self {
            points,
            goal,
            prepare,
            companions: Vec::new(),
            budget_ns: None,
            spread_ns: None,
            seed: None,
            suite: None,
            suite_labels: BTreeMap::new(),
            labels: BTreeMap::new(),
            monitors: Vec::new(),
            against_first: false,
            expectations: Vec::new(),
            on_interference,
        }
    }

    /// The request with so many invocations of every point, whatever precision they reach. Only a typed budget ends them earlier.
    pub fn with_invocations(mut self, count: usize, args: &GoalArgs) -> Self {
        if args.execution.budget.is_none() {
            self.budget_ns = None;
        }
        for planned in &mut self.points {
            planned.rules = None;
        }
        self.goal = Goal::Rules(StoppingRules {
            max_invocations: Some(count),
            ..StoppingRules::fixed(count)
        });
        self
    }

    /// The points that names stand for, with what their suites say of them; `companions` run beside all of them. A soak
    /// goes on for `soak_ns`, whatever the rules are.
    ///
    /// # Errors
    /// When rules are none or contradict each other, or suites do not fit into one run.
    pub fn of_named(
        mut named: NamedPoints,
        companions: Vec<Companion>,
        args: &GoalArgs,
        prepare: Prepare,
        soak_ns: Option<u64>,
    ) -> Result<Self> {
        named.points = each_address(named.points)?;
        let (goal, budget_ns) = if soak_ns.is_some() {
            (Goal::Soak, soak_ns)
        } else {
            let (rules, budget_ns) = goal(args, &mut named)?;
            (Goal::Rules(rules), budget_ns)
        };
        let suite_labels = several_suites::labels(&named.suites, &args.execution.labels)?;
        let against_first = several_suites::against_first(&named.suites)?;
        let run_wide = named.run_wide();
        let monitors = run_wide.map(|suite| suite.monitors.clone()).unwrap_or_default();
        // A run of several suites is a run of none of them: it is not compared with earlier runs of the first.
        let suite = match named.suites.as_slice() {
            [suite] => Some(suite.name.clone()),
            _ => None,
        };
        Ok(Self {
            // Points name theirs by their indices, so that these come first.
            companions: named.beside.into_iter().chain(companions).collect(),
            budget_ns,
            suite,
            suite_labels,
            monitors,
            against_first,
            ..Self::new(named.points, goal, prepare)
        })
    }
}

/// A sample under a quota of CPU time lasts ten of its periods at least: within one, a process first runs at full speed, and
/// then not at all.
const QUOTA_SAMPLE_NS: u64 = 1_000_000_000;

fn has_quota(knobs: &[Preparation]) -> bool {
    knobs.iter().any(|preparation| preparation.knob.starts_with("cpu-quota"))
}

/// The plan: the request with the options that every measuring command takes, in this target directory.
///
/// # Errors
/// When an option names what is not there, or the plan would send others more than it may.
pub fn plan(request: PlanRequest, args: &ExecutionArgs, dir: &Path) -> Result<Plan> {
    let typed_monitors = monitors("--monitor", args.monitors.clone())?;
    let mut points = match &args.to {
        Some(far_end) => with_far_end(request.points, far_end)?,
        None => request.points,
    };
    let is_limited = has_quota(&request.prepare.knobs);
    for point in points.iter_mut().filter(|point| is_limited || has_quota(&point.preparation)) {
        // Whoever asks for half a second or more has thought of the periods.
        if point.sample_ns < Some(QUOTA_SAMPLE_NS / 2) {
            point.sample_ns = Some(QUOTA_SAMPLE_NS);
        }
    }
    // The monitors that are typed win over those of suites and of their points.
    let monitors = if typed_monitors.is_empty() {
        monitors("monitors", request.monitors)?
    } else {
        points.iter_mut().for_each(|point| point.monitors.clear());
        typed_monitors
    };
    let monitors = with_energy_counters(monitors, &request.prepare.knobs);
    let mut companions = Vec::new();
    for companion in request.companions.into_iter().chain(request.prepare.plugins) {
        companions.push(companion_at(companion, args.to.as_ref()));
    }
    let typed_labels = pairs(&args.labels)?;
    // The last value of a name wins, so what is typed replaces what the suite says.
    let labels = request.suite_labels.into_iter().chain(typed_labels).chain(request.labels);
    let budget_ns = match request.budget_ns {
        Some(budget_ns) => Some(budget_ns),
        None => args.budget.as_deref().map(time_ns).transpose()?,
    };
    let plan = Plan {
        suite: request.suite,
        points,
        companions,
        goal: request.goal,
        budget_ns,
        spread_ns: request.spread_ns,
        seed: request.seed.unwrap_or_else(|| seed(args)),
        dir: dir.to_string_lossy().into_owned(),
        labels: labels.collect(),
        against_first: request.against_first,
        expectations: request.expectations,
        preparation: request.prepare.knobs,
        monitors,
        on_interference: args.on_interference.unwrap_or(request.on_interference),
        hides_secrets: !args.keep_secrets,
    };
    // On the complete plan: companions and far ends decide what a machine receives in all.
    if !args.i_own_this_network {
        refuse_flood(&plan)?;
    }
    Ok(plan)
}

/// The monitors of a run; the one that reads energy also if `none` turned it off and energy is asked for.
fn with_energy_counters(mut monitors: Vec<String>, knobs: &[Preparation]) -> Vec<String> {
    const COUNTERS: &str = "powercap";
    let wants_energy = knobs.iter().any(|knob| knob.knob == ENERGY_KNOB);
    let is_off = monitors.iter().any(|word| word == "none");
    if wants_energy && is_off && !monitors.iter().any(|word| word.starts_with(COUNTERS)) {
        monitors.push(COUNTERS.to_owned());
    }
    monitors
}

/// When points are done and how long the run may take, in nanoseconds; points with rules of their own get what was typed.
///
/// # Errors
/// When rules are none, or contradict each other.
pub fn goal(args: &GoalArgs, named: &mut NamedPoints) -> Result<(StoppingRules, Option<u64>)> {
    let (rules, budget_ns) = rules_and_budget(args, named)?;
    if !rules.describe_machine {
        need_less_precise_ceilings(&mut named.points, &rules);
    }
    Ok((rules, budget_ns))
}

/// The rules of all points that have none, and the time for the run, in nanoseconds.
fn rules_and_budget(
    args: &GoalArgs,
    named: &mut NamedPoints,
) -> Result<(StoppingRules, Option<u64>)> {
    let of_suite = named.run_wide().map(Suite::rules).unwrap_or_default();
    let stated = args.rules.applied_to(of_suite.applied_to(StoppingRules::default())?)?;
    let mut rules = checked(or_standard(stated))?;
    for own in named.points.iter_mut().filter_map(|point| point.rules.as_mut()) {
        *own = checked(or_standard(args.rules.applied_to(*own)?))?;
    }
    let budget_ns = match &args.execution.budget {
        Some(budget) => Some(time_ns(budget)?),
        // A suite plans its budget for its own rules. Whoever types others, but for a precision, gets the time for them.
        None if args.rules.are_precision_only() => several_suites::budget_ns(&named.suites)?,
        None => None,
    };
    if budget_ns.is_some() || !is_open(&rules) {
        return Ok((rules, budget_ns));
    }
    rules.describe_machine = stated.are_none();
    if named.points.iter().filter_map(|point| point.rules.as_ref()).all(is_open) {
        return Ok((rules, Some(POINT_BUDGET_NS.saturating_mul(named.points.len() as u64))));
    }
    // A budget of the whole run would cut off points that are to take longer.
    rules.max_time_ns = Some(POINT_BUDGET_NS);
    Ok((rules, None))
}

/// Points that are measured only for comparison are less precise, so that most of the time is left for the others. The clock is
/// not: figures in cycles are as precise as it is.
fn need_less_precise_ceilings(points: &mut [PlannedPoint], rules: &StoppingRules) {
    let ceilings =
        points.iter_mut().filter(|planned| planned.is_ceiling && !measures_clock(planned));
    for planned in ceilings {
        let own = planned.rules.unwrap_or(*rules);
        let precision = own.precision.map(|precision| precision * CEILING_PRECISION);
        planned.rules = Some(StoppingRules { precision, ..own });
    }
}

/// Whether nothing but a precision says when a point is done.
fn is_open(rules: &StoppingRules) -> bool {
    *rules == StoppingRules { precision: rules.precision, ..StoppingRules::default() }
}

/// The standard precision if the rules state neither how well nor how often.
fn or_standard(rules: StoppingRules) -> StoppingRules {
    let precision = if rules.are_none() { Some(DEFAULT_PRECISION) } else { rules.precision };
    StoppingRules { precision, ..rules }
}

/// The labels of `--label`.
///
/// # Errors
/// When one is no `name=value`, or has control characters.
pub fn pairs(labels: &[String]) -> Result<BTreeMap<String, String>> {
    labels.iter().map(|text| Ok(label(text)?)).collect()
}

/// The seed: the user's, or from the clock.
fn seed(args: &ExecutionArgs) -> u64 {
    // As many bits as --seed takes, so that it can be typed to repeat the run.
    args.seed.map_or_else(|| plumb_machine::now().monotonic_ns & 0xffff_ffff, u64::from)
}
