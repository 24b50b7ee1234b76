//! Normal, Student t and binomial distributions, digamma and trigamma, to about twelve digits.
//!
//! Methods: error function by Kummer's series and Laplace's continued fraction (Abramowitz & Stegun 7.1.6, 7.1.14);
//! normal quantile by Wichura's AS 241 (1988); Student t by the incomplete beta function's continued fraction
//! (A&S 26.5.8, evaluated by Lentz) and Newton's method. Tested against `statrs` and printed tables.
//!
//! Outside a function's domain the answer is NaN, as in `f64::sqrt`.

use std::f64::consts::{FRAC_1_SQRT_2, PI};

/// Degrees of freedom above which Student t is taken from the normal by a correction of order 1/df^2.
const NEARLY_NORMAL: f64 = 1e6;
/// Where the series of digamma and trigamma are exact to about twelve digits.
const SERIES_FROM: f64 = 15.0;

/// P(Z <= z) for the standard normal.
pub fn normal_cdf(z: f64) -> f64 {
    if z.is_nan() {
        return f64::NAN;
    }
    let x = z * FRAC_1_SQRT_2;
    // The series converges fast near 0, the fraction far from it.
    if x.abs() < 2.5 {
        0.5 + 0.5 * erf_series(x)
    } else if x < 0.0 {
        0.5 * erfc_fraction(-x)
    } else {
        1.0 - 0.5 * erfc_fraction(x)
    }
}

/// erf(x) for moderate x: all terms have one sign, so that nothing cancels.
fn erf_series(x: f64) -> f64 {
    let mut term = x;
    let mut sum = x;
    let mut odd = 1.0;
    while term.abs() > 1e-17 * sum.abs() {
        odd += 2.0;
        term *= 2.0 * x * x / odd;
        sum += term;
    }
    2.0 / PI.sqrt() * (-x * x).exp() * sum
}

/// erfc(x) for x >= 2, by the continued fraction from its far end.
fn erfc_fraction(x: f64) -> f64 {
    let fraction = (1..=80).rev().fold(x, |tail, k| x + 0.5 * f64::from(k) / tail);
    (-x * x).exp() / (PI.sqrt() * fraction)
}

/// The z with P(Z <= z) = `p`; infinite at 0 and 1, NaN outside.
pub fn normal_quantile(p: f64) -> f64 {
    let centred = p - 0.5;
    if centred.abs() <= 0.425 {
        let r = 0.180_625 - centred * centred;
        return centred * ratio(r, &AS241_CENTRE_TOP, &AS241_CENTRE_BOTTOM);
    }
    let tail = if centred < 0.0 { p } else { 1.0 - p };
    if tail == 0.0 {
        return f64::INFINITY.copysign(centred);
    }
    let r = (-tail.ln()).sqrt();
    let z = if r <= 5.0 {
        ratio(r - 1.6, &AS241_MIDDLE_TOP, &AS241_MIDDLE_BOTTOM)
    } else {
        ratio(r - 5.0, &AS241_FAR_TOP, &AS241_FAR_BOTTOM)
    };
    z.copysign(centred)
}

/// The quotient of two polynomials given from the constant term up.
fn ratio(x: f64, top: &[f64; 8], bottom: &[f64; 8]) -> f64 {
    polynomial(x, top) / polynomial(x, bottom)
}

/// A polynomial by Horner's scheme, its coefficients given from the constant term up.
fn polynomial(x: f64, coefficients: &[f64; 8]) -> f64 {
    coefficients.iter().rev().fold(0.0, |sum, coefficient| sum * x + coefficient)
}

