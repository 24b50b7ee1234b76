//! A tracer that stops every system call.

use crate::cause::{Cause, Remedy, Removal, Suspect, Suspicion};

/// Something traces plumb and what it starts.
pub const CAUSE: Cause =
    Cause { name: "tracer", summary: "a tracer", manual: include_str!("tracer.md"), suspect };

fn suspect(suspect: &Suspect<'_>) -> Option<Suspicion> {
    let tracer = suspect.status("TracerPid").filter(|pid| pid != "0")?;
    Some(Suspicion {
        evidence: format!("the process {tracer} traces plumb (strace, gdb)"),
        is_common: false,
        ways: vec![Removal::Knobs(vec!["tracer=off".to_owned()])],
        remedy: Remedy {
            text: "run it without strace or a debugger".to_owned(),
            command: String::new(),
        },
    })
}
