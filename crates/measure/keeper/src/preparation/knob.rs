//! A knob, and its settings on a machine.

use plumb_machine::Root;
use plumb_model::Role;

use crate::preparation::action::Action;
use crate::setting::SystemSetting;
use crate::spawn_options::SpawnOption;
use crate::unchanged::Unchanged;

/// A knob: a file in `knobs/` with its manual next to it.
#[derive(Debug)]
pub struct Knob {
    /// The word that `--set` takes, without value and suffix.
    pub name: &'static str,
    /// The values that it takes, for people.
    pub values: &'static str,
    /// An example for `--set`, with a value if the knob takes one.
    pub example: &'static str,
    /// Its summary in one line.
    pub summary: &'static str,
    /// Its page of Markdown, shown by `plumb explain`.
    pub manual: &'static str,
    /// How long it holds.
    pub lasts: Lasts,
    /// What stands behind a dot in its name.
    pub suffix: Suffix,
    /// The settings of a value on this machine, with the suffix.
    pub resolve: fn(&Root, &str, &str) -> Result<Resolved, Unusable>,
    /// What the knob is set to now, if that can be read.
    pub now: fn(&Root) -> Option<String>,
}

/// How long what a knob does holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lasts {
    /// Until it is undone: a setting of the machine.
    Undone,
    /// It is done, and leaves nothing to undo.
    Done,
    /// As long as the process that it was given to.
    Process,
    /// As long as the run.
    Run,
}

/// The suffix that may follow a dot in a knob's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Suffix {
    /// The name has no dot.
    None,
    /// Whom it holds for: `nice.monitor`.
    Role,
    /// The name of a setting: `sysctl.vm.swappiness`.
    Name,
}

/// A knob with its value, resolved.
#[derive(Debug, Clone, PartialEq)]
pub enum Resolved {
    /// Settings of the machine.
    Settings(Vec<Assignment>),
    /// Something to do.
    Action(Action),
    /// What the target directory lies on.
    Medium,
    /// How processes of a role are started; of plumb itself without one.
    Spawn(Option<Role>, SpawnOption),
}

/// A setting and the value that it should have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assignment {
    /// The setting of the machine that changes.
    pub setting: SystemSetting,
    /// The value that it gets, as it is written to the kernel.
    pub to: String,
    /// Whether the knob is set although the kernel refuses this one.
    pub may_refuse: bool,
}

impl Assignment {
    /// A file that must take the value.
    pub fn file(path: impl Into<String>, to: &str) -> Self {
        Self { setting: SystemSetting::File(path.into()), to: to.to_owned(), may_refuse: false }
    }
}

/// Why a knob can't be set so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unusable {
    /// What was typed means nothing.
    Usage(String),
    /// This machine lacks what the knob needs.
    Unsupported(Unchanged),
}

impl Unusable {
    /// A value that a knob does not take.
    pub fn not_taken(value: &str, takes: &str) -> Self {
        Self::Usage(format!("`{value}` is not a valid value; use {takes}"))
    }

    /// Unsupported, with the missing need of this machine; `fix` may be empty.
    pub fn unsupported(why: impl Into<String>, fix: &str) -> Self {
        Self::Unsupported(Unchanged { why: why.into(), fix: fix.into() })
    }
}

impl From<Unchanged> for Unusable {
    fn from(unchanged: Unchanged) -> Self {
        Self::Unsupported(unchanged)
    }
}
