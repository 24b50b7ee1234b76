//! Variants of one parameter in a run, the fastest first.

use plumb_stats::ranks::RankSet;

/// Points that differ in one parameter whose values have no order, such as a cipher.
#[derive(Debug, Clone, PartialEq)]
pub struct VariantRanking {
    /// The points without the parameter: `ssh.cipher:mac=…`.
    pub of: String,
    /// The workload's id.
    pub workload: String,
    /// The parameter's name.
    pub parameter: String,
    /// The variants, the fastest first.
    pub variants: Vec<RankedVariant>,
    /// Why the ranks are unknown, if they are.
    pub no_ranks: Option<String>,
}

/// A value of the parameter.
#[derive(Debug, Clone, PartialEq)]
pub struct RankedVariant {
    /// The value, as people type it.
    pub value: String,
    /// Its speed over that of the fastest: the ratio of medians.
    pub speed: f64,
    /// The ranks that are not ruled out; all sets of a ranking hold together at 95 %.
    pub ranks: Option<RankSet>,
}
