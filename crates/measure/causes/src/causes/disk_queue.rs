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

/// Most devices on devices that are followed.
const MOST_LAYERS: usize = 8;

/// Settings with the value below which they are suspicious, and a usual one (queue-sysfs.rst).
const LEAST: [(&str, u64, u64); 3] =
    [("read_ahead_kb", 64, 128), ("max_sectors_kb", 128, 1280), ("nr_requests", 32, 64)];
/// What the device allows for `max_sectors_kb`.
const MOST_SECTORS: &str = "max_hw_sectors_kb";
/// A scheduler that spends much time per request to be fair.
const SLOW_SCHEDULER: &str = "bfq";
/// The first of them that the kernel offers is the usual one for disks with several queues.
const USUAL_SCHEDULERS: [&str; 2] = ["none", "mq-deadline"];

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

/// The disks that hold the folder of the files; all disks if a container hides them.
fn disks(suspect: &Suspect<'_>) -> Vec<String> {
    let mount = suspect.folder.and_then(|folder| holding(suspect.root, folder));
    let mut names: Vec<String> =
        mount.and_then(|mount| disk_below(suspect.root, &mount)).into_iter().collect();
    for _ in 0..MOST_LAYERS {
        names = names.into_iter().flat_map(|name| below(suspect.root, name)).collect();
    }
    if !names.is_empty() {
        return names;
    }
    let has_hardware =
        |name: &String| suspect.root.path(&format!("/sys/block/{name}/device")).exists();
    suspect.root.names("/sys/block").into_iter().filter(has_hardware).collect()
}

/// The devices that a device lies on; itself if it is a disk.
fn below(root: &Root, name: String) -> Vec<String> {
    let parts = root.names(&format!("/sys/block/{name}/slaves"));
    if parts.is_empty() { vec![name] } else { parts }
}

/// The unusual settings of this disk: name, value, and a usual one.
fn unusual(root: &Root, disk: &str) -> Vec<(&'static str, String, String)> {
    let folder = format!("/sys/block/{disk}/queue");
    let mut found = Vec::new();
    for (setting, least, usual) in LEAST {
        let Some(now) = root.number(&format!("{folder}/{setting}")) else { continue };
        let most = match setting {
            "max_sectors_kb" => root.number(&format!("{folder}/{MOST_SECTORS}")).unwrap_or(usual),
            _ => usual,
        };
        if now < least.min(most) {
            found.push((setting, now.to_string(), usual.min(most).to_string()));
        }
    }
    let nomerges = root.number(&format!("{folder}/nomerges"));
    if let Some(now) = nomerges.filter(|now| *now > 0) {
        found.push(("nomerges", now.to_string(), "0".to_owned()));
    }
    let schedulers = root.text(&format!("{folder}/scheduler")).unwrap_or_default();
    let offered: Vec<&str> =
        schedulers.split_whitespace().map(|word| word.trim_matches(['[', ']'])).collect();
    let is_slow = schedulers.contains(&format!("[{SLOW_SCHEDULER}]"));
    let usual = USUAL_SCHEDULERS.into_iter().find(|usual| offered.contains(usual));
    if let Some(usual) = usual.filter(|_| is_slow) {
        found.push(("scheduler", SLOW_SCHEDULER.to_owned(), usual.to_owned()));
    }
    found
}
