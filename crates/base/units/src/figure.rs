//! A number, or an estimate with its interval, as people read it: one prefix for all of them, and as many digits as
//! the interval's width deserves.

use std::fmt;

use crate::base::SHARE;
use crate::digits::{Digits, decimals, trimmed};
use crate::percent::percent;
use crate::prefix::{Prefix, largest_that_fits, prefixes};

/// An estimate and its interval as text, in one unit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Figure {
    /// The estimate as text, without its unit.
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
        Self::of(show(value, interval.ok(), unit), interval)
    }

    /// [`Figure::new`] in the unit that suits a number of this size: figures that are compared have one unit.
    #[must_use]
    pub fn in_unit_of(
        size: f64,
        value: f64,
        interval: Result<(f64, f64), &str>,
        unit: &str,
    ) -> Self {
        Self::of(show_in_unit_of(size, value, interval.ok(), unit), interval)
    }

    fn of((digits, unit): (Digits, String), interval: Result<(f64, f64), &str>) -> Self {
        let interval = match (digits.ends, interval) {
            (Some(ends), _) => Ok(ends),
            (None, Err(why)) => Err(why.to_owned()),
            (None, Ok((low, high))) if low.is_finite() && high.is_finite() => {
                Err("its ends are too far apart to be written".to_owned())
            }
            (None, Ok(_)) => Err("its ends are not numbers".to_owned()),
        };
        Self { estimate: digits.value, interval, unit }
    }

    /// `[12.35, 12.47]`, empty without an interval.
    #[must_use]
    pub fn brackets(&self) -> String {
        let ends = self.interval.as_ref();
        ends.map_or_else(|_| String::new(), |(low, high)| format!("[{low}, {high}]"))
    }

    /// The interval as a cell of a table has it: `[12.35, 12.47]`, `(in 2.1 s)`, or `none`.
    #[must_use]
    pub fn interval_cell(&self) -> String {
        match &self.interval {
            Ok(_) => self.brackets(),
            // In brackets of its own: the unit of the value may follow.
            Err(why) => why
                .strip_prefix(OF_SESSION)
                .map_or_else(|| "none".to_owned(), |length| format!("(in {length})")),
        }
    }

    /// Why there is no interval, unless the cell says it: a reader of the table asks for more.
    #[must_use]
    pub fn missing(&self) -> Option<&str> {
        self.interval.as_ref().err().map(String::as_str).filter(|why| !is_of_session_alone(why))
    }

    /// The estimate with its unit: `12.41 GB/s`.
    #[must_use]
    pub fn quantity(&self) -> String {
        with_unit(&self.estimate, &self.unit)
    }
}

impl fmt::Display for Figure {
    /// `12.41 [12.35, 12.47] GB/s`, or `12.4 GB/s (no interval: …)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.interval {
            Ok(_) => f.write_str(&with_unit(
                &format!("{} {}", self.estimate, self.brackets()),
                &self.unit,
            )),
            Err(why) => write!(f, "{} {}", self.quantity(), without_interval(why)),
        }
    }
}

/// Smaller numbers are hard to read without an exponent.
const LEAST_READABLE: f64 = 1e-4;

/// How the words begin that stand for an interval of a session that is too short to describe the machine.
pub(crate) const OF_SESSION: &str = "in these ";

fn is_of_session_alone(why: &str) -> bool {
    why.starts_with(OF_SESSION)
}

/// `in these 2.1 s`, or `(no interval: …)`: what follows a value without an interval.
#[must_use]
pub fn without_interval(why: &str) -> String {
    if is_of_session_alone(why) { why.to_owned() } else { format!("(no interval: {why})") }
}

fn with_unit(number: &str, unit: &str) -> String {
    if unit.is_empty() { number.to_owned() } else { format!("{number} {unit}") }
}

/// A share with its interval, as a percentage: `97 % [95, 99]`, or `97 % (no interval: …)`.
#[must_use]
pub fn percent_figure(share: f64, interval: Result<(f64, f64), &str>) -> String {
    // 100 times a large share may be infinite.
    if !(share * 100.0).is_finite() {
        return percent(share);
    }
    let in_percent = interval.map(|(low, high)| (low * 100.0, high * 100.0));
    let shown = Figure::new(share * 100.0, in_percent, "");
    let interval = match &shown.interval {
        Ok(_) => shown.brackets(),
        Err(why) => without_interval(why),
    };
    format!("{} % {interval}", shown.estimate)
}

/// A number without an interval, with three significant digits: `14.2 MiB`.
#[must_use]
pub fn quantity(value: f64, unit: &str) -> String {
    let (digits, unit) = show(value, None, unit);
    with_unit(&digits.value, &unit)
}

/// [`quantity`] in the unit that suits a number of this size: numbers that are compared have one unit.
#[must_use]
pub fn quantity_in_unit_of(size: f64, value: f64, unit: &str) -> String {
    let (digits, unit) = show_in_unit_of(size, value, None, unit);
    with_unit(&digits.value, &unit)
}

