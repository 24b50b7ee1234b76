//! The ranks of the arms of a comparison, in words and as a part of a document.

use plumb_analysis::{ArmRanking, ComparisonFinding, ParetoFront, RankSet, SeriesComparison};
use plumb_units::percent;
#[cfg(test)]
use schemars::JsonSchema;
use serde::Serialize;

use crate::rank_text::rank_text;

/// The ranks of an arm: `rank 1–2 of 3, rank 1 for its price, on the Pareto front`.
pub fn arm_ranks(
    finding: &ComparisonFinding,
    result: &SeriesComparison,
    arm: usize,
) -> Option<String> {
    let ranking = result.ranking.as_ref()?.as_ref().ok()?;
    let found = ranking.arms.get(arm)?.as_ref()?;
    let ranked = ranking.arms.iter().flatten().count();
    let mut parts = vec![format!("rank {} of {ranked}", rank_text(found.ranks))];
    if let Some(by_price) = found.by_price {
        parts.push(format!("rank {} for its price", rank_text(by_price.ranks)));
        parts.push(match by_price.front {
            ParetoFront::On => "on the Pareto front".to_owned(),
            ParetoFront::Off { because_of } => {
                let other = finding.arms.get(because_of).map_or("another arm", String::as_str);
                format!("not on the Pareto front: {other} is faster and costs no more")
            }
            ParetoFront::Open => "perhaps on the Pareto front".to_owned(),
        });
    }
    Some(parts.join(", "))
}

/// How to read the ranks, and why results have none.
pub(crate) fn ranks_closing(finding: &ComparisonFinding) -> Vec<String> {
    let rankings: Vec<_> =
        finding.results.iter().filter_map(|result| result.ranking.as_ref()).collect();
    let mut lines = Vec::new();
    if rankings.iter().any(|ranking| ranking.is_ok()) {
        lines.push(format!(
            "All ranks of one result hold together with {} confidence; rank 1 is the fastest.",
            percent(finding.confidence)
        ));
    }
    // Most results have the same reason.
    if let Some(why) = rankings.iter().find_map(|ranking| ranking.as_ref().err()) {
        lines.push(format!("{}.", why.text(&finding.arms)));
    }
    lines
}

/// The ranks of an arm as a part of a document.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct ArmRanksPart {
    /// The best and the worst possible rank by cost; rank 1 is the fastest.
    pub ranks: [usize; 2],
    /// The best and the worst possible rank by cost times price; null unless all arms have a price in one currency.
    pub ranks_for_price: Option<[usize; 2]>,
    /// Whether no other arm is faster at the same price or a lower one; null if the data leave it open, or without prices.
    pub on_pareto_front: Option<bool>,
}

impl ArmRanksPart {
    /// Of the arm with this index.
    pub(crate) fn of(ranking: &ArmRanking, arm: usize) -> Option<Self> {
        let found = ranking.arms.get(arm)?.as_ref()?;
        Some(Self {
            ranks: ends(found.ranks),
            ranks_for_price: found.by_price.map(|by_price| ends(by_price.ranks)),
            on_pareto_front: found.by_price.and_then(|by_price| match by_price.front {
                ParetoFront::On => Some(true),
                ParetoFront::Off { .. } => Some(false),
                ParetoFront::Open => None,
            }),
        })
    }
}

fn ends(ranks: RankSet) -> [usize; 2] {
    [ranks.best, ranks.worst]
}
