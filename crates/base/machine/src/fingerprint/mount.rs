//! The target directory: its filesystem, device and mount options.

use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use rustix::fs::{major, minor};

use crate::fingerprint::recorded::RecordedFacts;
use crate::root::Root;

pub fn read(mount: Option<&Mount>, facts: &mut RecordedFacts) {
    if let Some(mount) = mount {
        facts.put("filesystem", Some(mount.filesystem.clone()));
        facts.put("device", Some(mount.device.clone()));
        facts.put("mount_options", Some(mount.options.clone()));
        facts.put("filesystem_options", Some(mount.own_options.clone()));
    }
}

/// A mounted filesystem.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mount {
    /// The folder that it is mounted on.
    pub point: String,
    /// The kernel's name of the filesystem, as in `ext4`.
    pub filesystem: String,
    /// The device, or what the filesystem shows in its place.
    pub device: String,
    /// Device number, `259:2`.
    pub number: String,
    /// Options of this mount, separated by commas.
    pub options: String,
    /// How, in the filesystem's own words.
    pub own_options: String,
}

/// The mount that holds `dir`: the longest mount point above it, and of several the last.
///
/// A device in its place is held by itself, without a filesystem.
pub fn holding(root: &Root, dir: &Path) -> Option<Mount> {
    let metadata = dir.to_str().and_then(|dir| root.path(dir).metadata().ok());
    if let Some(device) = metadata.filter(|metadata| metadata.file_type().is_block_device()) {
        let name = dir.to_string_lossy().into_owned();
        let number = format!("{}:{}", major(device.rdev()), minor(device.rdev()));
        return Some(Mount {
            point: name.clone(),
            filesystem: "none".to_owned(),
            device: name,
            number,
            options: "none".to_owned(),
            own_options: "none".to_owned(),
        });
    }
    let mounts = root.text("/proc/self/mountinfo")?;
    let above = mounts.lines().filter_map(mount).filter(|mount| dir.starts_with(&mount.point));
    above.max_by_key(|mount| mount.point.len())
}

/// A line of /proc/self/mountinfo: `id parent maj:min root point options fields… - type device super`.
fn mount(line: &str) -> Option<Mount> {
    // Any number of optional fields may precede the dash, so what follows it is counted from there.
    let (left, right) = line.split_once(" - ")?;
    let mut left = left.split(' ').skip(2);
    let number = left.next()?;
    let point = left.nth(1)?;
    let options = left.next()?;
    let mut right = right.split(' ');
    let filesystem = right.next()?;
    let device = right.next()?;
    let mut own: Vec<&str> = right.next().unwrap_or_default().split(',').collect();
    // The folders below an overlay have other names in every container.
    own.retain(|option| !option.contains("dir="));
    Some(Mount {
        point: point.replace("\\040", " "),
        filesystem: filesystem.to_owned(),
        device: device.to_owned(),
        number: number.to_owned(),
        options: options.to_owned(),
        own_options: own.join(","),
    })
}

#[cfg(test)]
mod tests {
    use super::mount;

    #[test]
    fn a_line_of_mountinfo_is_taken_apart() {
        let line =
            "36 35 98:0 /mnt1 /mnt\\0402 rw,noatime master:1 - ext3 /dev/root rw,errors=continue";
        let mount = mount(line).unwrap();
        assert_eq!((mount.point.as_str(), mount.filesystem.as_str()), ("/mnt 2", "ext3"));
        assert_eq!((mount.number.as_str(), mount.device.as_str()), ("98:0", "/dev/root"));
        assert_eq!(
            (mount.options.as_str(), mount.own_options.as_str()),
            ("rw,noatime", "rw,errors=continue")
        );
        let overlay = "1 2 0:30 / / rw - overlay overlay rw,lowerdir=/a:/b,upperdir=/c,xino=off";
        assert_eq!(super::mount(overlay).unwrap().own_options, "rw,xino=off");
    }
}
