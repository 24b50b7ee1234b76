//! Quantities as people type them: read, and written so that they read back as the same number.

use std::fmt;

use crate::base::SHARE;

/// A text that is not a quantity of the wanted kind: what is wrong, and an example of what is right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuantityError(pub String);

impl fmt::Display for QuantityError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for QuantityError {}

/// Millionths in a whole, in which shares are kept.
const MILLIONTHS: u64 = 1_000_000;

/// Reads a size in bytes: `4096`, `64KiB`, `8MiB`, `1GiB`, `2TiB`, `1kB`, `1MB`, `1GB`, `1TB`; `k`, `M`, `G`
/// and `T` alone are binary, as in dd and fio.
///
/// # Errors
/// When the text is not a number with one of these suffixes, or is too large for 64 bits.
pub fn parse_bytes(text: &str) -> Result<u64, QuantityError> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, suffix) = text.split_at(digits);
    let factor: u64 = match suffix.trim() {
        "" | "B" => 1,
        "k" | "K" | "KiB" => 1 << 10,
        "m" | "M" | "MiB" => 1 << 20,
        "g" | "G" | "GiB" => 1 << 30,
        "t" | "T" | "TiB" => 1 << 40,
        "kB" | "KB" => 1_000,
        "MB" => 1_000_000,
        "GB" => 1_000_000_000,
        "TB" => 1_000_000_000_000,
        other => {
            return Err(QuantityError(format!(
                "`{text}` is not a size: unknown suffix `{other}`; try 4096, 64KiB, 8MiB or 1GB"
            )));
        }
    };
    number
        .parse::<u64>()
        .ok()
        .and_then(|number| number.checked_mul(factor))
        .ok_or_else(|| QuantityError(format!("`{text}` is not a size; try 4096, 64KiB or 8MiB")))
}

