//! Small descriptive statistics. `None` if there is nothing to describe: no values, or one that is not finite.

use crate::NoInterval;

/// Makes a median absolute deviation comparable with a normal's standard deviation: 1 / `normal_quantile(.75)`.
pub const MAD_TO_SD: f64 = 1.482_602_218_505_602;

/// The middle value, or the mean of the two middle ones.
pub fn median(values: &[f64]) -> Option<f64> {
    quantile(values, 0.5)
}

/// The `q`-quantile, linear between order statistics (type 7 of Hyndman & Fan 1996), for q in [0, 1].
pub fn quantile(values: &[f64], q: f64) -> Option<f64> {
    let describable = !values.is_empty() && all_finite(values) && (0.0..=1.0).contains(&q);
    describable.then(|| quantile_in(&mut values.to_vec(), q))
}

/// The same of values in the order of [`f64::total_cmp`]: for many quantiles of the same values.
pub fn quantile_of_sorted(sorted: &[f64], q: f64) -> Option<f64> {
    let &least = sorted.first()?;
    let &greatest = sorted.last()?;
    let describable = all_finite(&[least, greatest]) && (0.0..=1.0).contains(&q);
    describable.then(|| quantile_in_order(sorted, q))
}

/// The arithmetic mean.
pub fn mean(values: &[f64]) -> Option<f64> {
    let describable = !values.is_empty() && all_finite(values);
    describable.then(|| mean_of(values))
}

/// The sample variance (divisor n - 1), in the square of the values' unit; `None` below two values.
pub fn variance(values: &[f64]) -> Option<f64> {
    let describable = values.len() > 1 && all_finite(values);
    describable.then(|| variance_of(values))
}

/// The median absolute deviation from the median, unscaled; times [`MAD_TO_SD`] it estimates a normal's sd.
pub fn mad(values: &[f64]) -> Option<f64> {
    median(values).map(|centre| mad_around(values, centre))
}

/// A box and its whiskers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BoxPlot {
    /// The least value within 1.5 times the box's length below it.
    pub low: f64,
    /// The first quartile, where the box begins.
    pub q1: f64,
    /// The median of all values.
    pub median: f64,
    /// The third quartile, where the box ends.
    pub q3: f64,
    /// The greatest value within 1.5 times the box's length above it.
    pub high: f64,
}

/// How far whiskers reach at most, in lengths of the box (Tukey, *Exploratory Data Analysis*, 1977).
const WHISKER: f64 = 1.5;

/// The box plot of Tukey, with quartiles as by [`quantile`].
pub fn box_plot(values: &[f64]) -> Option<BoxPlot> {
    let q1 = quantile(values, 0.25)?;
    let q3 = quantile(values, 0.75)?;
    let reach = WHISKER * (q3 - q1);
    let within_reach = q1 - reach..=q3 + reach;
    // Whiskers end at values that occurred; the fences themselves are no data.
    let inside = values.iter().copied().filter(|value| within_reach.contains(value));
    // Quartiles lie between values, so that a whisker could end inside the box.
    let low = inside.clone().fold(q1, f64::min);
    let high = inside.fold(q3, f64::max);
    Some(BoxPlot { low, q1, median: median(values)?, q3, high })
}

/// Whether no value is NaN or infinite.
pub fn all_finite(values: &[f64]) -> bool {
    values.iter().all(|value| value.is_finite())
}

/// Natural logarithms of times.
///
/// # Errors
/// [`NoInterval::NotFinite`] or [`NoInterval::NotPositive`] if a value has no logarithm.
pub fn logs(times: &[f64]) -> Result<Vec<f64>, NoInterval> {
    finite(times)?;
    if times.iter().any(|&time| time <= 0.0) {
        return Err(NoInterval::NotPositive);
    }
    Ok(times.iter().map(|time| time.ln()).collect())
}

/// The entrance check of everything that infers.
pub(crate) fn finite(values: &[f64]) -> Result<(), NoInterval> {
    if all_finite(values) { Ok(()) } else { Err(NoInterval::NotFinite) }
}

/// The mean of values that are known to be finite; NaN without values. [`mean`] checks.
#[must_use]
pub fn mean_of(values: &[f64]) -> f64 {
    let count = values.len() as f64;
    let sum: f64 = values.iter().sum();
    // The sum of values near the largest number overflows, their mean does not.
    if sum.is_finite() { sum / count } else { values.iter().map(|value| value / count).sum() }
}

/// The variance of two or more values that are known to be finite. [`variance`] checks.
#[must_use]
pub fn variance_of(values: &[f64]) -> f64 {
    let mean = mean_of(values);
    values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (values.len() - 1) as f64
}

/// The sum of the squares of values.
pub(crate) fn sum_of_squares(values: &[f64]) -> f64 {
    values.iter().map(|value| value * value).sum()
}

/// The median of values that are known to be finite and not empty; allocates a copy. [`median`] checks.
///
/// # Panics
/// Without values.
#[must_use]
pub fn median_of(values: &[f64]) -> f64 {
    quantile_in(&mut values.to_vec(), 0.5)
}

/// The median absolute deviation of checked values from a given centre.
pub(crate) fn mad_around(values: &[f64], centre: f64) -> f64 {
    let mut deviations: Vec<f64> = values.iter().map(|value| (value - centre).abs()).collect();
    quantile_in(&mut deviations, 0.5)
}

