//! Values of parameters.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

/// One parameter's value.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Value {
    /// On or off.
    Switch(bool),
    /// A count, or a size in bytes.
    Integer(u64),
    /// A choice or a path.
    Text(String),
}

/// Parameter names with their values, in the order of the names.
pub type Settings = BTreeMap<String, Value>;

/// A text that is no value of the wanted type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ValueError(pub String);

impl fmt::Display for ValueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ValueError {}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Switch(on) => write!(f, "{}", if *on { "yes" } else { "no" }),
            Self::Integer(n) => write!(f, "{n}"),
            Self::Text(text) => f.write_str(text),
        }
    }
}

impl Value {
    /// The number, if it is one.
    #[must_use]
    pub fn integer(&self) -> Option<u64> {
        match self {
            Self::Integer(n) => Some(*n),
            Self::Switch(_) | Self::Text(_) => None,
        }
    }

    /// The text, if it is one.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Switch(_) | Self::Integer(_) => None,
        }
    }

    /// Reads a size in bytes: `4096`, `64KiB`, `8MiB`, `1GiB`, `2TiB`, `1kB`, `1MB`, `1GB`, `1TB`; `k`, `M`, `G`
    /// and `T` alone are binary, as in dd and fio.
    ///
    /// # Errors
    /// When the text is no number with one of these suffixes, or is too large for 64 bits.
    pub fn parse_bytes(text: &str) -> Result<u64, ValueError> {
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
                return Err(ValueError(format!(
                    "`{text}` is no size: unknown suffix `{other}`; try 4096, 64KiB, 8MiB or 1GB"
                )));
            }
        };
        number
            .parse::<u64>()
            .ok()
            .and_then(|n| n.checked_mul(factor))
            .ok_or_else(|| ValueError(format!("`{text}` is no size; try 4096, 64KiB or 8MiB")))
    }

    /// Reads so much a second: `5k/s`, `1.5M/s`, `300`; suffixes are decimal. Of bytes also `100MB/s`, `64KiB/s` and
    /// `20Mbit/s`.
    ///
    /// # Errors
    /// When the text is no number with one of these suffixes, or no whole number a second that fits into 64 bits.
    pub fn parse_rate(text: &str, in_bytes: bool) -> Result<u64, ValueError> {
        let tries = if in_bytes { "100MB/s or 20Mbit/s" } else { "300/s or 5k/s" };
        let wrong = || ValueError(format!("`{text}` is no rate; try {tries}"));
        let bare = text.trim().strip_suffix("/s").unwrap_or(text.trim());
        let digits = bare.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(bare.len());
        let (number, suffix) = bare.split_at(digits);
        let number: f64 = number.parse().map_err(|_| wrong())?;
        let suffix = suffix.trim();
        let (suffix, divisor) = match suffix.strip_suffix("bit").or(suffix.strip_suffix('b')) {
            Some(bits) if in_bytes => (bits, 8.0),
            _ if in_bytes => (suffix.strip_suffix('B').unwrap_or(suffix), 1.0),
            _ => (suffix, 1.0),
        };
        let factor = match suffix {
            "" => 1.0,
            "k" | "K" => 1e3,
            "M" => 1e6,
            "G" => 1e9,
            "Ki" if in_bytes => 1024.0,
            "Mi" if in_bytes => 1024.0 * 1024.0,
            "Gi" if in_bytes => 1024.0 * 1024.0 * 1024.0,
            _ => return Err(wrong()),
        };
        whole(number * factor / divisor).ok_or_else(wrong)
    }

    /// Writes so much a second with the largest decimal suffix that keeps it exact: `5k/s`, `2500kB/s`.
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
    /// When the text is none.
    pub fn parse_time(text: &str) -> Result<u64, ValueError> {
        let wrong =
            || ValueError(format!("`{text}` is not a length of time; try 500ms, 90s, 2m or 1h30m"));
        let mut rest = text.trim();
        if rest.is_empty() {
            return Err(wrong());
        }
        let mut nanos = 0.0;
        while !rest.is_empty() {
            let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
            let number: f64 = rest[..digits].parse().map_err(|_| wrong())?;
            rest = rest[digits..].trim_start();
            let letters = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
            nanos += number * nanos_of(&rest[..letters]).ok_or_else(wrong)?;
            rest = rest[letters..].trim_start();
        }
        whole(nanos).ok_or_else(wrong)
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

    /// Reads a share of a whole: `1%`, `.5%`, `0`; in millionths.
    ///
    /// # Errors
    /// When the text is none, is more than the whole, or finer than a millionth.
    pub fn parse_share(text: &str) -> Result<u64, ValueError> {
        let wrong = |why: &str| ValueError(format!("`{text}` is no share: {why}"));
        let percent = match text.trim().split_once('%') {
            Some((number, "")) => number,
            None if text.trim() == "0" => "0",
            _ => return Err(wrong("try 1% or 0.5%")),
        };
        let percent: f64 = percent.trim().parse().map_err(|_| wrong("try 1% or 0.5%"))?;
        let millionths = percent * 1e4;
        match whole(millionths) {
            Some(0) if percent > 0.0 => Err(wrong("the smallest is 0.0001%")),
            Some(share @ 0..=1_000_000) => Ok(share),
            _ => Err(wrong("it must lie in 0% to 100%")),
        }
    }

    /// Writes a share of millionths in per cent: `1%`, `0.5%`.
    #[must_use]
    pub fn show_share(millionths: u64) -> String {
        let (whole, rest) = (millionths / 10_000, millionths % 10_000);
        let digits = format!("{rest:04}");
        match digits.trim_end_matches('0') {
            "" => format!("{whole}%"),
            digits => format!("{whole}.{digits}%"),
        }
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
}

fn nanos_of(unit: &str) -> Option<f64> {
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

/// A number to the next whole one, if that fits into 64 bits.
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
    use super::Value;
    use proptest::prelude::{any, proptest};

    #[test]
    fn sizes_are_read_as_dd_and_fio_users_expect() {
        assert_eq!(Value::parse_bytes("4096"), Ok(4096));
        assert_eq!(Value::parse_bytes("64KiB"), Ok(65_536));
        assert_eq!(Value::parse_bytes("4k"), Ok(4096));
        assert_eq!(Value::parse_bytes("1MB"), Ok(1_000_000));
        assert_eq!(Value::parse_bytes("2TiB"), Ok(2 << 40));
        assert!(Value::parse_bytes("1X").is_err());
        assert!(Value::parse_bytes("").is_err());
        assert!(Value::parse_bytes("99999999999999GiB").is_err());
    }

    #[test]
    fn rates_are_read_as_network_and_storage_users_expect() {
        assert_eq!(Value::parse_rate("5k/s", false), Ok(5000));
        assert_eq!(Value::parse_rate("1.5M", false), Ok(1_500_000));
        assert_eq!(Value::parse_rate("20Mbit/s", true), Ok(2_500_000));
        assert_eq!(Value::parse_rate("100MB/s", true), Ok(100_000_000));
        assert_eq!(Value::parse_rate("64KiB/s", true), Ok(65_536));
        for (text, in_bytes) in [("20Mbit/s", false), ("", true), ("fast", true), ("-1/s", false)] {
            let error = Value::parse_rate(text, in_bytes).unwrap_err();
            assert!(error.0.contains("is no rate"), "{text}: {error}");
        }
    }

    #[test]
    fn shares_are_typed_in_per_cent_and_none_is_more_than_the_whole() {
        for (text, millionths) in
            [("1%", 10_000), ("0.5%", 5000), (".0001 %", 1), ("0", 0), ("100%", 1_000_000)]
        {
            assert_eq!(Value::parse_share(text), Ok(millionths), "{text}");
        }
        assert_eq!([5000, 12_300, 1].map(Value::show_share), ["0.5%", "1.23%", "0.0001%"]);
        let cases = [
            ("101%", "0% to 100%"),
            ("-1%", "0% to 100%"),
            ("0.00001%", "smallest"),
            ("0.1", "try"),
            ("%", "try"),
            ("1%2", "try"),
        ];
        for (text, why) in cases {
            let error = Value::parse_share(text).unwrap_err();
            assert!(error.0.contains(why), "{text}: {error}");
        }
    }

    proptest! {
        #[test]
        fn a_shown_share_reads_back(share in 0..=1_000_000_u64) {
            assert_eq!(Value::parse_share(&Value::show_share(share)), Ok(share));
        }

        #[test]
        fn a_shown_rate_and_a_shown_time_read_back(number in 1..1_u64 << 50, in_bytes in any::<bool>()) {
            assert_eq!(Value::parse_rate(&Value::show_rate(number, in_bytes), in_bytes), Ok(number));
            assert_eq!(Value::parse_time(&Value::show_time(number)), Ok(number));
        }

        #[test]
        fn a_shown_size_reads_back(bytes in any::<u64>()) {
            assert_eq!(Value::parse_bytes(&Value::show_bytes(bytes)), Ok(bytes));
        }
    }
}
