//! The meaning of missing answers: chance, or a limit that lets answers through evenly.
//!
//! A path that loses packets takes them by chance, so that how many of the rarer kind, lost or answered, fall into equal pieces of a batch
//! varies as of a binomial distribution. A token bucket, of a host or of a firewall, spreads them evenly. Pearson's index of dispersion
//! tells the two apart (Fisher 1925, §16).

use plumb_model::{Flag, FlagKind};

/// Pieces of a batch; below this there is too little to tell.
const FEWEST_PIECES: u64 = 30;
const MOST_PIECES: u64 = 60;
/// Of the rarer kind in a piece, in the mean.
const IN_A_PIECE: u64 = 2;

/// By chance an index of 29 degrees of freedom is below this in one of a thousand batches.
const EVEN: f64 = 0.4;
/// Between these it may be chance.
const BY_CHANCE: std::ops::Range<f64> = 0.6..2.0;

/// How the requests lie that got no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Losses {
    /// As evenly as a limit spreads them.
    Even,
    /// As chance spreads them.
    ByChance,
    /// Losses follow each other more often than chance allows.
    InBursts,
    /// There are too few to tell.
    Unclear,
}

impl Losses {
    /// Of so many requests from `first` on, of which these were lost, by number and in order.
    #[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
    pub(crate) fn of(first: u64, requests: u64, lost: &[u64]) -> Self {
        let losses = lost.len() as u64;
        let rarer = losses.min(requests.saturating_sub(losses));
        let pieces = (rarer / IN_A_PIECE).min(MOST_PIECES);
        if pieces < FEWEST_PIECES {
            return Self::Unclear;
        }
        // Those lost vary as much as those answered.
        let mut counts = vec![0_u64; usize::try_from(pieces).unwrap_or(0)];
        for number in lost {
            let piece = (number - first).min(requests - 1) * pieces / requests;
            counts[usize::try_from(piece).unwrap_or(0)] += 1;
        }
        // A bucket that is full at first lets a burst through.
        let after_the_first = &counts[1..];
        if after_the_first.iter().all(|count| *count == 0) {
            return Self::InBursts;
        }
        match dispersion(after_the_first, requests as f64 / pieces as f64) {
            it if it < EVEN => Self::Even,
            it if BY_CHANCE.contains(&it) => Self::ByChance,
            it if it >= BY_CHANCE.end => Self::InBursts,
            _ => Self::Unclear,
        }
    }

    /// Says of a batch what its losses mean: from this host so many answers came a second.
    pub(crate) fn flag(self, host: &str, lost: u64, requests: u64, answers: f64) -> Flag {
        let meaning = match self {
            Self::Even => format!(
                "replies arrive at a steady {answers:.0} per second: {host} or a firewall on the path is rate-limiting, or something is saturated"
            ),
            Self::ByChance => "the losses are random: the path loses packets".to_owned(),
            Self::InBursts => format!(
                "the losses come in bursts: a queue on the path overflows, or {host} or a firewall limits replies in steps"
            ),
            Self::Unclear => {
                format!(
                    "{host} or a firewall on the path limits replies, or the path loses packets"
                )
            }
        };
        let why = format!("{lost} of {requests} requests got no answer: {meaning}");
        Flag::new(FlagKind::Lossy, why)
    }
}

/// The variance of counts in pieces of so many, over what it is if each is counted by chance.
#[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
fn dispersion(counts: &[u64], of: f64) -> f64 {
    let pieces = counts.len() as f64;
    let mean = counts.iter().sum::<u64>() as f64 / pieces;
    let squares: f64 = counts.iter().map(|count| (*count as f64 - mean).powi(2)).sum();
    squares / (pieces - 1.0) / (mean * (1.0 - mean / of)).max(f64::MIN_POSITIVE)
}

#[cfg(test)]
mod tests {
    use plumb_protocol::SplitMix64;

    use super::Losses;

    /// The numbers from 7 on that are lost of so many.
    fn lost(requests: u64, mut is_lost: impl FnMut(u64) -> bool) -> Vec<u64> {
        (7..7 + requests).filter(|number| is_lost(*number)).collect()
    }

    #[test]
    fn chance_is_told_from_a_limit_whatever_the_share() {
        for share in [0.02, 0.2, 0.5, 0.9, 0.98] {
            let mut random = SplitMix64::new(3);
            let by_chance = |_| (random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64 <= share;
            let numbers = lost(5000, by_chance);
            assert_eq!(Losses::of(7, 5000, &numbers), Losses::ByChance, "{share}");
            // A bucket that a token comes into for each request, a burst of ten at first.
            let mut tokens = 10.0;
            let limited = |_| {
                tokens += 1.0 - share;
                let is_lost = tokens < 1.0;
                tokens -= if is_lost { 0.0 } else { 1.0 };
                is_lost
            };
            assert_eq!(Losses::of(7, 5000, &lost(5000, limited)), Losses::Even, "{share}");
        }
    }

    #[test]
    fn few_losses_tell_nothing_and_bursts_are_no_limit() {
        assert_eq!(Losses::of(7, 5000, &lost(5000, |number| number % 100 == 0)), Losses::Unclear);
        assert_eq!(Losses::of(7, 100, &lost(100, |_| true)), Losses::Unclear);
        let bursts = lost(5000, |number| number % 1000 < 100);
        assert_eq!(Losses::of(7, 5000, &bursts), Losses::InBursts);
        let at_first = lost(5000, |number| number < 70);
        assert_eq!(Losses::of(7, 5000, &at_first), Losses::InBursts);
    }

    #[test]
    fn chance_is_seldom_taken_for_a_limit() {
        let mut wrong = 0;
        for seed in 0..2000 {
            let mut random = SplitMix64::new(seed);
            let numbers = lost(1000, |_| random.below(16) == 0);
            wrong += u32::from(Losses::of(7, 1000, &numbers) == Losses::Even);
        }
        assert!(wrong < 10, "{wrong} of 2000");
    }
}
