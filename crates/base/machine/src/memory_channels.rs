//! The bandwidth of the memory channels, from the tables of the firmware (SMBIOS) and the kernel's memory controllers (EDAC).

use std::collections::BTreeSet;

use crate::facts::{caches, cpus_in};
use crate::fingerprint::{MemoryModule, count_cpus, memory_modules};
use crate::root::Root;

/// What the channels of this machine's memory carry at most.
#[derive(Debug, Clone, PartialEq)]
pub struct MemoryChannels {
    /// `8 channels of DDR5 at 4800 MT/s`, or `at most 8 channels …` if only the modules are known, which may share channels.
    pub name: String,
    /// Bytes per second of all channels together.
    pub bytes_per_s: f64,
    /// Bytes that the last level of caches holds, all of its caches together.
    pub cache_bytes: u64,
}

/// The memory channels; None if the modules, their kind or their speed are unknown, or if the modules differ. Only root may read the
/// tables of the firmware.
#[must_use]
pub fn memory_channels(root: &Root) -> Option<MemoryChannels> {
    let modules = memory_modules(root)?;
    let first = modules.first()?;
    if !modules.iter().all(|module| is_alike(module, first)) {
        return None;
    }
    let transfers = first.transfers?;
    let (count, at_most) = match known_channels(root) {
        Some(known) if (1..=modules.len()).contains(&known.used) => (known.used, ""),
        _ => (modules.len(), "at most "),
    };
    let plural = if count == 1 { "" } else { "s" };
    #[expect(clippy::cast_precision_loss, reason = "a count of channels")]
    let bytes_per_s = count as f64 * f64::from(transfers) * 1e6 * f64::from(first.width) / 8.0;
    Some(MemoryChannels {
        name: format!(
            "{at_most}{count} channel{plural} of {} at {transfers} MT/s",
            first.technology?
        ),
        bytes_per_s,
        cache_bytes: all_of_last_level(root),
    })
}

fn is_alike(one: &MemoryModule, other: &MemoryModule) -> bool {
    (one.technology, one.transfers, one.width) == (other.technology, other.transfers, other.width)
}

/// The channels that the kernel's drivers of memory controllers list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KnownChannels {
    /// Those with a module.
    pub used: usize,
    /// All of them.
    pub all: usize,
}

/// The channels of the memory controllers; None without a driver for them.
pub fn known_channels(root: &Root) -> Option<KnownChannels> {
    let base = "/sys/devices/system/edac/mc";
    let mut used = BTreeSet::new();
    let mut all = BTreeSet::new();
    for controller in root.names(base).into_iter().filter(|name| is_numbered(name, "mc")) {
        let slots = root.names(&format!("{base}/{controller}"));
        for slot in slots.iter().filter(|name| is_slot(name)) {
            let folder = format!("{base}/{controller}/{slot}");
            // `channel 0 slot 1`, or `csrow 0 channel 1`.
            let location = root.text(&format!("{folder}/dimm_location"));
            let Some(channel) = location.as_deref().and_then(channel_of) else { continue };
            all.insert((controller.clone(), channel));
            if root.number(&format!("{folder}/size")).is_some_and(|mib| mib > 0) {
                used.insert((controller.clone(), channel));
            }
        }
    }
    (!all.is_empty()).then_some(KnownChannels { used: used.len(), all: all.len() })
}

fn is_slot(name: &str) -> bool {
    is_numbered(name, "dimm") || is_numbered(name, "rank")
}

fn channel_of(location: &str) -> Option<u32> {
    let mut words = location.split_whitespace().skip_while(|word| *word != "channel");
    words.nth(1)?.parse().ok()
}

fn is_numbered(name: &str, kind: &str) -> bool {
    let number = name.strip_prefix(kind);
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|c| c.is_ascii_digit()))
}