const AS241_CENTRE_TOP: [f64; 8] = [
    3.387_132_872_796_366_5,
    133.141_667_891_784_38,
    1_971.590_950_306_551_3,
    13_731.693_765_509_46,
    45_921.953_931_549_87,
    67_265.770_927_008_7,
    33_430.575_583_588_13,
    2_509.080_928_730_122_7,
];
const AS241_CENTRE_BOTTOM: [f64; 8] = [
    1.0,
    42.313_330_701_600_91,
    687.187_007_492_057_9,
    5_394.196_021_424_751,
    21_213.794_301_586_597,
    39_307.895_800_092_71,
    28_729.085_735_721_943,
    5_226.495_278_852_854,
];
const AS241_MIDDLE_TOP: [f64; 8] = [
    1.423_437_110_749_683_5,
    4.630_337_846_156_546,
    5.769_497_221_460_691,
    3.647_848_324_763_204_5,
    1.270_458_252_452_368_4,
    0.241_780_725_177_450_6,
    0.022_723_844_989_269_184,
    7.745_450_142_783_414e-4,
];
const AS241_MIDDLE_BOTTOM: [f64; 8] = [
    1.0,
    2.053_191_626_637_759,
    1.676_384_830_183_803_8,
    0.689_767_334_985_1,
    0.148_103_976_427_480_08,
    0.015_198_666_563_616_457,
    5.475_938_084_995_345e-4,
    1.050_750_071_644_416_9e-9,
];
const AS241_FAR_TOP: [f64; 8] = [
    6.657_904_643_501_103,
    5.463_784_911_164_114,
    1.784_826_539_917_291_3,
    0.296_560_571_828_504_87,
    0.026_532_189_526_576_124,
    0.001_242_660_947_388_078_4,
    2.711_555_568_743_487_6e-5,
    2.010_334_399_292_288_1e-7,
];
const AS241_FAR_BOTTOM: [f64; 8] = [
    1.0,
    0.599_832_206_555_887_9,
    0.136_929_880_922_735_8,
    0.014_875_361_290_850_615,
    7.868_691_311_456_133e-4,
    1.846_318_317_510_054_8e-5,
    1.421_511_758_316_446e-7,
    2.044_263_103_389_939_8e-15,
];

/// P(T <= t) for Student's t with `df` > 0 degrees of freedom, not necessarily whole.
pub fn t_cdf(t: f64, df: f64) -> f64 {
    if t.is_nan() || df.is_nan() || df <= 0.0 {
        return f64::NAN;
    }
    if t < 0.0 { t_tail(-t, df) } else { 1.0 - t_tail(t, df) }
}

/// P(T > t) for t >= 0.
fn t_tail(t: f64, df: f64) -> f64 {
    if t.is_infinite() {
        return 0.0;
    }
    if df > NEARLY_NORMAL {
        return normal_cdf(-t * (1.0 - 0.25 / df) / (1.0 + 0.5 * t * t / df).sqrt());
    }
    let square = t * t;
    let scale = t * t_density(t, df);
    if square * (df + 2.0) < 3.0 * df {
        // The complement, because the fraction for the tail itself converges slowly here.
        0.5 - scale * beta_fraction(square / (df + square), 0.5, 0.5 * df)
    } else {
        scale / df * beta_fraction(df / (df + square), 0.5 * df, 0.5)
    }
}

/// The density of Student's t.
fn t_density(t: f64, df: f64) -> f64 {
    log_t_density(t, df).exp()
}

/// The natural logarithm of the density of Student's t.
pub(crate) fn log_t_density(t: f64, df: f64) -> f64 {
    half_step(0.5 * df) - 0.5 * (df + 1.0) * (t * t / df).ln_1p() - 0.5 * (df * PI).ln()
}

/// ln Gamma(x + 1/2) - ln Gamma(x): its asymptotic series, after raising x to 20 by the recurrence.
fn half_step(x: f64) -> f64 {
    let mut x = x;
    let mut product = 1.0;
    while x < 20.0 {
        product *= x / (x + 0.5);
        x += 1.0;
    }
    let y = 1.0 / (x * x);
    let series = (-1.0 / 8.0 + y * (1.0 / 192.0 + y * (-1.0 / 640.0 + y * (17.0 / 14_336.0)))) / x;
    product.ln() + 0.5 * x.ln() + series
}

