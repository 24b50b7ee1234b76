//! `--set icmp-limit`: the kernel's limits on ICMP replies.

use plumb_machine::Root;

use crate::preparation::files::{all, file_now};
use crate::preparation::knob::{Assignment, Knob, Lasts, Resolved, Suffix, Unusable};
use crate::setting::OFF;

/// The kernel's rate limits on ICMP answers, per destination and in total.
pub const KNOB: Knob = Knob {
    name: "icmp-limit",
    values: "off",
    example: "icmp-limit=off",
    summary: "the kernel's limits on ICMP replies",
    manual: include_str!("icmp_limit.md"),
    lasts: Lasts::Undone,
    suffix: Suffix::None,
    resolve: |root, _, value| icmp_limit(root, value),
    now: |root| file_now(root, FILES[0].0),
};

/// The limit per destination goes; the one of the whole machine becomes one that nobody reaches.
const FILES: [(&str, &str); 4] = [
    ("/proc/sys/net/ipv4/icmp_ratelimit", "0"),
    ("/proc/sys/net/ipv4/icmp_msgs_per_sec", "1000000"),
    ("/proc/sys/net/ipv4/icmp_msgs_burst", "10000"),
    ("/proc/sys/net/ipv6/icmp/ratelimit", "0"),
];

fn icmp_limit(root: &Root, value: &str) -> Result<Resolved, Unusable> {
    if value != OFF {
        return Err(Unusable::not_taken(value, OFF));
    }
    let there = FILES.iter().filter(|(path, _)| root.path(path).exists());
    let files = there.map(|(path, to)| Assignment::file(*path, to));
    all(files.collect(), "this kernel does not limit ICMP")
}
