//! Ranks in words.

use plumb_analysis::RankSet;

/// `2`, or `2–4` for several.
pub(crate) fn rank_text(ranks: RankSet) -> String {
    match ranks.size() {
        1 => ranks.best.to_string(),
        _ => format!("{}–{}", ranks.best, ranks.worst),
    }
}
