//! Folders that a language searches for modules first.

use crate::cause::{Cause, Suspect, Suspicion};
use crate::causes::loader::without_variables;

/// Variables that add folders to the search for modules, each of which is looked at in every start.
pub const CAUSE: Cause = Cause {
    name: "module-path",
    summary: "folders that its language searches for modules",
    manual: include_str!("module_path.md"),
    suspect,
};

pub(super) const VARIABLES: [&str; 7] =
    ["CLASSPATH", "GEM_PATH", "LUA_PATH", "NODE_PATH", "PERL5LIB", "PYTHONPATH", "RUBYLIB"];

fn suspect(suspect: &Suspect<'_>) -> Option<Suspicion> {
    if !suspect.starts_programs() {
        return None;
    }
    without_variables(suspect, &VARIABLES)
}
