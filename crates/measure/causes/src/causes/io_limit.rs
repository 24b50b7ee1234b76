//! Disk throughput that the control group limits.

use plumb_machine::cgroup;

use crate::cause::{Cause, Remedy, Removal, Suspect, Suspicion, uses_files};

/// A limit on reads or writes of the control group.
pub const CAUSE: Cause = Cause {
    name: "io-limit",
    summary: "the disk limit of its control group",
    manual: include_str!("io_limit.md"),
    suspect,
};

/// The files with limits of version 1.
const FILES_OF_VERSION_1: [&str; 4] = [
    "blkio.throttle.read_bps_device",
    "blkio.throttle.write_bps_device",
    "blkio.throttle.read_iops_device",
    "blkio.throttle.write_iops_device",
];

fn suspect(suspect: &Suspect<'_>) -> Option<Suspicion> {
    if !uses_files(&suspect.point.workload) && !suspect.starts_programs() {
        return None;
    }
    let mut files: Vec<String> =
        cgroup::groups(suspect.root, "").into_iter().map(|group| group + "/io.max").collect();
    for group in cgroup::groups(suspect.root, "blkio") {
        files.extend(FILES_OF_VERSION_1.map(|file| format!("{group}/{file}")));
    }
    let mut limits = files.iter().filter_map(|file| Some((file, suspect.root.text(file)?)));
    let (file, limit) = limits.find(|(_, text)| !text.trim().is_empty())?;
    let first = limit.lines().next()?.trim();
    Some(Suspicion {
        evidence: format!("{file} has {first}"),
        is_common: false,
        ways: vec![Removal::Knobs(vec!["io-limit=off".to_owned()])],
        remedy: Remedy {
            text: "raise the limit of the container or service".to_owned(),
            command: "systemctl set-property UNIT IOReadBandwidthMax= IOWriteBandwidthMax="
                .to_owned(),
        },
    })
}