/// The continued fraction F in I_x(a, b) = x^a (1-x)^b F / (a B(a, b)), by Lentz's method.
fn beta_fraction(x: f64, a: f64, b: f64) -> f64 {
    let mut c = 1.0;
    let mut d = 1.0 / not_zero(1.0 - (a + b) * x / (a + 1.0));
    let mut fraction = d;
    for step in 1..10_000 {
        let m = f64::from(step);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let mut change = 1.0;
        for coefficient in [even, odd] {
            d = 1.0 / not_zero(1.0 + coefficient * d);
            c = not_zero(1.0 + coefficient / c);
            change = c * d;
            fraction *= change;
        }
        if (change - 1.0).abs() < 1e-15 {
            break;
        }
    }
    fraction
}

/// The value, or a tiny one in place of 0: Lentz's method divides by its intermediate results.
fn not_zero(value: f64) -> f64 {
    if value.abs() < 1e-300 { 1e-300 } else { value }
}

/// The t with P(T <= t) = `p` for `df` > 0 degrees of freedom; infinite at 0 and 1, NaN outside.
pub fn t_quantile(p: f64, df: f64) -> f64 {
    if p.is_nan() || !(0.0..=1.0).contains(&p) || df.is_nan() || df <= 0.0 {
        return f64::NAN;
    }
    let tail = p.min(1.0 - p);
    if tail == 0.0 {
        return f64::INFINITY.copysign(p - 0.5);
    }
    t_tail_quantile(tail, df).copysign(p - 0.5)
}

/// The t >= 0 with P(T > t) = `tail`, for `tail` up to 1/2.
///
/// The tail is convex and the normal's quantile lies left of the root, so that Newton's method climbs to it
/// without overshooting.
fn t_tail_quantile(tail: f64, df: f64) -> f64 {
    let mut t = -normal_quantile(tail);
    for _ in 0..500 {
        let step = (t_tail(t, df) - tail) / t_density(t, df);
        t += step;
        if step.abs() <= 1e-14 * t.abs() {
            break;
        }
    }
    t.max(0.0)
}

/// The z that leaves (1 - `level`)/2 in each tail of the normal; 1.96 for .95.
pub fn two_sided_z(level: f64) -> f64 {
    -normal_quantile(0.5 * (1.0 - level))
}

/// The t that leaves (1 - `level`)/2 in each tail of Student's t with `df` degrees of freedom.
pub fn two_sided_t(level: f64, df: f64) -> f64 {
    -t_quantile(0.5 * (1.0 - level), df)
}

/// P(X <= `successes`) for X binomial of `trials` with probability `p`; summed term by term in logarithms.
pub fn binomial_cdf(successes: u64, trials: u64, p: f64) -> f64 {
    if successes >= trials || p <= 0.0 {
        return 1.0;
    }
    if p >= 1.0 {
        return 0.0;
    }
    // Logarithms, because single terms of many trials are smaller than the least number.
    let odds = (p / (1.0 - p)).ln();
    let mut log_term = trials as f64 * (-p).ln_1p();
    let mut sum = log_term.exp();
    for k in 0..successes {
        log_term += ((trials - k) as f64 / (k + 1) as f64).ln() + odds;
        sum += log_term.exp();
    }
    sum.min(1.0)
}

/// The derivative of ln Gamma at x > 0, by its asymptotic series (A&S 6.3.18) after raising x by the recurrence.
pub fn digamma(x: f64) -> f64 {
    if x < SERIES_FROM {
        return digamma(x + 1.0) - 1.0 / x;
    }
    let y = 1.0 / (x * x);
    let series = y * (1.0 / 12.0 - y * (1.0 / 120.0 - y * (1.0 / 252.0 - y / 240.0)));
    x.ln() - 0.5 / x - series
}