/// Writes a size in bytes with the largest binary suffix that keeps it exact: `8MiB`, `1000B`.
#[must_use]
pub fn show_bytes(bytes: u64) -> String {
    for (shift, suffix) in [(40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")] {
        if bytes >= 1 << shift && bytes.is_multiple_of(1 << shift) {
            return format!("{}{suffix}", bytes >> shift);
        }
    }
    format!("{bytes}B")
}

/// Reads a rate per second: `5k/s`, `1.5M/s`, `300`; suffixes are decimal. A rate of bytes may also be `100MB/s`,
/// `64KiB/s` or `20Mbit/s`.
///
/// # Errors
/// When the text is not a number with one of these suffixes, or not a whole number per second that fits into 64 bits.
pub fn parse_rate(text: &str, in_bytes: bool) -> Result<u64, QuantityError> {
    per_second(text, in_bytes).ok_or_else(|| {
        let example = if in_bytes { "100MB/s or 20Mbit/s" } else { "300/s or 5k/s" };
        QuantityError(format!("`{text}` is not a rate; try {example}"))
    })
}

fn per_second(text: &str, in_bytes: bool) -> Option<u64> {
    let bare = text.trim().strip_suffix("/s").unwrap_or(text.trim());
    let (number, suffix) = number_and_rest(bare);
    let number: f64 = number.parse().ok()?;
    let suffix = suffix.trim();
    // Rates of networks are given in bits, which `b` stands for too; `B` is a byte.
    let (prefix, divisor) = match suffix.strip_suffix("bit").or(suffix.strip_suffix('b')) {
        Some(bits) if in_bytes => (bits, 8.0),
        _ if in_bytes => (suffix.strip_suffix('B').unwrap_or(suffix), 1.0),
        _ => (suffix, 1.0),
    };
    let factor = match prefix {
        "" => 1.0,
        "k" | "K" => 1e3,
        "M" => 1e6,
        "G" => 1e9,
        "Ki" if in_bytes => 1024.0,
        "Mi" if in_bytes => 1024.0 * 1024.0,
        "Gi" if in_bytes => 1024.0 * 1024.0 * 1024.0,
        _ => return None,
    };
    whole(number * factor / divisor)
}

/// Writes a rate per second with the largest decimal suffix that keeps it exact: `5k/s`, `2500kB/s`.
#[must_use]
pub fn show_rate(per_second: u64, in_bytes: bool) -> String {
    let unit = if in_bytes { "B" } else { "" };
    for (factor, suffix) in [(1_000_000_000, "G"), (1_000_000, "M"), (1_000, "k")] {
        if per_second >= factor && per_second.is_multiple_of(factor) {
            return format!("{}{suffix}{unit}/s", per_second / factor);
        }
    }
    format!("{per_second}{unit}/s")
}

/// Reads a length of time: `500ms`, `90s`, `2m`, `1h30m`, `10us`, or plain seconds; in nanoseconds.
///
/// # Errors
/// When the text is not a length of time, or is too long for 64 bits.
pub fn parse_time(text: &str) -> Result<u64, QuantityError> {
    nanoseconds(text.trim()).ok_or_else(|| {
        QuantityError(format!("`{text}` is not a length of time; try 500ms, 90s, 2m or 1h30m"))
    })
}

/// The sum of numbers with units, one after the other.
fn nanoseconds(text: &str) -> Option<u64> {
    if text.is_empty() {
        return None;
    }
    let mut nanos = 0.0;
    let mut rest = text;
    while !rest.is_empty() {
        let (number, from_unit) = number_and_rest(rest);
        let number: f64 = number.parse().ok()?;
        let from_unit = from_unit.trim_start();
        let letters = from_unit.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(from_unit.len());
        nanos += number * nanoseconds_of(&from_unit[..letters])?;
        rest = from_unit[letters..].trim_start();
    }
    whole(nanos)
}

/// How many nanoseconds a unit of time has; plain numbers are seconds.
fn nanoseconds_of(unit: &str) -> Option<f64> {
    Some(match unit {
        "ns" => 1.0,
        "us" => 1e3,
        "ms" => 1e6,
        "" | "s" | "sec" => 1e9,
        "m" | "min" => 60e9,
        "h" => 3600e9,
        "d" => 86_400e9,
        _ => return None,
    })
}

/// Writes a length of time with the largest unit that keeps it exact: `10ms`, `90s`.
#[must_use]
pub fn show_time(nanos: u64) -> String {
    for (factor, unit) in [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us")] {
        if nanos >= factor && nanos.is_multiple_of(factor) {
            return format!("{}{unit}", nanos / factor);
        }
    }
    format!("{nanos}ns")
}

/// Writes a length of time as people type it, with the largest unit of which there is at least one and as many decimals
/// as it takes to be exact: `37.5ms`, `2s`.
#[must_use]
pub fn typed_time(nanos: u64) -> String {
    match nanos {
        0..1_000 => decimal(nanos, 1, "ns"),
        1_000..1_000_000 => decimal(nanos, 1_000, "us"),
        1_000_000..1_000_000_000 => decimal(nanos, 1_000_000, "ms"),
        _ => decimal(nanos, 1_000_000_000, "s"),
    }
}

/// Writes bytes per second as the bandwidth of a network, which people give in bits: `1Mbit/s`, `2.5Gbit/s`.
#[must_use]
pub fn typed_bandwidth(bytes_per_second: u64) -> String {
    let Some(bits) = bytes_per_second.checked_mul(8) else {
        return show_rate(bytes_per_second, true);
    };
    match bits {
        0..1_000 => decimal(bits, 1, "bit/s"),
        1_000..1_000_000 => decimal(bits, 1_000, "kbit/s"),
        1_000_000..1_000_000_000 => decimal(bits, 1_000_000, "Mbit/s"),
        _ => decimal(bits, 1_000_000_000, "Gbit/s"),
    }
}

/// A number over a power of ten, exactly: 37,500 over 1,000 is `37.5`.
fn decimal(number: u64, factor: u64, unit: &str) -> String {
    let whole = number / factor;
    let digits = factor.ilog10() as usize;
    let decimals = format!("{:0digits$}", number % factor);
    match decimals.trim_end_matches('0') {
        "" => format!("{whole}{unit}"),
        decimals => format!("{whole}.{decimals}{unit}"),
    }
}

/// Whether two values are the same, however they are written: `37.5ms` and `37500us`, `1Mbit/s` and `125kB/s`.
#[must_use]
pub fn is_same_value(one: &str, other: &str) -> bool {
    let readers: [fn(&str) -> Option<u64>; 3] = [
        |text| parse_time(text).ok(),
        |text| parse_bytes(text).ok(),
        |text| parse_rate(text, true).ok(),
    ];
    one == other
        || readers.iter().any(|read| read(one).is_some_and(|value| read(other) == Some(value)))
}

/// Reads a share of a whole: `1%`, `.5%`, `0`; in millionths.
///
/// # Errors
/// When the text is not a percentage, is more than the whole, or finer than a millionth.
pub fn parse_share(text: &str) -> Result<u64, QuantityError> {
    millionths(text).map_err(|why| QuantityError(format!("`{text}` is not a share: {why}")))
}

fn millionths(text: &str) -> Result<u64, &'static str> {
    let number = match text.trim().split_once('%') {
        Some((number, "")) => number,
        None if text.trim() == "0" => "0",
        _ => return Err("try 1% or 0.5%"),
    };
    let percent: f64 = number.trim().parse().map_err(|_| "try 1% or 0.5%")?;
    match whole(percent * 1e4) {
        Some(0) if percent > 0.0 => Err("the smallest is 0.0001%"),
        Some(share @ 0..=MILLIONTHS) => Ok(share),
        _ => Err("it must be from 0% to 100%"),
    }
}

