//! What a workload's result is compared with on the same machine: less of the same work.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::bottleneck::{filled_in, has_value};
use crate::value::Settings;

/// Work that is part of a workload's work, measured by another workload or by another point of the same one. The whole can
/// hardly be faster than the part, so the part's result is a ceiling. `--ceilings` measures it in the same run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rung {
    /// What it is: `one thread`, `the cipher without ssh`.
    pub name: String,
    /// The workload that measures it.
    pub workload: String,
    /// The metric of that workload, in the unit of this workload's first metric.
    pub metric: String,
    /// Parameters of that workload. `$NAME` stands for the value of this workload's parameter NAME. If it is the same
    /// workload, the parameters that are not named here keep the values of the point.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: BTreeMap<String, String>,
    /// It is a ceiling only if each of these parameters of this workload has this value, as people type it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub only: BTreeMap<String, String>,
    /// The parameter of this workload that says how many of them work at the same time; the part's rate is multiplied by it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub times: Option<String>,
}

impl Rung {
    /// How its workload is set for a point of the workload `id` with these settings; None if it is no ceiling there.
    #[must_use]
    pub fn settings_for(&self, id: &str, own: &Settings) -> Option<Settings> {
        if !self.only.iter().all(|(name, word)| has_value(own, name, word)) {
            return None;
        }
        let mut settings = if self.workload == id { own.clone() } else { Settings::new() };
        settings.extend(filled_in(&self.settings, own)?);
        Some(settings)
    }

    /// By what the part's result is multiplied for a point with these settings.
    #[must_use]
    pub fn factor(&self, own: &Settings) -> u64 {
        let times = self.times.as_ref().and_then(|name| own.get(name));
        times.and_then(crate::Value::integer).unwrap_or(1)
    }

    /// The parameters of the workload itself that it refers to.
    pub fn parameters(&self) -> impl Iterator<Item = &str> {
        let set = self.settings.values().filter_map(|word| word.strip_prefix('$'));
        set.chain(self.only.keys().map(String::as_str)).chain(self.times.as_deref())
    }
}

#[cfg(test)]
mod tests {
    use super::Rung;
    use crate::{Settings, Value};

    fn rung(json: &str) -> Rung {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn a_point_of_the_same_workload_keeps_its_other_parameters() {
        let own = Settings::from([
            ("threads".to_owned(), Value::Integer(4)),
            ("limit".to_owned(), Value::Integer(9)),
        ]);
        let one = rung(
            r#"{"name":"one thread","workload":"a.b","metric":"rate","settings":{"threads":"1"},"times":"threads"}"#,
        );
        let settings = one.settings_for("a.b", &own).unwrap();
        assert_eq!(settings["limit"], Value::Integer(9));
        assert_eq!(settings["threads"], Value::Text("1".into()));
        assert_eq!(one.factor(&own), 4);
        // Another workload has its own parameters.
        assert_eq!(one.settings_for("c.d", &own).unwrap().len(), 1);
    }

    #[test]
    fn a_value_can_exclude_it() {
        let own = Settings::from([("path".to_owned(), Value::Text("veth".into()))]);
        let of_loopback = rung(
            r#"{"name":"a copy","workload":"a.b","metric":"rate","only":{"path":"loopback"}}"#,
        );
        assert_eq!(of_loopback.settings_for("c.d", &own), None);
        assert_eq!(of_loopback.factor(&own), 1);
    }
}
