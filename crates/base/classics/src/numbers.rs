//! Numbers as tools print them.

/// Bytes of a KiB and of a MiB.
pub(crate) const KIB: f64 = 1024.0;
pub(crate) const MIB: f64 = 1024.0 * 1024.0;

/// The largest number of nanoseconds, 146 years, and the largest count. Sums of a few stay far from the end of the type.
pub(crate) const MOST: u64 = u64::MAX >> 2;

/// A number that a rate or a time can be: finite and above zero.
pub(crate) fn positive(text: &str) -> Option<f64> {
    text.trim().parse().ok().filter(|number: &f64| number.is_finite() && *number > 0.0)
}

/// A figure: finite, and zero or more. Zero is a finding.
pub(crate) fn figure(text: &str) -> Option<f64> {
    text.trim().parse().ok().filter(|number: &f64| number.is_finite() && *number >= 0.0)
}

/// The figure at the beginning of a text: `5.7 MiB/sec`, `0.1647s`.
pub(crate) fn leading(text: &str) -> Option<f64> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    figure(&text[..end])
}

/// The name of a percentile in a metric: `p50`, and `p999` of 99.9. None if no tool can mean it.
pub(crate) fn percentile_name(percent: f64) -> Option<String> {
    (percent == 0.0 || (1e-5..=100.0).contains(&percent))
        .then(|| format!("p{percent}").replace('.', ""))
}

/// Seconds as nanoseconds; at least 1, because a sample takes time.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the cast saturates, and what reaches the end is refused"
)]
pub(crate) fn nanoseconds(seconds: f64) -> u64 {
    ((seconds * 1e9).round() as u64).clamp(1, MOST)
}

/// A count as a number of operations.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the cast saturates")]
pub(crate) fn count(number: f64) -> u64 {
    (number.round() as u64).clamp(1, MOST)
}

/// A size with a binary suffix: `2G`, `300M`, `8k`, `16384`.
pub(crate) fn size(text: &str) -> Option<f64> {
    let text = text.trim();
    let (number, factor) = match text.char_indices().next_back()? {
        (at, 'k' | 'K') => (&text[..at], KIB),
        (at, 'm' | 'M') => (&text[..at], MIB),
        (at, 'g' | 'G') => (&text[..at], MIB * KIB),
        (at, 't' | 'T') => (&text[..at], MIB * MIB),
        _ => (text, 1.0),
    };
    positive(number).map(|number| number * factor)
}

/// A version as numbers: `1.2.2` is `[1, 2, 2]`; letters end it.
pub(crate) fn version(text: &str) -> Vec<u32> {
    let digits = text.trim_start_matches(|c: char| !c.is_ascii_digit());
    digits.split('.').map_while(leading_digits).collect()
}

/// The number that a text begins with: 2 of `2rc1`.
fn leading_digits(text: &str) -> Option<u32> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    text[..end].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::{MOST, leading, nanoseconds, positive, size, version};

    #[test]
    fn numbers_have_the_tools_units() {
        assert_eq!(size("300M"), Some(314_572_800.0));
        assert_eq!(size("16384"), Some(16384.0));
        assert_eq!(size("大"), None);
        assert_eq!(leading("0.1647s"), Some(0.1647));
        assert_eq!(positive("+++++"), None);
        assert_eq!(positive("nan"), None);
        assert_eq!(nanoseconds(1e300), MOST);
        assert_eq!(nanoseconds(0.0), 1);
        assert_eq!(version("iperf 3.12"), [3, 12]);
        assert_eq!(version("1.2.2-1"), [1, 2, 2]);
        assert!(version("1.3") < version("1.4"));
    }
}