/// What a number was and what it became, in one unit: `13.6 → 22.2 MiB`.
#[must_use]
pub fn change(from: f64, to: f64, unit: &str) -> String {
    let size = largest_of([from, to]);
    let (was, unit_before) = show_in_unit_of(size, from, None, unit);
    let (became, unit_after) = show_in_unit_of(size, to, None, unit);
    let became = with_unit(&became.value, &unit_after);
    if unit_before == unit_after {
        format!("{} → {became}", was.value)
    } else {
        format!("{} → {became}", with_unit(&was.value, &unit_before))
    }
}

/// The largest of the sizes that are numbers; 0 if none is.
#[must_use]
pub fn largest_of(values: impl IntoIterator<Item = f64>) -> f64 {
    values.into_iter().map(f64::abs).filter(|size| size.is_finite()).fold(0.0, f64::max)
}

/// A count that was estimated, with two significant digits: `about 32000 pairs`.
#[must_use]
pub fn rounded_count(count: usize) -> usize {
    let mut step = 1;
    while count / step >= 100 {
        step *= 10;
    }
    // Upwards: fewer than this would not do.
    count.div_ceil(step) * step
}

/// The unit that people read for numbers of this size, and how much one of it is in the base unit: `GB/s` and 1e9.
#[must_use]
pub fn scale_of(size: f64, unit: &str) -> (String, f64) {
    let prefixes = prefixes(unit);
    let prefix = &prefixes[largest_that_fits(&prefixes, size)];
    (prefix.unit.clone(), prefix.factor)
}

/// A positive number of which no more may be claimed than there is, with two significant digits: `2.4e6`.
#[must_use]
pub fn rounded_down(value: f64) -> String {
    let step = 10_f64.powf(value.log10().floor() - 1.0);
    format!("{:.1e}", (value / step).floor() * step)
}

/// A bare number with four significant digits, for tables in one unit.
#[must_use]
pub fn plain(value: f64) -> String {
    match value.abs() {
        size if !size.is_finite() => "?".to_owned(),
        size if size >= 1e7 || (size > 0.0 && size < LEAST_READABLE) => format!("{value:.3e}"),
        _ => trimmed(value, decimals(value, 4)),
    }
}

/// Chooses prefix and digits together, because rounding to the digits may lift a number over the next prefix.
fn show(value: f64, ends: Option<(f64, f64)>, unit: &str) -> (Digits, String) {
    let ends = ends.filter(|(low, high)| low.is_finite() && high.is_finite());
    if !value.is_finite() {
        return (Digits { value: "?".to_owned(), ends: None }, unit.to_owned());
    }
    let prefixes = prefixes(unit);
    // A difference near 0 is as large as its interval says: its own size is chance.
    let size = match ends {
        Some((low, high)) if low < 0.0 && high > 0.0 => largest_of([value, low, high]),
        _ => value,
    };
    let mut chosen = largest_that_fits(&prefixes, size);
    loop {
        let prefix = &prefixes[chosen];
        let digits = with_prefix(prefix, value, ends, unit);
        let next = prefixes.get(chosen + 1).map(|next| next.factor / prefix.factor);
        let shown = digits.value.parse::<f64>().unwrap_or(0.0).abs();
        if next.is_none_or(|limit| shown < limit) {
            return (digits, prefix.unit.clone());
        }
        chosen += 1;
    }
}

/// Like [`show`], with the prefix that suits a number of this size.
fn show_in_unit_of(
    size: f64,
    value: f64,
    ends: Option<(f64, f64)>,
    unit: &str,
) -> (Digits, String) {
    let ends = ends.filter(|(low, high)| low.is_finite() && high.is_finite());
    if !value.is_finite() {
        return show(value, ends, unit);
    }
    let prefixes = prefixes(unit);
    let prefix = &prefixes[largest_that_fits(&prefixes, size)];
    // A number of seconds next to one of nanoseconds can be too large for a number of nanoseconds.
    if !(value / prefix.factor).is_finite() {
        return show(value, ends, unit);
    }
    let digits = with_prefix(prefix, value, ends, unit);
    let may_be_zero = value == 0.0 || ends.is_some_and(|(low, high)| low <= 0.0 && high >= 0.0);
    // Next to a very much larger number nothing would be left of this one.
    let is_lost = digits.value.parse() == Ok(0.0) || (value / prefix.factor).abs() < LEAST_READABLE;
    if !may_be_zero && is_lost {
        return show(value, ends, unit);
    }
    (digits, prefix.unit.clone())
}