/// The derivative of [`digamma`] at x > 0 (A&S 6.4.12).
pub fn trigamma(x: f64) -> f64 {
    if x < SERIES_FROM {
        return trigamma(x + 1.0) + 1.0 / (x * x);
    }
    let y = 1.0 / (x * x);
    let series = y * (1.0 / 6.0 - y * (1.0 / 30.0 - y * (1.0 / 42.0 - y / 30.0)));
    (1.0 + series + 0.5 / x) / x
}

/// The x > 0 with trigamma(x) = `value` > 0, by halving: trigamma falls, and lies between 1/x and 1/x + 1/x^2.
pub fn trigamma_inverse(value: f64) -> f64 {
    let mut low = 1.0 / value;
    let mut high = 1.0 / value + 1.0 / value.sqrt();
    for _ in 0..200 {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            break;
        }
        if trigamma(middle) > value { low = middle } else { high = middle }
    }
    high
}

#[cfg(test)]
mod tests {
    use super::{
        binomial_cdf, digamma, normal_cdf, normal_quantile, t_cdf, t_quantile, trigamma,
        trigamma_inverse, two_sided_t, two_sided_z,
    };
    use statrs::distribution::{ContinuousCDF, Normal, StudentsT};

    fn assert_close(ours: f64, reference: f64, tolerance: f64, what: &str) {
        let scale = reference.abs().max(1e-300);
        assert!(
            ((ours - reference) / scale).abs() <= tolerance,
            "{what}: {ours} against {reference}"
        );
    }

    #[test]
    fn normal_agrees_with_a_printed_table() {
        // Twenty digits from the literature's high-precision tables (A&S 26.1 and NIST).
        for (z, tail) in [
            (1.0, 0.158_655_253_931_457_05),
            (2.0, 0.022_750_131_948_179_21),
            (3.0, 1.349_898_031_630_094_5e-3),
            (5.0, 2.866_515_718_791_939e-7),
            (10.0, 7.619_853_024_160_526e-24),
        ] {
            assert_close(normal_cdf(-z), tail, 1e-12, "lower tail");
            assert_close(normal_cdf(z), 1.0 - tail, 1e-15, "upper tail");
        }
        assert_close(normal_quantile(0.975), 1.959_963_984_540_054, 1e-14, "z");
        assert_close(normal_quantile(0.999_5), 3.290_526_731_491_926, 1e-14, "z");
    }

    #[test]
    fn normal_quantile_inverts_the_cdf_everywhere() {
        for exponent in 1..=300 {
            let tail = 10f64.powi(-exponent);
            assert_close(normal_cdf(normal_quantile(tail)), tail, 1e-12, "round trip");
        }
        for step in 1..1000 {
            let p = f64::from(step) / 1000.0;
            assert_close(normal_cdf(normal_quantile(p)), p, 1e-13, "round trip");
        }
    }

    #[test]
    fn normal_agrees_with_statrs() {
        let reference = Normal::new(0.0, 1.0).unwrap();
        for step in -80..=80 {
            let z = f64::from(step) / 10.0;
            assert_close(normal_cdf(z), reference.cdf(z), 1e-10, "normal cdf");
        }
    }

    #[test]
    fn t_quantiles_agree_with_a_printed_table() {
        // Closed forms for 1, 2 and 4 degrees of freedom, tables of NIST for the others.
        assert_close(t_quantile(0.975, 1.0), (0.475 * std::f64::consts::PI).tan(), 1e-12, "df 1");
        let a = 4.0 * 0.975 * 0.025f64;
        assert_close(t_quantile(0.975, 2.0), 2.0 * 0.475 * (2.0 / a).sqrt(), 1e-12, "df 2");
        let q = (a.sqrt().acos() / 3.0).cos() / a.sqrt();
        assert_close(t_quantile(0.975, 4.0), 2.0 * (q - 1.0).sqrt(), 1e-12, "df 4");
        for (df, t) in [
            (9.0, 2.262_157_162_854_099),
            (30.0, 2.042_272_456_301_236_3),
            (100.0, 1.983_971_518_523_551_3),
        ] {
            assert_close(t_quantile(0.975, df), t, 1e-10, "table");
        }
    }

