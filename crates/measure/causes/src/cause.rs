//! What a cause is.

use std::collections::BTreeMap;
use std::path::Path;

use plumb_machine::Root;
use plumb_model::{Description, Point, Value};

/// A possible cause, described without looking for it.
#[derive(Debug)]
pub struct Cause {
    /// Its name, as people and documents call it.
    pub name: &'static str,
    /// What it is, in a few words that follow *because of*.
    pub summary: &'static str,
    /// Its manual page, in Markdown.
    pub manual: &'static str,
    /// Looks whether it is possible here: cheap, and changes nothing. None if it is not.
    pub suspect: fn(&Suspect<'_>) -> Option<Suspicion>,
}

/// What is slow, and where.
#[derive(Debug)]
pub struct Suspect<'s> {
    /// The files of the kernel.
    pub root: &'s Root,
    /// The point that is measured.
    pub point: &'s Point,
    /// What its workload says of itself.
    pub description: &'s Description,
    /// The variables in its environment.
    pub variables: BTreeMap<String, String>,
    /// The folder that its files are in; None if they are on a medium that plumb makes.
    pub folder: Option<&'s Path>,
}

/// Why something may be the cause, and how to find out.
#[derive(Debug, Clone, PartialEq)]
pub struct Suspicion {
    /// What was seen.
    pub evidence: String,
    /// Whether many healthy machines look the same: such causes are tried only if no other one is found.
    pub is_common: bool,
    /// Ways of removing it, the best first; the first that this machine and this user can have is tried. Empty if plumb has
    /// none.
    pub ways: Vec<Removal>,
    /// What the user can do about it.
    pub remedy: Remedy,
}

/// A way of removing a cause.
#[derive(Debug, Clone, PartialEq)]
pub enum Removal {
    /// These knobs, as `--set` takes them.
    Knobs(Vec<String>),
    /// Other values of parameters.
    Parameters(Vec<(&'static str, Value)>),
}

/// What the user can do about a cause.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remedy {
    /// What to do, in words.
    pub text: String,
    /// As a command; empty if there is none that fits everywhere.
    pub command: String,
}

/// Whether a workload reads and writes files in the target directory.
#[must_use]
pub fn uses_files(workload: &str) -> bool {
    const FAMILIES: [&str; 2] = ["storage.", "datastore."];
    FAMILIES.iter().any(|family| workload.starts_with(family))
}

impl Suspect<'_> {
    /// A number of the line `key:` of `/proc/self/status`.
    pub(crate) fn status(&self, key: &str) -> Option<String> {
        self.root.field("/proc/self/status", key)
    }

    /// A field of `/proc/self/stat`, counted as in proc(5), from the third on.
    pub(crate) fn stat_field(&self, number: usize) -> Option<i64> {
        let text = self.root.text("/proc/self/stat")?;
        // The second field is the name of the program, which may contain blanks.
        let (_, rest) = text.rsplit_once(')')?;
        rest.split_whitespace().nth(number.checked_sub(3)?)?.parse().ok()
    }

    /// The value of a parameter of the point; None if it has no such parameter.
    pub(crate) fn setting(&self, name: &str) -> Option<&Value> {
        self.point.settings.get(name)
    }

    /// `NAME=VALUE` of a parameter, as people type it.
    pub(crate) fn typed_setting(&self, name: &str) -> Option<String> {
        let value = self.setting(name)?;
        let shown = self.description.parameter(name).map(|parameter| parameter.show(value));
        Some(format!("{name}={}", shown.unwrap_or_else(|| value.to_string())))
    }

    /// The variable with this name, if it is in the environment and not empty.
    pub(crate) fn variable(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// Whether programs of the user or of this machine are measured, which their environment can slow down. plumb's own
    /// loops are one binary, and what `process.fork` and `process.exec` start needs no library and no locale.
    pub(crate) fn starts_programs(&self) -> bool {
        const WORKLOADS: [&str; 3] = ["process.command", "process.library", "scheduler.compile"];
        const FAMILIES: [&str; 3] = ["classic.", "language.", "ssh."];
        let workload = self.point.workload.as_str();
        WORKLOADS.contains(&workload) || FAMILIES.iter().any(|family| workload.starts_with(family))
    }

    /// Those of these variables that are set.
    pub(crate) fn set_among(&self, names: &[&str]) -> Vec<String> {
        names
            .iter()
            .filter(|name| self.variables.contains_key(**name))
            .map(|&name| name.into())
            .collect()
    }
}
