//! Identities, and their beginning as people see it.

/// Identity of a run, an invocation or a baseline fact: a UUIDv7, so that two stores can merge.
pub type Id = uuid::Uuid;

/// Digits of an id that are shown: the time in milliseconds, which two runs hardly share.
pub const SHOWN_DIGITS: usize = 12;

/// The beginning of an id that is shown and can be typed.
#[must_use]
pub fn short_id(id: Id) -> String {
    let mut text = id.simple().to_string();
    text.truncate(SHOWN_DIGITS);
    text
}
