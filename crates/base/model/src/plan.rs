//! Plans: what a run is going to do, complete enough to be carried out or resumed from the store.

use std::collections::BTreeMap;

use plumb_stats::health::HealthyCosts;
use plumb_stats::pairs::FEWEST_PAIRS;
pub use plumb_stats::verdict::MARGIN;
use plumb_stats::verdict::{Confidence, LookSchedule};
use serde::{Deserialize, Serialize};

use crate::counter::OnInterference;
use crate::far_end::FarEnd;
use crate::point::{Point, is_same_name};
use crate::preparation::{Preparation, PreparationSlot};
use crate::stopping_rules::StoppingRules;
use crate::workload::{Description, Role};

/// The plan of a run: points, precision and time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// The suite's name, when it came from one.
    pub suite: Option<String>,
    /// The points, in the order in which results are shown.
    pub points: Vec<PlannedPoint>,
    /// Intended background work during every invocation (`--with`).
    #[serde(default)]
    pub companions: Vec<Companion>,
    /// The preparations of the run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub preparation: Vec<Preparation>,
    /// When a point is done.
    pub goal: Goal,
    /// Time for the whole run, in nanoseconds; None means until every point is done.
    pub budget_ns: Option<u64>,
    /// The least time over which rounds are spread, with pauses between them, in nanoseconds; None: no pauses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spread_ns: Option<u64>,
    /// Seed of every random choice.
    pub seed: u64,
    /// The target directory as the user gave it, or a fresh one; absolute.
    pub dir: String,
    /// Labels by name, as `--label k=v` gives them.
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    /// Whether the results are compared with the first point's (`exec` of several commands).
    #[serde(default)]
    pub against_first: bool,
    /// The user's expected results.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub expectations: Vec<Expectation>,
    /// The monitors that read during invocations, as they were typed (`stat=20`, `none`); the default ones when empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub monitors: Vec<String>,
    /// The treatment of invocations that other activity disturbed.
    #[serde(default, skip_serializing_if = "OnInterference::is_keep")]
    pub on_interference: OnInterference,
    /// Whether settings have placeholders for what looks like a secret. Plans of earlier versions have none.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub hides_secrets: bool,
}

/// The rule by which invocations right after a pause do not count: they are not like the others.
pub const AFTER_PAUSE: &str = "pause";

/// Between two invocations a shorter time is not a pause, in nanoseconds.
pub const SHORTEST_PAUSE_NS: u64 = 50_000_000;

/// What these prepare, in words: all that may change results. Of companions only those that prepare the machine count.
pub fn prepared_words<'p>(
    preparations: impl Iterator<Item = &'p Preparation>,
    companions: impl Iterator<Item = &'p Companion>,
) -> String {
    let mut names: Vec<String> = preparations
        .filter(|preparation| !preparation.changes_nothing())
        .map(Preparation::name)
        .collect();
    names.extend(
        companions
            .filter(|companion| companion.role == Role::Preparation)
            .map(|companion| companion.point.name()),
    );
    // In whichever order they were typed, the same preparations are the same words.
    names.sort();
    if names.is_empty() { "nothing".into() } else { names.join(" ") }
}

/// A figure that a series should reach.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Expectation {
    /// The subject: a series, a point or a workload, the latter two by their first metric.
    pub of: String,
    /// The figure, in the metric's unit.
    pub value: f64,
    /// The lowest and the highest run that the figure is the middle of; None if it is a single figure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range: Option<(f64, f64)>,
    /// The reference that it comes from; None if the user or a suite stated it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    /// Whether `value` and `range` are cycles per unit of the metric's work: the run has to measure the clock, too.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub in_cycles: bool,
    /// What can carry no more than `value`: `PCIe 4.0 ×4 of nvme0n1`. Then it is a ceiling, which nothing has to reach.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<String>,
}

impl Expectation {
    /// Whether it speaks of this metric of this point; `primary` is whether the metric is the first.
    #[must_use]
    pub fn is_of(&self, point: &Point, metric: &str, primary: bool) -> bool {
        let is_of_point = self.of == point.workload || is_same_name(&self.of, &point.name());
        is_same_name(&self.of, &point.series(metric)) || (primary && is_of_point)
    }
}

/// When a point is done.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "strategy", from = "StoredGoal")]
pub enum Goal {
    /// When the rules say so; a point may have its own rules.
    Rules(StoppingRules),
    /// When the time for the whole run is over, and not before.
    Soak,
    /// When every comparison of a later point with the first is settled (docs/method.md, *Pairs*).
    Verdict(VerdictGoal),
    /// When it is known whether the machine is as fast as healthy ones (docs/method.md, *Quick check*).
    Health(HealthGoal),
}

