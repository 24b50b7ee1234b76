//! Preparations of the machine before measuring, and their outcome.

use serde::{Deserialize, Serialize};

use crate::energy::ENERGY_KNOB;

/// The layers of a medium that encrypt what lies on them.
pub const ENCRYPTING: [&str; 4] = ["dm-crypt", "luks", "fscrypt", "gocryptfs"];

/// A knob that is set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Preparation {
    /// The knob (`thp`, `nice`, `drop-caches`).
    pub knob: String,
    /// Its value; empty for actions that take none.
    #[serde(default)]
    pub value: String,
    /// For how long it holds, or how often it is done.
    #[serde(default)]
    pub slot: PreparationSlot,
    /// Whether it comes from a preset, so that it is skipped if it can't be had.
    #[serde(default)]
    pub optional: bool,
}

impl Preparation {
    /// As people set it: `thp=always`, `drop-caches@round`.
    #[must_use]
    pub fn name(&self) -> String {
        let value = if self.value.is_empty() { String::new() } else { format!("={}", self.value) };
        let slot = match self.slot {
            PreparationSlot::Run => "",
            PreparationSlot::Round => "@round",
            PreparationSlot::Invocation => "@invocation",
        };
        format!("{}{value}{slot}", self.knob)
    }

    /// The medium, if it says what the target directory lies on.
    #[must_use]
    pub fn medium(&self) -> Option<&str> {
        (self.knob == "medium").then_some(&self.value)
    }

    /// Whether it is a medium with a layer that encrypts.
    #[must_use]
    pub fn encrypts(&self) -> bool {
        let layers = self.medium().unwrap_or_default().split('+');
        let mut names = layers.map(|layer| layer.split(':').next().unwrap_or_default());
        names.any(|name| ENCRYPTING.contains(&name))
    }

    /// Whether it only varies what else would be left to chance, so that results with and without it
    /// belong to one series.
    #[must_use]
    pub fn is_only_chance(&self) -> bool {
        self.knob == "env-size" && self.value == "random"
    }

    /// Whether results with and without it belong to one series.
    #[must_use]
    pub fn changes_nothing(&self) -> bool {
        self.is_only_chance() || self.knob == ENERGY_KNOB
    }
}

/// The command line of a process that holds a medium: the keeper, which is plumb, starts itself under this name.
pub const MEDIUM_HOLDER: [&str; 2] = ["/proc/self/exe", "medium"];

/// When a preparation is made, and for how long it holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PreparationSlot {
    /// Once, for the whole run.
    #[default]
    Run,
    /// Before each round, until its end.
    Round,
    /// Before each invocation, until its end.
    Invocation,
}

/// A preparation that was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prepared {
    /// The setting (`thp`), action (`drop-caches`) or applied plug-in (its id).
    pub setting: String,
    /// The value before; empty if there is none.
    pub was: String,
    /// The value after, or what came of it.
    pub became: String,
}

/// A preparation as a record has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PreparationRecord {
    /// What was made.
    pub prepared: Prepared,
    /// In which segment.
    pub segment: u32,
    /// When, since the start of the segment, in nanoseconds.
    pub at_ns: u64,
    /// When it was undone, since the start of the segment, in nanoseconds; None if there is nothing to
    /// undo, or if the keeper did it after plumb had ended.
    pub restored_at_ns: Option<u64>,
}

impl PreparationRecord {
    /// Notes that the latest preparation of this name that holds was undone.
    pub fn undone(records: &mut [Self], setting: &str, at_ns: u64) {
        // A knob that was set more than once has several records, and an undone one holds no longer: go from the latest.
        for record in records.iter_mut().rev() {
            if record.prepared.setting == setting && record.restored_at_ns.is_none() {
                record.restored_at_ns = Some(at_ns);
                return;
            }
        }
    }
}
