//! A search path for programs that leads through slow folders.

use std::path::Path;

use plumb_machine::holding;

use crate::cause::{Cause, Remedy, Removal, Suspect, Suspicion};
use crate::causes::filesystem::slow_filesystem;

/// Slow or very many folders in PATH.
pub const CAUSE: Cause = Cause {
    name: "search-path",
    summary: "slow folders in PATH",
    manual: include_str!("search_path.md"),
    suspect,
};

/// More folders than this are worth a try.
const MANY: usize = 30;

fn suspect(suspect: &Suspect<'_>) -> Option<Suspicion> {
    let path = suspect.variable("PATH").filter(|_| suspect.starts_programs())?;
    let mut kept: Vec<&str> = Vec::new();
    let mut slow = Vec::new();
    let mut missing = 0;
    for folder in path.split(':') {
        let mount = holding(suspect.root, Path::new(folder));
        if let Some(what) = mount.as_ref().and_then(slow_filesystem) {
            slow.push(format!("{folder} {what}"));
        } else if suspect.root.path(folder).is_dir() {
            kept.push(folder);
        } else {
            missing += 1;
        }
    }
    if missing > MANY {
        slow.push(format!("{missing} folders that do not exist"));
    }
    (!slow.is_empty() && !kept.is_empty()).then(|| Suspicion {
        evidence: format!("PATH: {}", slow.join(", ")),
        is_common: false,
        ways: vec![Removal::Knobs(vec![format!("set-env.PATH={}", kept.join(":"))])],
        remedy: Remedy {
            text: "remove these folders from PATH, or put them last".to_owned(),
            command: format!("export PATH={}", kept.join(":")),
        },
    })
}
