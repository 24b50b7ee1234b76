//! Settings of the loopback device: its MTU, queueing, firewall rules. The same device in a new network namespace has none of them.

use plumb_model::Value;

use crate::cause::{Cause, Remedy, Removal, Suspect, Suspicion};

/// The loopback device of this network namespace.
pub const CAUSE: Cause = Cause {
    name: "loopback",
    summary: "settings of the loopback device or of this network namespace",
    manual: include_str!("loopback.md"),
    suspect,
};

const PATH: &str = "path";
/// Its MTU since Linux 3.6.
const USUAL_MTU: u64 = 65_536;

fn suspect(suspect: &Suspect<'_>) -> Option<Suspicion> {
    if suspect.setting(PATH)?.to_string() != "loopback" {
        return None;
    }
    let mtu = suspect.root.number("/sys/class/net/lo/mtu")?;
    let is_usual = mtu >= USUAL_MTU;
    let small = if is_usual { "" } else { " instead of 65536" };
    Some(Suspicion {
        evidence: format!("both ends use the loopback device, MTU {mtu}{small}"),
        // Queueing and firewall rules are not looked at, so an experiment has to find out.
        is_common: is_usual,
        ways: vec![Removal::Parameters(vec![(PATH, Value::Text("new-loopback".to_owned()))])],
        remedy: Remedy {
            text: "look for queueing (tc qdisc show dev lo), firewall rules (nft list ruleset) and the MTU of lo".to_owned(),
            command: if is_usual { String::new() } else { "ip link set lo mtu 65536".to_owned() },
        },
    })
}
