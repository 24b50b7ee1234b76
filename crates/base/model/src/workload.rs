//! A workload's description of itself.

use serde::{Deserialize, Serialize};

use crate::bottleneck::PossibleBottleneck;
use crate::link::LinkTerms;
use crate::restricted::Restricted;
use crate::rung::Rung;
use crate::search::{SearchEffort, SearchGoal, Searched};
use crate::value::{Settings, Value};

/// The family of workloads that run the tools of others, for `plumb crosscheck`.
pub const CLASSIC_FAMILY: &str = "classic";

/// What `describe` answers: everything that is known of a workload without starting it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Description {
    /// `family.name`, in lower case.
    pub id: String,
    /// Rises when old and new numbers stop being comparable.
    pub version: u32,
    /// One line for `plumb list`.
    pub summary: String,
    /// The roles in which it can be started.
    pub roles: Vec<Role>,
    /// Its parameters, all optional: each has a default.
    #[serde(default)]
    pub parameters: Vec<Parameter>,
    /// Its metrics; the first is the one that precision and scorecards are about.
    pub metrics: Vec<Metric>,
    /// The requirements of the workload.
    #[serde(default)]
    pub requirements: Vec<Requirement>,
    /// The parameters that its fixture depends on; none when it has no fixture.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fixture: Option<Vec<String>>,
    /// Whose fixture it takes in its own place; none if it always has its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fixture_of: Option<FixtureOf>,
    /// The kind of its fixture: workloads with the same word have the same one, and share it if its parameters are equal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fixture_kind: Option<String>,
    /// Whether a sample is a stretch of one process or its own process.
    #[serde(default)]
    pub sample_is: SampleIs,
    /// Whether two points may run at the same time; no built-in may.
    #[serde(default)]
    pub concurrent: bool,
    /// Longest time that one message may take without a heartbeat, in seconds; 60 when not stated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_s: Option<u64>,
    /// The parameter whose values share an upper bound: of points that differ in nothing else, the best
    /// shows what this machine gives. None when no parameter has this meaning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ceiling: Option<String>,
    /// The kind of work that it resembles most; `ab` takes the noise floor that an audit found for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub audit_class: Option<AuditClass>,
    /// The link that its time depends on, by the names of its parameters and metrics; plumb then finds what of the time
    /// is bandwidth and what round trips. None when it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<LinkTerms>,
    /// What may limit it, each part measured by another workload; with these plumb predicts its time and finds what is the
    /// bottleneck.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bottlenecks: Vec<PossibleBottleneck>,
    /// Parts of its work whose results are ceilings of its own: a copy of the bytes that TCP carries, one thread of several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rungs: Vec<Rung>,
    /// What it sends to machines of others only if the user says that the network is theirs; None when it sends
    /// nothing to a machine that a parameter names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restricted: Option<Box<Restricted>>,
}

