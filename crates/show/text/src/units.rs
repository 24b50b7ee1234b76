//! From SI base units to what people read: one prefix for an estimate and its interval, and as many
//! digits as the interval's width deserves.

use std::fmt;

/// Most significant digits of an estimate, however narrow its interval.
const MOST_DIGITS: i32 = 6;
/// Fewest significant digits of an estimate, however wide its interval.
const FEWEST_DIGITS: i32 = 2;
/// Most digits after the point.
const MOST_DECIMALS: usize = 9;
/// Significant digits of a number without an interval.
const DIGITS_ALONE: i32 = 3;

/// An estimate and its interval as text, in one unit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Figure {
    /// The estimate.
    pub estimate: String,
    /// The interval's ends, or why there is none.
    pub interval: Result<(String, String), String>,
    /// The unit with its prefix; empty for a ratio.
    pub unit: String,
}

impl Figure {
    /// A value with the ends of its interval, or with the reason why it has none, in the unit that suits it.
    #[must_use]
    pub fn new(value: f64, interval: Result<(f64, f64), &str>, unit: &str) -> Self {
        let (numbers, unit) = show(value, interval.ok(), unit);
        let interval = match (numbers.ends, interval) {
            (Some(ends), _) => Ok(ends),
            (None, Err(why)) => Err(why.to_owned()),
            (None, Ok(_)) => Err("its ends are no numbers".to_owned()),
        };
        Self { estimate: numbers.value, interval, unit }
    }

    /// `[12.35, 12.47]`, empty without an interval.
    #[must_use]
    pub fn brackets(&self) -> String {
        let ends = self.interval.as_ref();
        ends.map_or_else(|_| String::new(), |(low, high)| format!("[{low}, {high}]"))
    }

    /// `12.41 GB/s`.
    #[must_use]
    pub fn quantity(&self) -> String {
        join(&self.estimate, &self.unit)
    }
}

impl fmt::Display for Figure {
    /// `12.41 [12.35, 12.47] GB/s`, or `12.4 GB/s (no interval: …)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.interval {
            Ok(_) => {
                f.write_str(&join(&format!("{} {}", self.estimate, self.brackets()), &self.unit))
            }
            Err(why) => write!(f, "{} (no interval: {why})", self.quantity()),
        }
    }
}

fn join(number: &str, unit: &str) -> String {
    if unit.is_empty() { number.to_owned() } else { format!("{number} {unit}") }
}

/// A number without an interval, with three significant digits: `14.2 MiB`.
#[must_use]
pub fn quantity(value: f64, unit: &str) -> String {
    let (numbers, unit) = show(value, None, unit);
    join(&numbers.value, &unit)
}

/// The unit that people read for numbers of this size, and what one of it is in the base unit:
/// `GB/s` and 1e9.
#[must_use]
pub fn scale_of(size: f64, unit: &str) -> (String, f64) {
    let prefixes = prefixes(unit);
    let fits = prefixes.iter().rposition(|prefix| size.abs() >= prefix.factor);
    let prefix = &prefixes[fits.unwrap_or(0)];
    (prefix.unit.clone(), prefix.factor)
}

/// A bare number with four significant digits, for tables in one unit.
#[must_use]
pub fn plain(value: f64) -> String {
    match value.abs() {
        size if !size.is_finite() => "?".to_owned(),
        size if size >= 1e7 || (size > 0.0 && size < 1e-4) => format!("{value:.3e}"),
        _ => trimmed(value, decimals(value, 4)),
    }
}

/// A share as a percentage with two significant digits unless it is a whole number: `99 %`,
/// `2.4 %`, `3 %`.
#[must_use]
pub fn percent(share: f64) -> String {
    if !share.is_finite() {
        return "? %".to_owned();
    }
    let percent = share * 100.0;
    let whole = (percent - percent.round()).abs() < 1e-9;
    let decimals = if percent.abs() >= 9.95 || whole { 0 } else { 1 };
    format!("{percent:.decimals$} %")
}

