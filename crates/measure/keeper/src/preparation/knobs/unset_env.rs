//! `--set unset-env.NAME`: removes a variable from the workload's environment.

use crate::preparation::knob::{Knob, Lasts, Resolved, Suffix, Unusable};
use crate::spawn_options::SpawnOption;
use plumb_model::Role;

/// An environment variable that workloads do not inherit.
pub const KNOB: Knob = Knob {
    name: "unset-env",
    values: "",
    example: "unset-env.LD_PRELOAD",
    summary: "removes a variable from the environment of the workers",
    manual: include_str!("unset_env.md"),
    lasts: Lasts::Process,
    suffix: Suffix::Name,
    resolve: |_, name, value| unset(name, value),
    now: |_| None,
};

fn unset(name: &str, value: &str) -> Result<Resolved, Unusable> {
    if !value.is_empty() {
        return Err(Unusable::Usage("it takes no value".into()));
    }
    if name.is_empty() || name.contains(['=', '\0']) {
        let example = "it needs the name of a variable: unset-env.LD_PRELOAD";
        return Err(Unusable::Usage(example.into()));
    }
    Ok(Resolved::Spawn(Some(Role::Workload), SpawnOption::UnsetVariable(name.to_owned())))
}
