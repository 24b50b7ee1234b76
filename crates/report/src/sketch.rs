//! A distribution in a few characters.

use plumb_analysis::Finding;

/// Nothing in a bin, then ever more.
const BLOCKS: [char; 7] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇'];
const LETTERS: [char; 7] = ['_', '.', ':', '-', '=', '+', '#'];
/// Fewer samples have no shape.
const FEWEST: usize = 5;

/// A histogram of the steady samples from their 1st to their 99th percentile, low values left;
/// what lies beyond counts in the outermost bins. Empty where there are too few samples.
#[must_use]
pub fn histogram(finding: &Finding, bins: usize, unicode: bool) -> String {
    sketch(&finding.distribution, bins, unicode)
}

fn sketch(sorted: &[f64], bins: usize, unicode: bool) -> String {
    let marks = if unicode { BLOCKS } else { LETTERS };
    if sorted.len() < FEWEST || bins < 2 || sorted.iter().any(|value| !value.is_finite()) {
        return String::new();
    }
    let counts = counts(sorted, bins);
    let most = counts.iter().copied().max().unwrap_or(1).max(1);
    let steps = marks.len() - 1;
    counts.iter().map(|&count| marks[(count * steps).div_ceil(most)]).collect()
}

#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a position among a few bins, clamped"
)]
fn counts(sorted: &[f64], bins: usize) -> Vec<usize> {
    let last = sorted.len() - 1;
    let (low, high) = (sorted[last / 100], sorted[last - last / 100]);
    let span = high - low;
    let mut counts = vec![0; bins];
    for value in sorted {
        let place = if span > 0.0 { (value - low) / span } else { 0.5 };
        let bin = (place.clamp(0.0, 1.0) * bins as f64) as usize;
        counts[bin.min(bins - 1)] += 1;
    }
    counts
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, prop, proptest};

    use super::sketch;

    #[test]
    fn shapes_are_recognisable() {
        let bell: Vec<f64> = [1, 2, 2, 3, 3, 3, 3, 4, 4, 5].map(f64::from).to_vec();
        assert_eq!(sketch(&bell, 5, true), "▃▄▇▄▃");
        assert_eq!(sketch(&bell, 5, false), ":-#-:");
        let two: Vec<f64> = [1, 1, 1, 9, 9, 9].map(f64::from).to_vec();
        assert_eq!(sketch(&two, 6, true), "▇▁▁▁▁▇");
        assert_eq!(sketch(&[2.0; 9], 5, true), "▁▁▇▁▁");
        assert_eq!(sketch(&[1.0, 2.0], 5, true), "");
    }

    proptest! {
        #[test]
        fn any_values_give_so_many_marks(mut values in prop::collection::vec(any::<f64>(), 0..50), bins in 0_usize..20) {
            values.sort_by(f64::total_cmp);
            let sketch = sketch(&values, bins, true);
            assert!(sketch.is_empty() || sketch.chars().count() == bins);
        }
    }
}