/// A share of time as a whole percentage; several threads add up to more than 100.
#[must_use]
pub fn whole_percent(share: f64) -> String {
    if share.is_finite() { format!("{:.0} %", share * 100.0) } else { "? %".to_owned() }
}

struct Numbers {
    value: String,
    ends: Option<(String, String)>,
}

/// Chooses prefix and digits together: rounding to the digits may lift a number over the next prefix.
fn show(value: f64, ends: Option<(f64, f64)>, unit: &str) -> (Numbers, String) {
    let ends = ends.filter(|(low, high)| low.is_finite() && high.is_finite());
    if !value.is_finite() {
        return (Numbers { value: "?".to_owned(), ends: None }, unit.to_owned());
    }
    let prefixes = prefixes(unit);
    let fits = prefixes.iter().rposition(|prefix| value.abs() >= prefix.factor);
    let mut chosen = fits.unwrap_or(0);
    loop {
        let prefix = &prefixes[chosen];
        let scale = |x: f64| x / prefix.factor;
        let ends = ends.map(|(low, high)| (scale(low), scale(high)));
        let numbers = match unit {
            "" => ratio_digits(value, ends),
            _ => digits(scale(value), ends),
        };
        let next = prefixes.get(chosen + 1).map(|next| next.factor / prefix.factor);
        let shown = numbers.value.parse::<f64>().unwrap_or(0.0).abs();
        if next.is_none_or(|limit| shown < limit) {
            return (numbers, prefix.unit.clone());
        }
        chosen += 1;
    }
}

struct Prefix {
    factor: f64,
    unit: String,
}

/// The prefixes that a unit takes, the smallest first.
fn prefixes(unit: &str) -> Vec<Prefix> {
    let decimal = |names: &[(i32, &str)], blank: &str| -> Vec<Prefix> {
        let prefix = |&(exponent, name): &(i32, &str)| Prefix {
            factor: 10_f64.powi(exponent),
            unit: if name.is_empty() { unit.to_owned() } else { format!("{name}{blank}{unit}") },
        };
        names.iter().map(prefix).collect()
    };
    match unit {
        "s" => decimal(&[(-9, "n"), (-6, "µ"), (-3, "m"), (0, "")], ""),
        "B" => ["B", "KiB", "MiB", "GiB", "TiB"].iter().zip(0..).map(binary).collect(),
        "B/s" | "bit/s" => decimal(&[(0, ""), (3, "k"), (6, "M"), (9, "G"), (12, "T")], ""),
        "J" | "W" => decimal(&[(-6, "µ"), (-3, "m"), (0, ""), (3, "k"), (6, "M")], ""),
        "Hz" => decimal(&[(0, ""), (3, "k"), (6, "M"), (9, "G")], ""),
        "" | "°C" => decimal(&[(0, "")], ""),
        // Seconds of CPU time, say, a byte.
        "s/B" => vec![Prefix { factor: 1e-9, unit: "s/GB".to_owned() }],
        // Time that went by beside time: a share.
        "s/s" => vec![Prefix { factor: 0.01, unit: "%".to_owned() }],
        _ => decimal(&[(0, ""), (3, "k"), (6, "M"), (9, "G")], " "),
    }
}

fn binary((unit, steps): (&&str, i32)) -> Prefix {
    Prefix { factor: 1024_f64.powi(steps), unit: (*unit).to_owned() }
}

/// Writes a value and the ends of its interval with equally many digits.
fn digits(value: f64, ends: Option<(f64, f64)>) -> Numbers {
    let largest =
        ends.map_or(value.abs(), |(low, high)| value.abs().max(low.abs()).max(high.abs()));
    let half = ends.map(|(low, high)| deserved(value - low, high - value));
    let write: Box<dyn Fn(f64) -> String> = if largest >= 1e7 || (largest > 0.0 && largest < 1e-6) {
        Box::new(|x| format!("{x:.3e}"))
    } else if half == Some(0.0) {
        Box::new(|x| trimmed(x, decimals(x, MOST_DIGITS)))
    } else {
        let count = decimals_for(value, half);
        Box::new(move |x| unsigned_zero(format!("{x:.count$}")))
    };
    Numbers { value: write(value), ends: ends.map(|(low, high)| (write(low), write(high))) }
}

