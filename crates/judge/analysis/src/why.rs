//! Why a result is slow: what was measured with each suspected cause removed, next to the result as it is.
//!
//! A cause is one whose removal makes the work faster by more than [`LEAST_EFFECT`], with the whole interval beyond it, and
//! again on fresh pairs. All comparisons of a run share its level, so that among any number of candidates without
//! effect at most one run in 20 goes on to fresh pairs.

use plumb_model::{Id, Verdict};

use crate::comparison::pairs::PointComparison;
use crate::estimate::Estimate;
use crate::one_run::ladder::Ladder;

/// A smaller change of the cost is no cause.
pub const LEAST_EFFECT: f64 = 0.05;

/// Why something is slow.
#[derive(Debug, Clone, PartialEq)]
pub struct WhyFinding {
    /// Version of the method that found it.
    pub method: u32,
    /// What is slow, as people call it.
    pub subject: String,
    /// The metric that was compared.
    pub metric: String,
    /// The unit of the metric.
    pub unit: String,
    /// The result with all suspected causes in place; None if nothing was measured.
    pub result: Option<Estimate>,
    /// The run that was faster, with its result; None if none was named.
    pub since: Option<(Id, Estimate)>,
    /// The time that all runs together were given, in seconds.
    pub budget_s: f64,
    /// The runs that it rests on.
    pub runs: Vec<Id>,
    /// What was suspected, in the order in which causes are listed.
    pub candidates: Vec<CandidateFinding>,
    /// Cost without all causes that show by themselves over the cost with them, if there are several.
    pub together: Option<Estimate>,
    /// The work and its parts, if no cause was found and the workload declares parts.
    pub ladder: Option<Ladder>,
}

/// A suspected cause.
#[derive(Debug, Clone, PartialEq)]
pub struct CandidateFinding {
    /// The name of the cause, such as `cpu-quota`.
    pub cause: String,
    /// What it is, in a few words that follow *because of*.
    pub summary: String,
    /// What was seen.
    pub evidence: String,
    /// The settings that removed it, such as `nice=0`; empty if it was not removed.
    pub way: Vec<String>,
    /// What the user can do about it.
    pub remedy: String,
    /// The same as a command; may be empty.
    pub command: String,
    /// What came of removing it.
    pub experiment: CandidateExperiment,
    /// What came of removing it once other causes were removed, which may have hidden it; None if this was not tried.
    pub after_causes: Option<AfterCauses>,
}

/// An experiment without causes that were found before.
#[derive(Debug, Clone, PartialEq)]
pub struct AfterCauses {
    /// The names of these causes.
    pub removed: Vec<String>,
    /// What came of removing one more.
    pub experiment: CandidateExperiment,
}

impl CandidateFinding {
    /// What came of the last experiment.
    #[must_use]
    pub fn latest(&self) -> &CandidateExperiment {
        self.after_causes.as_ref().map_or(&self.experiment, |after| &after.experiment)
    }

    /// The same, to be changed.
    pub fn latest_mut(&mut self) -> &mut CandidateExperiment {
        self.after_causes.as_mut().map_or(&mut self.experiment, |after| &mut after.experiment)
    }
}

/// What came of removing a suspected cause.
#[derive(Debug, Clone, PartialEq)]
pub enum CandidateExperiment {
    /// Another cause was found before.
    NotNeeded,
    /// It cannot be the cause, by what was measured before: why.
    Excluded(String),
    /// plumb could not remove it: why.
    NotTried(String),
    /// Without it, the work fails: why.
    Failed(String),
    /// It was measured without it.
    Measured {
        /// Cost without it over the cost with it; of fresh pairs if there are any.
        ratio: Option<Estimate>,
        /// What that means.
        outcome: CandidateOutcome,
    },
}

/// What an experiment says of a suspected cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CandidateOutcome {
    /// It is a cause.
    Cause,
    /// It looked like one, and fresh pairs did not confirm it.
    NotConfirmed,
    /// Removing it changes less than the least effect, or makes the work slower.
    NoEffect,
    /// The time was too short to know.
    Undecided,
}

impl CandidateExperiment {
    /// Cost without the cause over the cost with it; None if it is no cause.
    #[must_use]
    pub fn effect_of_cause(&self) -> Option<&Estimate> {
        match self {
            Self::Measured { ratio, outcome: CandidateOutcome::Cause } => ratio.as_ref(),
            _ => None,
        }
    }
}

