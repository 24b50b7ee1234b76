//! `--set nice`: nice level of the workers; nice.controller and nice.monitor set it for plumb's other processes.

use crate::preparation::knob::{Knob, Lasts, Suffix, Unusable};
use crate::preparation::process::option;
use crate::spawn_options::SpawnOption;

/// The nice level of the processes of a role.
pub const KNOB: Knob = Knob {
    name: "nice",
    values: "-20 to 19",
    example: "nice=5",
    summary: "nice level of the workers; nice.controller and nice.monitor set it for plumb's other processes",
    manual: include_str!("nice.md"),
    lasts: Lasts::Process,
    suffix: Suffix::Role,
    resolve: |_, role, value| option(role, nice(value)?),
    now: |_| None,
};

fn nice(value: &str) -> Result<SpawnOption, Unusable> {
    let level = value.parse().ok().filter(|level| (-20..=19).contains(level));
    level.map(SpawnOption::Nice).ok_or_else(|| Unusable::not_taken(value, KNOB.values))
}
