//! Ranges of values: `1..64` doubles, `4KiB..256MiB/4` makes four steps a doubling, `1..40+1` adds.

use plumb_model::Value;

use crate::UsageError;
use crate::suite::MAX_POINTS;

/// Sizes between the ends of a range are multiples of this, where the first is.
const CACHE_LINE: u64 = 64;
/// The most steps a doubling.
const MOST_STEPS: u32 = 64;

/// How a range goes on.
enum Step {
    /// So many steps a doubling.
    Doubling(u32),
    /// By a sum.
    Adding(u64),
}

/// The values of a range, both ends included; None for what is none. `all_threads` is what `all` stands for.
///
/// # Errors
/// When it goes backwards, has a step of 0, or too many values.
pub fn expanded(text: &str, all_threads: u64) -> Result<Option<Vec<Value>>, UsageError> {
    let Some((first, rest)) = text.trim().split_once("..") else { return Ok(None) };
    let (last, step) = split_step(rest);
    let number = |text: &str| match text.trim() {
        "all" => Some(all_threads),
        text if text.starts_with(|c: char| c.is_ascii_digit()) => Value::parse_bytes(text).ok(),
        _ => None,
    };
    // Text with two dots, such as a path.
    let (Some(low), Some(high)) = (number(first), number(last)) else { return Ok(None) };
    let wrong = |why: &str| UsageError::new(format!("`{text}` is no range: {why}"));
    if low > high {
        return Err(wrong("it goes backwards; write the smaller end first"));
    }
    let step = match step {
        None => Step::Doubling(1),
        Some(('/', steps)) => match steps.parse() {
            Ok(steps) if (1..=MOST_STEPS).contains(&steps) => Step::Doubling(steps),
            _ => return Err(wrong("after `/` stand the steps a doubling, 1 to 64")),
        },
        Some((_, sum)) => match number(sum) {
            Some(sum) if sum > 0 => Step::Adding(sum),
            _ => return Err(wrong("after `+` stands what is added, at least 1")),
        },
    };
    let has_suffix = |end: &&str| end.trim() != "all" && end.trim().ends_with(char::is_alphabetic);
    let is_size = [first, last].iter().any(has_suffix);
    let unit = if is_size && low.is_multiple_of(CACHE_LINE) { CACHE_LINE } else { 1 };
    let mut values = match step {
        Step::Doubling(_) if low == 0 => return Err(wrong("0 can't be doubled; try 0..8+1")),
        Step::Doubling(steps) => doubled(low, high, steps, unit),
        Step::Adding(sum) if (high - low) / sum >= MAX_POINTS as u64 => {
            return Err(wrong(&format!("it has more than {MAX_POINTS} values")));
        }
        Step::Adding(sum) => (0..=(high - low) / sum).map(|n| low + n * sum).collect(),
    };
    if values.last() != Some(&high) {
        values.push(high);
    }
    let shown = |value: u64| if is_size { Value::show_bytes(value) } else { value.to_string() };
    Ok(Some(values.into_iter().map(|value| Value::Text(shown(value))).collect()))
}

/// What stands before the step, and the step with its sign.
fn split_step(text: &str) -> (&str, Option<(char, &str)>) {
    match text.find(['/', '+']) {
        Some(at) => {
            (&text[..at], text[at..].chars().next().map(|sign| (sign, text[at + 1..].trim())))
        }
        None => (text, None),
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
    }

    #[test]
    fn what_is_no_range_is_left_alone() {
        for text in ["8", "../file", "a..b", "x", "", "..", "1..", "v1..2x"] {
            assert_eq!(expanded(text, 2).unwrap(), None, "{text}");
        }
    }

    #[test]
    fn ranges_that_cannot_be_are_refused() {
        for text in ["8..1", "0..8", "1..8+0", "1..8/0", "1..8/65", "1..8/x", "1..100000+1"] {
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
