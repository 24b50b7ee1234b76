//! Short ways to declare parameters and metrics.

use plumb_model::{Better, Kind, Metric, MetricSource, Parameter, ParameterType, Value};

/// A size in bytes.
pub fn bytes(name: &str, default: u64, summary: &str) -> Parameter {
    parameter(name, ParameterType::Bytes, "bytes", Value::Integer(default), summary)
}

/// A count of `unit`.
pub fn integer(name: &str, unit: &str, default: u64, summary: &str) -> Parameter {
    parameter(name, ParameterType::Integer, unit, Value::Integer(default), summary)
}

/// One of `allowed`; the first is the default.
pub fn choice(name: &str, allowed: &[&str], summary: &str) -> Parameter {
    let first = Value::Text(allowed.first().copied().unwrap_or_default().to_owned());
    let allowed = allowed.iter().map(|word| Value::Text((*word).to_owned())).collect();
    Parameter { allowed, ..parameter(name, ParameterType::Choice, "", first, summary) }
}

fn parameter(
    name: &str,
    kind: ParameterType,
    unit: &str,
    default: Value,
    summary: &str,
) -> Parameter {
    Parameter {
        name: name.to_owned(),
        kind,
        unit: unit.to_owned(),
        default,
        allowed: Vec::new(),
        summary: summary.to_owned(),
    }
}

/// Iterations times their work, divided by elapsed time.
pub fn rate(name: &str, unit: &str, summary: &str) -> Metric {
    metric(name, unit, Better::Higher, MetricSource::Rate, summary)
}

/// Elapsed time of one iteration, in seconds.
pub fn time(name: &str, summary: &str) -> Metric {
    metric(name, "s", Better::Lower, MetricSource::Time, summary)
}

/// A number that the workload reports with every sample.
pub fn value(name: &str, unit: &str, better: Better, summary: &str) -> Metric {
    metric(name, unit, better, MetricSource::Value, summary)
}

fn metric(name: &str, unit: &str, better: Better, source: MetricSource, summary: &str) -> Metric {
    Metric {
        name: name.to_owned(),
        unit: unit.to_owned(),
        better,
        kind: Kind::Value,
        source,
        summary: summary.to_owned(),
    }
}
