//! A change, and the outcome of undoing it.

use std::fmt;
use std::io;

use plumb_machine::Root;
use serde::{Deserialize, Serialize};

use crate::journal::file::{Intent, JournalEntry};
use crate::setting::SystemSetting;

/// A change that was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangeMade {
    /// The changed setting.
    pub setting: SystemSetting,
    /// The value before.
    pub was: String,
    /// The value after, as it reads back.
    pub became: String,
}

/// The outcome of undoing a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Settled {
    /// The old value is back.
    Restored {
        /// The setting that was changed.
        setting: SystemSetting,
        /// The value that it has again.
        was: String,
    },
    /// Somebody else has changed it meanwhile; it stays so.
    Left {
        /// The setting that was changed.
        setting: SystemSetting,
        /// Its value now.
        now: String,
        /// What plumb had made of it.
        became: String,
    },
    /// It is gone from this machine.
    Gone(SystemSetting),
    /// The old value could not be written; the journal stays.
    Failed {
        /// The setting that was changed.
        setting: SystemSetting,
        /// The value that it should have again.
        was: String,
        /// The error of the write.
        why: String,
    },
    /// A journal of another boot was removed; nothing was written.
    Stale(usize),
}

impl fmt::Display for Settled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Restored { setting: plugin @ SystemSetting::Plugin(_), .. } => {
                write!(f, "{plugin} undid its change")
            }
            Self::Failed { setting: plugin @ SystemSetting::Plugin(_), why, .. } => {
                write!(f, "{plugin} could not undo its change: {why}")
            }
            Self::Gone(plugin @ SystemSetting::Plugin(_)) => {
                write!(f, "{plugin} no longer exists, so its change was not undone")
            }
            Self::Restored { setting, was } => write!(f, "{setting} restored to {}", was.trim()),
            Self::Left { setting, now, became } => write!(
                f,
                "{setting} is {}, not the {} that plumb set: something else changed it, so plumb left it alone",
                now.trim(),
                became.trim()
            ),
            Self::Gone(setting) => write!(f, "{setting} no longer exists; nothing to restore"),
            Self::Failed { setting, was, why } => {
                write!(f, "{setting} could not be restored to {}: {why}", was.trim())
            }
            Self::Stale(changes) => {
                write!(f, "removed a journal from another boot ({changes} changes)")
            }
        }
    }
}

/// Writes the old value back where that is right; None when it is there already.
pub fn settle(root: &Root, entry: &JournalEntry) -> Option<Settled> {
    let Intent { setting, was, .. } = &entry.intent;
    let setting = setting.clone();
    let was = was.clone();
    let now = match setting.read(root) {
        Ok(now) => now,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Some(Settled::Gone(setting));
        }
        Err(error) => return Some(failed(setting, was, &error)),
    };
    if SystemSetting::same(&now, &was) {
        return None;
    }
    // A value that is neither the old one nor plumb's is somebody else's decision. Writing the old one would undo it.
    if let Some(became) = &entry.became
        && !SystemSetting::same(became, &now)
        && !cut_short(&setting, &now)
    {
        return Some(Settled::Left { setting, now, became: became.clone() });
    }
    Some(match setting.write(root, &was) {
        Ok(()) => Settled::Restored { setting, was },
        Err(error) if error.kind() == io::ErrorKind::NotFound => Settled::Gone(setting),
        Err(error) => failed(setting, was, &error),
    })
}

fn failed(setting: SystemSetting, was: String, error: &io::Error) -> Settled {
    Settled::Failed { setting, was, why: error.to_string() }
}

/// Whether whoever wrote it last was killed between emptying it and writing: then the value is nobody's.
/// A file of the kernel can't be emptied so; a plain file, as the trees of our tests have, can.
fn cut_short(setting: &SystemSetting, now: &str) -> bool {
    matches!(setting, SystemSetting::File(_)) && now.trim().is_empty()
}

#[cfg(test)]
mod tests {
    use super::{Settled, settle};
    use crate::journal::file::{Intent, JournalEntry};
    use crate::setting::SystemSetting;
    use plumb_machine::Root;

    #[test]
    fn a_file_that_a_killed_writer_emptied_is_restored_and_what_another_wrote_is_left() {
        let tree = tempfile::tempdir().unwrap();
        let file = tree.path().join("value");
        let intent = Intent {
            setting: SystemSetting::File("/value".into()),
            was: "1000\n".into(),
            to: "0".into(),
        };
        let entry = JournalEntry { intent, became: Some("0".into()), offset: 0 };
        let root = Root::at(tree.path());

        std::fs::write(&file, "7").unwrap();
        assert!(matches!(settle(&root, &entry), Some(Settled::Left { .. })));
        std::fs::write(&file, "").unwrap();
        assert!(matches!(settle(&root, &entry), Some(Settled::Restored { .. })));
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "1000\n");
    }
}
