//! Ranges of values: `1..64` doubles, `4KiB..256MiB/4` makes four steps a doubling, `1..40+1` adds. Rates and times, too:
//! `1k/s..64k/s`, `1ms..8ms+1ms`.

use plumb_model::Value;

use crate::UsageError;
use crate::suite::MAX_POINTS;

/// Sizes between the ends of a range are multiples of this, where the first is.
const CACHE_LINE: u64 = 64;
/// The most steps a doubling.
const MOST_STEPS: u32 = 64;

/// How a range goes on.
enum RangeStep {
    /// So many steps a doubling.
    Doubling(u32),
    /// By a sum.
    Adding(u64),
}

/// What the ends of a range are.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Quantity {
    /// Whole numbers, also as `all` for the number of CPUs.
    Number,
    Bytes,
    /// So much a second; of bytes or not.
    Rate {
        of_bytes: bool,
    },
    Time,
    Share,
}

impl Quantity {
    /// What both are, with the two; None where they are no two of a kind.
    fn of(first: &str, last: &str, all_threads: u64) -> Option<(Self, u64, u64)> {
        // `8` is a number before it is so many bytes.
        let quantities = [
            Self::Number,
            Self::Bytes,
            Self::Rate { of_bytes: false },
            Self::Rate { of_bytes: true },
            Self::Time,
            Self::Share,
        ];
        for quantity in quantities {
            if let Some(low) = quantity.read(first, all_threads)
                && let Some(high) = quantity.read(last, all_threads)
            {
                return Some((quantity, low, high));
            }
        }
        None
    }

    fn read(self, text: &str, all_threads: u64) -> Option<u64> {
        let text = text.trim();
        if !text.starts_with(|c: char| c.is_ascii_digit()) {
            return (self == Self::Number && text == "all").then_some(all_threads);
        }
        match self {
            Self::Number => text.parse().ok(),
            Self::Bytes => plumb_units::parse_bytes(text).ok(),
            Self::Rate { of_bytes } => plumb_units::parse_rate(text, of_bytes).ok(),
            Self::Time => plumb_units::parse_time(text).ok(),
            Self::Share => plumb_units::parse_share(text).ok(),
        }
    }

    fn show(self, value: u64) -> String {
        match self {
            Self::Number => value.to_string(),
            Self::Bytes => plumb_units::show_bytes(value),
            Self::Rate { of_bytes } => plumb_units::show_rate(value, of_bytes),
            Self::Time => plumb_units::show_time(value),
            Self::Share => plumb_units::show_share(value),
        }
    }
}

/// The values of a range, both ends included; None for what is none. `all_threads` is what `all` stands for.
///
/// # Errors
/// When it goes backwards, has a step of 0, or too many values.
pub fn expanded(text: &str, all_threads: u64) -> Result<Option<Vec<Value>>, UsageError> {
    let Some((first, rest)) = text.trim().split_once("..") else { return Ok(None) };
    let (last, step) = split_step(rest);
    // Text with two dots, such as a path, has no such ends.
    let Some((quantity, low, high)) = Quantity::of(first, last, all_threads) else {
        return Ok(None);
    };
    let wrong = |why: &str| UsageError::new(format!("`{text}` is not a range: {why}"));
    if low > high {
        return Err(wrong("it goes backwards; write the smaller end first"));
    }
    let step = match step {
        None => RangeStep::Doubling(1),
        Some(('/', steps)) => match steps.parse() {
            Ok(steps) if (1..=MOST_STEPS).contains(&steps) => RangeStep::Doubling(steps),
            _ => return Err(wrong("write the steps per doubling after `/`, 1 to 64")),
        },
        Some((_, sum)) => match quantity.read(sum, all_threads) {
            Some(sum) if sum > 0 => RangeStep::Adding(sum),
            _ => return Err(wrong("write the increment after `+`, at least 1")),
        },
    };
    let is_lines = quantity == Quantity::Bytes && low.is_multiple_of(CACHE_LINE);
    let unit = if is_lines { CACHE_LINE } else { 1 };
    let mut values = match step {
        RangeStep::Doubling(_) if low == 0 => return Err(wrong("0 can't be doubled; try 0..8+1")),
        RangeStep::Doubling(steps) => doubled(low, high, steps, unit),
        RangeStep::Adding(sum) if (high - low) / sum >= MAX_POINTS as u64 => {
            return Err(wrong(&format!("it has more than {MAX_POINTS} values")));
        }
        RangeStep::Adding(sum) => (0..=(high - low) / sum).map(|n| low + n * sum).collect(),
    };
    if values.last() != Some(&high) {
        values.push(high);
    }
    Ok(Some(values.into_iter().map(|value| Value::Text(quantity.show(value))).collect()))
}

