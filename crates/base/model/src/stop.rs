//! Why a strategy is done with a point.

use serde::{Deserialize, Serialize};

/// Why a strategy is done with a point. Its word is what is stored and published.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StopReason {
    /// The interval is as narrow as was wanted.
    Precision,
    /// The comparison is settled.
    Verdict,
    /// The comparison can't be settled within the most pairs.
    Hopeless,
    /// The most pairs were taken, and the comparison is not settled.
    MaxPairs,
    /// As many invocations and as much time as was asked for.
    Fixed,
    /// The most invocations of one point were made.
    MaxInvocations,
    /// The longest time for one point is over.
    MaxTime,
    /// The time for the whole run is over.
    Budget,
    /// The workload has no more samples.
    Supply,
    /// A soak has lasted as long as was asked for.
    Time,
    /// Too many invocations were disturbed.
    Interference,
    /// The workload failed too often.
    Failed,
    /// The point can't be measured here.
    Unsupported,
}

impl StopReason {
    /// Every reason, in the order of declaration.
    pub const ALL: [Self; 13] = [
        Self::Precision,
        Self::Verdict,
        Self::Hopeless,
        Self::MaxPairs,
        Self::Fixed,
        Self::MaxInvocations,
        Self::MaxTime,
        Self::Budget,
        Self::Supply,
        Self::Time,
        Self::Interference,
        Self::Failed,
        Self::Unsupported,
    ];

    /// The word that is stored and published.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Precision => "precision",
            Self::Verdict => "verdict",
            Self::Hopeless => "hopeless",
            Self::MaxPairs => "max-pairs",
            Self::Fixed => "fixed",
            Self::MaxInvocations => "max-invocations",
            Self::MaxTime => "max-time",
            Self::Budget => "budget",
            Self::Supply => "supply",
            Self::Time => "time",
            Self::Interference => "interference",
            Self::Failed => "failed",
            Self::Unsupported => "unsupported",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::StopReason;

    #[test]
    fn the_stored_word_is_the_shown_one() {
        for reason in StopReason::ALL {
            let stored = serde_json::to_value(reason).unwrap();
            assert_eq!(stored, reason.word());
            assert_eq!(serde_json::from_value::<StopReason>(stored).unwrap(), reason);
        }
    }
}
