//! The target directory.

use std::path::Path;

use plumb_model::Severity;

use crate::doctor::found::{FoundSymptom, percent};
use crate::fingerprint::holding;
use crate::links::disk_link;
use crate::root::Root;
use plumb_units::binary_size;

/// Filesystems that are not on a disk of this machine, and where they are instead.
const NOT_ON_A_LOCAL_DISK: [(&str, &str); 14] = [
    ("tmpfs", "in memory"),
    ("ramfs", "in memory"),
    ("overlay", "on the layers of a container"),
    ("aufs", "on the layers of a container"),
    ("nfs", "on another machine"),
    ("nfs4", "on another machine"),
    ("cifs", "on another machine"),
    ("smb3", "on another machine"),
    ("ceph", "on other machines"),
    ("lustre", "on other machines"),
    ("9p", "on the host"),
    ("virtiofs", "on the host"),
    ("fuse", "on a user-space filesystem"),
    ("fuseblk", "on a user-space filesystem"),
];
/// Less room than this is little, in bytes.
const LITTLE_FREE_BYTES: u64 = 1 << 30;
/// One part in so many free is little, too.
const LITTLE_FREE_PART: u64 = 10;

/// How much room a filesystem has, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FilesystemRoom {
    /// Size of the filesystem, in bytes.
    pub all: u64,
    /// Bytes that a user without privileges may still take.
    pub free: u64,
}

impl FilesystemRoom {
    /// The room where a directory is.
    #[must_use]
    pub fn of(dir: &Path) -> Option<Self> {
        let found = rustix::fs::statvfs(dir).ok()?;
        let all = found.f_blocks * found.f_frsize;
        // Not `f_bfree`, which counts what is reserved for root.
        let free = found.f_bavail * found.f_frsize;
        (all > 0).then_some(Self { all, free })
    }
}

pub fn check(root: &Root, dir: &Path, room: Option<FilesystemRoom>) -> Vec<FoundSymptom> {
    let room = room.and_then(|room| full(dir, room));
    [elsewhere(root, dir), slow_link(root, dir), room].into_iter().flatten().collect()
}

/// A PCI Express link with fewer lanes, or of an older generation, than the disk and its slot could have.
fn slow_link(root: &Root, dir: &Path) -> Option<FoundSymptom> {
    let link = disk_link(root, dir)?;
    let best = link.best?;
    let evidence =
        format!("the link of {} is {}; disk and slot support {best}", link.disk, link.name);
    Some(FoundSymptom::new("slow-link", Severity::Minor, evidence))
}

fn elsewhere(root: &Root, dir: &Path) -> Option<FoundSymptom> {
    let mount = holding(root, dir)?;
    let kind = mount.filesystem.as_str();
    // The kernel adds the subtype of a FUSE filesystem: `fuse.sshfs`.
    let family = if kind.starts_with("fuse.") { "fuse" } else { kind };
    let known = NOT_ON_A_LOCAL_DISK.iter().find(|(name, _)| *name == kind || *name == family);
    let looped = mount.device.starts_with("/dev/loop").then_some("in a file");
    let what = known.map(|(_, what)| *what).or(looped)?;
    let evidence = format!(
        "{} is {what}: {kind} on {}, from /proc/self/mountinfo",
        dir.display(),
        mount.device
    );
    Some(FoundSymptom::new("directory", Severity::Minor, evidence))
}

#[expect(clippy::cast_precision_loss, reason = "a share for people")]
fn full(dir: &Path, room: FilesystemRoom) -> Option<FoundSymptom> {
    let effect = match room {
        FilesystemRoom { free, .. } if free < LITTLE_FREE_BYTES => Severity::Major,
        FilesystemRoom { all, free } if free < all / LITTLE_FREE_PART => Severity::Minor,
        _ => return None,
    };
    let share = percent(room.free as f64 / room.all as f64);
    let evidence = format!("{} free in {}, {share}", binary_size(room.free), dir.display());
    Some(FoundSymptom::new("full-disk", effect, evidence))
}

#[cfg(test)]
mod tests {
    use super::{FilesystemRoom, Severity, full};
    use std::path::Path;

    #[test]
    fn little_room_is_told() {
        let effect = |all, free| {
            full(Path::new("/srv"), FilesystemRoom { all, free }).map(|seen| seen.severity)
        };
        assert_eq!(effect(100 << 30, 50 << 30), None);
        assert_eq!(effect(100 << 30, 9 << 30), Some(Severity::Minor));
        assert_eq!(effect(2 << 30, 1 << 29), Some(Severity::Major));
    }
}
