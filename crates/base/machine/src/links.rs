//! The links that disks are connected by: PCI Express, SATA and USB, and the bytes per second that each can carry.

use std::path::Path;

use crate::fingerprint::{disk_below, holding};
use crate::root::Root;

/// A link between a disk and this machine.
#[derive(Debug, Clone, PartialEq)]
pub struct DiskLink {
    /// The disk, as the kernel calls it: `nvme0n1`.
    pub disk: String,
    /// The link as it is now: `PCIe 4.0 ×4`.
    pub name: String,
    /// What it carries at most, in bytes per second, without the encoding of the bits.
    pub bytes_per_s: f64,
    /// The link as it could be, if it is slower than that: `PCIe 4.0 ×4`.
    pub best: Option<String>,
}

/// The link of the disk that holds this folder; None if there is no disk, or nothing is known of its link.
#[must_use]
pub fn disk_link(root: &Root, folder: &Path) -> Option<DiskLink> {
    let mount = holding(root, folder)?;
    if mount.filesystem == "btrfs" {
        // It may lie on several disks.
        return None;
    }
    let disk = disk_below(root, &mount)?;
    let device = root.path(&format!("/sys/block/{disk}")).canonicalize().ok()?;
    let top = root.path("/sys").canonicalize().ok()?;
    let above: Vec<&Path> = device.ancestors().take_while(|path| path.starts_with(&top)).collect();
    // The link next to the disk limits it, whatever is between that link and the CPU.
    sata(&disk, &top, &device).or_else(|| usb(&disk, &above)).or_else(|| pcie(&disk, &above))
}

/// The link of an ATA disk. Ten bits carry eight (Serial ATA 3.5, 7.2).
fn sata(disk: &str, top: &Path, device: &Path) -> Option<DiskLink> {
    let port = device
        .components()
        .filter_map(|part| part.as_os_str().to_str()?.strip_prefix("ata")?.parse::<u32>().ok())
        .next()?;
    let speed = read_trimmed(&top.join(format!("class/ata_link/link{port}/sata_spd")))?;
    let gbits: f64 = speed.strip_suffix(" Gbps")?.parse().ok()?;
    Some(DiskLink {
        disk: disk.to_owned(),
        name: format!("SATA {gbits:.1} Gbit/s"),
        bytes_per_s: gbits * 1e9 / 10.0,
        best: None,
    })
}

/// The link of a disk on USB. The speed is in Mbit/s; from 5,000 on ten bits carry eight, from 10,000 on 132 carry 128.
fn usb(disk: &str, above: &[&Path]) -> Option<DiskLink> {
    // Only devices on USB have this file.
    let device = above.iter().find(|path| path.join("bMaxPacketSize0").exists())?;
    let mbits: f64 = read_trimmed(&device.join("speed"))?.parse().ok()?;
    let share = match mbits {
        10_000.0.. => 128.0 / 132.0,
        5_000.0.. => 0.8,
        _ => 1.0,
    };
    Some(DiskLink {
        disk: disk.to_owned(),
        name: format!("USB at {mbits:.0} Mbit/s"),
        bytes_per_s: mbits * 1e6 / 8.0 * share,
        best: None,
    })
}

/// The link of an NVMe disk. Other disks share theirs with more of their kind, and virtual ones have none.
fn pcie(disk: &str, above: &[&Path]) -> Option<DiskLink> {
    if !disk.starts_with("nvme") {
        return None;
    }
    let mut linked = above.iter().filter(|path| path.join("current_link_speed").exists());
    let device = linked.next()?;
    let now = Lanes::read(device, "current")?;
    let of_disk = Lanes::read(device, "max");
    let of_slot = linked.next().and_then(|port| Lanes::read(port, "max"));
    let possible = match (of_disk, of_slot) {
        (Some(disk), Some(slot)) => Some(disk.that_both_have(&slot)),
        (disk, slot) => disk.or(slot),
    };
    let best = possible.filter(|possible| possible.bytes_per_s() > now.bytes_per_s());
    Some(DiskLink {
        disk: disk.to_owned(),
        name: now.name(),
        bytes_per_s: now.bytes_per_s(),
        best: best.map(|best| best.name()),
    })
}

