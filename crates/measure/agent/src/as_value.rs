//! Large parts of tickets and logs, which serde reads and writes by way of a JSON value: `plumb-model` has that code already.

use plumb_model::AsJson;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de, ser};
use serde_json::Value;

/// Writes the value of a part.
pub(crate) fn serialize<T: AsJson, S: Serializer>(
    part: &T,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    part.to_json().map_err(ser::Error::custom)?.serialize(serializer)
}

/// Reads a part from its value.
pub(crate) fn deserialize<'de, T: AsJson, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<T, D::Error> {
    T::of_json(Value::deserialize(deserializer)?).map_err(de::Error::custom)
}

/// The same for a part that may be missing.
pub(crate) mod optional {
    use super::{AsJson, Deserialize, Deserializer, Serialize, Serializer, Value, de, ser};

    /// Writes the value of a part, or null.
    pub(crate) fn serialize<T: AsJson, S: Serializer>(
        part: &Option<T>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let value = part.as_ref().map(AsJson::to_json).transpose();
        value.map_err(ser::Error::custom)?.serialize(serializer)
    }

    /// Reads a part from its value, if there is one.
    pub(crate) fn deserialize<'de, T: AsJson, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<T>, D::Error> {
        let value = Option::<Value>::deserialize(deserializer)?;
        value.map(T::of_json).transpose().map_err(de::Error::custom)
    }
}
