//! Memory in small pages.

use crate::cause::{Cause, Remedy, Removal, Suspect, Suspicion};

/// Transparent huge pages are not used everywhere.
pub const CAUSE: Cause = Cause {
    name: "huge-pages",
    summary: "memory in 4 KiB pages",
    manual: include_str!("huge_pages.md"),
    suspect,
};

const FILE: &str = "/sys/kernel/mm/transparent_hugepage/enabled";

fn suspect(suspect: &Suspect<'_>) -> Option<Suspicion> {
    let modes = suspect.root.text(FILE)?;
    let mode = modes.split(['[', ']']).nth(1).filter(|mode| *mode != "always")?;
    Some(Suspicion {
        evidence: format!("transparent huge pages: {mode}"),
        is_common: true,
        ways: vec![Removal::Knobs(vec!["thp=always".to_owned()])],
        remedy: Remedy {
            text: "let programs use huge pages, or have this one ask for them with madvise"
                .to_owned(),
            command: format!("echo always > {FILE}"),
        },
    })
}
