//! The universal scalability law (Gunther 1993, 2007): why a rate does not grow with the number of those who work.
//!
//! ```text
//! rate(n) = n · rate(1) / (1 + contention · (n − 1) + coherency · n · (n − 1))
//! ```
//!
//! Contention is the share of the work that only one can do at a time: it bounds the speedup. Coherency is the price of
//! every two having to agree: with it the rate falls again beyond a number.

use super::least_squares::{LEAST_SHARE, ROUNDS, fit, fitted_value, widening};
use super::point::{CurveFigure, CurvePoint, NoFit, ordered, weighing_noise};

/// The fewest points of a fit: three figures are found, and their scatter has to say how well.
pub const FEWEST_POINTS: usize = 6;

/// The law as a curve follows it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Law {
    /// The rate of one alone.
    pub alone: CurveFigure,
    /// The share of work that is done one at a time.
    pub contention: CurveFigure,
    /// The price of agreement of every two, relative to the work.
    pub coherency: CurveFigure,
    /// The number with the highest rate; none if the rate grows for ever, or may do so by the interval of coherency.
    pub most_at: Option<f64>,
    /// How far a point lies off the law at most, relative to it.
    pub off: f64,
}

/// The law through rates at numbers of those who work.
///
/// The time that each of n takes for a unit of work, n / rate(n), is linear in the three figures, and its noise is as
/// relative as the rate's: iteratively reweighted least squares, as for a line. Intervals are those of quotients of the
/// coefficients (delta method), the wider one of what the points' intervals give and of what their distances from the
/// law give. A figure may come out below 0, if the rate grows faster than the number: then the law does not hold.
///
/// # Errors
/// [`NoFit`]: fewer than six points, or rates that are not above 0.
pub fn law(points: &[CurvePoint]) -> Result<Law, NoFit> {
    let points = ordered(points, FEWEST_POINTS)?;
    if points.iter().any(|point| point.at <= 0.0 || point.estimate <= 0.0) {
        return Err(NoFit::NotPositive);
    }
    let n: Vec<f64> = points.iter().map(|point| point.at).collect();
    let times: Vec<f64> = points.iter().map(|point| point.at / point.estimate).collect();
    let (relative, known) = weighing_noise(&points);
    let columns = [
        vec![1.0; n.len()],
        n.iter().map(|n| n - 1.0).collect(),
        n.iter().map(|n| n * (n - 1.0)).collect(),
    ];
    let mut fitted = times.clone();
    let mut found = None;
    // The weights come from the fit that they make, so it is repeated until both have settled.
    for _ in 0..ROUNDS {
        let noise: Vec<f64> =
            fitted.iter().zip(&relative).map(|(time, share)| time * share).collect();
        let next = fit(&columns, &times, &noise).ok_or(NoFit::NotFinite)?;
        fitted = (0..n.len())
            .map(|row| {
                let value = fitted_value(&columns, &next.coefficients, row);
                value.max(times[row] * LEAST_SHARE)
            })
            .collect();
        found = Some(next);
    }
    let found = found.ok_or(NoFit::NotFinite)?;
    let alone = found.coefficients[0];
    let first = found.coefficients[1];
    let second = found.coefficients[2];
    if alone <= 0.0 {
        return Err(NoFit::NotPositive);
    }
    let factor = widening(found.squares, n.len() - columns.len());
    // The gradient of a figure with respect to the coefficients gives its error (delta method).
    let figure = |value: f64, gradient: [f64; 3]| {
        let half = found.error_of(&gradient) * factor;
        CurveFigure::new(value, known.then_some((value - half, value + half)))
    };
    let contention = first / alone;
    let coherency = second / alone;
    let agreement = figure(coherency, [-coherency / alone, 0.0, 1.0 / alone]);
    // A coherency that may be 0 has its peak anywhere up to infinity: a number there would look like a finding.
    let falls_again = agreement.interval.as_ref().is_ok_and(|interval| interval.low > 0.0);
    let distances = times.iter().zip(&fitted).map(|(time, law)| (law / time - 1.0).abs());
    Ok(Law {
        alone: figure(1.0 / alone, [-1.0 / (alone * alone), 0.0, 0.0]),
        contention: figure(contention, [-contention / alone, 1.0 / alone, 0.0]),
        coherency: agreement,
        most_at: (falls_again && contention < 1.0).then(|| ((1.0 - contention) / coherency).sqrt()),
        off: distances.fold(0.0, f64::max),
    })
}

#[cfg(test)]
mod tests {
    use super::{Law, law};
    use crate::curves::{CurveFigure, CurvePoint, NoFit};

    fn points(rate: impl Fn(f64) -> f64) -> Vec<CurvePoint> {
        let point = |n: f64| {
            let estimate = rate(n);
            CurvePoint { at: n, estimate, ends: Some((estimate * 0.99, estimate * 1.01)) }
        };
        [1.0, 2.0, 4.0, 8.0, 12.0, 16.0, 32.0].map(point).to_vec()
    }

    fn by_law(contention: f64, coherency: f64) -> impl Fn(f64) -> f64 {
        move |n| 1e6 * n / (1.0 + contention * (n - 1.0) + coherency * n * (n - 1.0))
    }

    fn near(figure: CurveFigure, value: f64) {
        assert!((figure.value - value).abs() < 1e-9 * value.max(1.0), "{figure:?}, not {value}");
        let interval = figure.interval.unwrap();
        assert!(interval.low < value && value < interval.high, "{interval:?}");
    }

    #[test]
    fn exact_rates_give_their_figures_back() {
        let found = law(&points(by_law(0.03, 0.0005))).unwrap();
        near(found.contention, 0.03);
        near(found.coherency, 0.0005);
        assert!((found.alone.value - 1e6).abs() < 1e-3, "{found:?}");
        assert!((found.most_at.unwrap() - (0.97_f64 / 0.0005).sqrt()).abs() < 1e-3, "{found:?}");
        assert!(found.off < 1e-9);
    }

    #[test]
    fn perfect_scaling_has_neither_and_no_best_number() {
        let found = law(&points(by_law(0.0, 0.0))).unwrap();
        near(found.contention, 0.0);
        near(found.coherency, 0.0);
        assert_eq!(found.most_at, None, "{found:?}");
    }

    #[test]
    fn what_follows_another_law_lies_off_and_has_wide_intervals() {
        let width = |found: &Law| {
            let interval = found.contention.interval.unwrap();
            interval.high - interval.low
        };
        // It grows until eight and then stands: no curve of the law has such a corner.
        let corner = law(&points(|n| 1e6 * n.min(8.0))).unwrap();
        let smooth = law(&points(by_law(0.05, 0.001))).unwrap();
        assert!(corner.off > 0.1, "{corner:?}");
        assert!(width(&corner) > 3.0 * width(&smooth), "{corner:?} {smooth:?}");
    }

    #[test]
    fn reasons_are_said() {
        let all = points(by_law(0.1, 0.01));
        assert_eq!(law(&all[..5]), Err(NoFit::TooFewPoints { have: 5, need: 6 }));
        let mut zero = all.clone();
        zero[2].estimate = 0.0;
        assert_eq!(law(&zero), Err(NoFit::NotPositive));
        let mut without = all;
        without[3].ends = None;
        assert!(law(&without).unwrap().contention.interval.is_err());
    }
}
