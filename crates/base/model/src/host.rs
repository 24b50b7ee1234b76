//! Hosts: which one of the machines of a kind.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// How a hashed machine id begins.
const HASHED: &str = "id1:";
/// Bytes of the hash that are kept.
const HASHED_BYTES: usize = 8;
/// The longest name, as of hosts in DNS.
const LONGEST_NAME: usize = 64;

/// Which one of the machines of a kind: a name that somebody gave it, or a hash of its machine id; unknown
/// where it has neither.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Host(Option<String>);

impl Host {
    /// A host of which nobody knows which it is.
    pub const UNKNOWN: Self = Self(None);

    /// The host with this hash of its machine id.
    #[must_use]
    pub fn hashed(hash: &[u8; 16]) -> Self {
        let digits: String =
            hash.iter().take(HASHED_BYTES).map(|byte| format!("{byte:02x}")).collect();
        Self(Some(format!("{HASHED}{digits}")))
    }

    /// Its name or hash; None when it is unknown.
    #[must_use]
    pub fn known(&self) -> Option<&str> {
        self.0.as_deref()
    }

    /// Whether somebody gave it its name.
    #[must_use]
    pub fn is_named(&self) -> bool {
        self.known().is_some_and(|name| !name.starts_with(HASHED))
    }

    /// Whether both can be one host: an unknown one can be any.
    #[must_use]
    pub fn may_be(&self, other: &Self) -> bool {
        self.0.is_none() || other.0.is_none() || self == other
    }
}

impl From<Option<String>> for Host {
    fn from(stored: Option<String>) -> Self {
        Self(stored)
    }
}

/// Whether the name of a host may have this character.
fn is_of_host(c: char) -> bool {
    c.is_ascii_alphanumeric() || "._-:".contains(c)
}

impl FromStr for Host {
    type Err = String;

    /// A name as people type it; nothing is an unknown host.
    fn from_str(name: &str) -> Result<Self, String> {
        let begins = name.starts_with(|c: char| c.is_ascii_alphanumeric());
        if name.is_empty() {
            Ok(Self::default())
        } else if begins && name.len() <= LONGEST_NAME && name.chars().all(is_of_host) {
            Ok(Self(Some(name.to_owned())))
        } else {
            Err(format!(
                "`{name}` is not a valid host name: use up to {LONGEST_NAME} letters, digits and . _ - :, starting with a letter or digit"
            ))
        }
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.known().unwrap_or("unknown host"))
    }
}

/// By what runs count as of one machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum By {
    /// By its kind and its host.
    #[default]
    Host,
    /// By its kind alone.
    Kind,
}

impl By {
    /// The word that people type for [`By::Kind`].
    pub const KIND: &'static str = "kind";

    /// Whether two hosts of one kind are mixed.
    #[must_use]
    pub fn mixes(self, one: &Host, other: &Host) -> bool {
        self == Self::Kind || one.may_be(other)
    }
}

#[cfg(test)]
mod tests {
    use super::{By, Host};

    #[test]
    fn an_unknown_host_can_be_any_and_known_ones_only_themselves() {
        let [a, b]: [Host; 2] = ["a".parse().unwrap(), "b".parse().unwrap()];
        let unknown = Host::default();
        assert!(a.may_be(&a) && a.may_be(&unknown) && unknown.may_be(&b));
        assert!(!a.may_be(&b) && !By::Host.mixes(&a, &b) && By::Kind.mixes(&a, &b));
    }

    #[test]
    fn names_are_as_people_type_them() {
        for good in ["web1", "web-1.example.org", "id1:0123456789abcdef", "7"] {
            assert_eq!(good.parse::<Host>().unwrap().to_string(), good);
        }
        for bad in ["two words", "-x", "ü", "a/b", "a\n", &"x".repeat(65)] {
            assert!(bad.parse::<Host>().is_err(), "{bad}");
        }
        let nothing: Host = "".parse().unwrap();
        assert_eq!((nothing.known(), nothing.to_string().as_str()), (None, "unknown host"));
        let hashed = Host::hashed(&[0xab; 16]);
        assert_eq!(hashed.known(), Some("id1:abababababababab"));
        assert!(!hashed.is_named() && "web1".parse::<Host>().unwrap().is_named());
    }
}
