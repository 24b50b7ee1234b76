//! Why something was not changed.

use serde::{Deserialize, Serialize};

/// Why something was not changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unchanged {
    /// Why the machine can't be changed so.
    pub why: String,
    /// The fix; may be empty.
    pub fix: String,
}

impl Unchanged {
    /// Without a remedy.
    pub fn new(why: impl Into<String>) -> Self {
        Self { why: why.into(), fix: String::new() }
    }
}
