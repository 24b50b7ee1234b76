//! Which method finds what is found, and how sure its intervals are.

/// Rises whenever the same record gives another finding.
pub const METHOD_VERSION: u32 = 1;

/// Level of every interval that is printed. The looks at which a strategy stops have the level
/// [`plumb_stats::precision::PER_LOOK_LEVEL`], which leaves this for the interval that was kept.
pub const CONFIDENCE: f64 = 0.95;
