//! Rankings of variants, in words and as a part of a document.

use plumb_analysis::{RankedVariant, VariantRanking};
use plumb_units::quantity;
use serde::Serialize;

use crate::run::curves::CurveText;

/// Variants that are named next to the fastest; of the others there is a count.
const MOST_NAMED: usize = 6;

/// `fastest: aes128; aes192 0.833×, …`, and which cannot be told apart.
pub(crate) fn ranking_text(ranking: &VariantRanking) -> CurveText {
    CurveText {
        name: format!("{} by {}", ranking.of, ranking.parameter),
        workload: ranking.workload.clone(),
        lines: lines(ranking),
    }
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
    /// The variants, the fastest first.
    pub variants: Vec<RankedVariantPart>,
    /// Why the ranks are unknown; null if they are known.
    pub no_ranks: Option<String>,
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
}

impl RankingPart {
    pub(crate) fn of(ranking: &VariantRanking) -> Self {
        let variants = ranking.variants.iter().map(|variant| RankedVariantPart {
            value: variant.value.clone(),
            speed: variant.speed,
            best_rank: variant.ranks.map(|ranks| ranks.best),
            worst_rank: variant.ranks.map(|ranks| ranks.worst),
        });
        Self {
            of: ranking.of.clone(),
            parameter: ranking.parameter.clone(),
            variants: variants.collect(),
            no_ranks: ranking.no_ranks.clone(),
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
            variants: variants
                .iter()
                .map(|&(value, speed, ranks)| RankedVariant {
                    value: value.into(),
                    speed,
                    ranks: ranks.map(|(best, worst)| RankSet { best, worst }),
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
