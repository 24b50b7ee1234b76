//! A confidence as its percentage, for serde: the type lives in `plumb-stats`, which uses no other crate.

use plumb_stats::verdict::Confidence;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serializer};

pub(crate) fn serialize<S: Serializer>(
    confidence: &Confidence,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.serialize_u8(confidence.percent())
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Confidence, D::Error> {
    let percent = u8::deserialize(deserializer)?;
    let of_percent = Confidence::of_percent(percent);
    of_percent.ok_or_else(|| D::Error::custom(format!("{percent} % is not a confidence level")))
}
