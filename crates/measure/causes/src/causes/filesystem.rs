//! The filesystem or device under the files: synchronous mounts, encryption, layers, networks.

use std::path::Path;

use plumb_machine::{Mount, Root, holding};
use rustix::fs::{AtFlags, CWD, StatxAttributes, StatxFlags, statx};

use crate::cause::{Cause, Remedy, Removal, Suspect, Suspicion};

/// What the folder of the files lies on.
pub const CAUSE: Cause = Cause {
    name: "filesystem",
    summary: "the filesystem or device that its files are on",
    manual: include_str!("filesystem.md"),
    suspect,
};

/// Workloads that read and write files in the target directory.
const FAMILIES: [&str; 2] = ["storage.", "datastore."];
/// Folders that may lie on another disk.
const OTHERS: [&str; 3] = ["/var/tmp", "/tmp", "/var/lib"];
/// Filesystems on a local disk.
const LOCAL: [&str; 6] = ["ext2", "ext3", "ext4", "xfs", "btrfs", "f2fs"];

fn suspect(suspect: &Suspect<'_>) -> Option<Suspicion> {
    if !FAMILIES.iter().any(|family| suspect.point.workload.starts_with(family)) {
        return None;
    }
    let mount = holding(suspect.root, suspect.folder)?;
    let oddity = oddity(suspect.root, suspect.folder, &mount)?;
    let other = OTHERS.iter().find_map(|other| plain(suspect.root, other));
    let compared = other.as_ref().map_or(String::new(), |(folder, mount)| {
        format!("; compared with {folder} on {}", mount.device)
    });
    let ways =
        other.iter().map(|(folder, _)| Removal::Knobs(vec![format!("medium=folder:{folder}")]));
    Some(Suspicion {
        evidence: format!("{} {}{compared}", suspect.folder.display(), oddity.what),
        is_common: false,
        ways: ways.collect(),
        remedy: Remedy { text: oddity.remedy.to_owned(), command: oddity.command },
    })
}

/// What makes a folder slower than others may be.
struct Oddity {
    what: String,
    remedy: &'static str,
    command: String,
}

fn oddity(root: &Root, folder: &Path, mount: &Mount) -> Option<Oddity> {
    let options = format!("{},{}", mount.options, mount.own_options);
    let synchronous = options.split(',').find(|option| ["sync", "dirsync"].contains(option));
    if let Some(option) = synchronous {
        return Some(Oddity {
            what: format!("is mounted with `{option}`"),
            remedy: "mount it without this option; programs that need durability call fsync",
            command: format!("mount -o remount,async {}", mount.point),
        });
    }
    let plain = |what: String, remedy| Some(Oddity { what, remedy, command: String::new() });
    if has_attribute(folder, StatxAttributes::ENCRYPTED) {
        return plain(
            "is encrypted by its filesystem".to_owned(),
            "keep what needs no encryption in another folder",
        );
    }
    if has_attribute(folder, StatxAttributes::COMPRESSED) {
        return plain(
            "is compressed by its filesystem".to_owned(),
            "keep files that do not compress well in another folder",
        );
    }
    if let Some(what) = slow_filesystem(mount) {
        return plain(what, "keep files that are used often on a local disk");
    }
    let what = layer_below(root, mount)?;
    plain(what, "use the disk below without this layer, or a faster one")
}

/// `is on fuse.sshfs`, if a program or another host serves the files.
pub(super) fn slow_filesystem(mount: &Mount) -> Option<String> {
    const SERVED: [&str; 8] = ["nfs", "nfs4", "cifs", "smb3", "9p", "virtiofs", "ceph", "afs"];
    let kind = mount.filesystem.as_str();
    (SERVED.contains(&kind) || kind.starts_with("fuse"))
        .then(|| format!("is on {kind} ({})", mount.device))
}

/// `is on a loop device`, if the block device is not a disk.
fn layer_below(root: &Root, mount: &Mount) -> Option<String> {
    let device = format!("/sys/dev/block/{}", mount.number);
    if let Some(file) = root.text(&format!("{device}/loop/backing_file")) {
        return Some(format!("is on a loop device with the file {file}"));
    }
    if root.text(&format!("{device}/dm/uuid")).is_some_and(|uuid| uuid.starts_with("CRYPT-")) {
        return Some(format!("is on the encrypted device {}", mount.device));
    }
    let name = mount.device.rsplit('/').next()?;
    let kind = [
        ("nbd", "network block device"),
        ("zram", "compressed device"),
        ("drbd", "replicated device"),
    ]
    .into_iter()
    .find(|(start, _)| name.starts_with(start));
    kind.map(|(_, kind)| format!("is on the {kind} {}", mount.device))
}

/// This folder with its mount, if it is on a plain local filesystem.
fn plain<'f>(root: &Root, folder: &'f str) -> Option<(&'f str, Mount)> {
    let path = Path::new(folder);
    let mount = holding(root, path).filter(|mount| LOCAL.contains(&mount.filesystem.as_str()))?;
    (root.path(folder).is_dir() && oddity(root, path, &mount).is_none()).then_some((folder, mount))
}

fn has_attribute(folder: &Path, attribute: StatxAttributes) -> bool {
    let found = statx(CWD, folder, AtFlags::empty(), StatxFlags::BASIC_STATS);
    found.is_ok_and(|found| found.stx_attributes.contains(attribute))
}