impl CandidateOutcome {
    /// The word of documents.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Cause => "cause",
            Self::NotConfirmed => "not-confirmed",
            Self::NoEffect => "no-effect",
            Self::Undecided => "undecided",
        }
    }

    /// What the first comparison without a suspected cause says. [`Self::Cause`] stands for one that fresh pairs may confirm.
    #[must_use]
    pub fn of(comparison: &PointComparison) -> Self {
        let largest_of_cause = 1.0 / (1.0 + LEAST_EFFECT);
        let found = &comparison.found;
        let (Some(ratio), Ok(verdict)) = (&found.ratio, &found.verdict) else {
            return Self::Undecided;
        };
        match (ratio.low(), ratio.high()) {
            (Some(low), _) if low > largest_of_cause => Self::NoEffect,
            (_, Some(high)) if high < largest_of_cause => Self::Cause,
            _ if *verdict == Verdict::Equivalent => Self::NoEffect,
            _ => Self::Undecided,
        }
    }

    /// The same after fresh pairs.
    #[must_use]
    pub fn after(fresh: &PointComparison) -> Self {
        match Self::of(fresh) {
            Self::Cause => Self::Cause,
            Self::NoEffect => Self::NoEffect,
            Self::NotConfirmed | Self::Undecided => Self::NotConfirmed,
        }
    }
}

impl WhyFinding {
    /// The candidates that are causes, the one with the largest effect first.
    #[must_use]
    pub fn causes(&self) -> Vec<(&CandidateFinding, &Estimate)> {
        let mut causes: Vec<(&CandidateFinding, &Estimate)> = self
            .candidates
            .iter()
            .filter_map(|candidate| Some((candidate, candidate.experiment.effect_of_cause()?)))
            .collect();
        causes.sort_by(|(_, one), (_, other)| one.value.total_cmp(&other.value));
        causes
    }

    /// The candidates that are causes only once others are removed, in the order in which they were found.
    #[must_use]
    pub fn hidden_causes(&self) -> Vec<(&CandidateFinding, &AfterCauses, &Estimate)> {
        let mut causes: Vec<(&CandidateFinding, &AfterCauses, &Estimate)> = self
            .candidates
            .iter()
            .filter_map(|candidate| {
                let after = candidate.after_causes.as_ref()?;
                Some((candidate, after, after.experiment.effect_of_cause()?))
            })
            .collect();
        causes.sort_by_key(|(_, after, _)| after.removed.len());
        causes
    }

    /// Whether a candidate was not tested, or an experiment settled nothing.
    #[must_use]
    pub fn is_undecided(&self) -> bool {
        self.untested() > 0 || self.is_unsettled()
    }

    /// Whether an experiment was too short, or fresh pairs did not confirm it: more time may help.
    #[must_use]
    pub fn is_unsettled(&self) -> bool {
        self.candidates.iter().any(|candidate| {
            matches!(
                candidate.experiment,
                CandidateExperiment::Measured {
                    outcome: CandidateOutcome::Undecided | CandidateOutcome::NotConfirmed,
                    ..
                }
            )
        })
    }

    /// How many candidates could not be tested.
    #[must_use]
    pub fn untested(&self) -> usize {
        self.count(|experiment| matches!(experiment, CandidateExperiment::NotTried(_)))
    }

    /// How many candidates the work cannot do without.
    #[must_use]
    pub fn needed(&self) -> usize {
        self.count(|experiment| matches!(experiment, CandidateExperiment::Failed(_)))
    }

    fn count(&self, counts: impl Fn(&CandidateExperiment) -> bool) -> usize {
        self.candidates.iter().filter(|candidate| counts(&candidate.experiment)).count()
    }
}

#[cfg(test)]
mod tests {
    use plumb_model::{RunRecord, Verdict};

    use super::CandidateOutcome;
    use crate::comparison::pairs::PointComparison;
    use crate::estimate::{Ends, Estimate};
    use crate::summarise;
    use crate::testing::{Builder, COPY};

    /// A comparison with this interval and verdict.
    fn comparison(low: f64, high: f64, verdict: Verdict) -> PointComparison {
        let record: RunRecord = Builder::new(None)
            .measured(&COPY)
            .measured(&COPY)
            .with(|run| run.plan.against_first = true)
            .build();
        let mut found = summarise(&record).against_first.remove(0);
        let value = (low * high).sqrt();
        found.found.ratio = Some(Estimate { value, interval: Ok(Ends { low, high }) });
        found.found.verdict = Ok(verdict);
        found
    }

    #[test]
    fn only_an_interval_beyond_five_per_cent_is_a_cause() {
        for (low, high, verdict, outcome) in [
            (0.2, 0.3, Verdict::Faster, CandidateOutcome::Cause),
            (0.90, 0.95, Verdict::Faster, CandidateOutcome::Cause),
            // 0.96 is 4 % faster.
            (0.90, 0.96, Verdict::Faster, CandidateOutcome::Undecided),
            (0.96, 0.99, Verdict::Faster, CandidateOutcome::NoEffect),
            (0.94, 1.03, Verdict::Equivalent, CandidateOutcome::NoEffect),
            (0.7, 1.4, Verdict::Inconclusive, CandidateOutcome::Undecided),
            (1.2, 1.4, Verdict::Slower, CandidateOutcome::NoEffect),
        ] {
            assert_eq!(
                CandidateOutcome::of(&comparison(low, high, verdict)),
                outcome,
                "{low} {high}"
            );
        }
        let fresh = comparison(0.9, 1.1, Verdict::Inconclusive);
        assert_eq!(CandidateOutcome::after(&fresh), CandidateOutcome::NotConfirmed);
    }
}