/// Writes a share of millionths in per cent: `1%`, `0.5%`.
#[must_use]
pub fn show_share(millionths: u64) -> String {
    let whole = millionths / 10_000;
    let decimals = format!("{:04}", millionths % 10_000);
    match decimals.trim_end_matches('0') {
        "" => format!("{whole}%"),
        decimals => format!("{whole}.{decimals}%"),
    }
}

/// Reads a share between 0 and 1, both excluded, as a percentage or as a fraction: `3%`, `0.5 %`, `0.03`. None for
/// anything else.
#[must_use]
pub fn parse_fraction(text: &str) -> Option<f64> {
    let trimmed = text.trim();
    let fraction = match trimmed.strip_suffix('%') {
        Some(number) => number.trim().parse::<f64>().ok()? / 100.0,
        None => trimmed.parse::<f64>().ok()?,
    };
    (fraction > 0.0 && fraction < 1.0).then_some(fraction)
}

/// Reads a positive figure in a metric's unit (`B/s`, `s`, `ops/s`): `105MB/s`, `9 Gbit/s`, `40us`. None for anything
/// else.
#[must_use]
pub fn parse_figure(text: &str, unit: &str) -> Option<f64> {
    if unit == SHARE {
        return parse_share_figure(text.trim());
    }
    let (number, rest) = number_and_rest(text.trim());
    let number: f64 = number.parse().ok()?;
    let rest = rest.trim();
    let (prefix, scale) = match rest.strip_suffix(unit) {
        Some(prefix) => (prefix, 1.0),
        // A figure in bytes may be typed in bits.
        None => {
            let bits = format!("bit{}", unit.strip_prefix('B')?);
            (rest.strip_suffix(bits.as_str())?, 0.125)
        }
    };
    let value = number * scale * factor_of(prefix.trim())?;
    (value > 0.0 && value.is_finite()).then_some(value)
}

/// A share as people type it, with or without `%`. It may be a whole, or more.
fn parse_share_figure(text: &str) -> Option<f64> {
    let share = match text.strip_suffix('%') {
        Some(percent) => percent.trim().parse::<f64>().ok()? / 100.0,
        None => text.parse::<f64>().ok()?,
    };
    (share > 0.0 && share.is_finite()).then_some(share)
}

/// The factor of a prefix, decimal or binary.
fn factor_of(prefix: &str) -> Option<f64> {
    Some(match prefix {
        "" => 1.0,
        "n" => 1e-9,
        "u" | "µ" => 1e-6,
        "m" => 1e-3,
        "k" | "K" => 1e3,
        "M" => 1e6,
        "G" => 1e9,
        "T" => 1e12,
        "Ki" => 1024.0,
        "Mi" => 1024.0 * 1024.0,
        "Gi" => 1024.0 * 1024.0 * 1024.0,
        "Ti" => 1024.0 * 1024.0 * 1024.0 * 1024.0,
        _ => return None,
    })
}

/// The digits and points that a text begins with, and the rest.
fn number_and_rest(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    text.split_at(end)
}

/// A number rounded to the next whole one, if that fits into 64 bits.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "checked to be positive and below 2^63"
)]
fn whole(number: f64) -> Option<u64> {
    (0.0..9.2e18).contains(&number).then(|| number.round() as u64)
}

#[cfg(test)]
mod tests {
    use super::{
        is_same_value, parse_bytes, parse_figure, parse_rate, parse_share, parse_time, show_bytes,
        show_rate, show_share, show_time, typed_bandwidth, typed_time,
    };
    use proptest::prelude::{any, proptest};