impl Description {
    /// A workload of version 1 without parameters and metrics, which can be measured and whose samples are stretches of
    /// one process.
    #[must_use]
    pub fn new(id: impl Into<String>, summary: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            version: 1,
            summary: summary.into(),
            roles: vec![Role::Workload],
            parameters: Vec::new(),
            metrics: Vec::new(),
            requirements: Vec::new(),
            fixture: None,
            fixture_of: None,
            fixture_kind: None,
            sample_is: SampleIs::Iteration,
            concurrent: false,
            timeout_s: None,
            ceiling: None,
            audit_class: None,
            link: None,
            bottlenecks: Vec::new(),
            rungs: Vec::new(),
            restricted: None,
        }
    }

    /// The part of the id before the dot.
    #[must_use]
    pub fn family(&self) -> &str {
        self.id.split('.').next().unwrap_or(&self.id)
    }

    /// The metrics that precision and scorecards are about: the first, and those that are marked.
    pub fn headlines(&self) -> impl Iterator<Item = &Metric> {
        let metrics = self.metrics.iter().enumerate();
        metrics.filter(|(index, metric)| *index == 0 || metric.headline).map(|(_, metric)| metric)
    }

    /// The metric that verdicts are about, the first of the headlines.
    #[must_use]
    pub fn primary(&self) -> Option<&Metric> {
        self.metrics.first()
    }

    /// The metric of this name.
    #[must_use]
    pub fn metric(&self, name: &str) -> Option<&Metric> {
        self.metrics.iter().find(|metric| metric.name == name)
    }

    /// The metric that a comparison names; of a distribution, a quantile may stand behind its name (`latency p99`).
    #[must_use]
    pub fn compared(&self, name: &str) -> Option<&Metric> {
        self.distribution(name).map(|(metric, _)| metric).or_else(|| self.metric(name))
    }

    /// The distribution that a comparison names, and the quantile behind its name, from 0 to 1: the median without one.
    #[must_use]
    pub fn distribution(&self, name: &str) -> Option<(&Metric, f64)> {
        let (base, word) = name.rsplit_once(' ').unwrap_or((name, "p50"));
        let (_, quantile) = QUANTILES.iter().find(|(shown, _)| *shown == word)?;
        let metric = self.metric(base).filter(|metric| metric.kind == QuantityKind::Histogram)?;
        Some((metric, *quantile))
    }

    /// The same at a point with these settings: with its limits and nothing else if it is searched, else without them.
    #[must_use]
    pub fn at(&self, settings: &Settings) -> Self {
        let goal = self.search_goal(settings);
        // A search tries many loads, so a rate or time over all its samples has no meaning.
        let mut metrics = Vec::new();
        for metric in &self.metrics {
            if (metric.source == MetricSource::Search) == goal.is_some() {
                metrics.push(Metric { search: goal.clone(), ..metric.clone() });
            }
        }
        Self { metrics, ..self.clone() }
    }

    /// The goal of a search at a point with these settings; None without a search.
    fn search_goal(&self, settings: &Settings) -> Option<SearchGoal> {
        self.parameters.iter().find_map(|parameter| {
            let word = settings.get(&parameter.name)?.text()?;
            let effort = SearchEffort::of_word(word)?;
            let searched = parameter.search.as_ref()?;
            Some(searched.by(effort, self.filled(&searched.goal, settings)))
        })
    }

    /// A text with the values of parameters in place of their names in braces.
    fn filled(&self, text: &str, settings: &Settings) -> String {
        self.parameters.iter().fold(text.to_owned(), |text, parameter| {
            match settings.get(&parameter.name) {
                Some(value) => {
                    text.replace(&format!("{{{}}}", parameter.name), &parameter.show(value))
                }
                None => text,
            }
        })
    }

    /// What is searched for; of a description that is one of a point ([`Description::at`]).
    #[must_use]
    pub fn searched(&self) -> Option<&SearchGoal> {
        self.metrics.iter().find_map(|metric| metric.search.as_ref())
    }

    /// The parameter of this name.
    #[must_use]
    pub fn parameter(&self, name: &str) -> Option<&Parameter> {
        self.parameters.iter().find(|parameter| parameter.name == name)
    }

    /// Whether it can be started in this role.
    #[must_use]
    pub fn can_be(&self, role: Role) -> bool {
        self.roles.contains(&role)
    }
}

/// A kind of work that `plumb doctor --audit` compares with itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AuditClass {
    /// It computes, in caches of one core.
    Cpu,
    /// It waits for main memory.
    Memory,
    /// It sleeps and is woken, by another task or by a device.
    Scheduler,
    /// It starts processes.
    Process,
}

impl AuditClass {
    /// Its word, as typed and stored.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::Memory => "memory",
            Self::Scheduler => "scheduler",
            Self::Process => "process",
        }
    }
}

/// The role in which a program is started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// It is measured.
    Workload,
    /// The far end of a workload, one per invocation.
    Server,
    /// A change to the machine, applied by `prepare` and undone by `clean`.
    Preparation,
    /// Counters read during a workload.
    Monitor,
    /// It runs in the background of another workload, on purpose.
    Load,
}

/// A named setting.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Parameter {
    /// Its name: lower case, words joined by `_`.
    pub name: String,
    /// The type of its values.
    #[serde(rename = "type")]
    pub kind: ParameterType,
    /// Its unit in words, empty when it has none.
    #[serde(default)]
    pub unit: String,
    /// The value if nobody sets it.
    pub default: Value,
    /// All allowed values of a choice; empty when any value of the type will do.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allowed: Vec<Value>,
    /// The least and the largest number that it takes; None if any number of the type will do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range: Option<(u64, u64)>,
    /// Its effect, in one line.
    #[serde(default)]
    pub summary: String,
    /// The meaning of a curve over it, for numbers only. None if no figure summarises it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub curve: Option<CurveKind>,
    /// The loads that it stands for. It may then be set to a word of [`SearchEffort`]: the highest load at which the
    /// workload keeps its goal is searched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub search: Option<Searched>,
}

/// A range that ends here or later has no end that anybody reaches.
const OPEN_END: u64 = 1 << 50;

impl Parameter {
    /// A parameter without a unit that takes every value of its type.
    #[must_use]
    pub fn new(
        name: impl Into<String>,
        kind: ParameterType,
        default: Value,
        summary: impl Into<String>,
    ) -> Self {
        Self {
            name: name.into(),
            kind,
            unit: String::new(),
            default,
            allowed: Vec::new(),
            range: None,
            summary: summary.into(),
            curve: None,
            search: None,
        }
    }

