//! A point in a document.

use std::collections::BTreeMap;

use plumb_analysis::PointFacts;
use plumb_model::Value;
use serde::Serialize;

/// A workload with a value for each of its parameters.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PointPart {
    /// The workload's id.
    pub workload: String,
    /// The name of the point for people.
    pub name: String,
    /// Every parameter with its value.
    pub point: BTreeMap<String, ValuePart>,
}

/// A parameter's value.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum ValuePart {
    /// On or off.
    Switch(bool),
    /// A count, or a size in bytes.
    Integer(u64),
    /// A choice or any text.
    Text(String),
}

pub(crate) fn settings(point: &PointFacts) -> BTreeMap<String, ValuePart> {
    point.settings.iter().map(|(name, value)| (name.clone(), part(value))).collect()
}

fn part(value: &Value) -> ValuePart {
    match value {
        Value::Switch(on) => ValuePart::Switch(*on),
        Value::Integer(number) => ValuePart::Integer(*number),
        Value::Text(text) => ValuePart::Text(text.clone()),
    }
}

pub(crate) fn place(point: &PointFacts) -> PointPart {
    PointPart { workload: point.workload.clone(), name: point.name.clone(), point: settings(point) }
}
