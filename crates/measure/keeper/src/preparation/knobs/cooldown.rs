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
    let number = |text: &str| text.parse().ok().filter(|n: &f64| n.is_finite() && *n >= 0.0);
    let scaled = |end, scale: f64| Some(number(value.strip_suffix(end)?)? * scale);
    if let Some(celsius) = scaled("C", 1.0) {
        return checked(root, Action::CoolDown(celsius));
    }
    let seconds = scaled("ms", 1e-3).or_else(|| scaled("s", 1.0)).or_else(|| scaled("m", 60.0));
    let length = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    let wrong = || Unusable::not_taken(value, KNOB.values);
    checked(root, Action::Wait(length.ok_or_else(wrong)?))
}