    /// Why it does not take this number, if it does not: `1B is not 8B to 8KiB`.
    #[must_use]
    pub fn out_of_range(&self, value: &Value) -> Option<String> {
        let (least, most) = self.range?;
        let number = value.integer()?;
        if (least..=most).contains(&number) {
            return None;
        }
        let shown = |number| self.show(&Value::Integer(number));
        Some(match most {
            OPEN_END.. => format!("`{}` is less than {}", shown(number), shown(least)),
            _ => format!("`{}` is not {} to {}", shown(number), shown(least), shown(most)),
        })
    }

    /// What a curve over it means: what it says, and scaling of threads that say nothing, which could not say it
    /// once.
    #[must_use]
    pub fn meaning(&self) -> Option<CurveKind> {
        self.curve.or((self.kind == ParameterType::Threads).then_some(CurveKind::Scaling))
    }

    /// Whether a value is a word that has its loads searched.
    #[must_use]
    pub fn is_searched_by(&self, value: &Value) -> bool {
        let word = value.text().and_then(SearchEffort::of_word);
        self.search.is_some() && word.is_some()
    }

    /// A value of it as a person writes it: `8MiB`, `5k/s`, `37.5ms`, `1Mbit/s`.
    #[must_use]
    pub fn show(&self, value: &Value) -> String {
        match (self.kind, value) {
            (ParameterType::Rate, Value::Integer(rate)) if self.in_bytes() => {
                plumb_units::typed_bandwidth(*rate)
            }
            (ParameterType::Time, Value::Integer(nanos)) => plumb_units::typed_time(*nanos),
            _ => self.in_key(value),
        }
    }

    /// A value of it in the key of a point: `8MiB`, `5k/s`, `37500us`, `125kB/s`. Keys name stored series, so this
    /// spelling never changes.
    #[must_use]
    pub fn in_key(&self, value: &Value) -> String {
        match (self.kind, value) {
            (ParameterType::Bytes, Value::Integer(bytes)) => plumb_units::show_bytes(*bytes),
            (ParameterType::Rate, Value::Integer(rate)) => {
                plumb_units::show_rate(*rate, self.in_bytes())
            }
            (ParameterType::Time, Value::Integer(nanos)) => plumb_units::show_time(*nanos),
            (ParameterType::Share, Value::Integer(share)) => plumb_units::show_share(*share),
            _ => value.to_string(),
        }
    }

    /// Whether a rate counts bytes, so that it may be typed in bits.
    #[must_use]
    pub fn in_bytes(&self) -> bool {
        self.unit == "bytes"
    }

    /// Whether its value makes another point; the location of a file or secret does not.
    #[must_use]
    pub fn tells_points_apart(&self) -> bool {
        !matches!(self.kind, ParameterType::Path | ParameterType::Secret)
    }
}

/// The meaning of a curve over a parameter, by the figures that are found in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CurveKind {
    /// More of it does more work: the efficiency against the smallest.
    Scaling,
    /// Heights and edges of a staircase.
    Plateaus,
    /// Where growth stops, and the level there.
    Knee,
    /// The cost of a call, and of each unit in it.
    Line,
}

impl CurveKind {
    /// Its word, as written in descriptions and documents.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Scaling => "scaling",
            Self::Plateaus => "plateaus",
            Self::Knee => "knee",
            Self::Line => "line",
        }
    }
}

/// The type of a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ParameterType {
    /// A whole number without a unit.
    Integer,
    /// A size in bytes; typed with suffixes (`64KiB`).
    Bytes,
    /// A number of threads or processes; `all` stands for every CPU that plumb may use.
    Threads,
    /// One of the allowed words.
    Choice,
    /// A text that is not interpreted.
    Text,
    /// A file or folder; never part of a point's key.
    Path,
    /// So much a second; typed `5k/s`, and `20Mbit/s` or `100MB/s` if the unit is `bytes`. A whole number of the
    /// unit a second, or one of the allowed words.
    Rate,
    /// A length of time; typed `10ms`. A whole number of nanoseconds.
    Time,
    /// A share of a whole; typed `1%`. A whole number of millionths, 1000000 at most.
    Share,
    /// A secret; typed `env:NAME` or `file:PATH`, which say where it is. Only a workload that is
    /// started gets it; never part of a point's key.
    Secret,
    /// `yes` or `no`.
    Switch,
}

impl ParameterType {
    /// Whether its values are numbers.
    #[must_use]
    pub fn is_number(self) -> bool {
        matches!(
            self,
            Self::Integer | Self::Bytes | Self::Threads | Self::Rate | Self::Time | Self::Share
        )
    }
}

