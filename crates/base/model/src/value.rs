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
}
