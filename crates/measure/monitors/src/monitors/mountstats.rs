//! /proc/self/mountstats: what NFS operations took.

use crate::counter_buffer::{CounterField, PutValue};
use crate::files::{OpenFile, Parsed, numbers};
use crate::monitor::{Monitor, SLOW_HZ};

/// The monitor `mountstats`: its rate and its manual, and how it is opened.
pub const MONITOR: Monitor = Monitor {
    name: "mountstats",
    summary: "NFS operations: counts, queue, round-trip and execution times",
    manual: include_str!("mountstats.md"),
    default_hz: Some(SLOW_HZ),
    // A mount whose server is gone can hold a reader up.
    slow: true,
    parsers: &[parse],
    open: |root| {
        let path = "/proc/self/mountstats";
        let file = OpenFile::open(root, path)?;
        if !file.text(&mut Vec::new())?.lines().any(|line| mounted(line).is_some()) {
            return Err("no NFS is mounted".to_owned());
        }
        Parsed::all(vec![(String::new(), file)], parse, "")
    },
};

/// Columns of an operation's line.
const COLUMNS: [(&str, &str); 8] = [
    ("ops", ""),
    ("transmissions", ""),
    ("timeouts", ""),
    ("sent", "B"),
    ("received", "B"),
    ("queue", "ms"),
    ("rtt", "ms"),
    ("execute", "ms"),
];

/// `device … mounted on PATH with fstype nfs4 …`, then after `per-op statistics` a line an operation.
pub fn parse(_: &str, text: &str, put: &mut PutValue<'_>) {
    let mut mount = None;
    let mut of = String::new();
    for line in text.lines() {
        let line = line.trim();
        if line.starts_with("device ") {
            mount = mounted(line);
        } else if let Some((mount, (operation, rest))) = mount.zip(line.split_once(':')) {
            let is_operation = operation.bytes().all(|b| b.is_ascii_uppercase() || b == b'_');
            if operation.is_empty() || !is_operation || numbers(rest).count() < COLUMNS.len() {
                continue;
            }
            of.clear();
            of.extend([mount, ".", operation]);
            for ((name, unit), value) in COLUMNS.iter().zip(numbers(rest)) {
                put(CounterField::counter(name, unit).of(&of), value);
            }
        }
    }
}

/// Where NFS is mounted, when this line begins an NFS mount. A server's `nfsd` is none.
fn mounted(line: &str) -> Option<&str> {
    let (_, rest) = line.strip_prefix("device ")?.split_once(" mounted on ")?;
    let (path, kind) = rest.split_once(" with fstype ")?;
    matches!(kind.split(' ').next()?, "nfs" | "nfs4").then_some(path)
}

#[cfg(test)]
mod tests {
    use super::mounted;

    #[test]
    fn a_server_alone_mounts_no_nfs() {
        assert_eq!(
            mounted("device a:/x mounted on /srv with fstype nfs statvers=1.1"),
            Some("/srv")
        );
        assert_eq!(
            mounted("device a:/x mounted on /srv with fstype nfs4 statvers=1.1"),
            Some("/srv")
        );
        assert_eq!(mounted("device nfsd mounted on /proc/fs/nfsd with fstype nfsd"), None);
        assert_eq!(mounted("device tmpfs mounted on /tmp with fstype tmpfs"), None);
    }
}
