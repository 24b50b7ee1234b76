//! How many digits a number and the ends of its interval deserve.

/// Most significant digits of an estimate, however narrow its interval.
const MOST_DIGITS: i32 = 6;
/// Fewest significant digits of an estimate, however wide its interval.
const FEWEST_DIGITS: i32 = 2;
/// Most digits after the point.
const MOST_DECIMALS: usize = 9;
/// A value smaller than this share of its half-width has no digits of its own.
const NEGLIGIBLE: f64 = 0.1;
/// Significant digits of a number without an interval.
const DIGITS_ALONE: i32 = 3;

/// A number and the ends of its interval, written in the same way.
pub struct Digits {
    /// The number itself, as text.
    pub value: String,
    /// The lower and the upper end; None without an interval.
    pub ends: Option<(String, String)>,
}

/// How the numbers of one figure are written.
#[derive(Clone, Copy)]
enum Notation {
    /// With a power of ten.
    Scientific,
    /// Exactly, with as many digits as the number has, six at most.
    Exact,
    /// With this many decimals.
    Decimals(usize),
}

impl Notation {
    fn write(self, number: f64) -> String {
        match self {
            Self::Scientific => format!("{number:.3e}"),
            Self::Exact => trimmed(number, decimals(number, MOST_DIGITS)),
            Self::Decimals(count) => unsigned_zero(format!("{number:.count$}")),
        }
    }
}

impl Digits {
    /// A value and the ends of its interval with the same number of digits.
    pub fn of(value: f64, ends: Option<(f64, f64)>) -> Self {
        let largest =
            ends.map_or(value.abs(), |(low, high)| value.abs().max(low.abs()).max(high.abs()));
        let half = ends.map(|(low, high)| deserved(value - low, high - value));
        let notation = if largest >= 1e7 || (largest > 0.0 && largest < 1e-6) {
            Notation::Scientific
        } else if half == Some(0.0) {
            Notation::Exact
        } else {
            // Digits of a value that is next to nothing of its interval would be digits of chance.
            let is_negligible = half.is_some_and(|half| value.abs() < NEGLIGIBLE * half);
            Notation::Decimals(decimals_for(if is_negligible { 0.0 } else { value }, half))
        };
        Self {
            value: notation.write(value),
            ends: ends.map(|(low, high)| (notation.write(low), notation.write(high))),
        }
    }

    /// The same for a ratio or share, with more digits if an end would show as the whole (1, or 100 in percent) and is not: a
    /// verdict hangs on it.
    pub fn of_ratio(value: f64, ends: Option<(f64, f64)>, whole: f64) -> Self {
        let plain = Self::of(value, ends);
        let Some((low, high)) = ends else { return plain };
        let count = plain.value.split_once('.').map_or(0, |(_, decimals)| decimals.len());
        let clear = (count..=MOST_DECIMALS).find(|&decimals| {
            !hides_difference(low, decimals, whole) && !hides_difference(high, decimals, whole)
        });
        match clear {
            Some(decimals) if decimals > count => Self {
                value: format!("{value:.decimals$}"),
                ends: Some((format!("{low:.decimals$}"), format!("{high:.decimals$}"))),
            },
            _ => plain,
        }
    }
}

/// Whether an end of a ratio's interval is not the whole, but shows as the whole with so many decimals.
fn hides_difference(end: f64, decimals: usize, whole: f64) -> bool {
    #[expect(clippy::float_cmp, reason = "equality is meant")]
    let differs = end != whole;
    differs && format!("{end:.decimals$}").parse() == Ok(whole)
}

/// The half-width that digits follow: the smaller side, unless the other is much larger.
fn deserved(below: f64, above: f64) -> f64 {
    below.min(above).max(below.max(above) / 5.0)
}

/// Decimals so that the half-width keeps one digit, two if it begins with 1.
fn decimals_for(value: f64, half: Option<f64>) -> usize {
    let Some(half) = half.filter(|half| *half > 0.0) else {
        return decimals(value, DIGITS_ALONE);
    };
    let order = magnitude(half, 2);
    let extra = i32::from(half / 10_f64.powi(order) < 1.95);
    let wanted = usize::try_from(extra - order).unwrap_or(0);
    let least = decimals(value, FEWEST_DIGITS);
    let most = if value == 0.0 { MOST_DECIMALS } else { decimals(value, MOST_DIGITS) };
    wanted.clamp(least, most.max(least))
}

/// Decimals that give a number so many significant digits.
pub fn decimals(value: f64, significant: i32) -> usize {
    if value == 0.0 {
        return 0;
    }
    let wanted = usize::try_from(significant - 1 - magnitude(value, significant)).unwrap_or(0);
    wanted.min(MOST_DECIMALS)
}

/// The power of ten of the leading digit, once rounded to so many significant digits.
fn magnitude(value: f64, significant: i32) -> i32 {
    let decimals = usize::try_from(significant - 1).unwrap_or(0);
    let text = format!("{value:.decimals$e}");
    text.rsplit_once('e').and_then(|(_, exponent)| exponent.parse().ok()).unwrap_or(0)
}

/// A number with so many decimals, without zeros at its end.
pub fn trimmed(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$}");
    if !text.contains('.') {
        return unsigned_zero(text);
    }
    unsigned_zero(text.trim_end_matches('0').trim_end_matches('.').to_owned())
}

/// `-0.0` is shown as `0.0`.
fn unsigned_zero(text: String) -> String {
    match text.strip_prefix('-') {
        Some(rest) if rest.chars().all(|c| c == '0' || c == '.') => rest.to_owned(),
        _ => text,
    }
}
