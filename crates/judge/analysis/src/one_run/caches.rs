//! Caches beside the plateaus of latencies: what the kernel claims, and what there is.

use crate::estimate::{Ends, Estimate};
use crate::one_run::curve::{CacheLevel, Plateau};

/// What an edge without a cache costs, and a cache without an edge: a pair that is 64-fold off costs as much as both.
const ALONE: f64 = 2.08;

/// The caches that a machine claims, as its facts have them (`L1d 48 KiB, L1i 32 KiB, L2 2 MiB, L3 36 MiB shared by
/// 0-15`), each with the edge that fits it: in order, and with the least sum of distances on a logarithmic axis.
pub(crate) fn levels(claims: &str, plateaus: &[Plateau]) -> Vec<CacheLevel> {
    let claimed: Vec<(String, u64)> = claims.split(", ").filter_map(claim).collect();
    let edges: Vec<Estimate> = plateaus.windows(2).map(|pair| edge(&pair[0], &pair[1])).collect();
    let had = pairs(&claimed, &edges).1;
    let level = |((name, claimed), had): ((String, u64), Option<usize>)| CacheLevel {
        name,
        claimed,
        had: had.map(|at| edges[at].clone()),
    };
    claimed.into_iter().zip(had).map(level).collect()
}

fn edge(before: &Plateau, after: &Plateau) -> Estimate {
    let low = before.to;
    let high = after.from;
    Estimate { value: (low * high).sqrt(), interval: Ok(Ends { low, high }) }
}

/// A cache that holds data: its name and its bytes.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "sizes of caches are positive and small"
)]
fn claim(text: &str) -> Option<(String, u64)> {
    let mut words = text.split(' ');
    let name = words.next()?;
    let number = words.next()?;
    let unit = words.next()?;
    if name.ends_with('i') {
        return None;
    }
    let scale = ["B", "KiB", "MiB", "GiB"].iter().position(|known| *known == unit)?;
    let bytes = number.parse::<f64>().ok()? * 1024_f64.powi(i32::try_from(scale).ok()?);
    Some((name.trim_end_matches('d').to_owned(), bytes.round() as u64))
}

/// The edge of each cache, with what that costs.
#[expect(clippy::cast_precision_loss, reason = "sizes of caches are far below 2^53")]
fn pairs(claimed: &[(String, u64)], edges: &[Estimate]) -> (f64, Vec<Option<usize>>) {
    let Some(((_, size), smaller)) = claimed.split_last() else {
        return (ALONE * edges.len() as f64, Vec::new());
    };
    let without = pairs(smaller, edges);
    let mut best = (without.0 + ALONE, [without.1, vec![None]].concat());
    for (at, edge) in edges.iter().enumerate() {
        let before = pairs(smaller, &edges[..at]);
        let skipped = ALONE * (edges.len() - at - 1) as f64;
        let cost = before.0 + skipped + (edge.value / *size as f64).ln().abs();
        if cost < best.0 {
            best = (cost, [before.1, vec![Some(at)]].concat());
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::levels;
    use crate::estimate::Estimate;
    use crate::one_run::curve::Plateau;

    const CLAIMS: &str = "L1d 32 KiB, L1i 32 KiB, L2 512 KiB, L3 32 MiB shared by 0-1";

    fn plateaus(ends: &[(u64, u64)]) -> Vec<Plateau> {
        let height = Estimate { value: 1e-9, interval: Err(String::new()) };
        let one = |(from, to): &(u64, u64)| Plateau {
            from: (from << 10) as f64,
            to: (to << 10) as f64,
            points: 2,
            height: height.clone(),
        };
        ends.iter().map(one).collect()
    }

    /// The KiB between which each cache ends.
    fn had(ends: &[(u64, u64)]) -> Vec<Option<(u64, u64)>> {
        let kib = |bytes: Option<f64>| bytes.unwrap() as u64 >> 10;
        let all = levels(CLAIMS, &plateaus(ends)).into_iter();
        all.map(|cache| cache.had.map(|had| (kib(had.low()), kib(had.high())))).collect()
    }

    #[test]
    fn each_cache_has_the_edge_that_fits() {
        let of_all = had(&[(4, 32), (64, 256), (1024, 11 << 10), (16 << 10, 256 << 10)]);
        assert_eq!(of_all, [Some((32, 64)), Some((256, 1024)), Some((11 << 10, 16 << 10))]);
        let names: Vec<String> = levels(CLAIMS, &[]).into_iter().map(|cache| cache.name).collect();
        assert_eq!(names, ["L1", "L2", "L3"]);
        assert_eq!(levels(CLAIMS, &[])[2].claimed, 32 << 20);
    }

    #[test]
    fn a_cache_may_have_no_edge_and_an_edge_no_cache() {
        assert_eq!(
            had(&[(4, 512), (1024, 2048), (65536, 262_144)]),
            [None, Some((512, 1024)), Some((2048, 65536))]
        );
        assert_eq!(had(&[(4, 262_144)]), [None, None, None]);
        // One between the second and the third is of no cache, such as that of a table of pages.
        let of = had(&[(4, 32), (64, 256), (1024, 2048), (4096, 16384), (65536, 262_144)]);
        assert_eq!(of, [Some((32, 64)), Some((256, 1024)), Some((16384, 65536))]);
    }
}
