//! `--set set-env.NAME=VALUE`: a variable of the workload's environment.

use plumb_model::Role;

use crate::preparation::knob::{Knob, Lasts, Resolved, Suffix, Unusable};
use crate::spawn_options::SpawnOption;

/// An environment variable of workloads.
pub const KNOB: Knob = Knob {
    name: "set-env",
    values: "set-env.NAME=VALUE",
    example: "set-env.LC_ALL=C",
    summary: "sets a variable in the environment of the workers",
    manual: include_str!("set_env.md"),
    lasts: Lasts::Process,
    suffix: Suffix::Name,
    resolve: |_, name, value| set(name, value),
    now: |_| None,
};

fn set(name: &str, value: &str) -> Result<Resolved, Unusable> {
    if name.is_empty() || name.contains(['=', '\0']) || value.contains('\0') {
        let example = "it needs the name of a variable: set-env.LC_ALL=C";
        return Err(Unusable::Usage(example.into()));
    }
    let variable = SpawnOption::SetVariable(name.to_owned(), value.to_owned());
    Ok(Resolved::Spawn(Some(Role::Workload), variable))
}