fn with_prefix(prefix: &Prefix, value: f64, ends: Option<(f64, f64)>, unit: &str) -> Digits {
    let scaled_ends = ends
        .map(|(low, high)| (low / prefix.factor, high / prefix.factor))
        .filter(|(low, high)| low.is_finite() && high.is_finite());
    match unit {
        "" => Digits::of_ratio(value, scaled_ends, 1.0),
        SHARE => Digits::of_ratio(value / prefix.factor, scaled_ends, 100.0),
        _ => Digits::of(value / prefix.factor, scaled_ends),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{Strategy, any, prop_oneof, proptest};

    use super::SHARE;
    use super::{
        Figure, change, percent_figure, quantity, quantity_in_unit_of, rounded_count, rounded_down,
    };
    use crate::percent::{percent, percent_change, percent_with_ends};

    fn shown(low: f64, value: f64, high: f64, unit: &str) -> String {
        Figure::new(value, Ok((low, high)), unit).to_string()
    }

    #[test]
    fn an_end_that_is_not_1_never_shows_as_1() {
        assert_eq!(shown(1.003, 1.18, 1.39, ""), "1.180 [1.003, 1.390]");
        assert_eq!(shown(0.83, 0.91, 0.9996, ""), "0.9100 [0.8300, 0.9996]");
        assert_eq!(shown(1.0, 1.18, 1.39, ""), "1.18 [1.00, 1.39]");
        assert_eq!(shown(1.1, 1.2, 1.3, ""), "1.20 [1.10, 1.30]");
        assert_eq!(shown(0.83, 0.97, 0.9996, SHARE), "97.00 [83.00, 99.96] %");
    }

    #[test]
    fn no_more_is_claimed_than_there_is() {
        let shown = [3.0, 999.0, 2_400_000.0, 2_499_999.0].map(rounded_down);
        assert_eq!(shown, ["3.0e0", "9.9e2", "2.4e6", "2.4e6"]);
    }

    #[test]
    fn a_difference_that_may_be_0_has_the_unit_and_digits_of_its_interval() {
        assert_eq!(shown(-128_858e3, -121e3, 126_950e3, "B/s"), "0 [-129, 127] MB/s");
        assert_eq!(shown(-4.9e-3, -1.9e-3, 0.8e-3, "s"), "-1.9 [-4.9, 0.8] ms");
        assert_eq!(shown(-0.8e-3, 0.9e-6, 0.7e-3, "s"), "1 [-800, 700] µs");
    }

    #[test]
    fn what_is_compared_has_one_unit() {
        assert_eq!(change(142e-6, 1.2e-3, "s"), "0.142 → 1.20 ms");
        assert_eq!(change(0.0, 1.2e-3, "s"), "0 → 1.20 ms");
        let small = Figure::in_unit_of(1.2e-3, 950e-6, Ok((940e-6, 960e-6)), "s");
        assert_eq!(small.to_string(), "0.950 [0.940, 0.960] ms");
    }

    #[test]
    fn an_estimated_count_has_two_digits() {
        let rounded: Vec<usize> = [0, 7, 34, 99, 101, 31_656].map(rounded_count).to_vec();
        assert_eq!(rounded, [0, 7, 34, 99, 110, 32_000]);
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
    }

    #[test]
    fn a_number_next_to_a_very_much_larger_one_does_not_read_as_nothing() {
        assert_eq!(quantity_in_unit_of(5e12, 0.4, "B/s"), "0.400 B/s");
        assert_eq!(change(0.4, 5e12, "B/s"), "0.400 B/s → 5.00 TB/s");
        assert_eq!(change(0.0, 5e12, "B/s"), "0 → 5.00 TB/s");
        assert_eq!(change(4e9, 5e12, "B/s"), "0.00400 → 5.00 TB/s");
        let ends = Figure::in_unit_of(5e12, 0.4, Ok((0.3, 0.5)), "B/s");
        assert_eq!(ends.to_string(), "0.40 [0.30, 0.50] B/s");
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
            assert!(text.len() < 80 && !text.contains("inf") && !text.contains("NaN"), "{text}");
        }

        #[test]
        fn any_share_is_a_percentage_or_words(share in any::<f64>(), other in any::<f64>(), size in any::<f64>(), unit in units()) {
            let texts = [
                percent(share),
                percent_change(share, 1),
                percent_with_ends(share, Some((other, share))),
                percent_figure(share, Ok((other, share))),
                change(share, other, unit),
                quantity_in_unit_of(size, share, unit),
                Figure::in_unit_of(size, share, Ok((other, share)), unit).to_string(),
            ];
            for text in texts {
                assert!(text.len() < 100 && !text.contains("inf ") && !text.contains("NaN"), "{text}");
            }
        }

        #[test]
        fn what_is_read_is_what_was_measured(
            value in 1e-9..1e12_f64, below in 1e-5..0.5_f64, above in 1e-5..0.5_f64, unit in units(),
        ) {
            let low = value * (1.0 - below);
            let high = value * (1.0 + above);
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
