//! Settings of OpenSSL.

use crate::cause::{Cause, Suspect, Suspicion};
use crate::causes::loader::without_variables;

/// Variables that hide instructions of the CPU from OpenSSL, or load other code into it.
pub const CAUSE: Cause = Cause {
    name: "crypto-settings",
    summary: "environment variables of OpenSSL",
    manual: include_str!("crypto_settings.md"),
    suspect,
};

/// The variables of openssl-env(7) that change what OpenSSL computes with.
pub(super) const VARIABLES: [&str; 9] = [
    "OPENSSL_CONF",
    "OPENSSL_ENGINES",
    "OPENSSL_MODULES",
    "OPENSSL_armcap",
    "OPENSSL_ia32cap",
    "OPENSSL_ppccap",
    "OPENSSL_riscvcap",
    "OPENSSL_s390xcap",
    "SSLKEYLOGFILE",
];

fn suspect(suspect: &Suspect<'_>) -> Option<Suspicion> {
    const FAMILIES: [&str; 2] = ["crypto.", "tls."];
    let workload = suspect.point.workload.as_str();
    let uses_openssl = FAMILIES.iter().any(|family| workload.starts_with(family));
    (uses_openssl || suspect.starts_programs()).then(|| without_variables(suspect, &VARIABLES))?
}