/// The caches of the first CPU, as often as there are CPUs that do not share them.
fn all_of_last_level(root: &Root) -> u64 {
    let Some(last) = caches(root).max_by_key(|cache| cache.level) else { return 0 };
    let sharing = last.shared.map_or(1, |list| cpus_in(&list)).max(1);
    let cpus = root.text("/proc/cpuinfo").and_then(|text| count_cpus(&text)).unwrap_or(1);
    last.bytes.saturating_mul(cpus.div_ceil(sharing) as u64)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{KnownChannels, known_channels, memory_channels};
    use crate::fingerprint::firmware_memory_device as device;
    use crate::root::{Root, plant};

    /// Four modules of DDR4 at 3200 MT/s, which the firmware lists, and what else is in the tree.
    fn with_modules(files: &[(&str, &str)]) -> (tempfile::TempDir, Root) {
        let tree = plant(files);
        let root = Root::at(tree.path());
        let tables = root.path("/sys/firmware/dmi/tables");
        fs::create_dir_all(&tables).unwrap();
        let table: Vec<u8> = (0..4).flat_map(|_| device(16384, 0, 0x1a, 3200, 3200)).collect();
        fs::write(tables.join("DMI"), table).unwrap();
        (tree, root)
    }

    #[test]
    fn modules_without_a_driver_are_at_most_so_many_channels() {
        let (_tree, root) = with_modules(&[
            ("/proc/cpuinfo", "processor : 0\nprocessor : 1\nprocessor : 2\nprocessor : 3\n"),
            ("/sys/devices/system/cpu/cpu0/cache/index3/size", "32768K\n"),
            ("/sys/devices/system/cpu/cpu0/cache/index3/level", "3\n"),
            ("/sys/devices/system/cpu/cpu0/cache/index3/type", "Unified\n"),
            ("/sys/devices/system/cpu/cpu0/cache/index3/shared_cpu_list", "0-1\n"),
        ]);
        let found = memory_channels(&root).unwrap();
        assert_eq!(found.name, "at most 4 channels of DDR4 at 3200 MT/s");
        // 4 × 3200 MT/s × 8 bytes.
        assert!((found.bytes_per_s - 102.4e9).abs() < 1.0, "{}", found.bytes_per_s);
        assert_eq!(found.cache_bytes, 64 << 20);
    }

    #[test]
    fn the_driver_of_the_controllers_counts_channels() {
        let base = "/sys/devices/system/edac/mc";
        let mut files = Vec::new();
        // Two slots in each of two channels; the last is empty.
        for (dimm, location, mib) in [
            (0, "channel 0 slot 0 \n", "16384\n"),
            (1, "channel 0 slot 1 \n", "16384\n"),
            (2, "channel 1 slot 0 \n", "16384\n"),
            (3, "channel 2 slot 0 \n", "0\n"),
        ] {
            files.push((format!("{base}/mc0/dimm{dimm}/dimm_location"), location));
            files.push((format!("{base}/mc0/dimm{dimm}/size"), mib));
        }
        let files: Vec<(&str, &str)> =
            files.iter().map(|(path, text)| (path.as_str(), *text)).collect();
        let (_tree, root) = with_modules(&files);
        assert_eq!(known_channels(&root), Some(KnownChannels { used: 2, all: 3 }));
        let found = memory_channels(&root).unwrap();
        assert_eq!(found.name, "2 channels of DDR4 at 3200 MT/s");
        assert!((found.bytes_per_s - 51.2e9).abs() < 1.0, "{}", found.bytes_per_s);
    }

    #[test]
    fn different_modules_and_unknown_speeds_say_nothing() {
        let tree = plant(&[("/proc/cpuinfo", "processor : 0\n")]);
        let root = Root::at(tree.path());
        assert_eq!(memory_channels(&root), None);
        let tables = root.path("/sys/firmware/dmi/tables");
        fs::create_dir_all(&tables).unwrap();
        let mixed = [device(16384, 0, 0x1a, 3200, 3200), device(8192, 0, 0x1a, 2400, 2400)];
        fs::write(tables.join("DMI"), mixed.concat()).unwrap();
        assert_eq!(memory_channels(&root), None);
        // What QEMU writes.
        fs::write(tables.join("DMI"), device(16384, 0, 7, 0, 0)).unwrap();
        assert_eq!(memory_channels(&root), None);
    }
}
