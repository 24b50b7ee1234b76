//! `--set tracer=off`: the workload runs outside of a tracer.

use crate::preparation::knob::{Knob, Lasts, Suffix, Unusable};
use crate::preparation::process::option;
use crate::spawn_options::SpawnOption;

/// Whether a tracer of plumb (`strace -f`) also traces the workload.
pub const KNOB: Knob = Knob {
    name: "tracer",
    values: "on, off",
    example: "tracer=off",
    summary: "whether a tracer of plumb, such as strace -f, also traces the workers",
    manual: include_str!("tracer.md"),
    lasts: Lasts::Process,
    suffix: Suffix::Role,
    resolve: |_, role, value| option(role, SpawnOption::Untraced(is_untraced(value)?)),
    now: |_| None,
};

fn is_untraced(value: &str) -> Result<bool, Unusable> {
    match value {
        "on" => Ok(false),
        "off" => Ok(true),
        _ => Err(Unusable::not_taken(value, "on, off")),
    }
}
