//! A tunnel through ssh.

use plumb_model::Value;

use crate::cause::{Cause, Remedy, Removal, Suspect, Suspicion};

/// Data that pass through an ssh client and server instead of going straight to their end.
pub const CAUSE: Cause = Cause {
    name: "tunnel",
    summary: "the tunnel through ssh",
    manual: include_str!("tunnel.md"),
    suspect,
};

const PARAMETER: &str = "tunnel";
const NONE: &str = "none";

fn suspect(suspect: &Suspect<'_>) -> Option<Suspicion> {
    let tunnel = suspect.setting(PARAMETER)?.to_string();
    (tunnel != NONE).then(|| Suspicion {
        evidence: format!("the point has {PARAMETER}={tunnel}"),
        is_common: false,
        ways: vec![Removal::Parameters(vec![(PARAMETER, Value::Text(NONE.to_owned()))])],
        remedy: Remedy {
            text: "use a VPN in the kernel (WireGuard, IPsec) or TLS in the program itself"
                .to_owned(),
            command: String::new(),
        },
    })
}
