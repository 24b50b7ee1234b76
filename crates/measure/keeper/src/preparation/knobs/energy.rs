//! `--set energy`, or `--energy`: measures the power of the idle machine, so that the energy of results can be told apart from it.

use std::time::Duration;

use plumb_machine::Root;
use plumb_model::ENERGY_KNOB;

use crate::preparation::action::Action;
use crate::preparation::knob::{Knob, Lasts, Resolved, Suffix, Unusable};
use crate::preparation::one_time::{checked, length};

/// Measures the power of the idle machine before the run.
pub const KNOB: Knob = Knob {
    name: ENERGY_KNOB,
    values: "a time (5s)",
    example: "energy=5s",
    summary: "measures the idle power, and the energy of each result",
    manual: include_str!("energy.md"),
    lasts: Lasts::Done,
    suffix: Suffix::None,
    resolve: |root, _, value| idle(root, value),
    now: |_| None,
};

/// A shorter time has too few updates of the counters.
const SHORTEST: Duration = Duration::from_millis(100);

fn idle(root: &Root, value: &str) -> Result<Resolved, Unusable> {
    match length(value).filter(|length| *length >= SHORTEST) {
        Some(length) => checked(root, Action::IdlePower(length)),
        None => Err(Unusable::not_taken(value, "a time of at least 100 ms, such as 5s")),
    }
}
