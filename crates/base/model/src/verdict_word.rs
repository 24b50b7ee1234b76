//! A verdict as its word, for serde: the type lives where verdicts are reached, in `plumb-stats`, which
//! uses no other crate.

use plumb_stats::verdict::Verdict;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serializer};

pub(crate) fn serialize<S: Serializer>(
    verdict: &Option<Verdict>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match verdict {
        Some(verdict) => serializer.serialize_some(verdict.word()),
        None => serializer.serialize_none(),
    }
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Verdict>, D::Error> {
    let Some(word) = Option::<String>::deserialize(deserializer)? else { return Ok(None) };
    match Verdict::of_word(&word) {
        Some(verdict) => Ok(Some(verdict)),
        None => Err(D::Error::custom(format!("`{word}` is not a verdict"))),
    }
}
