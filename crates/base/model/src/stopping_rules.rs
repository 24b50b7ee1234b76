//! When a point is done, as people state it: "at least 5 times and 10 minutes, until 0.5 %, at most 60
//! minutes".

use serde::{Deserialize, Serialize};

/// Rules that hold together: a point is done once the precision and both minima are reached, and in any
/// case at a maximum.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct StoppingRules {
    /// Wanted relative half-width of the interval (0.03 for 3 %); None: any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub precision: Option<f64>,
    /// Fewest invocations; if a sample is a process, fewest samples.
    pub min_invocations: usize,
    /// Shortest time spent on the point, in nanoseconds.
    pub min_time_ns: u64,
    /// Most invocations; if a sample is a process, most samples.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_invocations: Option<usize>,
    /// Longest time spent on the point, in nanoseconds: no invocation begins later.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_time_ns: Option<u64>,
    /// Whether the session is to be long enough to describe the machine, and no longer than that takes on a machine
    /// without other work: the default if nobody says how long or how precise.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub describe_machine: bool,
}

impl StoppingRules {
    /// Until the interval is tight enough, however long that takes.
    #[must_use]
    pub fn precision(relative: f64) -> Self {
        Self { precision: Some(relative), ..Self::default() }
    }

    /// So many invocations.
    #[must_use]
    pub fn fixed(min_invocations: usize) -> Self {
        Self { min_invocations, ..Self::default() }
    }

    /// Whether both minima are reached.
    #[must_use]
    pub fn minima_reached(&self, invocations: usize, spent_ns: u64) -> bool {
        invocations >= self.min_invocations && spent_ns >= self.min_time_ns
    }

    /// Whether nothing is asked for, as of a result that was imported.
    #[must_use]
    pub fn are_none(&self) -> bool {
        self.precision.is_none() && self.min_invocations == 0 && self.min_time_ns == 0
    }

    /// A contradiction among them; None if they can all hold.
    #[must_use]
    pub fn contradiction(&self) -> Option<&'static str> {
        if self.max_invocations.is_some_and(|most| most < self.min_invocations.max(1)) {
            Some("--max-invocations is less than --min-invocations")
        } else if self.max_time_ns.is_some_and(|most| most < self.min_time_ns) {
            Some("--max-time is shorter than --min-time")
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::StoppingRules;
    use crate::plan::Goal;

    #[test]
    fn goals_of_older_stores_are_read() {
        let read = |text: &str| serde_json::from_str::<Goal>(text).unwrap();
        let precise = read(r#"{"strategy":"precision","relative":0.03}"#);
        assert_eq!(precise, Goal::Rules(StoppingRules::precision(0.03)));
        let fixed = |max: u64| {
            read(&format!(
                r#"{{"strategy":"fixed","min_invocations":5,"min_time_ns":7,"max_time_ns":{max}}}"#
            ))
        };
        let rules = StoppingRules { min_time_ns: 7, ..StoppingRules::fixed(5) };
        assert_eq!(fixed(u64::MAX >> 1), Goal::Rules(rules));
        assert_eq!(fixed(9), Goal::Rules(StoppingRules { max_time_ns: Some(9), ..rules }));
    }

    #[test]
    fn what_is_stored_is_read_again() {
        let all = StoppingRules {
            precision: Some(0.005),
            min_invocations: 5,
            min_time_ns: 20,
            max_invocations: Some(50),
            max_time_ns: Some(60),
            describe_machine: true,
        };
        for goal in [Goal::Rules(all), Goal::Rules(StoppingRules::default()), Goal::Soak] {
            let stored = serde_json::to_string(&goal).unwrap();
            assert_eq!(serde_json::from_str::<Goal>(&stored).unwrap(), goal, "{stored}");
        }
    }

    #[test]
    fn contradictions_are_found() {
        let rules = StoppingRules { max_invocations: Some(4), ..StoppingRules::fixed(5) };
        assert!(rules.contradiction().unwrap().contains("invocations"));
        let rules = StoppingRules { min_time_ns: 2, max_time_ns: Some(1), ..Default::default() };
        assert!(rules.contradiction().unwrap().contains("time"));
        assert!(StoppingRules::precision(0.01).contradiction().is_none());
        let none = StoppingRules { max_invocations: Some(0), ..Default::default() };
        assert!(none.contradiction().is_some());
    }
}
