//! What may limit a workload: parts of its work, each measured on its own by another workload.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::value::{Settings, Value};

/// A part of a workload's work that may be its bottleneck. `--ceilings` measures it in the same run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PossibleBottleneck {
    /// What it is called: `path`, `login`.
    pub name: String,
    /// The workload that measures it.
    pub workload: String,
    /// The metric of that workload: a rate in the unit of this workload's first metric, or, for a part that comes first, a
    /// rate of operations or a time.
    pub metric: String,
    /// Parameters of that workload. `$NAME` stands for the value of this workload's parameter NAME.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: BTreeMap<String, String>,
    /// It takes no part if a parameter of this workload has this value, as people type it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub unless: BTreeMap<String, String>,
    /// It takes part only if each of these parameters of this workload has this value, as people type it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub only: BTreeMap<String, String>,
    /// Whether its time is spent once, before the others begin; else it works at the same time as the others.
    #[serde(default)]
    pub is_first: bool,
    /// Whether it takes part whatever `unless` says if the server is on another machine (`--to`).
    #[serde(default)]
    pub also_far: bool,
    /// Whether it is measured with both ends on this machine, wherever the server is.
    #[serde(default)]
    pub is_local: bool,
}

impl PossibleBottleneck {
    /// How its workload is set for a point with these settings, whose server may be on another machine; None if it takes no
    /// part there.
    #[must_use]
    pub fn settings_for(&self, own: &Settings, is_far: bool) -> Option<Settings> {
        let applies = !(self.also_far && is_far);
        if applies && self.unless.iter().any(|(name, word)| has_value(own, name, word)) {
            return None;
        }
        if !self.only.iter().all(|(name, word)| has_value(own, name, word)) {
            return None;
        }
        filled_in(&self.settings, own)
    }

    /// The parameters of the workload itself that it refers to.
    pub fn parameters(&self) -> impl Iterator<Item = &str> {
        let set = self.settings.values().filter_map(|word| word.strip_prefix('$'));
        set.chain(self.unless.keys().chain(self.only.keys()).map(String::as_str))
    }
}

/// Whether a parameter has this value, as people type it.
#[must_use]
pub fn has_value(settings: &Settings, name: &str, word: &str) -> bool {
    settings.get(name).is_some_and(|value| value.to_string() == word)
}

/// Settings whose `$NAME` stand for the value of the parameter NAME of a point with these settings; None if it has no such
/// parameter.
pub(crate) fn filled_in(words: &BTreeMap<String, String>, own: &Settings) -> Option<Settings> {
    let mut settings = Settings::new();
    for (name, word) in words {
        let value = match word.strip_prefix('$') {
            Some(parameter) => own.get(parameter)?.clone(),
            None => Value::Text(word.clone()),
        };
        settings.insert(name.clone(), value);
    }
    Some(settings)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::PossibleBottleneck;
    use crate::value::{Settings, Value};

    #[test]
    fn settings_come_from_the_point_or_are_fixed() {
        let possible = PossibleBottleneck {
            name: "path".into(),
            workload: "network.tcp".into(),
            metric: "throughput".into(),
            settings: [("path", "$path"), ("direction", "up")]
                .map(|(name, word)| (name.to_owned(), word.to_owned()))
                .into(),
            unless: [("path".to_owned(), "loopback".to_owned())].into(),
            only: BTreeMap::new(),
            is_first: false,
            also_far: true,
            is_local: false,
        };
        let on = |path: &str| Settings::from([("path".into(), Value::Text(path.into()))]);
        assert_eq!(possible.settings_for(&on("loopback"), false), None);
        assert!(possible.settings_for(&on("loopback"), true).is_some());
        let found = possible.settings_for(&on("veth"), false).unwrap();
        assert_eq!(found["path"], Value::Text("veth".into()));
        assert_eq!(found["direction"], Value::Text("up".into()));
        assert_eq!(possible.settings_for(&Settings::new(), false), None);
        assert_eq!(possible.parameters().collect::<Vec<_>>(), ["path", "path"]);
        let only = PossibleBottleneck {
            only: [("path".to_owned(), "relay".to_owned())].into(),
            ..possible
        };
        assert!(only.settings_for(&on("relay"), false).is_some());
        assert_eq!(only.settings_for(&on("veth"), false), None);
    }
}
