//! `--set set-env.NAME=VALUE`: a variable of the workload's environment.

use plumb_model::{Role, names_a_secret};

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
    if names_a_secret(name) {
        let why = format!(
            "the value of {name} would be stored with the run; export it before you start plumb"
        );
        return Err(Unusable::Usage(why));
    }
    let variable = SpawnOption::SetVariable(name.to_owned(), value.to_owned());
    Ok(Resolved::Spawn(Some(Role::Workload), variable))
}

#[cfg(test)]
mod tests {
    use super::set;

    #[test]
    fn a_variable_has_a_name_and_no_secret() {
        assert!(set("LC_ALL", "C").is_ok() && set("EMPTY", "").is_ok());
        assert!(set("", "C").is_err() && set("A=B", "C").is_err());
        assert!(format!("{:?}", set("API_TOKEN", "x").unwrap_err()).contains("would be stored"));
    }
}
