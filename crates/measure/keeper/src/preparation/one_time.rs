//! Knobs that do something once.

use std::time::Duration;

use plumb_machine::Root;

use crate::preparation::action::Action;
use crate::preparation::knob::{Resolved, Unusable};

/// An action that takes no value.
pub fn simple(root: &Root, value: &str, action: Action) -> Result<Resolved, Unusable> {
    match value.is_empty() {
        true => checked(root, action),
        false => Err(Unusable::Usage("it takes no value".into())),
    }
}

/// An action, if this machine and this user can do it.
pub fn checked(root: &Root, action: Action) -> Result<Resolved, Unusable> {
    action.check(root)?;
    Ok(Resolved::Action(action))
}

/// A time such as `20s`, `500ms` or `2m`.
pub fn length(text: &str) -> Option<Duration> {
    // `ms` ends in `s`, too: it comes first.
    let seconds = quantity(text, "ms")
        .map(|milliseconds| milliseconds * 1e-3)
        .or_else(|| quantity(text, "s"))
        .or_else(|| quantity(text, "m").map(|minutes| minutes * 60.0));
    Duration::try_from_secs_f64(seconds?).ok()
}

/// The number before a unit; None if there is another unit, or the number is none that can be waited for.
pub fn quantity(text: &str, unit: &str) -> Option<f64> {
    let number: f64 = text.strip_suffix(unit)?.parse().ok()?;
    (number.is_finite() && number >= 0.0).then_some(number)
}