/// A named quantity.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Metric {
    /// Its name: lower case, words joined by `_`.
    pub name: String,
    /// SI base unit: `s`, `B/s`, `ops/s`, `B`, `J`, a counted thing per second, or empty for a ratio.
    pub unit: String,
    /// Which direction is good.
    pub better: Better,
    /// The kind of the quantity.
    #[serde(default)]
    pub kind: QuantityKind,
    /// Where its values come from.
    #[serde(default)]
    pub source: MetricSource,
    /// The counting rule, in one line.
    #[serde(default)]
    pub summary: String,
    /// Whether precision and scorecards are about it, as they are about the first metric.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub headline: bool,
    /// The least and the greatest value that a histogram may count, as it counts them (nanoseconds if the unit is
    /// `s`); any when not stated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bounds: Option<(u64, u64)>,
    /// Of the source `search`, at a point that is searched: what for. plumb fills it in when it plans.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub search: Option<SearchGoal>,
}

impl Metric {
    /// A number per sample that is no headline.
    #[must_use]
    pub fn new(
        name: impl Into<String>,
        unit: impl Into<String>,
        better: Better,
        source: MetricSource,
        summary: impl Into<String>,
    ) -> Self {
        Self {
            name: name.into(),
            unit: unit.into(),
            better,
            kind: QuantityKind::Value,
            source,
            summary: summary.into(),
            headline: false,
            bounds: None,
            search: None,
        }
    }
}

/// Which direction of a metric is good.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Better {
    /// More is better.
    Higher,
    /// Less is better.
    Lower,
    /// It is only shown.
    Neither,
}

impl Better {
    /// The word that is shown and stored.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Higher => "higher",
            Self::Lower => "lower",
            Self::Neither => "neither",
        }
    }
}

/// The fixture of another workload, which a point takes if the run also measures that one with the same values of the
/// parameters that its own fixture depends on: two files of one size are not alike fast.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FixtureOf {
    /// The other workload.
    pub workload: String,
    /// Values of parameters with which a point leaves the fixture as it is, such as of an operation. One with other values
    /// takes it only if all points of the other workload on it have those same values: none needs it as it was.
    #[serde(default, rename = "where", skip_serializing_if = "Settings::is_empty")]
    pub settings: Settings,
}

/// The kind of a metric's quantity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum QuantityKind {
    /// A number a sample.
    #[default]
    Value,
    /// A count a sample.
    Counter,
    /// A distribution a sample.
    Histogram,
}

/// Where the values of a metric come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MetricSource {
    /// The workload reports a number with every sample.
    #[default]
    Value,
    /// Elapsed time divided by iterations and by the work of one iteration, in seconds.
    Time,
    /// Iterations times the work of one iteration, divided by elapsed time.
    Rate,
    /// The highest load at which a goal holds, one number of all trials of an invocation.
    Search,
}

/// The quantiles of a distribution that are shown, and that a comparison may name.
pub const QUANTILES: [(&str, f64); 5] =
    [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99.9", 0.999), ("max", 1.0)];

/// The unit of a sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SampleIs {
    /// A stretch of k iterations inside the invocation's process.
    #[default]
    Iteration,
    /// A fresh process; each counts as its own invocation in the statistics.
    Process,
}

/// A requirement of a workload.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Requirement {
    /// The need: `root`, a program, a device, a kernel feature.
    pub needs: String,
    /// Why, in one line.
    #[serde(default)]
    pub why: String,
    /// The fix if it is missing.
    #[serde(default)]
    pub fix: String,
}

/// The clock that a workload's times are read from; part of the series.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockSource {
    /// `monotonic`, or the name of a virtual clock.
    pub id: String,
    /// The unit of one count: `ns` or `instructions`.
    pub unit: String,
    /// Smallest step seen, in nanoseconds (or units).
    pub resolution_ns: u64,
    /// Cost of one reading, in nanoseconds; 0 when unknown.
    #[serde(default)]
    pub overhead_ns: u64,
    /// The kind of this clock.
    pub kind: ClockKind,
}

impl ClockSource {
    /// The id of CLOCK_MONOTONIC, by which series are timed unless they say otherwise.
    pub const MONOTONIC: &'static str = "monotonic";

    /// Whether it is CLOCK_MONOTONIC.
    #[must_use]
    pub fn is_monotonic(&self) -> bool {
        self.id == Self::MONOTONIC
    }
}

/// The kind of clock that times a workload.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ClockKind {
    /// Real time, as CLOCK_MONOTONIC counts it.
    Wall,
    /// Time of a simulated machine.
    Virtual,
    /// Executed instructions instead of time.
    Instructions,
}
