//! Compression by ssh.

use plumb_model::Value;

use crate::cause::{Cause, Remedy, Removal, Suspect, Suspicion};

/// A stream that ssh compresses, which only helps on links that are slower than the CPU compresses.
pub const CAUSE: Cause = Cause {
    name: "compression",
    summary: "compression by ssh",
    manual: include_str!("compression.md"),
    suspect,
};

const PARAMETER: &str = "compression";

fn suspect(suspect: &Suspect<'_>) -> Option<Suspicion> {
    if !suspect.point.workload.starts_with("ssh.") {
        return None;
    }
    let is_compressed = suspect.setting(PARAMETER)?.to_string() == "yes";
    is_compressed.then(|| Suspicion {
        evidence: format!("the point has {PARAMETER}=yes"),
        is_common: false,
        ways: vec![Removal::Parameters(vec![(PARAMETER, Value::Text("no".to_owned()))])],
        remedy: Remedy {
            text: "leave Compression out of ssh_config, and -C out of the command".to_owned(),
            command: "ssh -o Compression=no".to_owned(),
        },
    })
}