    #[test]
    fn t_agrees_with_statrs() {
        for df in [1.0, 2.0, 3.0, 4.5, 9.0, 19.0, 60.0, 250.0, 5_000.0] {
            let reference = StudentsT::new(0.0, 1.0, df).unwrap();
            for step in -40..=40 {
                let t = f64::from(step) / 4.0;
                assert_close(t_cdf(t, df), reference.cdf(t), 1e-9, &format!("t {t}, df {df}"));
            }
        }
    }

    #[test]
    fn t_quantile_inverts_the_cdf() {
        for df in [1.0, 1.5, 2.0, 3.0, 7.0, 29.0, 400.0, 1e5, 9.9e5, 1.1e6, 1e8] {
            for p in [1e-9, 1e-4, 0.001, 0.015, 0.2, 0.45, 0.499, 0.5] {
                assert_close(t_cdf(t_quantile(p, df), df), p, 1e-11, &format!("p {p}, df {df}"));
            }
        }
    }

    #[test]
    fn t_meets_the_normal_without_a_step() {
        assert_close(t_cdf(-2.0, 1.000_001e6), t_cdf(-2.0, 0.999_999e6), 1e-11, "at the border");
        assert_close(two_sided_t(0.95, 1e12), two_sided_z(0.95), 1e-10, "far away");
    }

    #[test]
    fn out_of_the_domain_is_nan_and_the_ends_are_infinite() {
        assert!(normal_quantile(-0.1).is_nan() && normal_quantile(f64::NAN).is_nan());
        assert!(t_quantile(0.5, 0.0).is_nan() && t_cdf(f64::NAN, 3.0).is_nan());
        assert_eq!(normal_quantile(1.0), f64::INFINITY);
        assert_eq!(t_quantile(0.0, 5.0), f64::NEG_INFINITY);
        assert_eq!(t_quantile(0.5, 5.0), 0.0);
    }

    #[test]
    fn binomial_by_hand_and_in_bulk() {
        assert_close(binomial_cdf(1, 3, 0.5), 0.5, 1e-14, "by hand");
        assert_close(binomial_cdf(2, 13, 0.5), 92.0 / 8192.0, 1e-12, "by hand");
        let n = 10_000.0;
        let middle =
            (2.0 / (std::f64::consts::PI * n)).sqrt() * (1.0 - 0.25 / n + 1.0 / (32.0 * n * n));
        assert_close(binomial_cdf(4_999, 10_000, 0.5), 0.5 - 0.5 * middle, 1e-10, "in bulk");
        assert_eq!(binomial_cdf(5, 5, 0.3), 1.0);
    }

    #[test]
    fn digamma_and_trigamma_agree_with_statrs_and_closed_forms() {
        for step in 1..200 {
            let x = f64::from(step) / 8.0;
            let reference = statrs::function::gamma::digamma(x);
            assert!((digamma(x) - reference).abs() < 1e-11, "{x}");
            // The derivative, by a central difference.
            let slope = (digamma(x + 1e-5 * x) - digamma(x - 1e-5 * x)) / (2e-5 * x);
            assert_close(trigamma(x), slope, 1e-7, "trigamma");
        }
        let pi_squared = std::f64::consts::PI.powi(2);
        assert_close(trigamma(1.0), pi_squared / 6.0, 1e-13, "at 1");
        assert_close(trigamma(0.5), pi_squared / 2.0, 1e-13, "at 1/2");
    }

    #[test]
    fn trigamma_is_inverted_everywhere() {
        for exponent in -12..=12 {
            let value = 10f64.powi(exponent);
            assert_close(trigamma(trigamma_inverse(value)), value, 1e-11, "round trip");
        }
    }
}
