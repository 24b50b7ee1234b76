//! Disks, and the one below the target directory.

use crate::fingerprint::mount::Mount;
use crate::fingerprint::recorded::RecordedFacts;
use crate::root::Root;
use plumb_units::decimal_size;

const BASE: &str = "/sys/block";
/// Block devices that are memory or files.
const VIRTUAL_PREFIXES: [&str; 4] = ["loop", "ram", "zram", "fd"];
/// Sectors in sysfs have this size, whatever the disk's.
const SECTOR_BYTES: u64 = 512;
/// Most storeys of devices on devices that are followed.
const MOST_STACKED_DEVICES: usize = 8;

pub fn read(root: &Root, mount: Option<&Mount>, facts: &mut RecordedFacts) {
    let mut names = root.names(BASE);
    names.retain(|name| !VIRTUAL_PREFIXES.iter().any(|unreal| name.starts_with(unreal)));
    let all: Vec<String> = names.iter().map(|name| disk(root, name)).collect();
    facts.put("disks", (!all.is_empty()).then(|| all.join("; ")));
    facts.put("disk", mount.and_then(|mount| below(root, mount)).map(|on| stack(root, &on, 0)));
}

/// The disk that a mounted device is, or is part of.
#[must_use]
pub fn below(root: &Root, mount: &Mount) -> Option<String> {
    let name = mount.device.rsplit('/').next().unwrap_or_default();
    root.names(BASE).into_iter().find(|disk| {
        if is_device(root, disk, mount, disk == name) {
            return true;
        }
        let parts = root.names(&format!("{BASE}/{disk}"));
        parts
            .iter()
            .filter(|part| part.starts_with(disk))
            .any(|part| is_device(root, &format!("{disk}/{part}"), mount, part == name))
    })
}

/// Whether a disk or partition is the mounted one. Names count as well: filesystems like btrfs mount under a number that
/// is not a device's.
fn is_device(root: &Root, path: &str, mount: &Mount, same_name: bool) -> bool {
    root.text(&format!("{BASE}/{path}/dev"))
        .is_some_and(|number| number == mount.number || same_name)
}

/// The disk, and what it lies on if it is a mapping.
fn stack(root: &Root, name: &str, storey: usize) -> String {
    let own = disk(root, name);
    let slaves = root.names(&format!("{BASE}/{name}/slaves"));
    let disks = root.names(BASE);
    let below = slaves.iter().filter(|_| storey < MOST_STACKED_DEVICES).map(|slave| {
        let whole =
            // `sdaa1` begins with `sda` and with `sdaa`: the longest name is the disk that holds the partition.
            disks.iter().filter(|disk| slave.starts_with(*disk)).max_by_key(|disk| disk.len());
        stack(root, whole.unwrap_or(slave), storey + 1)
    });
    std::iter::once(own).chain(below).collect::<Vec<_>>().join("; on ")
}

/// `nvme0n1: Samsung SSD 980, 500 GB, solid state, write back, scheduler none, queue 1023, firmware 3B2Q`.
fn disk(root: &Root, name: &str) -> String {
    let says = |file: &str| root.text(&format!("{BASE}/{name}/{file}"));
    let number = |file: &str| root.number(&format!("{BASE}/{name}/{file}"));
    // A number of PCI instead of a name is of no use to people.
    let vendor = says("device/vendor").filter(|vendor| !vendor.starts_with("0x"));
    let product = says("device/model").or_else(|| says("dm/name"));
    let model = [vendor, product].into_iter().flatten().collect::<Vec<_>>().join(" ");
    let firmware = says("device/firmware_rev").or_else(|| says("device/rev"));
    let turns = number("queue/rotational")
        .map(|turns| if turns == 0 { "solid state".into() } else { "rotating".into() });
    let parts = [
        (!model.is_empty()).then_some(model),
        number("size").map(|sectors| decimal_size(sectors.saturating_mul(SECTOR_BYTES))),
        turns,
        says("queue/write_cache"),
        says("queue/scheduler").map(|all| format!("scheduler {}", chosen(&all))),
        number("queue/nr_requests").map(|depth| format!("queue {depth}")),
        firmware.map(|firmware| format!("firmware {firmware}")),
    ];
    format!("{name}: {}", parts.into_iter().flatten().collect::<Vec<_>>().join(", "))
}

/// The word in brackets of `mq-deadline [none]`; the whole if there are none.
#[must_use]
pub fn chosen(all: &str) -> &str {
    let inside = all.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    inside.map_or(all, |(chosen, _)| chosen)
}
