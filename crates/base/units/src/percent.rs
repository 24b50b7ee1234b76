//! Shares and relative changes as percentages.

/// Percentages from this size on have no decimals: with one they would show three digits.
const TWO_DIGITS: f64 = 9.95;
/// A share from this size on is shown in words: no percentage of use has seven digits, and figures such as 1e300 and
/// 5e-324 make shares of hundreds of digits, or infinite ones. 1,000 busy CPUs are still a percentage.
const LARGEST: f64 = 1e4;

/// A share as a percentage with two significant digits, or as a whole number if it is one: `99 %`, `2.4 %`, `3 %`.
#[must_use]
pub fn percent(share: f64) -> String {
    if let Some(words) = in_words(share) {
        return words;
    }
    let percent = share * 100.0;
    let is_whole = (percent - percent.round()).abs() < 1e-9;
    let decimals = if percent.abs() >= TWO_DIGITS || is_whole { 0 } else { 1 };
    percent_to(share, decimals)
}

/// A share of time as a whole percentage; the shares of several threads add up to more than 100.
#[must_use]
pub fn whole_percent(share: f64) -> String {
    percent_to(share, 0)
}

/// A share as a percentage with so many decimals: `0.125 %`.
#[must_use]
pub fn percent_to(share: f64, decimals: usize) -> String {
    in_words(share).unwrap_or_else(|| format!("{:.decimals$} %", share * 100.0))
}

/// What stands for a share that is no number, or too large for a percentage.
fn in_words(share: f64) -> Option<String> {
    if share.is_nan() {
        return Some("? %".to_owned());
    }
    let sign = if share < 0.0 { "-" } else { "" };
    (share.abs() >= LARGEST).then(|| format!("over {sign}{LARGEST:.0} ×"))
}

/// A share and the ends of its interval as whole percentages: `53 % [36, 69]`, without ends `53 %`.
#[must_use]
pub fn percent_with_ends(share: f64, ends: Option<(f64, f64)>) -> String {
    let share = whole_percent(share);
    match ends {
        Some((low, high)) => format!("{share} [{}, {}]", percent_end(low), percent_end(high)),
        None => share,
    }
}

/// An end of an interval in percent, without the sign.
fn percent_end(share: f64) -> String {
    in_words(share).unwrap_or_else(|| format!("{:.0}", share * 100.0))
}

/// A relative change as a percentage with its sign and so many decimals: `+1.2 %`.
#[must_use]
pub fn percent_change(change: f64, decimals: usize) -> String {
    in_words(change).unwrap_or_else(|| format!("{:+.decimals$} %", change * 100.0))
}

#[cfg(test)]
mod tests {
    use super::{percent, percent_change, percent_to, percent_with_ends, whole_percent};

    #[test]
    fn shares_have_two_digits() {
        assert_eq!(percent(0.991), "99 %");
        assert_eq!(percent(0.0243), "2.4 %");
        assert_eq!(percent(0.0), "0 %");
        assert_eq!(percent(0.03), "3 %");
        assert_eq!(percent(f64::NAN), "? %");
    }

    #[test]
    fn what_is_too_large_for_a_percentage_is_said_in_words() {
        assert_eq!(whole_percent(1024.0), "102400 %");
        let large = [percent(1e4), percent_to(1e308, 1), whole_percent(f64::INFINITY)];
        assert_eq!(large, ["over 10000 ×", "over 10000 ×", "over 10000 ×"]);
        assert_eq!(percent_change(1e308, 1), "over 10000 ×");
        assert_eq!(percent_change(f64::NEG_INFINITY, 1), "over -10000 ×");
        assert_eq!(percent_change(f64::NAN, 1), "? %");
        assert_eq!(percent_with_ends(0.5, Some((0.0, 1e307))), "50 % [0, over 10000 ×]");
    }

    #[test]
    fn decimals_are_those_that_are_asked_for() {
        assert_eq!(whole_percent(1.504), "150 %");
        assert_eq!(percent_to(0.001_25, 3), "0.125 %");
        assert_eq!(percent_with_ends(0.531, Some((0.36, 0.694))), "53 % [36, 69]");
        assert_eq!(percent_with_ends(0.531, None), "53 %");
        assert_eq!([0.0123, -0.5].map(|change| percent_change(change, 1)), ["+1.2 %", "-50.0 %"]);
    }
}
