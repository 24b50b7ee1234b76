//! Libraries that are loaded into every process.

use crate::cause::{Cause, Remedy, Removal, Suspect, Suspicion};

/// Variables of the dynamic loader. They reach plumb's own workers, too: a large library makes their forks slower.
pub const CAUSE: Cause = Cause {
    name: "loader",
    summary: "environment variables of the dynamic loader",
    manual: include_str!("loader.md"),
    suspect,
};

/// Those that load, trace or bind more, of ld.so(8).
pub(super) const VARIABLES: [&str; 7] = [
    "LD_AUDIT",
    "LD_BIND_NOW",
    "LD_DEBUG",
    "LD_LIBRARY_PATH",
    "LD_PRELOAD",
    "LD_PROFILE",
    "LD_SHOW_AUXV",
];

fn suspect(suspect: &Suspect<'_>) -> Option<Suspicion> {
    without_variables(suspect, &VARIABLES)
}

/// A suspicion of those of these variables that are set, all removed together.
pub(super) fn without_variables(suspect: &Suspect<'_>, names: &[&str]) -> Option<Suspicion> {
    let found = suspect.set_among(names);
    let listed = found.join(", ");
    (!found.is_empty()).then(|| Suspicion {
        evidence: format!("the environment has {listed}"),
        is_common: false,
        ways: vec![Removal::Knobs(found.iter().map(|name| format!("unset-env.{name}")).collect())],
        remedy: Remedy {
            text: format!("start it without {listed}"),
            command: format!("unset {}", found.join(" ")),
        },
    })
}
