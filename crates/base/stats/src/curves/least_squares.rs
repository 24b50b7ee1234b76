//! Weighted least squares of a few columns, by the normal equations.

use crate::distribution::{two_sided_t, two_sided_z};
use crate::precision::CONFIDENCE;

/// Rounds of reweighting; a few are enough.
pub(super) const ROUNDS: usize = 30;
/// A fitted time is no less than this share of the measured one, or a fit through 0 had infinite weights.
pub(super) const LEAST_SHARE: f64 = 0.2;

/// A weighted sum of columns, as close to some values as it comes.
pub(super) struct WeightedFit {
    /// The factor of each column.
    pub(super) coefficients: Vec<f64>,
    /// The standard errors of these, if the noise is as large as the caller says.
    pub(super) errors: Vec<f64>,
    /// The sum of squares of what is left, in standard deviations.
    pub(super) squares: f64,
    /// The covariance of the coefficients.
    covariance: Vec<Vec<f64>>,
}

impl WeightedFit {
    /// The standard error of a quantity that changes with the coefficients by so much each.
    pub(super) fn error_of(&self, gradient: &[f64]) -> f64 {
        let rows = self.covariance.iter().zip(gradient);
        let variance: f64 = rows.map(|(row, by)| by * product(row, gradient)).sum();
        // Rounding may leave a variance of 0 slightly negative.
        variance.max(0.0).sqrt()
    }
}

/// The sum of the products of two rows of numbers, one by one.
fn product(one: &[f64], other: &[f64]) -> f64 {
    one.iter().zip(other).map(|(a, b)| a * b).sum()
}

/// The product of two columns in which each value counts by its precision, the inverse of its variance.
fn weighted_product(one: &[f64], other: &[f64], noise: &[f64]) -> f64 {
    let pairs = one.iter().zip(other).zip(noise);
    pairs.map(|((one, other), noise)| one * other / (noise * noise)).sum()
}

/// The weighted sum of the columns in one row.
pub(super) fn fitted_value(columns: &[Vec<f64>], coefficients: &[f64], row: usize) -> f64 {
    columns.iter().zip(coefficients).map(|(column, factor)| factor * column[row]).sum()
}

/// How many standard errors wide a figure's interval is to either side: the wider one of what the points' intervals
/// give and of what their distances from the fit give (Student's t on so many degrees of freedom).
pub(super) fn widening(squares: f64, degrees: usize) -> f64 {
    let df = degrees as f64;
    two_sided_z(CONFIDENCE).max(two_sided_t(CONFIDENCE, df) * (squares / df).sqrt())
}

/// The weighted sum of `columns` that comes closest to `values`, whose standard deviations are `noise`; `None` if
/// the columns do not report the coefficients apart.
pub(super) fn fit(columns: &[Vec<f64>], values: &[f64], noise: &[f64]) -> Option<WeightedFit> {
    let matrix: Vec<Vec<f64>> = columns
        .iter()
        .map(|row| columns.iter().map(|column| weighted_product(row, column, noise)).collect())
        .collect();
    let inverse = inverse(matrix)?;
    let right: Vec<f64> =
        columns.iter().map(|column| weighted_product(column, values, noise)).collect();
    let coefficients: Vec<f64> = inverse.iter().map(|row| product(row, &right)).collect();
    let squares = (0..values.len())
        .map(|row| {
            let left = values[row] - fitted_value(columns, &coefficients, row);
            (left / noise[row]).powi(2)
        })
        .sum();
    let errors = (0..columns.len()).map(|index| inverse[index][index].sqrt()).collect();
    Some(WeightedFit { coefficients, errors, squares, covariance: inverse })
}

/// The inverse of a symmetric positive definite matrix by elimination; `None` if it has none.
fn inverse(mut matrix: Vec<Vec<f64>>) -> Option<Vec<Vec<f64>>> {
    let n = matrix.len();
    let scales: Vec<f64> = (0..n).map(|index| matrix[index][index].sqrt()).collect();
    if scales.iter().any(|scale| !scale.is_normal()) {
        return None;
    }
    // Columns of unit length, so that one threshold shows what is singular in any unit.
    for (row, a) in matrix.iter_mut().zip(&scales) {
        row.iter_mut().zip(&scales).for_each(|(value, b)| *value /= a * b);
    }
    let mut result: Vec<Vec<f64>> =
        (0..n).map(|i| (0..n).map(|j| f64::from(u8::from(i == j))).collect()).collect();
    for pivot in 0..n {
        let by = matrix[pivot][pivot];
        if by < 1e-12 {
            return None;
        }
        for rows in [&mut matrix, &mut result] {
            rows[pivot].iter_mut().for_each(|value| *value /= by);
        }
        for row in (0..n).filter(|&row| row != pivot) {
            let factor = matrix[row][pivot];
            for rows in [&mut matrix, &mut result] {
                let pivot_row = rows[pivot].clone();
                rows[row].iter_mut().zip(pivot_row).for_each(|(value, of)| *value -= factor * of);
            }
        }
    }
    for (row, a) in result.iter_mut().zip(&scales) {
        row.iter_mut().zip(&scales).for_each(|(value, b)| *value /= a * b);
    }
    Some(result)
}

#[cfg(test)]
mod tests {
    use super::fit;

    #[test]
    fn a_weighted_line_by_hand() {
        // y = 1 + 2x exactly, and a point of no weight that lies elsewhere.
        let columns = [vec![1.0; 4], vec![0.0, 1.0, 2.0, 3.0]];
        let found = fit(&columns, &[1.0, 3.0, 5.0, 100.0], &[1.0, 1.0, 1.0, 1e9]).unwrap();
        assert!((found.coefficients[0] - 1.0).abs() < 1e-6, "{:?}", found.coefficients);
        assert!((found.coefficients[1] - 2.0).abs() < 1e-6, "{:?}", found.coefficients);
        // Of three points at 0, 1, 2 the slope has the variance 1/2, the height at 0 the variance 5/6.
        assert!((found.errors[1] - 0.5f64.sqrt()).abs() < 1e-6, "{:?}", found.errors);
        assert!((found.errors[0] - (5.0f64 / 6.0).sqrt()).abs() < 1e-6, "{:?}", found.errors);
        assert!(found.squares < 1e-6);
        // At 1 the line is known as well as the mean of the three: its variance is 1/3.
        assert!((found.error_of(&[1.0, 1.0]) - 3f64.sqrt().recip()).abs() < 1e-6);
    }

    #[test]
    fn columns_that_say_the_same_have_no_fit() {
        let columns = [vec![1.0; 3], vec![2.0; 3]];
        assert!(fit(&columns, &[1.0, 2.0, 3.0], &[1.0; 3]).is_none());
        assert!(fit(&[vec![0.0; 3]], &[1.0, 2.0, 3.0], &[1.0; 3]).is_none());
    }
}
