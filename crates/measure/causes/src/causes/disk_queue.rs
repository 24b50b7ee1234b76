//! Settings of a disk's request queue that are known to slow it down.

use plumb_machine::{Root, disk_below, holding};

use crate::cause::{Cause, Remedy, Removal, Suspect, Suspicion, uses_files};

/// Files below `/sys/block/DISK/queue` that somebody changed for the worse.
pub const CAUSE: Cause = Cause {
    name: "disk-queue",
    summary: "settings of the request queue of its disk",
    manual: include_str!("disk_queue.md"),
    suspect,
};

/// Settings with the value below which they are suspicious, and a usual one (queue-sysfs.rst). The scheduler and the number of
/// requests are left out: the kernel forgets the one when the other changes, and could not be set back.
const LEAST: [(&str, u64, u64); 2] = [("read_ahead_kb", 64, 128), (MAX_SECTORS, 128, 1280)];
const MAX_SECTORS: &str = "max_sectors_kb";
/// What the device allows for it.
const MOST_SECTORS: &str = "max_hw_sectors_kb";

fn suspect(suspect: &Suspect<'_>) -> Option<Suspicion> {
    if !uses_files(&suspect.point.workload) && !suspect.starts_programs() {
        return None;
    }
    let mut found = Vec::new();
    for disk in disks(suspect) {
        let unusual = unusual(suspect.root, &disk).into_iter();
        found.extend(unusual.map(|(setting, now, usual)| (disk.clone(), setting, now, usual)));
    }
    if found.is_empty() {
        return None;
    }
    let evidence: Vec<String> = found
        .iter()
        .map(|(disk, setting, now, usual)| format!("{setting} of {disk} is {now} (usual: {usual})"))
        .collect();
    let knobs = found
        .iter()
        .map(|(disk, setting, _, usual)| format!("disk-queue.{disk}.{setting}={usual}"))
        .collect();
    let commands: Vec<String> = found
        .iter()
        .map(|(disk, setting, _, usual)| {
            format!("echo {usual} > /sys/block/{disk}/queue/{setting}")
        })
        .collect();
    Some(Suspicion {
        evidence: evidence.join(", "),
        is_common: false,
        ways: vec![Removal::Knobs(knobs)],
        remedy: Remedy {
            text:
                "set a usual value, and look in /etc/udev/rules.d and in tuned for who changed it"
                    .to_owned(),
            command: commands.join("; "),
        },
    })
}

/// The device that the filesystem of the files lies on, which has its own read-ahead; all disks if a container hides it.
fn disks(suspect: &Suspect<'_>) -> Vec<String> {
    let Some(mount) = suspect.folder.and_then(|folder| holding(suspect.root, folder)) else {
        return Vec::new();
    };
    if mount.filesystem != "overlay" {
        return disk_below(suspect.root, &mount).into_iter().collect();
    }
    let has_hardware =
        |name: &String| suspect.root.path(&format!("/sys/block/{name}/device")).exists();
    suspect.root.names("/sys/block").into_iter().filter(has_hardware).collect()
}

/// The unusual settings of this disk: name, value, and a usual one.
fn unusual(root: &Root, disk: &str) -> Vec<(&'static str, u64, u64)> {
    let folder = format!("/sys/block/{disk}/queue");
    let mut found = Vec::new();
    for (setting, least, usual) in LEAST {
        let Some(now) = root.number(&format!("{folder}/{setting}")) else { continue };
        let most = match setting {
            MAX_SECTORS => root.number(&format!("{folder}/{MOST_SECTORS}")).unwrap_or(usual),
            _ => usual,
        };
        if now < least.min(most) {
            found.push((setting, now, usual.min(most)));
        }
    }
    let nomerges = root.number(&format!("{folder}/nomerges"));
    found.extend(nomerges.filter(|now| *now > 0).map(|now| ("nomerges", now, 0)));
    found
}
