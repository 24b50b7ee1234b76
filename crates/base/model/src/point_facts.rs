//! A point as people know it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::value::{Settings, Value};
use crate::workload::ParameterType;

/// A point as people know it: what it measures at which settings, without the plan that it stands in.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct PointFacts {
    /// Its index in the plan.
    pub index: usize,
    /// The workload's id.
    pub workload: String,
    /// The workload's version. Results of different versions are not comparable.
    pub version: u32,
    /// What tells it from other points; empty for the default point.
    pub key: String,
    /// What people call it.
    pub name: String,
    /// Whether a person gave it that name.
    pub titled: bool,
    /// Every parameter with its value.
    pub settings: Settings,
    /// The parameters as people write them, without paths, in the order of the description; then what it was
    /// measured under.
    pub parameters: Vec<ShownParameter>,
    /// Labels of the point alone: `k=v`.
    pub labels: BTreeMap<String, String>,
    /// Whether nobody asked for it: it shows the ceiling, or a part, of another point.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_ceiling: bool,
}

impl PointFacts {
    /// The name that a person gave it, if one did.
    #[must_use]
    pub fn title(&self) -> Option<&str> {
        self.titled.then_some(self.name.as_str())
    }

    /// The name of one of its series with values as people type them: `network.tcp:rtt=37.5ms/throughput` for
    /// `network.tcp:rtt=37500us/throughput`.
    #[must_use]
    pub fn typed_series(&self, series: &str) -> String {
        let colon = if self.key.is_empty() { "" } else { ":" };
        let own = format!("{}{colon}{}", self.workload, self.key);
        match series.strip_prefix(&own) {
            Some(rest) if !self.titled && rest.starts_with('/') => format!("{}{rest}", self.name),
            _ => series.to_owned(),
        }
    }

    /// The value of a parameter, if it is a number.
    #[must_use]
    pub fn number(&self, parameter: &str) -> Option<u64> {
        let value = self.settings.get(parameter)?;
        value.integer().or_else(|| match value {
            Value::Text(text) => text.parse().ok().or_else(|| plumb_units::parse_bytes(text).ok()),
            _ => None,
        })
    }

    /// The workload, with all parameters but these that are not at their defaults: `memory.copy:method=nt`.
    #[must_use]
    pub fn without(&self, parameters: &[&str]) -> String {
        let shown = self.shown(|parameter| {
            !parameter.default && !parameters.contains(&parameter.name.as_str())
        });
        let colon = if shown.is_empty() { "" } else { ":" };
        format!("{}{colon}{shown}", self.workload)
    }

    /// Its name, with every parameter in which it differs from another point of its workload, those at their defaults as
    /// well: `ssh.cipher:cipher=aes128-gcm`.
    #[must_use]
    pub fn name_beside(&self, other: &Self) -> String {
        if self.titled || self.workload != other.workload {
            return self.name.clone();
        }
        let of_other =
            |name: &str| other.parameters.iter().find(|parameter| parameter.name == name);
        let shown = self.shown(|parameter| {
            let differs = of_other(&parameter.name).is_none_or(|of| of.value != parameter.value);
            !parameter.default || differs
        });
        let colon = if shown.is_empty() { "" } else { ":" };
        format!("{}{colon}{shown}", self.workload)
    }

    fn shown(&self, which: impl Fn(&ShownParameter) -> bool) -> String {
        let shown = self.parameters.iter().filter(|parameter| which(parameter));
        shown
            .map(|parameter| format!("{}={}", parameter.name, parameter.value))
            .collect::<Vec<_>>()
            .join(",")
    }
}

/// A parameter with its value as people write it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShownParameter {
    /// The parameter's name.
    pub name: String,
    /// Its value (`8MiB`).
    pub value: String,
    /// What kind of value it is.
    pub kind: ParameterType,
    /// Whether the point's key leaves it out.
    pub default: bool,
}
