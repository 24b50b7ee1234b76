//! A proxy between a command and the servers that it asks.

use crate::cause::{Cause, Suspect, Suspicion};
use crate::causes::loader::without_variables;

/// Variables that send requests to a proxy, which may be slow, far away or gone.
pub const CAUSE: Cause = Cause {
    name: "proxy",
    summary: "the proxy that its environment names",
    manual: include_str!("proxy.md"),
    suspect,
};

/// As curl(1), wget(1), git and most languages read them.
pub(super) const VARIABLES: [&str; 8] = [
    "ALL_PROXY",
    "FTP_PROXY",
    "HTTPS_PROXY",
    "HTTP_PROXY",
    "all_proxy",
    "ftp_proxy",
    "http_proxy",
    "https_proxy",
];

fn suspect(suspect: &Suspect<'_>) -> Option<Suspicion> {
    if !suspect.starts_programs() {
        return None;
    }
    without_variables(suspect, &VARIABLES)
}