/// Whether a machine is as fast as healthy ones.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HealthGoal {
    /// Smallest relative change that matters (0.01 for 1 %).
    pub margin: f64,
    /// What each point of the plan costs on healthy machines, in the order of the points.
    pub healthy: Vec<HealthyPoint>,
}

/// What the first metric of a point costs on healthy machines, as natural logs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct HealthyPoint {
    /// The mean of the runs.
    pub centre: f64,
    /// The standard deviation between runs.
    pub run_sd: f64,
    /// Degrees of freedom of that deviation.
    pub run_df: f64,
    /// Number of runs.
    pub runs: usize,
    /// The standard deviation of a process around the mean of its run.
    pub process_sd: f64,
    /// Degrees of freedom of that deviation.
    pub process_df: f64,
}

impl HealthyPoint {
    /// The same for the statistics.
    #[must_use]
    pub fn costs(&self) -> HealthyCosts {
        let Self { centre, run_sd, run_df, runs, process_sd, process_df } = *self;
        HealthyCosts { centre, run_sd, run_df, runs, process_sd, process_df }
    }
}

impl From<HealthyCosts> for HealthyPoint {
    fn from(costs: HealthyCosts) -> Self {
        let HealthyCosts { centre, run_sd, run_df, runs, process_sd, process_df } = costs;
        Self { centre, run_sd, run_df, runs, process_sd, process_df }
    }
}

/// The goal of comparisons with the first point, and when they end without a verdict.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct VerdictGoal {
    /// Smallest relative change that matters (0.01 for 1 %).
    pub margin: f64,
    /// The compared metric: one of the points, or [`CPU`] or [`PEAK_MEMORY`] of any.
    pub metric: String,
    /// Whether a unit of the comparison is ABBA or BAAB instead of one pair.
    pub quad: bool,
    /// The most units of one comparison; it says at which numbers of them to look, too.
    pub max_pairs: usize,
    /// The time of all comparisons together, in nanoseconds. Those of slow points get 18 pairs all the same, unlike
    /// under a budget. None if only units and the plan's budget are limited, as in every plan of older plumbs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_ns: Option<u64>,
    /// How sure the verdict of a comparison shall be, over all its looks.
    #[serde(default, with = "crate::confidence_percent", skip_serializing_if = "is_usual")]
    pub confidence: Confidence,
    /// The noise floor of this machine by its last audit: the margin is no smaller.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub noise_floor: Option<f64>,
    /// Points that start another program file than the first point, by their indices: their difference is one of these two
    /// files, and another build of either could differ.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub other_files: Vec<usize>,
    /// How far copies of a program differ on this machine that are linked again, by its last audit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layout_effect: Option<f64>,
    /// Whether a difference settles a comparison only once its whole interval lies beyond the margin: where
    /// agreement within it is the question.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub beyond: bool,
    /// The most units of all other comparisons once a side is faster: what makes work faster is looked for, and found. None if each
    /// comparison is worth the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pairs_after_faster: Option<usize>,
}

impl VerdictGoal {
    /// The fewest units that give a verdict.
    pub const FEWEST_PAIRS: usize = FEWEST_PAIRS;
    /// The most units that any comparison has.
    pub const MOST_PAIRS: usize = LookSchedule::MOST_PAIRS;

    /// By this metric, with this margin, in up to so many pairs.
    #[must_use]
    pub fn new(metric: &str, margin: f64, max_pairs: usize) -> Self {
        Self {
            margin,
            metric: metric.to_owned(),
            quad: false,
            max_pairs,
            time_ns: None,
            confidence: Confidence::default(),
            noise_floor: None,
            other_files: Vec::new(),
            layout_effect: None,
            beyond: false,
            pairs_after_faster: None,
        }
    }
}

fn is_usual(confidence: &Confidence) -> bool {
    *confidence == Confidence::default()
}

/// A goal as it is stored, also by plumbs that knew precision or fixed counts only.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", tag = "strategy")]
enum StoredGoal {
    Rules(StoppingRules),
    Precision { relative: f64 },
    Fixed { min_invocations: usize, min_time_ns: u64, max_time_ns: u64 },
    Soak,
    Verdict(VerdictGoal),
    Health(HealthGoal),
}

