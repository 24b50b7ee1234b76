//! Disk throughput that the control group limits, or gives to others first.

use plumb_machine::cgroup;

use crate::cause::{Cause, Remedy, Removal, Suspect, Suspicion, uses_files};

/// A limit on reads or writes of the control group, or a low weight next to other groups.
pub const CAUSE: Cause = Cause {
    name: "io-limit",
    summary: "the disk limit or weight of its control group",
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

/// The controllers, files and defaults of weights, in versions 2 and 1.
const WEIGHTS: [(&str, &str, u64); 4] = [
    ("", "io.weight", 100),
    ("", "io.bfq.weight", 100),
    ("blkio", "blkio.bfq.weight", 100),
    ("blkio", "blkio.weight", 500),
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
    let limit = limits.find_map(|(file, text)| {
        let first = text.lines().next()?.trim();
        (!first.is_empty()).then(|| format!("{file} has {first}"))
    });
    Some(Suspicion {
        evidence: limit.or_else(|| low_weight(suspect))?,
        is_common: false,
        ways: vec![Removal::Knobs(vec!["io-limit=off".to_owned()])],
        remedy: Remedy {
            text: "raise the limit or weight of the container or service".to_owned(),
            command:
                "systemctl set-property UNIT IOReadBandwidthMax= IOWriteBandwidthMax= IOWeight="
                    .to_owned(),
        },
    })
}

/// A weight below the default, with its file. It matters next to other groups that use the same disk.
fn low_weight(suspect: &Suspect<'_>) -> Option<String> {
    WEIGHTS.iter().find_map(|(controller, name, default)| {
        cgroup::groups(suspect.root, controller).into_iter().find_map(|group| {
            let file = format!("{group}/{name}");
            let text = suspect.root.text(&file)?;
            // Version 2 writes `default 100`, and lines for single disks below.
            let weight: u64 = text.lines().next()?.split_whitespace().last()?.parse().ok()?;
            (weight < *default).then(|| format!("{file} is {weight} instead of {default}"))
        })
    })
}
