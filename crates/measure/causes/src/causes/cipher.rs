//! A slow cipher of ssh.

use plumb_model::Value;

use crate::cause::{Cause, Remedy, Removal, Suspect, Suspicion};

/// Another cipher than AES in GCM, which today's CPUs have instructions for.
pub const CAUSE: Cause = Cause {
    name: "cipher",
    summary: "a cipher that this CPU computes slowly",
    manual: include_str!("cipher.md"),
    suspect,
};

const PARAMETER: &str = "cipher";
const FAST: &str = "aes128-gcm@openssh.com";
/// The client chooses: OpenSSH prefers ChaCha20-Poly1305.
const DEFAULT: &str = "default";
/// Those that are not slow.
const USUAL: [&str; 2] = [FAST, "aes256-gcm@openssh.com"];

fn suspect(suspect: &Suspect<'_>) -> Option<Suspicion> {
    if !suspect.point.workload.starts_with("ssh.") {
        return None;
    }
    let cipher = suspect.setting(PARAMETER)?.to_string();
    (!USUAL.contains(&cipher.as_str())).then(|| Suspicion {
        evidence: format!("the point has {PARAMETER}={cipher}"),
        is_common: cipher == DEFAULT,
        ways: vec![Removal::Parameters(vec![(PARAMETER, Value::Text(FAST.to_owned()))])],
        remedy: Remedy {
            text: "prefer AES in GCM in ssh_config and sshd_config".to_owned(),
            command: format!("ssh -c {FAST}"),
        },
    })
}