impl From<StoredGoal> for Goal {
    fn from(stored: StoredGoal) -> Self {
        match stored {
            StoredGoal::Rules(rules) => Self::Rules(rules),
            StoredGoal::Precision { relative } => Self::Rules(StoppingRules::precision(relative)),
            StoredGoal::Fixed { min_invocations, min_time_ns, max_time_ns } => {
                // What stood for "no limit".
                let max_time_ns = (max_time_ns < u64::MAX >> 1).then_some(max_time_ns);
                let rules = StoppingRules::fixed(min_invocations);
                Self::Rules(StoppingRules { min_time_ns, max_time_ns, ..rules })
            }
            StoredGoal::Soak => Self::Soak,
            StoredGoal::Verdict(goal) => Self::Verdict(goal),
            StoredGoal::Health(goal) => Self::Health(goal),
        }
    }
}

/// CPU time of one iteration, in seconds: what any workload can be compared by.
pub const CPU: &str = "cpu";
/// Peak resident memory of one invocation, in bytes: what any workload can be compared by.
pub const PEAK_MEMORY: &str = "peak_memory";

/// A point with all that is needed to start it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlannedPoint {
    /// The measured point.
    pub point: Point,
    /// The workload's description of itself.
    pub description: Description,
    /// How it is started.
    pub program: Program,
    /// Wanted length of one sample, in nanoseconds; None leaves it to the method (docs/method.md, *Samples*).
    #[serde(default)]
    pub sample_ns: Option<u64>,
    /// How long an invocation samples, if that is not left to the method.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sampling: Option<Sampling>,
    /// When this point is done, if that is not the plan's rules.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rules: Option<StoppingRules>,
    /// A name for people instead of the point's (`exec --name`).
    #[serde(default)]
    pub title: Option<String>,
    /// Why a size of this point is smaller than it should be (both sizes), when a suite capped it.
    #[serde(default)]
    pub capped: Option<String>,
    /// The preparations of this point's invocations alone, if they are compared.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub preparation: Vec<Preparation>,
    /// The companions of the plan that run during its invocations alone, by their indices.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub beside: Vec<usize>,
    /// The monitors that read during its invocations, if they are not the plan's.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub monitors: Vec<String>,
    /// Its own labels: `k=v`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// The other machine on which its server is started; None: this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub far_end: Option<FarEnd>,
    /// Whether its server runs on this machine even if those of the other points run on another one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_local: bool,
    /// What it is for in a comparison that proves itself (`ab --prove`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proof: Option<ProofPoint>,
    /// Whether nobody asked for it: it is measured to show the ceiling, or a part, of another point.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_ceiling: bool,
}

/// A point of a comparison that proves itself.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ProofPoint {
    /// What it is for.
    pub role: ProofRole,
    /// The work that is added to it; none unless its role is to be slower.
    pub extra_work: ExtraWork,
}

/// What a point of a comparison that proves itself is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProofRole {
    /// One of the sides that the user compares.
    Side,
    /// The first side again: no difference may be found.
    Again,
    /// The first side with extra work: it must be found slower by as much.
    Planted,
}

/// Work that is added inside the time that is measured.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ExtraWork {
    /// As a share of the time without it.
    pub share: f64,
    /// Of a command: steps of an empty loop that its process takes before the program starts.
    pub loops: u64,
}

impl ExtraWork {
    /// No work, added in the same way.
    pub const NONE: Self = Self { share: 0.0, loops: 0 };
}

/// How long an invocation samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", tag = "sampling")]
pub enum Sampling {
    /// One batch that lasts about so long.
    Batch {
        /// Length of the batch, in nanoseconds.
        length_ns: u64,
    },
    /// One batch that lasts about so long, or a single sample without warm-up if one sample takes longer: for searches, in which more
    /// invocations tell more than longer ones.
    Short {
        /// Length of the batch, in nanoseconds.
        length_ns: u64,
    },
    /// One invocation that works without pause for so long, a sample a second.
    Stream {
        /// Length of the invocation, in nanoseconds.
        length_ns: u64,
    },
}

