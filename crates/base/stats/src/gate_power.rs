//! How likely a comparison in pairs reports a slow-down: docs/method.md, *A gate that proves itself*.
//!
//! Pairs of a program with itself, measured in the same session, are the noise that a slow-down has to be seen through. They
//! are shifted by it and drawn again in blocks of neighbours, so that noise with a memory keeps it (Künsch 1989), and the
//! looks of the comparison are repeated on what was drawn. The pairs themselves are few: drawing them anew first, and
//! repeating all of it, gives the interval (Efron & Tibshirani 1993, the bootstrap after the bootstrap).

use crate::NoInterval;
use crate::describe::finite;
use crate::pairs::{FEWEST_PAIRS, hodges_lehmann};
use crate::rng::Rng;
use crate::verdict::{Confidence, LookSchedule, Verdict, judge_pairs};

/// Pairs drawn anew, for the interval.
const OUTER: usize = 40;
/// Comparisons repeated on each of them.
const INNER: usize = 100;
/// Comparisons of more pairs are repeated with so many: intervals of thousands take too long.
const MOST_PAIRS: usize = 200;
/// The bounds of the interval leave out this share on either side.
const TAIL: f64 = 0.025;

/// A comparison whose looks are repeated.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RepeatedLooks {
    /// When it looks at its pairs.
    pub schedule: LookSchedule,
    /// How sure all its verdicts together are.
    pub confidence: Confidence,
    /// The number of these verdicts.
    pub comparisons: usize,
    /// Smallest relative change that matters.
    pub margin: f64,
    /// Pairs that its limits allow.
    pub pairs: usize,
}

/// The probability that a slow-down is reported.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GatePower {
    /// The estimated probability.
    pub probability: f64,
    /// Lower end of its 95 % interval.
    pub low: f64,
    /// Upper end of its 95 % interval.
    pub high: f64,
}

/// The probability that these looks report a slow-down by `effect`, a log ratio, if `null` are the log ratios of a program
/// with itself, in order of time.
///
/// # Errors
/// [`NoInterval::TooFewSamples`] for fewer than 8 pairs; [`NoInterval::NotFinite`].
pub fn gate_power(
    null: &[f64],
    effect: f64,
    looks: RepeatedLooks,
    rng: &mut Rng,
) -> Result<GatePower, NoInterval> {
    finite(null)?;
    let centre = hodges_lehmann(null)
        .filter(|_| null.len() >= FEWEST_PAIRS)
        .ok_or(NoInterval::TooFewSamples)?;
    // The program is the same, so that what its pairs are off by together is chance.
    let centred: Vec<f64> = null.iter().map(|value| value - centre).collect();
    let mut shares: Vec<f64> = Vec::with_capacity(OUTER);
    for _ in 0..OUTER {
        let pairs = in_blocks(&centred, centred.len(), rng);
        shares.push(found_share(&pairs, effect, looks, rng));
    }
    shares.sort_by(f64::total_cmp);
    // A share of so many repetitions is no finer than this.
    let step = 1.0 / INNER as f64;
    let probability = found_share(&centred, effect, looks, rng);
    Ok(GatePower {
        probability,
        low: (at_share(&shares, TAIL) - step).clamp(0.0, probability),
        high: (at_share(&shares, 1.0 - TAIL) + step).clamp(probability, 1.0),
    })
}

fn at_share(sorted: &[f64], share: f64) -> f64 {
    sorted[((sorted.len() - 1) as f64 * share).round() as usize]
}

/// How often the looks report the slow-down.
fn found_share(pairs: &[f64], effect: f64, looks: RepeatedLooks, rng: &mut Rng) -> f64 {
    let most = looks.pairs.clamp(FEWEST_PAIRS, MOST_PAIRS);
    let mut found = 0;
    for _ in 0..INNER {
        let mut drawn = in_blocks(pairs, most, rng);
        drawn.iter_mut().for_each(|value| *value += effect);
        found += usize::from(is_found(&drawn, looks));
    }
    found as f64 / INNER as f64
}

/// Whether the first look that settles the comparison says *slower*.
fn is_found(drawn: &[f64], looks: RepeatedLooks) -> bool {
    let at = looks.schedule.looks().into_iter().filter(|look| *look < drawn.len());
    for pairs in at.chain([drawn.len()]) {
        let level = looks.schedule.level_of_each(looks.confidence, pairs, looks.comparisons);
        let judged = judge_pairs(&drawn[..pairs], level, looks.margin);
        match judged.map(|judged| judged.verdict) {
            Ok(Verdict::Slower) => return true,
            Ok(Verdict::Inconclusive) | Err(_) => {}
            Ok(_) => return false,
        }
    }
    false
}

/// So many values in blocks of neighbours, each of the cube root of their number.
fn in_blocks(values: &[f64], wanted: usize, rng: &mut Rng) -> Vec<f64> {
    let block = (values.len() as f64).cbrt().round().max(1.0) as usize;
    let mut drawn = Vec::with_capacity(wanted + block);
    while drawn.len() < wanted {
        let from = rng.below(values.len());
        // The last neighbour of the last value is the first.
        drawn.extend((from..from + block).map(|at| values[at % values.len()]));
    }
    drawn.truncate(wanted);
    drawn
}

#[cfg(test)]
mod tests {
    use super::{GatePower, RepeatedLooks, gate_power};
    use crate::NoInterval;
    use crate::rng::Rng;
    use crate::verdict::{Confidence, LookSchedule};

    const LOOKS: RepeatedLooks = RepeatedLooks {
        schedule: LookSchedule::Forty,
        confidence: Confidence::NinetyFive,
        comparisons: 1,
        margin: 0.01,
        pairs: 40,
    };

    fn power(sd: f64, effect: f64) -> GatePower {
        let mut rng = Rng::new(1);
        let null: Vec<f64> = (0..40).map(|_| sd * rng.normal()).collect();
        gate_power(&null, effect, LOOKS, &mut rng).unwrap()
    }

    #[test]
    fn what_is_far_beyond_the_noise_is_surely_found_and_what_is_far_below_is_not() {
        assert_eq!(power(0.005, 0.05).probability, 1.0);
        let hopeless = power(0.2, 0.02);
        assert!(hopeless.probability < 0.2 && hopeless.low < 0.1, "{hopeless:?}");
        let between = power(0.04, 0.02);
        assert!(between.low < between.probability && between.probability < between.high);
    }

    #[test]
    fn too_few_pairs_and_what_is_no_number_is_refused() {
        let refused = |null: &[f64]| gate_power(null, 0.02, LOOKS, &mut Rng::new(1));
        assert_eq!(refused(&[0.0; 7]), Err(NoInterval::TooFewSamples));
        assert_eq!(refused(&[f64::NAN; 9]), Err(NoInterval::NotFinite));
    }
}