/// A generation of PCI Express.
struct Generation {
    name: &'static str,
    /// Transfers per second of a lane, in units of 0.1 GT/s.
    tenths: u32,
    /// What a lane carries in a second, in bytes.
    lane_bytes: f64,
}

/// Eight of ten bits are data in the first two, 128 of 130 in the next three (PCI Express Base Specification 5.0, 4.2), and 242
/// of 256 bytes in the sixth.
const GENERATIONS: [Generation; 6] = [
    Generation { name: "1.0", tenths: 25, lane_bytes: 2.5e9 / 10.0 },
    Generation { name: "2.0", tenths: 50, lane_bytes: 5e9 / 10.0 },
    Generation { name: "3.0", tenths: 80, lane_bytes: 8e9 / 8.0 * 128.0 / 130.0 },
    Generation { name: "4.0", tenths: 160, lane_bytes: 16e9 / 8.0 * 128.0 / 130.0 },
    Generation { name: "5.0", tenths: 320, lane_bytes: 32e9 / 8.0 * 128.0 / 130.0 },
    Generation { name: "6.0", tenths: 640, lane_bytes: 64e9 / 8.0 * 242.0 / 256.0 },
];

/// Lanes of PCI Express.
struct Lanes {
    generation: &'static Generation,
    lanes: u32,
}

impl Lanes {
    /// The lanes of a device as they are (`current`) or could be (`max`).
    fn read(device: &Path, which: &str) -> Option<Self> {
        // `16.0 GT/s PCIe`, or `8 GT/s` of older kernels.
        let speed = read_trimmed(&device.join(format!("{which}_link_speed")))?;
        let transfers: f64 = speed.split_whitespace().next()?.parse().ok()?;
        let lanes = read_trimmed(&device.join(format!("{which}_link_width")))?.parse().ok()?;
        let generation = GENERATIONS
            .iter()
            .find(|generation| (transfers * 10.0 - f64::from(generation.tenths)).abs() < 0.5)?;
        (lanes > 0).then_some(Self { generation, lanes })
    }

    /// The older generation and the smaller width: what two ends agree on.
    fn that_both_have(&self, other: &Self) -> Self {
        let is_older = self.generation.tenths <= other.generation.tenths;
        let generation = if is_older { self.generation } else { other.generation };
        Self { generation, lanes: self.lanes.min(other.lanes) }
    }

    fn name(&self) -> String {
        format!("PCIe {} ×{}", self.generation.name, self.lanes)
    }

    fn bytes_per_s(&self) -> f64 {
        self.generation.lane_bytes * f64::from(self.lanes)
    }
}

