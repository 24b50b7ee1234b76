//! Numbers as the integers of their bits.
//!
//! What is derived once and kept must come back to the last bit: a figure must not depend on whether it was
//! read or computed. JSON's decimal numbers do not guarantee that, and have no NaN.

use serde::{Deserialize, Deserializer, Serializer};

/// Writes the bits of a number.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
pub(crate) fn serialize<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(value.to_bits())
}

/// Reads what `serialize` wrote.
pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    Ok(f64::from_bits(u64::deserialize(deserializer)?))
}

/// The same for a list of numbers.
pub(crate) mod list {
    use serde::{Deserialize, Deserializer, Serializer};

    /// Writes the bits of each number.
    pub(crate) fn serialize<S: Serializer>(
        values: &[f64],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(values.iter().map(|value| value.to_bits()))
    }

    /// Reads what `serialize` wrote.
    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<f64>, D::Error> {
        let all = Vec::<u64>::deserialize(deserializer)?;
        Ok(all.into_iter().map(f64::from_bits).collect())
    }
}
