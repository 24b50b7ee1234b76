//! When so much is excluded that the rest of a point says nothing: docs/method.md, *Order*.

/// More excluded than both of these end a point.
struct ExclusionLimit {
    /// The fewest exclusions that can be too many: below it, a share is chance.
    fewest: usize,
    /// The largest share of all that may be excluded.
    share: f64,
}

impl ExclusionLimit {
    fn is_exceeded(&self, excluded: usize, counted: usize) -> bool {
        let all = (excluded + counted) as f64;
        excluded >= self.fewest && excluded as f64 > self.share * all
    }
}

/// More excluded invocations than this mean that something else runs all the time.
const INVOCATIONS: ExclusionLimit = ExclusionLimit { fewest: 5, share: 0.2 };

/// A neighbour that works half of the time spoils half of the pairs, and the other half stays valid, because order and
/// exclusion do not depend on times. So this limit is loose: it only ends what would never end.
const PAIRS: ExclusionLimit = ExclusionLimit { fewest: 40, share: 0.8 };

/// Whether so many of a point's invocations are excluded that the others say nothing.
#[must_use]
pub fn too_disturbed(excluded: usize, counted: usize) -> bool {
    INVOCATIONS.is_exceeded(excluded, counted)
}

/// Whether so many pairs are excluded that going on is useless.
#[must_use]
pub fn pairs_too_disturbed(excluded: usize, counted: usize) -> bool {
    PAIRS.is_exceeded(excluded, counted)
}

#[cfg(test)]
mod tests {
    use super::{pairs_too_disturbed, too_disturbed};

    #[test]
    fn more_than_a_fifth_and_more_than_a_few_are_too_many() {
        assert!(!too_disturbed(4, 0) && !too_disturbed(5, 20) && too_disturbed(6, 20));
        assert!(!pairs_too_disturbed(39, 0) && !pairs_too_disturbed(40, 10));
        assert!(pairs_too_disturbed(41, 10));
    }
}
