//! Variants of one parameter in a run, the fastest first.

use plumb_model::Estimate;
use plumb_stats::ranks::RankSet;

/// The workloads that do the same work in several implementations.
const WORKLOADS: [&str; 2] = ["language.loop", "language.sieve"];

/// Whether the workload's variants are implementations of the same work.
pub(crate) fn is_of_implementations(workload: &str) -> bool {
    WORKLOADS.contains(&workload)
}

/// Points that differ in one parameter whose values have no order, such as a cipher.
#[derive(Debug, Clone, PartialEq)]
pub struct VariantRanking {
    /// The points without the parameter: `ssh.cipher:mac=…`.
    pub of: String,
    /// The workload's id.
    pub workload: String,
    /// The parameter's name.
    pub parameter: String,
    /// The metric that ranks them.
    pub metric: String,
    /// The variants, the fastest first.
    pub variants: Vec<RankedVariant>,
    /// Why the ranks are unknown, if they are.
    pub no_ranks: Option<String>,
    /// How the work is counted in [`VariantCosts`]; None for workloads whose variants are not implementations of the same
    /// work.
    pub implementations: Option<Implementations>,
}

/// The part of a ranking that only implementations of the same work have.
#[derive(Debug, Clone, PartialEq)]
pub struct Implementations {
    /// Times are those of so many loops.
    pub loops: u32,
    /// The value that the others are compared with: the plan's first that was measured.
    pub first: String,
    /// Those that were planned but have no result.
    pub unmeasured: Vec<UnmeasuredVariant>,
}

/// A variant without a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnmeasuredVariant {
    /// The parameter's value.
    pub value: String,
    /// Whether it failed; otherwise it is not supported here.
    pub failed: bool,
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
    /// What it takes; only of [`Implementations`].
    pub costs: Option<VariantCosts>,
}

/// What so many loops of an implementation take.
#[derive(Debug, Clone, PartialEq)]
pub struct VariantCosts {
    /// CPU time, in seconds.
    pub cpu_s: Estimate,
    /// Its part in user mode, in seconds; None if the kernel's ticks are too coarse for the split.
    pub user_s: Option<f64>,
    /// Its part in the kernel, in seconds.
    pub system_s: Option<f64>,
    /// Largest resident memory, in bytes.
    pub peak_memory_bytes: Option<f64>,
    /// By how much its CPU time exceeds that of the first, as a share; None for the first. The intervals of a ranking hold
    /// together at 95 %.
    pub above_first: Option<Estimate>,
    /// By how much its CPU time exceeds that of the variant before it in the ranking, as a share; None for the fastest.
    pub above_previous: Option<Estimate>,
    /// The version of the program that does the work.
    pub version: String,
}
