//! `--set aslr`: random layout of address spaces; if off, results are flagged `layout-fixed`.

use crate::preparation::knob::{Knob, Lasts, Suffix, Unusable};
use crate::preparation::process::option;
use crate::spawn_options::SpawnOption;

/// Random addresses of stack, heap and libraries, per process.
pub const KNOB: Knob = Knob {
    name: "aslr",
    values: "on, off",
    example: "aslr=off",
    summary: "random layout of address spaces; if off, results are flagged `layout-fixed`",
    manual: include_str!("aslr.md"),
    lasts: Lasts::Process,
    suffix: Suffix::Role,
    resolve: |_, role, value| option(role, layout(value)?),
    now: |_| None,
};

fn layout(value: &str) -> Result<SpawnOption, Unusable> {
    match value {
        "on" => Ok(SpawnOption::FixedLayout(false)),
        "off" => Ok(SpawnOption::FixedLayout(true)),
        _ => Err(Unusable::not_taken(value, "on, off")),
    }
}