/// As [`digits`], with more of them where an end would show as 1 and is not: a verdict hangs on it.
fn ratio_digits(value: f64, ends: Option<(f64, f64)>) -> Numbers {
    let plain = digits(value, ends);
    let Some((low, high)) = ends else { return plain };
    let hides = |end: f64, count: usize| {
        #[expect(clippy::float_cmp, reason = "equal to 1 is meant")]
        let hides = end != 1.0 && format!("{end:.count$}").parse() == Ok(1.0);
        hides
    };
    let count = plain.value.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    let clear = |count: &usize| !hides(low, *count) && !hides(high, *count);
    match (count..=MOST_DECIMALS).find(clear) {
        Some(more) if more > count => {
            let write = |x: f64| format!("{x:.more$}");
            Numbers { value: write(value), ends: Some((write(low), write(high))) }
        }
        _ => plain,
    }
}

/// The half-width that digits follow: the smaller side, unless the other is much larger.
fn deserved(below: f64, above: f64) -> f64 {
    below.min(above).max(below.max(above) / 5.0)
}

/// Decimals so that the half-width keeps one digit, two where it begins with 1.
fn decimals_for(value: f64, half: Option<f64>) -> usize {
    let Some(half) = half.filter(|half| *half > 0.0) else {
        return decimals(value, DIGITS_ALONE);
    };
    let order = magnitude(half, 2);
    let extra = i32::from(half / 10_f64.powi(order) < 1.95);
    let wanted = usize::try_from(extra - order).unwrap_or(0);
    let least = decimals(value, FEWEST_DIGITS);
    wanted.clamp(least, decimals(value, MOST_DIGITS).max(least))
}

/// Decimals that give a number so many significant digits.
fn decimals(value: f64, significant: i32) -> usize {
    if value == 0.0 {
        return 0;
    }
    let digits = usize::try_from(significant - 1 - magnitude(value, significant)).unwrap_or(0);
    digits.min(MOST_DECIMALS)
}

/// The power of ten of the leading digit, once rounded to so many significant digits.
fn magnitude(value: f64, significant: i32) -> i32 {
    let decimals = usize::try_from(significant - 1).unwrap_or(0);
    let text = format!("{value:.decimals$e}");
    text.rsplit_once('e').and_then(|(_, exponent)| exponent.parse().ok()).unwrap_or(0)
}

