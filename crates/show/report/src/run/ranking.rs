//! Rankings of variants, in words and as a part of a document.

use plumb_analysis::{RankedVariant, VariantCosts, VariantRanking};
use plumb_units::quantity;
use serde::Serialize;

use crate::json_parts::estimate::{EstimatePart, estimate};
use crate::run::curves::CurveText;

/// Variants that are named next to the fastest; of the others there is a count.
const MOST_NAMED: usize = 6;

/// `fastest: aes128; aes192 0.833×, …`, and which cannot be told apart. None for implementations, which have a table.
pub(crate) fn ranking_text(ranking: &VariantRanking) -> Option<CurveText> {
    ranking.implementations.is_none().then(|| CurveText {
        name: format!("{} by {}", ranking.of, ranking.parameter),
        workload: ranking.workload.clone(),
        lines: lines(ranking),
        is_ladder: false,
    })
}

fn lines(ranking: &VariantRanking) -> Vec<String> {
    let Some((fastest, others)) = ranking.variants.split_first() else { return Vec::new() };
    let mut shown: Vec<String> = others
        .iter()
        .take(MOST_NAMED)
        .map(|variant| format!("{} {}×", variant.value, quantity(variant.speed, "")))
        .collect();
    if others.len() > MOST_NAMED {
        shown.push(format!("and {} more", others.len() - MOST_NAMED));
    }
    let mut lines = vec![format!("fastest: {}; {}", fastest.value, shown.join(", "))];
    match &ranking.no_ranks {
        Some(why) => lines.push(format!("the order may be chance ({why})")),
        None => lines.extend(
            ranking.variants.chunk_by(|one, next| !are_apart(one, next)).filter_map(alike_text),
        ),
    }
    lines
}

/// `aes192 and aes256 cannot be told apart`; None for one.
fn alike_text(alike: &[RankedVariant]) -> Option<String> {
    let (last, others) = alike.split_last()?;
    let others: Vec<&str> = others.iter().map(|variant| variant.value.as_str()).collect();
    let all = if others.len() > 1 { "all " } else { "" };
    (!others.is_empty())
        .then(|| format!("{} and {} cannot {all}be told apart", others.join(", "), last.value))
}

/// Whether no rank of the slower one is possible for the faster one.
fn are_apart(faster: &RankedVariant, slower: &RankedVariant) -> bool {
    match (faster.ranks, slower.ranks) {
        (Some(faster), Some(slower)) => faster.worst < slower.best,
        _ => false,
    }
}

/// Variants of one parameter in a document.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RankingPart {
    /// The points without the parameter.
    pub of: String,
    /// The parameter's name.
    pub parameter: String,
    /// The metric that ranks them.
    pub metric: String,
    /// The variants, the fastest first.
    pub variants: Vec<RankedVariantPart>,
    /// Why the ranks are unknown; null if they are known.
    pub no_ranks: Option<String>,
    /// Of implementations of the same work: costs are those of so many loops.
    pub loops: Option<u32>,
    /// Of implementations of the same work: the value that the others are compared with.
    pub first: Option<String>,
}

/// A value of the parameter with its speed and ranks.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RankedVariantPart {
    /// The parameter's value.
    pub value: String,
    /// Speed over that of the fastest variant.
    pub speed: f64,
    /// The best rank that is not ruled out; all sets of a ranking hold together at 95 %.
    pub best_rank: Option<usize>,
    /// The worst rank that is not ruled out.
    pub worst_rank: Option<usize>,
    /// What it takes; only of implementations of the same work.
    pub costs: Option<CostsPart>,
}

/// What several loops of an implementation take.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CostsPart {
    /// CPU time, in seconds.
    pub cpu_s: EstimatePart,
    /// Its part in user mode, in seconds.
    pub user_s: Option<f64>,
    /// Its part in the kernel, in seconds.
    pub system_s: Option<f64>,
    /// Largest resident memory, in bytes.
    pub peak_memory_bytes: Option<f64>,
    /// By how much its CPU time exceeds that of the first, as a share. The intervals of a ranking hold together at 95 %.
    pub above_first: Option<EstimatePart>,
    /// By how much its CPU time exceeds that of the variant before it, as a share.
    pub above_previous: Option<EstimatePart>,
    /// The version of the program that does the work.
    pub version: String,
}

impl CostsPart {
    fn of(costs: &VariantCosts) -> Self {
        Self {
            cpu_s: estimate(&costs.cpu_s),
            user_s: costs.user_s,
            system_s: costs.system_s,
            peak_memory_bytes: costs.peak_memory_bytes,
            above_first: costs.above_first.as_ref().map(estimate),
            above_previous: costs.above_previous.as_ref().map(estimate),
            version: costs.version.clone(),
        }
    }
}

impl RankingPart {
    pub(crate) fn of(ranking: &VariantRanking) -> Self {
        let variants = ranking.variants.iter().map(|variant| RankedVariantPart {
            value: variant.value.clone(),
            speed: variant.speed,
            best_rank: variant.ranks.map(|ranks| ranks.best),
            worst_rank: variant.ranks.map(|ranks| ranks.worst),
            costs: variant.costs.as_ref().map(CostsPart::of),
        });
        Self {
            of: ranking.of.clone(),
            parameter: ranking.parameter.clone(),
            metric: ranking.metric.clone(),
            variants: variants.collect(),
            no_ranks: ranking.no_ranks.clone(),
            loops: ranking.implementations.as_ref().map(|of| of.loops),
            first: ranking.implementations.as_ref().map(|of| of.first.clone()),
        }
    }
}

#[cfg(test)]
mod tests {
    use plumb_analysis::{RankSet, RankedVariant, VariantRanking};

    use super::lines;

    type Variant<'v> = (&'v str, f64, Option<(usize, usize)>);

    fn ranking(variants: &[Variant<'_>]) -> VariantRanking {
        VariantRanking {
            of: "ssh.cipher".into(),
            workload: "ssh.cipher".into(),
            parameter: "cipher".into(),
            metric: "time".into(),
            implementations: None,
            variants: variants
                .iter()
                .map(|&(value, speed, ranks)| RankedVariant {
                    value: value.into(),
                    speed,
                    ranks: ranks.map(|(best, worst)| RankSet { best, worst }),
                    costs: None,
                })
                .collect(),
            no_ranks: variants.iter().any(|(.., ranks)| ranks.is_none()).then(|| "few".into()),
        }
    }

    #[test]
    fn the_fastest_comes_first_and_shared_ranks_are_not_told_apart() {
        let found = lines(&ranking(&[
            ("aes128", 1.0, Some((1, 1))),
            ("aes192", 0.833, Some((2, 3))),
            ("aes256", 0.778, Some((2, 3))),
            ("chacha20", 0.556, Some((4, 4))),
        ]));
        assert_eq!(
            found,
            [
                "fastest: aes128; aes192 0.833×, aes256 0.778×, chacha20 0.556×",
                "aes192 and aes256 cannot be told apart"
            ]
        );
    }

    #[test]
    fn without_ranks_the_order_may_be_chance() {
        let found = lines(&ranking(&[("b", 1.0, None), ("a", 0.5, None)]));
        assert_eq!(found, ["fastest: b; a 0.500×", "the order may be chance (few)"]);
    }
}
