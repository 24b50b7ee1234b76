//! A very large environment, which every start copies.

use crate::cause::{Cause, Remedy, Removal, Suspect, Suspicion};

/// Large variables in the environment.
pub const CAUSE: Cause = Cause {
    name: "environment-size",
    summary: "a very large environment",
    manual: include_str!("environment_size.md"),
    suspect,
};

/// Less is not worth a try, in bytes.
const LARGE: usize = 64 << 10;
/// Variables that are larger are removed, in bytes.
const LARGE_VARIABLE: usize = 8 << 10;

/// Variables without which most commands fail.
const NEEDED: [&str; 2] = ["PATH", "HOME"];

fn suspect(suspect: &Suspect<'_>) -> Option<Suspicion> {
    if !suspect.starts_programs() {
        return None;
    }
    let sizes = suspect.variables.iter().map(|(name, value)| (name, name.len() + value.len()));
    let bytes: usize = sizes.clone().map(|(_, size)| size).sum();
    let large: Vec<&String> = sizes
        .filter(|(name, size)| *size > LARGE_VARIABLE && !NEEDED.contains(&name.as_str()))
        .map(|(name, _)| name)
        .collect();
    if bytes < LARGE || large.is_empty() {
        return None;
    }
    let listed = large.iter().map(|name| name.as_str()).collect::<Vec<_>>().join(", ");
    Some(Suspicion {
        evidence: format!(
            "the environment has {} KiB; the largest variables: {listed}",
            bytes >> 10
        ),
        is_common: false,
        ways: vec![Removal::Knobs(large.iter().map(|name| format!("unset-env.{name}")).collect())],
        remedy: Remedy {
            text: format!("pass this in a file instead of {listed}"),
            command: String::new(),
        },
    })
}
