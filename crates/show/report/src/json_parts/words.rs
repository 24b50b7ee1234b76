//! Words that several documents have.

use plumb_model::Better;

/// The word for a direction.
pub fn better(better: Better) -> &'static str {
    match better {
        Better::Higher => "higher",
        Better::Lower => "lower",
        Better::Neither => "neither",
    }
}
