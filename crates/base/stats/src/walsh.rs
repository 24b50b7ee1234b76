//! Walsh averages (y_i + y_j)/2, i <= j: their count below a value, and those at given ranks.
//!
//! There are n(n + 1)/2 of them, 50 million of 10,000 pairs. Few are listed and selected from. For many, each value of
//! the sorted sample heads a row of averages that rise along it, and a rank is looked for in all rows at once (Monahan
//! 1984): a candidate drawn by chance splits every row in one walk of 2n steps, and the part without the rank is
//! dropped. Both ways pick the same average.

use crate::describe::order_statistic;
use crate::rng::Rng;

/// Up to this many values all averages are listed.
const LISTED_UP_TO: usize = 120;
/// So many candidates a value are listed, too.
const LISTED_A_VALUE: usize = 4;
/// Candidates are drawn alike in every call, so that equal values give equal work.
const SEED: u64 = 0x5761_6c73_6800;

/// The Walsh averages of checked values.
pub(crate) struct Walsh {
    sorted: Vec<f64>,
    /// All averages, if they are few.
    listed: Vec<f64>,
}

impl Walsh {
    /// Of values that are finite.
    pub(crate) fn of(values: &[f64]) -> Self {
        let mut sorted = values.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        let few = sorted.len() <= LISTED_UP_TO;
        let listed = if few { listed(&sorted, |row| (row, sorted.len())) } else { Vec::new() };
        Self { sorted, listed }
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.sorted.len() * (self.sorted.len() + 1) / 2
    }

    /// The `rank`-th smallest, counted from 1.
    pub(crate) fn at(&mut self, rank: usize) -> f64 {
        if self.listed.is_empty() {
            return self.searched(rank);
        }
        order_statistic(&mut self.listed, rank)
    }

    /// The middle one, or the mean of the two middle ones. There is one.
    pub(crate) fn median(&mut self) -> f64 {
        let middle = self.len().div_ceil(2);
        let low = self.at(middle);
        if self.len() % 2 == 1 { low } else { low + 0.5 * (self.at(middle + 1) - low) }
    }

    /// How many are less than `value`, and how many are no more.
    pub(crate) fn below(&self, value: f64) -> (usize, usize) {
        let less = self.ends(|average| average < value);
        let no_more = self.ends(|average| average <= value);
        (count(&less), count(&no_more))
    }

    /// Where each row stops to fulfil what low averages do.
    fn ends(&self, low: impl Fn(f64) -> bool) -> Vec<usize> {
        let sorted = &self.sorted;
        let mut end = sorted.len();
        let mut ends = Vec::with_capacity(sorted.len());
        for (row, value) in sorted.iter().enumerate() {
            // Averages rise from row to row in every column, so that no row reaches farther than the one before.
            while end > row && !low(0.5 * (value + sorted[end - 1])) {
                end -= 1;
            }
            ends.push(end.max(row));
        }
        ends
    }

    fn searched(&self, rank: usize) -> f64 {
        let n = self.sorted.len();
        let mut rng = Rng::new(SEED);
        let mut from: Vec<usize> = (0..n).collect();
        let mut to: Vec<usize> = vec![n; n];
        // Averages before the candidates, and candidates.
        let mut before = 0;
        let mut left = self.len();
        while left > LISTED_A_VALUE * n {
            // A random candidate leaves half of them on average, so a few rounds over the rows replace listing n²/2
            // averages.
            let pivot = self.candidate(&from, &to, rng.below(left));
            let less = self.ends(|average| average < pivot);
            let no_more = self.ends(|average| average <= pivot);
            if rank <= count(&less) {
                to = less;
            } else if rank > count(&no_more) {
                before = count(&no_more);
                from = no_more;
            } else {
                // The averages that equal the pivot reach across the rank.
                return pivot;
            }
            left = from.iter().zip(&to).map(|(from, to)| to.saturating_sub(*from)).sum();
        }
        let mut rest = listed(&self.sorted, |row| (from[row], to[row]));
        order_statistic(&mut rest, rank - before)
    }

    /// The candidate at this place, row after row.
    fn candidate(&self, from: &[usize], to: &[usize], mut place: usize) -> f64 {
        for (row, (from, to)) in from.iter().zip(to).enumerate() {
            let here = to.saturating_sub(*from);
            if place < here {
                return 0.5 * (self.sorted[row] + self.sorted[from + place]);
            }
            place -= here;
        }
        f64::NAN
    }
}

/// How many averages lie before the ends of the rows; a row begins at its own number.
fn count(ends: &[usize]) -> usize {
    ends.iter().enumerate().map(|(row, end)| end - row).sum()
}

/// The averages of the columns of each row that are asked for.
fn listed(sorted: &[f64], columns: impl Fn(usize) -> (usize, usize)) -> Vec<f64> {
    let mut all = Vec::new();
    for (row, value) in sorted.iter().enumerate() {
        let (from, to) = columns(row);
        all.extend(
            sorted.get(from..to).unwrap_or_default().iter().map(|other| 0.5 * (value + other)),
        );
    }
    all
}

#[cfg(test)]
mod tests {
    use super::{Walsh, listed};
    use crate::rng::Rng;

    /// Values with a heavy tail and, every third time, many ties.
    fn drawn(n: usize, rng: &mut Rng) -> Vec<f64> {
        let ties = rng.below(3) == 0;
        let value = |rng: &mut Rng| {
            let value = 0.01 + 0.02 * rng.normal() / rng.uniform();
            if ties { (value * 50.0).round() / 50.0 } else { value }
        };
        (0..n).map(|_| value(rng)).collect()
    }

    #[test]
    fn searched_are_the_listed() {
        let mut rng = Rng::new(31);
        for n in [121, 150, 300, 777] {
            for _ in 0..6 {
                let values = drawn(n, &mut rng);
                let mut walsh = Walsh::of(&values);
                let mut all = listed(&walsh.sorted, |row| (row, n));
                all.sort_unstable_by(f64::total_cmp);
                assert_eq!(all.len(), walsh.len());
                let ranks = [1, 2, all.len() / 7, all.len() / 2, all.len() - 1, all.len()];
                for rank in ranks.into_iter().chain((0..20).map(|_| 1 + rng.below(all.len()))) {
                    assert_eq!(walsh.at(rank), all[rank - 1], "{n}: {rank}");
                }
                for value in [0.0, all[all.len() / 3], -1e9, 1e9] {
                    let less = all.iter().filter(|&&average| average < value).count();
                    let no_more = all.iter().filter(|&&average| average <= value).count();
                    assert_eq!(walsh.below(value), (less, no_more));
                }
            }
        }
    }

    #[test]
    fn all_ten_thousand_equal_or_not_take_no_list() {
        let mut rng = Rng::new(32);
        let values = drawn(10_000, &mut rng);
        let mut walsh = Walsh::of(&values);
        let median = walsh.median();
        let (less, no_more) = walsh.below(median);
        assert!(less <= walsh.len() / 2 && no_more >= walsh.len() / 2, "{less} {no_more}");
        assert_eq!(Walsh::of(&[0.25; 10_000]).at(40_000_000), 0.25);
    }
}