/// What stands before the step, and the step with its sign.
fn split_step(text: &str) -> (&str, Option<(char, &str)>) {
    if let Some((last, sum)) = text.split_once('+') {
        return (last, Some(('+', sum.trim())));
    }
    match text.rsplit_once('/') {
        // In `1MB/s..8MB/s`, the last one belongs to the unit.
        Some((last, steps)) if steps.trim_end() != "s" => (last, Some(('/', steps.trim()))),
        _ => (text, None),
    }
}

/// From the low end up by equal ratios, rounded to whole units, without the high end if it is not met.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "positive, rounded, and the ends are exact"
)]
fn doubled(low: u64, high: u64, steps: u32, unit: u64) -> Vec<u64> {
    let mut values: Vec<u64> = Vec::new();
    for step in 0..=64 * steps {
        let exact = low as f64 * (f64::from(step) / f64::from(steps)).exp2();
        let value = ((exact / unit as f64).round() as u64).saturating_mul(unit);
        if value > high {
            break;
        }
        if values.last() != Some(&value) {
            values.push(value);
        }
    }
    values
}

/// `v,v` taken apart; a range among them stays as it is typed.
#[must_use]
pub fn values_of(text: &str) -> Vec<Value> {
    text.split(',').map(|value| Value::Text(value.trim().to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::expanded;
    use plumb_model::Value;

    fn values(range: &str) -> String {
        let found = expanded(range, 6).unwrap().unwrap();
        let shown = found.iter().map(|value| match value {
            Value::Text(text) => text.clone(),
            other => panic!("{other:?}"),
        });
        shown.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn ranges_double_divide_and_add() {
        assert_eq!(values("1..64"), "1 2 4 8 16 32 64");
        assert_eq!(values("1..40"), "1 2 4 8 16 32 40");
        assert_eq!(values("1..5+1"), "1 2 3 4 5");
        assert_eq!(values("1..10+4"), "1 5 9 10");
        assert_eq!(values("1..all"), "1 2 4 6");
        assert_eq!(values("3..3"), "3");
        assert_eq!(values("0..4+2"), "0 2 4");
        assert_eq!(values("4KiB..8KiB/4"), "4KiB 4864B 5824B 6912B 8KiB");
        assert_eq!(values("1MiB..4MiB"), "1MiB 2MiB 4MiB");
        assert_eq!(values("1MiB..3MiB+1MiB"), "1MiB 2MiB 3MiB");
        assert_eq!(values("1..4/2"), "1 2 3 4");
        assert_eq!(values("500/s..4k/s"), "500/s 1k/s 2k/s 4k/s");
        assert_eq!(values("1k/s..2k/s/2"), "1k/s 1414/s 2k/s");
        assert_eq!(values("1k/s..2k/s+300/s"), "1k/s 1300/s 1600/s 1900/s 2k/s");
        assert_eq!(values("10MB/s..40MB/s"), "10MB/s 20MB/s 40MB/s");
        assert_eq!(values("8Mbit/s..16Mbit/s"), "1MB/s 2MB/s");
        assert_eq!(values("500us..2ms"), "500us 1ms 2ms");
        assert_eq!(values("1s..3s+1s"), "1s 2s 3s");
        assert_eq!(values("4096..8KiB"), "4KiB 8KiB");
    }

    #[test]
    fn what_is_no_range_is_left_alone() {
        for text in ["8", "../file", "a..b", "x", "", "..", "1..", "v1..2x", "1k/s..2ms"] {
            assert_eq!(expanded(text, 2).unwrap(), None, "{text}");
        }
    }

    #[test]
    fn ranges_that_cannot_be_are_refused() {
        for text in
            ["8..1", "0..8", "1..8+0", "1..8/0", "1..8/65", "1..8/x", "1..100000+1", "2k/s..1k/s"]
        {
            assert!(expanded(text, 2).is_err(), "{text}");
        }
    }

    #[test]
    fn values_rise_from_end_to_end() {
        let number = |value: &Value| match value {
            Value::Text(text) => text.parse::<u64>().unwrap(),
            other => panic!("{other:?}"),
        };
        for steps in 1_u32..=8 {
            for (low, high) in
                (1..40).flat_map(|low| (0..60).map(move |more| (low, low + more * more)))
            {
                let found = expanded(&format!("{low}..{high}/{steps}"), 1).unwrap().unwrap();
                let numbers: Vec<u64> = found.iter().map(number).collect();
                assert_eq!((numbers[0], numbers[numbers.len() - 1]), (low, high));
                assert!(numbers.windows(2).all(|pair| pair[0] < pair[1]), "{numbers:?}");
            }
        }
    }
}