/// The type 7 quantile of values that are known to be finite and not empty; reorders them. [`quantile`] checks.
///
/// # Panics
/// Without values.
pub fn quantile_in(values: &mut [f64], q: f64) -> f64 {
    let position = (values.len() - 1) as f64 * q;
    let below = position.floor() as usize;
    let share = position.fract();
    // Selection takes linear time, and only the part above is searched for the next value.
    let (_, &mut low, above) = values.select_nth_unstable_by(below, f64::total_cmp);
    if share == 0.0 {
        return low;
    }
    let high = above.iter().copied().fold(f64::INFINITY, f64::min);
    low + share * (high - low)
}

/// The type 7 quantile of sorted, checked values, not empty.
pub(crate) fn quantile_in_order(sorted: &[f64], q: f64) -> f64 {
    let position = (sorted.len() - 1) as f64 * q;
    let below = position.floor() as usize;
    let share = position.fract();
    let low = sorted[below];
    if share == 0.0 { low } else { low + share * (sorted[below + 1] - low) }
}

/// The `rank`-th smallest of checked values, counted from 1; reorders them.
pub(crate) fn order_statistic(values: &mut [f64], rank: usize) -> f64 {
    *values.select_nth_unstable_by(rank - 1, f64::total_cmp).1
}

/// Lag-1 autocorrelation around the mean; 0 for a constant.
#[must_use]
pub fn lag_one(values: &[f64]) -> f64 {
    let mean = mean_of(values);
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let products: f64 = values.windows(2).map(|pair| (pair[0] - mean) * (pair[1] - mean)).sum();
    if squares > 0.0 { products / squares } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::{
        BoxPlot, MAD_TO_SD, box_plot, lag_one, logs, mad, mean, median, quantile,
        quantile_of_sorted, variance,
    };
    use crate::NoInterval;
    use crate::distribution::normal_quantile;

    #[test]
    fn quantiles_of_sorted_values_are_the_same() {
        let mut values: Vec<f64> =
            (0..97_u32).map(|i| f64::from(i * 7919 % 101) * 0.37 - 9.0).collect();
        let quantiles: Vec<f64> = (0..=200).map(|i| f64::from(i) / 200.0).collect();
        let found: Vec<_> = quantiles.iter().map(|&q| quantile(&values, q)).collect();
        values.sort_unstable_by(f64::total_cmp);
        let sorted: Vec<_> = quantiles.iter().map(|&q| quantile_of_sorted(&values, q)).collect();
        assert_eq!(found, sorted);
        assert_eq!(quantile_of_sorted(&[1.0, f64::NAN], 0.5), None);
        assert_eq!(quantile_of_sorted(&[], 0.5), None);
    }

    #[test]
    fn small_samples_by_hand() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
        assert_eq!(quantile(&[0.0, 10.0], 0.25), Some(2.5));
        assert_eq!(quantile(&[5.0], 1.0), Some(5.0));
        assert_eq!(mean(&[1.0, 2.0, 6.0]), Some(3.0));
        assert_eq!(variance(&[1.0, 2.0, 6.0]), Some(7.0));
        assert_eq!(mad(&[1.0, 2.0, 3.0, 4.0, 100.0]), Some(1.0));
    }

    #[test]
    fn whiskers_end_at_values_and_leave_out_what_is_far() {
        let values = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 20.0];
        let low = 1.0;
        let q1 = 3.0;
        let median = 5.0;
        let q3 = 7.0;
        let high = 8.0;
        assert_eq!(box_plot(&values), Some(BoxPlot { low, q1, median, q3, high }));
        let flat = box_plot(&[2.0; 3]).unwrap();
        assert_eq!((flat.low, flat.high), (2.0, 2.0));
        assert_eq!(box_plot(&[]), None);
        // No value lies within the whisker's reach above the box.
        let gap = box_plot(&[0.0, 0.0, 0.0, 1.0]).unwrap();
        assert_eq!((gap.q3, gap.high), (0.25, 0.25));
    }

    #[test]
    fn nothing_to_describe_is_none() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[1.0, f64::NAN]), None);
        assert_eq!(variance(&[1.0]), None);
        assert_eq!(quantile(&[1.0], 1.5), None);
        assert_eq!(mean(&[f64::INFINITY]), None);
    }

    #[test]
    fn logs_refuse_what_has_none() {
        assert_eq!(logs(&[1.0, 0.0]), Err(NoInterval::NotPositive));
        assert_eq!(logs(&[1.0, f64::NAN]), Err(NoInterval::NotFinite));
        assert_eq!(logs(&[1.0]), Ok(vec![0.0]));
    }

    #[test]
    fn the_constant_of_the_mad_is_the_quartile() {
        assert!((MAD_TO_SD - 1.0 / normal_quantile(0.75)).abs() < 1e-14);
    }

    #[test]
    fn lag_one_of_a_zigzag_is_negative_and_of_a_constant_zero() {
        assert!(lag_one(&[1.0, -1.0, 1.0, -1.0]) < -0.7);
        assert_eq!(lag_one(&[2.0; 5]), 0.0);
    }
}
