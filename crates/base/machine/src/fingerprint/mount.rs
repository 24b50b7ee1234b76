//! The target directory: its filesystem, device and mount options.

use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use rustix::fs::{major, minor};

use crate::fingerprint::recorded::Facts;
use crate::root::Root;

pub fn read(mount: Option<&Mount>, facts: &mut Facts) {
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
    /// Where.
    pub point: String,
    /// Which kind.
    pub filesystem: String,
    /// Of what.
    pub device: String,
    /// Device number, `259:2`.
    pub number: String,
    /// How.
    pub options: String,
    /// How, in the filesystem's own words.
    pub own_options: String,
}

/// The mount that holds `dir`: the longest mount point above it, and of several the last.
///
/// A device in its place is held by itself, without a filesystem.
pub fn holding(root: &Root, dir: &Path) -> Option<Mount> {
    let metadata = dir.to_str().and_then(|dir| root.path(dir).metadata().ok());
    if let Some(device) = metadata.filter(|it| it.file_type().is_block_device()) {
        let name = dir.to_string_lossy().into_owned();
        let number = format!("{}:{}", major(device.rdev()), minor(device.rdev()));
        let none = || "none".to_owned();
        let (filesystem, options, own_options) = (none(), none(), none());
        return Some(Mount {
            point: name.clone(),
            filesystem,
            device: name,
            number,
            options,
            own_options,
        });
    }
    let mounts = root.text("/proc/self/mountinfo")?;
    let above = mounts.lines().filter_map(mount).filter(|mount| dir.starts_with(&mount.point));
    above.max_by_key(|mount| mount.point.len())
}

/// A line of /proc/self/mountinfo: `id parent maj:min root point options fields… - type device super`.
fn mount(line: &str) -> Option<Mount> {
    let (left, right) = line.split_once(" - ")?;
    let mut left = left.split(' ').skip(2);
    let (number, point, options) = (left.next()?, left.nth(1)?, left.next()?);
    let mut right = right.split(' ');
    let (filesystem, device) = (right.next()?, right.next()?);
    // The folders below an overlay have other names in every container.
    let own = right.next().unwrap_or_default().split(',').filter(|it| !it.contains("dir="));
    let own: Vec<&str> = own.collect();
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
