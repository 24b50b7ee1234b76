//! The filesystem or device under the files: synchronous mounts, encryption, layers, networks.

use std::path::Path;

use plumb_machine::{Mount, Root, disk_below, holding};
use rustix::fs::{AtFlags, CWD, StatxAttributes, StatxFlags, statx};

use crate::cause::{Cause, Remedy, Removal, Suspect, Suspicion, uses_files};

/// What the folder of the files lies on.
pub const CAUSE: Cause = Cause {
    name: "filesystem",
    summary: "the filesystem or device that its files are on",
    manual: include_str!("filesystem.md"),
    suspect,
};

/// Folders that may lie on another disk.
const OTHERS: [&str; 3] = ["/var/tmp", "/tmp", "/var/lib"];
/// Filesystems on a local disk.
const LOCAL: [&str; 6] = ["ext2", "ext3", "ext4", "xfs", "btrfs", "f2fs"];

fn suspect(suspect: &Suspect<'_>) -> Option<Suspicion> {
    let folder = suspect.folder.filter(|_| uses_files(&suspect.point.workload))?;
    let mount = holding(suspect.root, folder)?;
    let oddity = oddity(suspect.root, folder, &mount)?;
    let other = OTHERS.iter().find_map(|other| plain(suspect.root, other));
    let compared = other.as_ref().map_or(String::new(), |(folder, mount)| {
        format!("; compared with {folder} on {}", mount.device)
    });
    let ways =
        other.iter().map(|(folder, _)| Removal::Knobs(vec![format!("medium=folder:{folder}")]));
    Some(Suspicion {
        evidence: format!("{} {}{compared}", folder.display(), oddity.what),
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
            // A remount clears `sync`, but not `dirsync`.
            command: match option {
                "sync" => format!("mount -o remount,async {}", mount.point),
                _ => String::new(),
            },
        });
    }
    let (what, remedy) = if has_attribute(folder, StatxAttributes::ENCRYPTED) {
        let what = "is encrypted by its filesystem".to_owned();
        (what, "keep what needs no encryption in another folder")
    } else if has_attribute(folder, StatxAttributes::COMPRESSED) {
        let what = "is compressed by its filesystem".to_owned();
        (what, "keep files that do not compress well in another folder")
    } else if let Some(what) = slow_filesystem(mount) {
        (what, "keep files that are used often on a local disk")
    } else {
        (layer_below(root, mount)?, "use the disk below without this layer, or a faster one")
    };
    Some(Oddity { what, remedy, command: String::new() })
}

/// `is on fuse.sshfs`, if a program or another host serves the files.
pub(super) fn slow_filesystem(mount: &Mount) -> Option<String> {
    const SERVED: [&str; 8] = ["nfs", "nfs4", "cifs", "smb3", "9p", "virtiofs", "ceph", "afs"];
    let kind = mount.filesystem.as_str();
    (SERVED.contains(&kind) || kind.starts_with("fuse"))
        .then(|| format!("is on {kind} ({})", mount.device))
}

/// Most devices on devices that are followed.
const MOST_LAYERS: usize = 8;

/// `is on a loop device`, if the block device, or one below it, is not a disk.
fn layer_below(root: &Root, mount: &Mount) -> Option<String> {
    let mut names: Vec<String> = disk_below(root, mount).into_iter().collect();
    for _ in 0..MOST_LAYERS {
        let mut below = Vec::new();
        for name in &names {
            if let Some(layer) = layer(root, name) {
                return Some(layer);
            }
            below.extend(root.names(&format!("/sys/block/{name}/slaves")));
        }
        names = below;
    }
    None
}

/// What this block device is, if it is not a disk.
fn layer(root: &Root, name: &str) -> Option<String> {
    let device = format!("/sys/block/{name}");
    if let Some(file) = root.text(&format!("{device}/loop/backing_file")) {
        return Some(format!("is on a loop device with the file {file}"));
    }
    if root.text(&format!("{device}/dm/uuid")).is_some_and(|uuid| uuid.starts_with("CRYPT-")) {
        let mapping = root.text(&format!("{device}/dm/name")).unwrap_or_else(|| name.to_owned());
        return Some(format!("is on the encrypted device {mapping}"));
    }
    const KINDS: [(&str, &str); 3] = [
        ("nbd", "network block device"),
        ("zram", "compressed device in memory"),
        ("drbd", "replicated device"),
    ];
    let (_, kind) = KINDS.into_iter().find(|(start, _)| name.starts_with(start))?;
    Some(format!("is on the {kind} {name}"))
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

/// A suspicion that the folder in a variable of a command is slow; removed by another folder.
pub(super) fn on_slow_filesystem(
    suspect: &Suspect<'_>,
    variable: &str,
    instead: &str,
    remedy: &str,
) -> Option<Suspicion> {
    let folder = suspect.variable(variable).filter(|_| suspect.starts_programs())?;
    let what = slow_filesystem(&holding(suspect.root, Path::new(folder))?)?;
    Some(Suspicion {
        evidence: format!("{variable}={folder} {what}"),
        is_common: false,
        ways: vec![Removal::Knobs(vec![format!("set-env.{variable}={instead}")])],
        remedy: Remedy { text: remedy.to_owned(), command: String::new() },
    })
}
