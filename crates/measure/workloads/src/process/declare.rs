//! Short forms of what a description declares, beyond those of `cpu`.

use plumb_model::{Better, Kind, Metric, MetricSource, Parameter, ParameterType, Value};
use plumb_protocol::{Start, StartError};

pub(crate) use crate::cpu::declare::{bytes, choice, integer, rate, threads, time, work, workload};

/// A metric that the workload reports with every sample; less is better.
pub(crate) fn reported(name: &str, unit: &str, summary: &str) -> Metric {
    Metric {
        name: name.into(),
        unit: unit.into(),
        better: Better::Lower,
        kind: Kind::Value,
        source: MetricSource::Value,
        summary: summary.into(),
    }
}

/// Any text.
pub(crate) fn text(name: &str, default: &str, summary: &str) -> Parameter {
    parameter(name, ParameterType::Text, Value::Text(default.into()), summary)
}

/// A file, none by default; not part of what tells points apart.
pub(crate) fn path(name: &str, summary: &str) -> Parameter {
    parameter(name, ParameterType::Path, Value::Text(String::new()), summary)
}

/// A switch that is off.
pub(crate) fn switch(name: &str, summary: &str) -> Parameter {
    parameter(name, ParameterType::Switch, Value::Switch(false), summary)
}

fn parameter(name: &str, kind: ParameterType, default: Value, summary: &str) -> Parameter {
    Parameter {
        name: name.into(),
        kind,
        unit: String::new(),
        default,
        allowed: Vec::new(),
        summary: summary.into(),
    }
}

/// A parameter's count or size.
///
/// # Errors
/// When it does not lie within `low` to `high`.
pub(crate) fn within(
    start: &Start,
    name: &str,
    low: usize,
    high: usize,
) -> Result<usize, StartError> {
    let size = start.size(name);
    if (low..=high).contains(&size) {
        return Ok(size);
    }
    Err(StartError::Failed(format!("parameter `{name}` is {size}; it must lie in {low} to {high}")))
}
