//! `--set env-size`: size of the environment, which shifts the stack.

use plumb_protocol::MOST_PADDING;

use crate::preparation::knob::{Knob, Lasts, Suffix, Unusable};
use crate::preparation::process::option;
use crate::spawn_options::SpawnOption;

/// The length of the environment, in bytes: it moves the start of the stack.
pub const KNOB: Knob = Knob {
    name: "env-size",
    values: "random, or a number of bytes",
    example: "env-size=random",
    summary: "size of the environment, which shifts the stack",
    manual: include_str!("env_size.md"),
    lasts: Lasts::Process,
    suffix: Suffix::Role,
    resolve: |_, role, value| option(role, padding(value)?),
    now: |_| None,
};

fn padding(value: &str) -> Result<SpawnOption, Unusable> {
    if value == "random" {
        return Ok(SpawnOption::Padding(None));
    }
    match value.parse() {
        Ok(bytes) if bytes <= MOST_PADDING => Ok(SpawnOption::Padding(Some(bytes))),
        _ => Err(Unusable::not_taken(value, "random, or up to 4096 bytes")),
    }
}