/// The text of a file of the kernel, trimmed.
fn read_trimmed(path: &Path) -> Option<String> {
    Some(std::fs::read_to_string(path).ok()?.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::path::Path;

    use super::{DiskLink, disk_link};
    use crate::root::{Root, plant};

    /// The link of a disk at this place below /sys/devices, with these files.
    fn link(disk: &str, device: &str, files: &[(&str, &str)]) -> Option<DiskLink> {
        let mounts = format!("30 1 259:0 / / rw - ext4 /dev/{disk} rw\n");
        let number = format!("/sys/devices/{device}/dev");
        let fixed = [("/proc/self/mountinfo", mounts.as_str()), (number.as_str(), "259:0\n")];
        let tree = plant(&[&fixed, files].concat());
        let root = Root::at(tree.path());
        fs::create_dir_all(root.path("/sys/block")).unwrap();
        symlink(
            root.path(&format!("/sys/devices/{device}")),
            root.path(&format!("/sys/block/{disk}")),
        )
        .unwrap();
        disk_link(&root, Path::new("/"))
    }

    #[test]
    fn a_link_has_what_its_generation_and_width_carry() {
        let nvme = |speed: &str, width: &str| {
            let place = "/sys/devices/pci0000:00/0000:01:00.0";
            let files = [
                (format!("{place}/current_link_speed"), format!("{speed}\n")),
                (format!("{place}/current_link_width"), format!("{width}\n")),
                (format!("{place}/max_link_speed"), "16.0 GT/s PCIe\n".to_owned()),
                (format!("{place}/max_link_width"), "4\n".to_owned()),
            ];
            let files: Vec<(&str, &str)> =
                files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
            link("nvme0n1", "pci0000:00/0000:01:00.0/nvme/nvme0/nvme0n1", &files)
        };
        let full = nvme("16.0 GT/s PCIe", "4").unwrap();
        assert_eq!((full.name.as_str(), full.best), ("PCIe 4.0 ×4", None));
        assert!((full.bytes_per_s / 7.877e9 - 1.0).abs() < 1e-3, "{}", full.bytes_per_s);
        // Half the lanes, or an older slot.
        let half = nvme("16.0 GT/s PCIe", "2").unwrap();
        assert_eq!(
            (half.name.as_str(), half.best.as_deref()),
            ("PCIe 4.0 ×2", Some("PCIe 4.0 ×4"))
        );
        let old = nvme("5 GT/s", "4").unwrap();
        assert!((old.bytes_per_s - 2e9).abs() < 1.0 && old.name == "PCIe 2.0 ×4", "{old:?}");
        assert!((nvme("2.5 GT/s", "1").unwrap().bytes_per_s - 250e6).abs() < 1.0);
        // The slot has two lanes of the third generation.
        let port = "/sys/devices/pci0000:00";
        let slot = [
            (format!("{port}/current_link_speed"), "8.0 GT/s PCIe\n"),
            (format!("{port}/current_link_width"), "2\n"),
            (format!("{port}/max_link_speed"), "8.0 GT/s PCIe\n"),
            (format!("{port}/max_link_width"), "2\n"),
            (format!("{port}/0000:01:00.0/current_link_speed"), "8.0 GT/s PCIe\n"),
            (format!("{port}/0000:01:00.0/current_link_width"), "2\n"),
            (format!("{port}/0000:01:00.0/max_link_speed"), "16.0 GT/s PCIe\n"),
            (format!("{port}/0000:01:00.0/max_link_width"), "4\n"),
        ];
        let slot: Vec<(&str, &str)> =
            slot.iter().map(|(path, text)| (path.as_str(), *text)).collect();
        let limited = link("nvme0n1", "pci0000:00/0000:01:00.0/nvme/nvme0/nvme0n1", &slot).unwrap();
        assert_eq!((limited.name.as_str(), limited.best), ("PCIe 3.0 ×2", None));
        // A new disk with two lanes in an old slot with four: neither end is the limit alone.
        let mut mixed = slot.clone();
        mixed[3].1 = "4\n";
        mixed[6].1 = "32.0 GT/s PCIe\n";
        mixed[7].1 = "2\n";
        let agreed = link("nvme0n1", "pci0000:00/0000:01:00.0/nvme/nvme0/nvme0n1", &mixed).unwrap();
        assert_eq!((agreed.name.as_str(), agreed.best), ("PCIe 3.0 ×2", None));
        // What emulated devices print.
        assert_eq!(nvme("Unknown", "0"), None);
    }

    #[test]
    fn disks_on_sata_and_usb_have_the_speed_of_their_link() {
        let sata = link(
            "sda",
            "pci0000:00/0000:00:17.0/ata3/host2/target2:0:0/2:0:0:0/block/sda",
            &[("/sys/class/ata_link/link3/sata_spd", "6.0 Gbps\n")],
        )
        .unwrap();
        assert_eq!((sata.name.as_str(), sata.bytes_per_s), ("SATA 6.0 Gbit/s", 600e6));
        let hub = "/sys/devices/pci0000:00/0000:00:14.0/usb2/2-1";
        let files = [("bMaxPacketSize0", "64\n"), ("speed", "480\n")]
            .map(|(file, text)| (format!("{hub}/{file}"), text));
        let files: Vec<(&str, &str)> =
            files.iter().map(|(path, text)| (path.as_str(), *text)).collect();
        let device = "pci0000:00/0000:00:14.0/usb2/2-1/2-1:1.0/host6/target6:0:0/6:0:0:0/block/sdb";
        let usb = link("sdb", device, &files).unwrap();
        assert_eq!((usb.name.as_str(), usb.bytes_per_s), ("USB at 480 Mbit/s", 60e6));
        // A virtual disk has no link.
        assert_eq!(link("vda", "pci0000:00/0000:00:05.0/virtio2/block/vda", &[]), None);
    }
}
