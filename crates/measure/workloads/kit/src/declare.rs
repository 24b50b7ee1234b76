//! Short forms for what a workload says of itself, and for reading what it was started with.

use std::collections::BTreeMap;

use plumb_model::{
    Better, CurveKind, Description, FixtureOf, Metric, MetricSource, Parameter, ParameterType,
    QuantityKind, Role, Rung, Searched, Value,
};
use plumb_protocol::{Start, StartError};

/// Seconds that a message may take if sizes are the user's choice: laying out, or one iteration,
/// of a thousand times the default.
pub const LONG_TIMEOUT_S: u64 = 600;

/// A workload of version 1 whose samples are stretches of one process, without parameters or
/// metrics yet; it can be measured and can be the background load of another.
#[must_use]
pub fn workload(id: &str, summary: &str) -> Description {
    Description { roles: vec![Role::Workload, Role::Load], ..Description::new(id, summary) }
}

/// This description of a workload whose threads do separate work: with several threads, its ceiling is as many times one
/// thread.
#[must_use]
pub fn scaling(description: Description) -> Description {
    let Some(first) = description.metrics.first() else { return description };
    // A time is that of each thread: it stays the same if threads do not disturb each other.
    let is_rate = first.better == Better::Higher;
    let one_thread = Rung {
        times: is_rate.then(|| "threads".to_owned()),
        ..rung("one thread", &description.id, &first.name, &[("threads", "1")])
    };
    Description { rungs: vec![one_thread], ..description }
}

/// Part of a workload's work, measured by a metric of another workload with these parameters.
#[must_use]
pub fn rung(name: &str, workload: &str, metric: &str, settings: &[(&str, &str)]) -> Rung {
    let settings = settings.iter().map(|(name, word)| ((*name).to_owned(), (*word).to_owned()));
    Rung {
        name: name.to_owned(),
        workload: workload.to_owned(),
        metric: metric.to_owned(),
        settings: settings.collect(),
        only: BTreeMap::new(),
        times: None,
    }
}

/// This rung for points with these values only, as people type them.
#[must_use]
pub fn rung_if(only: &[(&str, &str)], rung: Rung) -> Rung {
    let only = only.iter().map(|(name, word)| ((*name).to_owned(), (*word).to_owned()));
    Rung { only: only.collect(), ..rung }
}

/// One of `allowed`; the first is the default.
#[must_use]
pub fn choice(name: &str, allowed: &[&str], summary: &str) -> Parameter {
    let allowed: Vec<Value> = allowed.iter().map(|&word| Value::Text(word.into())).collect();
    let default = allowed.first().cloned().unwrap_or(Value::Text(String::new()));
    Parameter { allowed, ..parameter(name, ParameterType::Choice, default, summary) }
}

/// A size in bytes.
#[must_use]
pub fn bytes(name: &str, default: u64, summary: &str) -> Parameter {
    let unit = "bytes".into();
    Parameter { unit, ..parameter(name, ParameterType::Bytes, Value::Integer(default), summary) }
}

/// A count of something.
#[must_use]
pub fn integer(name: &str, unit: &str, default: u64, summary: &str) -> Parameter {
    let unit = unit.into();
    Parameter { unit, ..parameter(name, ParameterType::Integer, Value::Integer(default), summary) }
}

/// The number of threads, 1 unless set; how the work scales with it.
#[must_use]
pub fn threads(summary: &str) -> Parameter {
    let threads = parameter("threads", ParameterType::Threads, Value::Integer(1), summary);
    curve(CurveKind::Scaling, Parameter { unit: "threads".into(), ..threads })
}

/// So many of something a second, or one of `words`, of which the first is the default.
#[must_use]
pub fn rate_or(name: &str, unit: &str, words: &[&str], summary: &str) -> Parameter {
    Parameter { kind: ParameterType::Rate, unit: unit.into(), ..choice(name, words, summary) }
}

/// A time, in nanoseconds.
#[must_use]
pub fn time_bound(name: &str, default_ns: u64, summary: &str) -> Parameter {
    parameter(name, ParameterType::Time, Value::Integer(default_ns), summary)
}

/// A share of a whole, in millionths; none by default.
#[must_use]
pub fn share(name: &str, summary: &str) -> Parameter {
    parameter(name, ParameterType::Share, Value::Integer(0), summary)
}

/// A parameter that takes any text.
#[must_use]
pub fn text(name: &str, default: &str, summary: &str) -> Parameter {
    parameter(name, ParameterType::Text, Value::Text(default.into()), summary)
}