impl Plan {
    /// What runs during the whole run and, if a point is given, what runs during that point alone.
    pub fn beside<'p>(
        &'p self,
        point: Option<&'p PlannedPoint>,
    ) -> impl Iterator<Item = &'p Companion> {
        let own = point.map(|point| point.beside.as_slice()).unwrap_or_default();
        let companions = self.companions.iter().enumerate();
        companions
            .filter(move |(index, companion)| !companion.of_points || own.contains(index))
            .map(|(_, companion)| companion)
    }

    /// What is prepared, in words, for the run or for a point of it: all that may change results.
    #[must_use]
    pub fn prepared(&self, point: Option<&PlannedPoint>) -> String {
        let own = point.map(|point| point.preparation.as_slice()).unwrap_or_default();
        prepared_words(self.preparation.iter().chain(own), self.beside(point))
    }

    /// When a point is done, if rules say so: its own, or the plan's.
    #[must_use]
    pub fn rules_of(&self, planned: &PlannedPoint) -> Option<StoppingRules> {
        match self.goal {
            Goal::Rules(rules) => Some(planned.rules.unwrap_or(rules)),
            Goal::Soak | Goal::Verdict(_) | Goal::Health(_) => None,
        }
    }

    /// The indices of the points that a comparison is of: the first, and all others but those that only show a ceiling.
    pub fn compared_points(&self) -> impl Iterator<Item = usize> {
        let points = self.points.iter().enumerate();
        points.filter(|(index, planned)| *index == 0 || !planned.is_ceiling).map(|(index, _)| index)
    }

    /// How later points are compared with the first; None when they are not.
    #[must_use]
    pub fn comparison(&self) -> Option<ComparisonPlan<'_>> {
        let first = self.points.first()?.description.primary()?;
        let with_first = self.compared_points().count().saturating_sub(1);
        match &self.goal {
            Goal::Verdict(goal) => Some(ComparisonPlan {
                metric: &goal.metric,
                margin: goal.margin,
                a_unit: if goal.quad { 2 } else { 1 },
                looks: Some(LookSchedule::up_to(goal.max_pairs)),
                confidence: goal.confidence,
                comparisons: with_first,
            }),
            _ => self.against_first.then_some(ComparisonPlan {
                metric: &first.name,
                margin: MARGIN,
                a_unit: 1,
                looks: None,
                confidence: Confidence::default(),
                // From the third point on, also with the point above it.
                comparisons: with_first + with_first.saturating_sub(1),
            }),
        }
    }
}

/// How later points are compared with the first.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ComparisonPlan<'a> {
    /// The compared metric.
    pub metric: &'a str,
    /// Smallest relative change that matters.
    pub margin: f64,
    /// Invocations of each point in one unit: 1 for a pair, 2 for ABBA.
    pub a_unit: usize,
    /// The numbers of units at which looks decide; None if all units are one look.
    pub looks: Option<LookSchedule>,
    /// How sure all verdicts together shall be.
    pub confidence: Confidence,
    /// The number of verdicts.
    pub comparisons: usize,
}

impl ComparisonPlan<'_> {
    /// The level of the interval of so many units: what leaves the confidence after all looks of all comparisons.
    #[must_use]
    pub fn level(&self, units: usize) -> f64 {
        let schedule = self.looks.unwrap_or(LookSchedule::Fixed(units));
        schedule.level_of_each(self.confidence, units, self.comparisons)
    }
}

impl PlannedPoint {
    /// A point that is measured as the plan says, under its own name.
    #[must_use]
    pub fn new(point: Point, description: Description, program: Program) -> Self {
        Self {
            point,
            description,
            program,
            sample_ns: None,
            sampling: None,
            rules: None,
            title: None,
            capped: None,
            preparation: Vec::new(),
            beside: Vec::new(),
            monitors: Vec::new(),
            labels: BTreeMap::new(),
            far_end: None,
            is_local: false,
            proof: None,
            is_ceiling: false,
        }
    }

    /// The kind of its fixture or its workload, and the parameters that the fixture depends on, with their values; None
    /// without a fixture.
    #[must_use]
    pub fn fixture_key(&self) -> Option<String> {
        let parameters = self.description.fixture.as_ref()?;
        let mut settings = Vec::new();
        for (name, value) in &self.point.settings {
            if parameters.contains(name) {
                settings.push(format!("{name}={value}"));
            }
        }
        let kind = self.description.fixture_kind.as_ref().unwrap_or(&self.point.workload);
        Some(format!("{kind}:{}", settings.join(",")))
    }

    /// The point with its server on another machine, which tells it from the same point without that.
    #[must_use]
    pub fn to(self, far_end: &FarEnd) -> Self {
        // The far end is a condition of the point: through another machine or network, results are another series.
        let point = self.point.under(&[format!("to={far_end}")]);
        Self { point, far_end: Some(far_end.clone()), ..self }
    }

    /// The name of the point for people.
    #[must_use]
    pub fn name(&self) -> String {
        self.title.clone().unwrap_or_else(|| self.point.typed_name(&self.description))
    }
}

/// A process to start.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Program {
    /// The executable and its arguments.
    pub argv: Vec<String>,
}

/// Something that runs next to the measured workloads.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Companion {
    /// As what it is started: load, monitor or preparation.
    pub role: Role,
    /// What it is.
    pub point: PlannedPoint,
    /// For how long it runs; preparations alone may run shorter than the run.
    #[serde(default)]
    pub slot: PreparationSlot,
    /// Whether it runs during the invocations of those points alone that name it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub of_points: bool,
}