    #[test]
    fn a_share_is_typed_with_or_without_percent() {
        for share in ["90%", "90 %", "0.9", ".9"] {
            assert_eq!(parse_figure(share, "share"), Some(0.9), "{share}");
        }
        assert_eq!(parse_figure("100%", "share"), Some(1.0));
        assert_eq!(parse_figure("0", "share"), None);
        assert_eq!(parse_figure("9Mshare", "share"), None);
    }

    #[test]
    fn sizes_are_read_as_dd_and_fio_users_expect() {
        assert_eq!(parse_bytes("4096"), Ok(4096));
        assert_eq!(parse_bytes("64KiB"), Ok(65_536));
        assert_eq!(parse_bytes("4k"), Ok(4096));
        assert_eq!(parse_bytes("1MB"), Ok(1_000_000));
        assert_eq!(parse_bytes("2TiB"), Ok(2 << 40));
        assert!(parse_bytes("1X").is_err());
        assert!(parse_bytes("").is_err());
        assert!(parse_bytes("99999999999999GiB").is_err());
    }

    #[test]
    fn rates_are_read_as_network_and_storage_users_expect() {
        assert_eq!(parse_rate("5k/s", false), Ok(5000));
        assert_eq!(parse_rate("1.5M", false), Ok(1_500_000));
        assert_eq!(parse_rate("20Mbit/s", true), Ok(2_500_000));
        assert_eq!(parse_rate("100MB/s", true), Ok(100_000_000));
        assert_eq!(parse_rate("64KiB/s", true), Ok(65_536));
        for (text, in_bytes) in [("20Mbit/s", false), ("", true), ("fast", true), ("-1/s", false)] {
            let error = parse_rate(text, in_bytes).unwrap_err();
            assert!(error.0.contains("is not a rate"), "{text}: {error}");
        }
    }

    #[test]
    fn values_are_written_as_people_type_them() {
        assert_eq!(
            [37_500_000, 2_000_000_000, 10_000, 999].map(typed_time),
            ["37.5ms", "2s", "10us", "999ns"]
        );
        assert_eq!(
            [125_000, 1_250_000_000, 1_000].map(typed_bandwidth),
            ["1Mbit/s", "10Gbit/s", "8kbit/s"]
        );
    }

    #[test]
    fn a_value_is_the_same_however_it_is_written() {
        for (one, other) in
            [("37.5ms", "37500us"), ("1Mbit/s", "125kB/s"), ("8MiB", "8192KiB"), ("veth", "veth")]
        {
            assert!(is_same_value(one, other), "{one} {other}");
        }
        for (one, other) in [("37.5ms", "37.5us"), ("8MiB", "8MB"), ("nt", "libc"), ("1", "2")] {
            assert!(!is_same_value(one, other), "{one} {other}");
        }
    }

    #[test]
    fn shares_are_typed_in_per_cent_and_none_is_more_than_the_whole() {
        for (text, millionths) in
            [("1%", 10_000), ("0.5%", 5000), (".0001 %", 1), ("0", 0), ("100%", 1_000_000)]
        {
            assert_eq!(parse_share(text), Ok(millionths), "{text}");
        }
        assert_eq!([5000, 12_300, 1].map(show_share), ["0.5%", "1.23%", "0.0001%"]);
        let cases = [
            ("101%", "0% to 100%"),
            ("-1%", "0% to 100%"),
            ("0.00001%", "smallest"),
            ("0.1", "try"),
            ("%", "try"),
            ("1%2", "try"),
        ];
        for (text, why) in cases {
            let error = parse_share(text).unwrap_err();
            assert!(error.0.contains(why), "{text}: {error}");
        }
    }

    proptest! {
        #[test]
        fn a_shown_share_reads_back(share in 0..=1_000_000_u64) {
            assert_eq!(parse_share(&show_share(share)), Ok(share));
        }

        #[test]
        fn a_shown_rate_and_a_shown_time_read_back(number in 1..1_u64 << 50, in_bytes in any::<bool>()) {
            assert_eq!(parse_rate(&show_rate(number, in_bytes), in_bytes), Ok(number));
            assert_eq!(parse_time(&show_time(number)), Ok(number));
            assert_eq!(parse_time(&typed_time(number)), Ok(number));
            assert_eq!(parse_rate(&typed_bandwidth(number), true), Ok(number));
        }

        #[test]
        fn a_shown_size_reads_back(bytes in any::<u64>()) {
            assert_eq!(parse_bytes(&show_bytes(bytes)), Ok(bytes));
        }
    }
}
