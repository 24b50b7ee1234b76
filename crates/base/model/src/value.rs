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

    /// Reads a size in bytes: `4096`, `64KiB`, `8MiB`, `1GiB`, `1kB`, `1MB`, `1GB`; `k`, `M` and `G`
    /// alone are binary, as in dd and fio.
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
            "kB" | "KB" => 1_000,
            "MB" => 1_000_000,
            "GB" => 1_000_000_000,
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

    /// Writes a size in bytes with the largest binary suffix that keeps it exact: `8MiB`, `1000B`.
    #[must_use]
    pub fn show_bytes(bytes: u64) -> String {
        for (shift, suffix) in [(30, "GiB"), (20, "MiB"), (10, "KiB")] {
            if bytes >= 1 << shift && bytes.is_multiple_of(1 << shift) {
                return format!("{}{suffix}", bytes >> shift);
            }
        }
        format!("{bytes}B")
    }
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
        assert!(Value::parse_bytes("1X").is_err());
        assert!(Value::parse_bytes("").is_err());
        assert!(Value::parse_bytes("99999999999999GiB").is_err());
    }

    proptest! {
        #[test]
        fn a_shown_size_reads_back(bytes in any::<u64>()) {
            assert_eq!(Value::parse_bytes(&Value::show_bytes(bytes)), Ok(bytes));
        }
    }
}
