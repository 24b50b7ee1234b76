//! Encryption in user space of what is copied.

use plumb_model::Value;

use crate::cause::{Cause, Remedy, Removal, Suspect, Suspicion};

/// A layer that encrypts.
pub const CAUSE: Cause = Cause {
    name: "encryption",
    summary: "encryption of the copied files in user space",
    manual: include_str!("encryption.md"),
    suspect,
};

const PARAMETER: &str = "encryption";
const NONE: &str = "none";

fn suspect(suspect: &Suspect<'_>) -> Option<Suspicion> {
    let layer = suspect.setting(PARAMETER)?.to_string();
    (layer != NONE).then(|| Suspicion {
        evidence: format!("the point has {PARAMETER}={layer}"),
        is_common: false,
        ways: vec![Removal::Parameters(vec![(PARAMETER, Value::Text(NONE.to_owned()))])],
        remedy: Remedy {
            text: "encrypt in the kernel (LUKS, fscrypt) instead of in user space, with AES if the CPU has instructions for it".to_owned(),
            command: String::new(),
        },
    })
}
