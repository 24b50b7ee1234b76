//! A name server that does not answer.

use crate::cause::{Cause, Remedy, Removal, Suspect, Suspicion};

/// Its name, by which `plumb why` knows that only long work can have this cause.
pub const NAME: &str = "name-resolution";

/// Waiting for the name servers in /etc/resolv.conf.
pub const CAUSE: Cause = Cause {
    name: NAME,
    summary: "waiting for a name server that does not answer",
    manual: include_str!("name_resolution.md"),
    suspect,
};

fn suspect(suspect: &Suspect<'_>) -> Option<Suspicion> {
    if !suspect.starts_programs() || suspect.variable("RES_OPTIONS").is_some() {
        return None;
    }
    let text = suspect.root.text("/etc/resolv.conf")?;
    let servers: Vec<&str> =
        text.lines().filter_map(|line| line.strip_prefix("nameserver")).map(str::trim).collect();
    let first = servers.first()?;
    Some(Suspicion {
        evidence: format!(
            "/etc/resolv.conf names {first} first; without an answer, a lookup waits for seconds"
        ),
        // Whether it answers, plumb does not ask: that would send packets to others.
        is_common: true,
        ways: vec![Removal::Knobs(vec!["set-env.RES_OPTIONS=timeout:1 attempts:1".to_owned()])],
        remedy: Remedy {
            text: format!(
                "find out whether {first} answers; remove or replace it in /etc/resolv.conf"
            ),
            command: format!("dig @{first} example.org"),
        },
    })
}