/// A file, none by default; not part of what tells points apart.
#[must_use]
pub fn path(name: &str, summary: &str) -> Parameter {
    parameter(name, ParameterType::Path, Value::Text(String::new()), summary)
}

/// A switch that is off.
#[must_use]
pub fn switch(name: &str, summary: &str) -> Parameter {
    parameter(name, ParameterType::Switch, Value::Switch(false), summary)
}

fn parameter(name: &str, kind: ParameterType, default: Value, summary: &str) -> Parameter {
    Parameter::new(name, kind, default, summary)
}

/// A number of which no less and no more is taken, in the unit in which the workload gets it.
#[must_use]
pub fn between(least: usize, most: usize, parameter: Parameter) -> Parameter {
    Parameter { range: Some((least as u64, most as u64)), ..parameter }
}

/// A number, with what a curve over it means.
#[must_use]
pub fn curve(kind: CurveKind, parameter: Parameter) -> Parameter {
    Parameter { curve: Some(kind), ..parameter }
}

/// Work divided by time: more is better.
#[must_use]
pub fn rate(name: &str, unit: &str, summary: &str) -> Metric {
    metric(name, unit, Better::Higher, MetricSource::Rate, summary)
}

/// Time divided by work, in seconds: less is better.
#[must_use]
pub fn time(name: &str, summary: &str) -> Metric {
    metric(name, "s", Better::Lower, MetricSource::Time, summary)
}

/// A number that the workload reports with every sample.
#[must_use]
pub fn reported(name: &str, unit: &str, better: Better, summary: &str) -> Metric {
    metric(name, unit, better, MetricSource::Value, summary)
}

/// A number that the workload reports with every sample and of which neither more nor less is better.
#[must_use]
pub fn neutral(name: &str, unit: &str, summary: &str) -> Metric {
    reported(name, unit, Better::Neither, summary)
}

/// Seconds that the workload reports with every sample: less is better.
#[must_use]
pub fn reported_time(name: &str, summary: &str) -> Metric {
    reported(name, "s", Better::Lower, summary)
}

/// A share of a whole, 0 to 1, that the workload reports with every sample.
#[must_use]
pub fn reported_share(name: &str, better: Better, summary: &str) -> Metric {
    reported(name, plumb_units::SHARE, better, summary)
}

/// The distribution of a time that the workload takes many of in a sample: less is better.
#[must_use]
pub fn distribution(name: &str, summary: &str) -> Metric {
    Metric { kind: QuantityKind::Histogram, ..reported_time(name, summary) }
}

/// The highest load at which a goal holds; of a workload with a parameter that is searched.
#[must_use]
pub fn limit(name: &str, unit: &str, summary: &str) -> Metric {
    metric(name, unit, Better::Higher, MetricSource::Search, summary)
}

/// A parameter whose loads can be searched for the highest at which a goal holds.
#[must_use]
pub fn searched(parameter: Parameter, by: Searched) -> Parameter {
    Parameter { search: Some(by), ..parameter }
}

/// A metric that precision and scorecards are about, as they are about the first.
#[must_use]
pub fn headline(metric: Metric) -> Metric {
    Metric { headline: true, ..metric }
}

fn metric(name: &str, unit: &str, better: Better, source: MetricSource, summary: &str) -> Metric {
    Metric::new(name, unit, better, source, summary)
}

/// That it takes the fixture of another workload, at these words of its parameters.
#[must_use]
pub fn shared(workload: &str, at: &[(&str, &str)]) -> FixtureOf {
    let settings = at.iter().map(|&(name, word)| (name.into(), Value::Text(word.into())));
    FixtureOf { workload: workload.into(), settings: settings.collect() }
}

/// The work of one iteration, a number a metric.
#[expect(clippy::cast_precision_loss, reason = "work of one iteration stays far below 2^53")]
#[must_use]
pub fn work(of: &[(&str, u64)]) -> BTreeMap<String, f64> {
    of.iter().map(|&(metric, amount)| (metric.to_owned(), amount as f64)).collect()
}

/// A parameter's count or size, if its limits depend on other parameters.
///
/// # Errors
/// When it does not lie within `low` to `high`.
pub fn within(start: &Start, name: &str, low: usize, high: usize) -> Result<usize, StartError> {
    let size = start.size(name);
    if (low..=high).contains(&size) {
        return Ok(size);
    }
    Err(StartError::Failed(format!("parameter `{name}` is {size}; it must be {low} to {high}")))
}
