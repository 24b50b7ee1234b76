//! Fewer marks than values, by rules that are said.

/// So many dots a chart hides nothing that an eye could see.
pub const MOST_DOTS: usize = 450;
/// More knots than these do not change how a line looks at the width of a page.
pub const MOST_KNOTS: usize = 100;

/// One of so many marks goes to the least values, and one to the greatest.
const EXTREMES: usize = 20;

/// Indices of evenly spaced ranks among so many sorted values, the first and the last among them; all
/// if they are few.
pub fn ranks(length: usize, most: usize) -> Vec<usize> {
    if length <= most || most < 2 {
        return (0..length).collect();
    }
    (0..most).map(|i| i * (length - 1) / (most - 1)).collect()
}

/// The same, with several of the first and of the last.
pub fn ranks_and_extremes(length: usize, most: usize) -> Vec<usize> {
    if length <= most || most < EXTREMES {
        return ranks(length, most);
    }
    let ends = most / EXTREMES;
    let between = ranks(length - 2 * ends, most - 2 * ends).into_iter().map(|rank| rank + ends);
    (0..ends).chain(between).chain(length - ends..length).collect()
}

/// Indices of values in their order: of every stretch of equally many the least and the greatest, so that
/// no spike is lost; all if they are few.
pub fn spikes(values: &[f64], most: usize) -> Vec<usize> {
    if values.len() <= most {
        return (0..values.len()).collect();
    }
    let stretches = (most / 2).max(1);
    let mut kept = Vec::with_capacity(2 * stretches);
    for stretch in 0..stretches {
        let from = stretch * values.len() / stretches;
        let to = (stretch + 1) * values.len() / stretches;
        let low = (from..to).min_by(|a, b| values[*a].total_cmp(&values[*b]));
        let high = (from..to).max_by(|a, b| values[*a].total_cmp(&values[*b]));
        // In order of place, and once if all values of the stretch are equal.
        let mut two: Vec<usize> = low.into_iter().chain(high).collect();
        two.sort_unstable();
        two.dedup();
        kept.extend(two);
    }
    kept
}

/// A number with commas: `100,000`.
pub fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let parts: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().filter_map(|group| str::from_utf8(group).ok()).collect();
    parts.join(",")
}

#[cfg(test)]
mod tests {
    use super::{grouped, ranks, ranks_and_extremes, spikes};

    #[test]
    fn extremes_are_kept() {
        assert_eq!(ranks(5, 10), [0, 1, 2, 3, 4]);
        let kept = ranks(100_000, 2_000);
        assert_eq!((kept.len(), kept[0], kept[1_999]), (2_000, 0, 99_999));
        let kept = ranks_and_extremes(10_000, 100);
        assert_eq!(
            (kept.len(), &kept[..6], &kept[94..]),
            (100, &[0, 1, 2, 3, 4, 5][..], &[9_994, 9_995, 9_996, 9_997, 9_998, 9_999][..])
        );
        assert!(kept.is_sorted_by(|a, b| a < b), "{kept:?}");
        let mut values = vec![1.0; 10_000];
        (values[777], values[7_000]) = (9.0, -9.0);
        let kept = spikes(&values, 200);
        assert!(kept.len() <= 200 && kept.contains(&777) && kept.contains(&7_000));
        assert!(kept.is_sorted());
        assert_eq!(spikes(&[], 10), Vec::<usize>::new());
    }

    #[test]
    fn long_numbers_are_grouped() {
        assert_eq!([grouped(7), grouped(1_000), grouped(1_234_567)], ["7", "1,000", "1,234,567"]);
    }
}