fn trimmed(value: f64, decimals: usize) -> String {
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

#[cfg(test)]
mod tests {
    use proptest::prelude::{Strategy, any, prop_oneof, proptest};

    use super::{Figure, percent, quantity};

    fn shown(low: f64, value: f64, high: f64, unit: &str) -> String {
        Figure::new(value, Ok((low, high)), unit).to_string()
    }

    #[test]
    fn an_end_that_is_not_1_never_shows_as_1() {
        let ratio = |value: f64, low: f64, high: f64| shown(low, value, high, "");
        assert_eq!(ratio(1.18, 1.003, 1.39), "1.180 [1.003, 1.390]");
        assert_eq!(ratio(0.91, 0.83, 0.9996), "0.9100 [0.8300, 0.9996]");
        assert_eq!(ratio(1.18, 1.0, 1.39), "1.18 [1.00, 1.39]");
        assert_eq!(ratio(1.2, 1.1, 1.3), "1.20 [1.10, 1.30]");
    }

    #[test]
    fn digits_follow_the_interval() {
        assert_eq!(shown(12.354e9, 12.412e9, 12.468e9, "B/s"), "12.41 [12.35, 12.47] GB/s");
        assert_eq!(shown(81.2e6, 84.7e6, 88.1e6, "B/s"), "85 [81, 88] MB/s");
        assert_eq!(shown(130.2e-6, 131.9e-6, 133.6e-6, "s"), "131.9 [130.2, 133.6] µs");
        assert_eq!(shown(0.001e9, 3.2e9, 90.0e9, "B/s"), "3.2 [0.0, 90.0] GB/s");
        assert_eq!(shown(1.0, 1.0, 1.0, "ops/s"), "1 [1, 1] ops/s");
        assert_eq!(shown(0.95, 0.97, 0.99, ""), "0.97 [0.95, 0.99]");
    }

    #[test]
    fn rounding_never_leaves_a_thousand_of_a_prefix() {
        assert_eq!(shown(999.0e6, 999.96e6, 1001.0e6, "B/s"), "1.0000 [0.9990, 1.0010] GB/s");
        assert_eq!(quantity(999.9e-9, "s"), "1.00 µs");
        assert_eq!(quantity(1023.9 * 1024.0, "B"), "1.00 MiB");
    }

    #[test]
    fn units_take_the_prefixes_that_people_use() {
        assert_eq!(quantity(11.4e9, "B/s"), "11.4 GB/s");
        assert_eq!(quantity(1_530_000.0, "ops/s"), "1.53 M ops/s");
        assert_eq!(quantity(0.33e-9, "s"), "0.330 ns");
        assert_eq!(quantity(3600.0, "s"), "3600 s");
        assert_eq!(quantity(14.2 * 1024.0 * 1024.0, "B"), "14.2 MiB");
        assert_eq!(quantity(0.0, "B/s"), "0 B/s");
        assert_eq!(quantity(-0.0, "s"), "0 ns");
        assert_eq!(quantity(f64::NAN, "s"), "? s");
        assert_eq!(quantity(1e300, "B/s"), "1.000e288 TB/s");
        assert_eq!(percent(0.991), "99 %");
        assert_eq!(percent(0.0243), "2.4 %");
        assert_eq!(percent(0.0), "0 %");
        assert_eq!(percent(0.03), "3 %");
    }

    #[test]
    fn without_an_interval_the_reason_stands_there() {
        let found = Figure::new(2.5e9, Err("too few processes: 3, needs 6"), "B/s");
        assert_eq!(found.to_string(), "2.50 GB/s (no interval: too few processes: 3, needs 6)");
    }

    fn units() -> impl Strategy<Value = &'static str> {
        prop_oneof!["s", "B", "B/s", "ops/s", "", "messages/s"].prop_map(|unit| {
            match unit.as_str() {
                "s" => "s",
                "B" => "B",
                "B/s" => "B/s",
                "" => "",
                "ops/s" => "ops/s",
                _ => "messages/s",
            }
        })
    }

    proptest! {
        #[test]
        fn any_numbers_are_written(value in any::<f64>(), low in any::<f64>(), high in any::<f64>(), unit in units()) {
            let text = shown(low, value, high, unit);
            assert!(text.len() < 80, "{text}");
        }

        #[test]
        fn what_is_read_is_what_was_measured(
            value in 1e-9..1e12_f64, below in 1e-5..0.5_f64, above in 1e-5..0.5_f64, unit in units(),
        ) {
            let (low, high) = (value * (1.0 - below), value * (1.0 + above));
            let found = Figure::new(value, Ok((low, high)), unit);
            let (low_text, high_text) = found.interval.unwrap();
            let read: Vec<f64> = [&found.estimate, &low_text, &high_text].iter().map(|t| t.parse().unwrap()).collect();
            let scale = read[0] / value;
            let half = (high - value).max(value - low) * scale;
            assert!(read[1] <= read[0] && read[0] <= read[2]);
            assert!((read[1] - low * scale).abs() <= 0.6 * half && (read[2] - high * scale).abs() <= 0.6 * half);
        }
    }
}
