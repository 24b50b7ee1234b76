//! A distribution in a few characters.

/// Nothing in a bin, then ever more.
const BLOCKS: [char; 7] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇'];
const LETTERS: [char; 7] = ['_', '.', ':', '-', '=', '+', '#'];
/// Fewer samples have no shape.
const FEWEST: usize = 5;

/// A histogram of sorted samples from their 1st to their 99th percentile, low values left; what lies beyond
/// counts in the outermost bins. Empty if there are too few samples.
#[must_use]
pub fn histogram(sorted: &[f64], bins: usize, unicode: bool) -> String {
    let marks = if unicode { BLOCKS } else { LETTERS };
    if sorted.len() < FEWEST || bins < 2 || sorted.iter().any(|value| !value.is_finite()) {
        return String::new();
    }
    let counts = counts(sorted, bins);
    let most = counts.iter().copied().max().unwrap_or(1).max(1);
    let steps = marks.len() - 1;
    // Rounded up, so that a bin with a single value does not look empty.
    counts.iter().map(|&count| marks[(count * steps).div_ceil(most)]).collect()
}

/// Values in their order, low ones low; of many the middle of every stretch. Before the places that are
/// named stands a border. Empty if there are fewer than three.
#[must_use]
pub fn line(values: &[f64], borders: &[usize], columns: usize, unicode: bool) -> String {
    let marks = if unicode { BLOCKS } else { LETTERS };
    if values.len() < 3 || columns < 3 || values.iter().any(|value| !value.is_finite()) {
        return String::new();
    }
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let stretches = values.len().min(columns);
    let mut out = String::new();
    for stretch in 0..stretches {
        let from = stretch * values.len() / stretches;
        let to = (stretch + 1) * values.len() / stretches;
        if borders.iter().any(|border| *border > 0 && (from..to).contains(border)) {
            out.push('│');
        }
        let mut part = values[from..to].to_vec();
        part.sort_by(f64::total_cmp);
        let middle = part[part.len() / 2];
        out.push(marks[level(middle, low, high, marks.len())]);
    }
    out
}

#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "one of a few levels, clamped"
)]
fn level(value: f64, low: f64, high: f64, levels: usize) -> usize {
    let last = (levels - 1) as f64;
    let place = if high > low { (value - low) / (high - low) * last } else { last / 2.0 };
    place.round().clamp(0.0, last) as usize
}

#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a position among a few bins, clamped"
)]
fn counts(sorted: &[f64], bins: usize) -> Vec<usize> {
    let last = sorted.len() - 1;
    // One outlier must not squeeze all others into a single bin: the ends are the 1st and the 99th percentile.
    let low = sorted[last / 100];
    let high = sorted[last - last / 100];
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

    use super::{histogram, line};

    #[test]
    fn shapes_are_recognisable() {
        let bell: Vec<f64> = [1, 2, 2, 3, 3, 3, 3, 4, 4, 5].map(f64::from).to_vec();
        assert_eq!(histogram(&bell, 5, true), "▃▄▇▄▃");
        assert_eq!(histogram(&bell, 5, false), ":-#-:");
        let two: Vec<f64> = [1, 1, 1, 9, 9, 9].map(f64::from).to_vec();
        assert_eq!(histogram(&two, 6, true), "▇▁▁▁▁▇");
        assert_eq!(histogram(&[2.0; 9], 5, true), "▁▁▇▁▁");
        assert_eq!(histogram(&[1.0, 2.0], 5, true), "");
    }

    #[test]
    fn a_line_goes_up_and_down_with_borders() {
        let values = [1.0, 1.0, 1.5, 4.0, 4.0, 3.5];
        assert_eq!(line(&values, &[3], 20, true), "▁▁▂│▇▇▆");
        assert_eq!(line(&values, &[0], 20, false), "__.##+");
        assert_eq!(line(&values, &[3], 3, true), "▁│▇▇");
        assert_eq!(line(&[2.0; 4], &[], 9, true), "▄▄▄▄");
        assert_eq!(line(&values[..2], &[], 9, true), "");
        assert_eq!(line(&[1.0, f64::NAN, 2.0], &[], 9, true), "");
    }

    proptest! {
        #[test]
        fn any_values_give_so_many_marks(mut values in prop::collection::vec(any::<f64>(), 0..50), bins in 0_usize..20) {
            values.sort_by(f64::total_cmp);
            let drawn = histogram(&values, bins, true);
            assert!(drawn.is_empty() || drawn.chars().count() == bins);
        }
    }
}
