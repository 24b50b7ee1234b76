//! Searches for the highest load that a workload bears (docs/method.md, *Limits*).

use std::collections::BTreeMap;

use plumb_stats::search::{GoalError, LoadGoal, LoadSearch, LoadTrial, Loads, limit};
use serde::{Deserialize, Serialize};

/// The reported values of a trial's sample: operations per second that were asked for, for how many seconds, and how many
/// operations that made, good and bad.
pub(crate) const LOAD: &str = "load";
pub(crate) const DURATION: &str = "duration";
pub(crate) const OFFERED: &str = "offered";
pub(crate) const GOOD: &str = "good";
pub(crate) const BAD: &str = "bad";

/// The loads that a parameter stands for, declared by a workload that answers trials.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Searched {
    /// The least load, in operations per second; above 0.
    pub from: f64,
    /// The largest, which is tried first.
    pub to: f64,
    /// The largest share of bad operations at which the goal still holds: 0, or 0.01 for a 99th percentile.
    #[serde(default)]
    pub loss_ratio: f64,
    /// The goal in words: `p99 under {p99}`. The name of a parameter in braces stands for its value.
    pub goal: String,
}

impl Searched {
    /// What a search of this kind looks for, when `effort` says how; `words` are its goal with all values in place.
    #[must_use]
    pub fn by(&self, effort: SearchEffort, words: String) -> SearchGoal {
        let of = effort.goal();
        SearchGoal {
            from: self.from,
            to: self.to,
            words,
            loss_ratio: self.loss_ratio,
            exceed_ratio: of.exceed_ratio,
            width: of.width,
            initial_trial_ns: of.initial_trial_ns,
            final_trial_ns: of.final_trial_ns,
            duration_sum_ns: of.duration_sum_ns,
            most_ns: of.most_ns,
        }
    }
}

/// How long a search takes and how sure it is: the value of a parameter that is searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SearchEffort {
    /// Within a benchmark: at most 3 s.
    Quick,
    /// As RFC 2544 has it.
    Rfc2544,
    /// As ETSI TST 009 has it.
    Tst009,
    /// As FD.io CSIT does.
    Csit,
}

impl SearchEffort {
    /// All of them, the usual one first.
    pub const ALL: [Self; 4] = [Self::Quick, Self::Rfc2544, Self::Tst009, Self::Csit];

    /// Its word, as typed and stored.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Quick => "search",
            Self::Rfc2544 => "search-rfc2544",
            Self::Tst009 => "search-tst009",
            Self::Csit => "search-csit",
        }
    }

    /// The one of this word.
    #[must_use]
    pub fn of_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|effort| effort.word() == word)
    }

    fn goal(self) -> LoadGoal {
        match self {
            Self::Quick => LoadGoal::QUICK,
            Self::Rfc2544 => LoadGoal::RFC2544,
            Self::Tst009 => LoadGoal::TST009,
            Self::Csit => LoadGoal::CSIT,
        }
    }
}

/// The complete goal of a search: the limit can be computed again from its trials.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SearchGoal {
    /// The least load, in operations per second.
    pub from: f64,
    /// The largest load.
    pub to: f64,
    /// The goal in words: `p99 under 1 ms`.
    pub words: String,
    /// The largest share of bad operations of a good trial.
    pub loss_ratio: f64,
    /// The share of the time of a load's trials that bad ones may take.
    pub exceed_ratio: f64,
    /// How close the bounds have to be, relative to the upper one.
    pub width: f64,
    /// Length of the first trials, in nanoseconds.
    pub initial_trial_ns: u64,
    /// Length of the last trials, in nanoseconds.
    pub final_trial_ns: u64,
    /// Length of all trials of a load together, in nanoseconds.
    pub duration_sum_ns: u64,
    /// The longest that all trials together may last, in nanoseconds.
    pub most_ns: u64,
}

impl SearchGoal {
    /// The same for the search itself.
    #[must_use]
    pub fn goal(&self) -> LoadGoal {
        LoadGoal {
            loss_ratio: self.loss_ratio,
            exceed_ratio: self.exceed_ratio,
            width: self.width,
            initial_trial_ns: self.initial_trial_ns,
            final_trial_ns: self.final_trial_ns,
            duration_sum_ns: self.duration_sum_ns,
            most_ns: self.most_ns,
        }
    }

    /// The range of loads.
    #[must_use]
    pub fn loads(&self) -> Loads {
        Loads { least: self.from, most: self.to }
    }

    /// Whether it can be searched for.
    ///
    /// # Errors
    /// The first number that makes no sense.
    pub fn check(&self) -> Result<(), GoalError> {
        LoadSearch::new(self.goal(), self.loads()).map(|_| ())
    }

    /// The limit that the trials of an invocation show. If no load bears the goal, it is below the least load, and that
    /// stands for it: a process that is left out would make the others' limit the machine's.
    #[must_use]
    pub fn limit(&self, trials: &[LoadTrial]) -> f64 {
        limit(&self.goal(), trials).map_or(self.from, |found| found.throughput)
    }
}

/// The trials that reported values stand for, with how long each took; None when they are of no trials.
#[must_use]
pub fn trials(values: &BTreeMap<String, Vec<f64>>, elapsed_ns: &[u64]) -> Option<Vec<LoadTrial>> {
    let loads = values.get(LOAD)?;
    let durations = values.get(DURATION)?;
    let offered = values.get(OFFERED)?;
    let good = values.get(GOOD)?;
    let mut trials = Vec::new();
    for (index, &elapsed_ns) in elapsed_ns.iter().enumerate() {
        trials.push(LoadTrial {
            load: *loads.get(index)?,
            duration_ns: whole(durations.get(index)? * 1e9),
            elapsed_ns,
            offered: whole(*offered.get(index)?),
            good: whole(*good.get(index)?),
        });
    }
    Some(trials)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "counts and times that were checked, and what saturates is no trial of ours"
)]
fn whole(value: f64) -> u64 {
    value.round() as u64
}

#[cfg(test)]
mod tests {
    use super::{SearchEffort, Searched};

    #[test]
    fn every_effort_makes_a_goal_that_can_be_searched_for() {
        let searched =
            Searched { from: 1.0, to: 1e6, loss_ratio: 0.01, goal: "p99 under {p99}".into() };
        for effort in SearchEffort::ALL {
            assert_eq!(SearchEffort::of_word(effort.word()), Some(effort));
            searched.by(effort, "p99 under 1 ms".into()).check().unwrap();
        }
        assert!(
            Searched { to: 0.5, ..searched }
                .by(SearchEffort::Quick, String::new())
                .check()
                .is_err()
        );
    }
}
