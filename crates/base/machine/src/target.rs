//! Facts of the measuring machine, and of those on which servers run.

use std::path::Path;

use plumb_model::{Environment, Host, OF_FAR_END, Target};

use crate::fingerprint::{environment, machine};
use crate::hash::with_fact;
use crate::root::Root;

/// This machine, with what a target directory lies on.
#[must_use]
pub fn target(root: &Root, host: Host, dir: &Path) -> Target {
    Target {
        name: "local".into(),
        host,
        machine: machine(root),
        environment: environment(root, dir),
    }
}

/// An environment with the facts of the machines on which servers run, so that they are stored with a run and compared.
#[must_use]
pub fn with_far_ends<'f>(
    mut here: Environment,
    far_ends: impl Iterator<Item = &'f Target>,
) -> Environment {
    for target in far_ends {
        let host = target.host.known().map(|host| ("host".to_owned(), host.to_owned()));
        let facts = target.machine.facts.iter().chain(&target.environment.facts);
        for (name, value) in facts.map(|(name, value)| (name.clone(), value.clone())).chain(host) {
            here = with_fact(&here, &format!("{OF_FAR_END}{name}"), value);
        }
    }
    here
}
