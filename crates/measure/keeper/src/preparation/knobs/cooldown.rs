//! `--set cooldown`: waits until the machine has cooled down.

use plumb_machine::Root;

use crate::preparation::action::Action;
use crate::preparation::knob::{Knob, Lasts, Resolved, Suffix, Unusable};
use crate::preparation::one_time::{checked, length, quantity};

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
    match length(value) {
        Some(length) => checked(root, Action::Wait(length)),
        None => Err(Unusable::not_taken(value, KNOB.values)),
    }
}
