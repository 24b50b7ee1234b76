//! `--set cooldown`: waits until the machine has cooled down.

use std::time::Duration;

use plumb_machine::Root;

use crate::preparation::action::Action;
use crate::preparation::knob::{Knob, Lasts, Resolved, Suffix, Unusable};
use crate::preparation::one_time::checked;

/// Waits for a time or a temperature before the run.
pub const KNOB: Knob = Knob {
    name: "cooldown",
    values: "a time (20s) or a temperature (55C)",
    example: "cooldown=20s",
    summary: "waits until the machine has cooled down",
    manual: include_str!("cooldown.md"),
    lasts: Lasts::Done,
    suffix: Suffix::None,
    resolve: |root, _, value| cool_down(root, value),
    now: |_| None,
};

fn cool_down(root: &Root, value: &str) -> Result<Resolved, Unusable> {
    if let Some(celsius) = quantity(value, "C") {
        return checked(root, Action::CoolDown(celsius));
    }
    // `ms` ends in `s`, too: it comes first.
    let seconds = quantity(value, "ms")
        .map(|milliseconds| milliseconds * 1e-3)
        .or_else(|| quantity(value, "s"))
        .or_else(|| quantity(value, "m").map(|minutes| minutes * 60.0));
    let length = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    match length {
        Some(length) => checked(root, Action::Wait(length)),
        None => Err(Unusable::not_taken(value, KNOB.values)),
    }
}

/// The number before a unit; None if there is another unit, or the number is none that can be waited for.
fn quantity(text: &str, unit: &str) -> Option<f64> {
    let number: f64 = text.strip_suffix(unit)?.parse().ok()?;
    (number.is_finite() && number >= 0.0).then_some(number)
}
