//! Memory: huge pages, swap, and the modules as the firmware lists them.

use std::collections::BTreeMap;

use crate::fingerprint::recorded::RecordedFacts;
use crate::root::Root;
use plumb_units::binary_size;

pub fn read(root: &Root, facts: &mut RecordedFacts) {
    let pages = "/sys/kernel/mm/transparent_hugepage";
    facts.put_file(root, "huge_pages", &format!("{pages}/enabled"));
    facts.put_file(root, "huge_pages_defrag", &format!("{pages}/defrag"));
    facts.put("huge_page_pool", huge_page_pool(root));
    facts.put_file(root, "same_page_merging", "/sys/kernel/mm/ksm/run");
    facts.put("swap", root.text("/proc/swaps").map(|text| swap(&text)));
    facts.put_file(root, "compressed_swap", "/sys/module/zswap/parameters/enabled");
    facts.put("memory_modules", memory_modules(root).map(|modules| listed(&modules)));
}

/// A module of memory, as the firmware describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryModule {
    /// Size, in bytes.
    pub bytes: u64,
    /// `DDR5`; None for kinds that plumb does not know.
    pub technology: Option<&'static str>,
    /// Millions of transfers per second, as configured.
    pub transfers: Option<u16>,
    /// Millions of transfers per second that it could do.
    pub rated: Option<u16>,
    /// Bits of data per transfer.
    pub width: u16,
}

/// The modules in the tables of the firmware; None if there are none, or if this process may not read them: only root may.
pub fn memory_modules(root: &Root) -> Option<Vec<MemoryModule>> {
    let table = std::fs::read(root.path("/sys/firmware/dmi/tables/DMI")).ok()?;
    modules(&table)
}

/// Pages that are set aside, and their size: `512 of 2048 kB`.
fn huge_page_pool(root: &Root) -> Option<String> {
    let pages = root.field("/proc/meminfo", "HugePages_Total")?;
    let size = root.field("/proc/meminfo", "Hugepagesize")?;
    Some(if pages == "0" { "none".into() } else { format!("{pages} of {size}") })
}

/// `/dev/sda2 partition 8 GiB`, each device of /proc/swaps; how full they are moves and is left out.
fn swap(text: &str) -> String {
    let devices: Vec<String> = text.lines().skip(1).filter_map(swap_device).collect();
    if devices.is_empty() { "none".into() } else { devices.join("; ") }
}

/// A line of /proc/swaps: device, kind, size in KiB, and what moves.
fn swap_device(line: &str) -> Option<String> {
    let mut words = line.split_whitespace();
    let device = words.next()?;
    let kind = words.next()?;
    let kib: u64 = words.next()?.parse().ok()?;
    Some(format!("{device} {kind} {}", binary_size(kib.saturating_mul(1024))))
}

/// A memory device in the tables of SMBIOS (DSP0134, 7.18).
const MEMORY_DEVICE: u8 = 17;

/// The bits of a module whose width the firmware does not state.
const USUAL_WIDTH: u16 = 64;

fn modules(table: &[u8]) -> Option<Vec<MemoryModule>> {
    let devices = structures(table).filter(|device| device.first() == Some(&MEMORY_DEVICE));
    let all: Vec<MemoryModule> = devices.filter_map(module).collect();
    (!all.is_empty()).then_some(all)
}

/// `2 × 16 GiB DDR4 3200 MT/s`.
fn listed(modules: &[MemoryModule]) -> String {
    let mut counted: BTreeMap<String, usize> = BTreeMap::new();
    for module in modules {
        *counted.entry(described(module)).or_default() += 1;
    }
    let all: Vec<String> =
        counted.into_iter().map(|(module, count)| format!("{count} × {module}")).collect();
    all.join("; ")
}

fn described(module: &MemoryModule) -> String {
    let parts = [
        Some(binary_size(module.bytes)),
        module.technology.map(str::to_owned),
        module.transfers.map(|transfers| format!("{transfers} MT/s")),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

/// The formatted part of each structure: its second byte is its length, and strings follow that end
/// with two zeros.
fn structures(table: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = table;
    std::iter::from_fn(move || {
        let length = usize::from(*rest.get(1)?);
        let (formatted, strings) = rest.split_at_checked(length)?;
        // Each string ends with a zero, and a second zero ends the structure; without strings there are two zeros.
        let end = strings.windows(2).position(|two| two == [0, 0])?;
        rest = &strings[end + 2..];
        // A shorter one than its own head would never end.
        (length >= 4).then_some(formatted)
    })
}

/// What one slot holds; None if it is empty.
fn module(device: &[u8]) -> Option<MemoryModule> {
    let bytes = match word_at(device, 0x0c)? {
        // An empty slot, or one of unknown size.
        0 | 0xffff => return None,
        // The size does not fit: two more words hold it, in MiB.
        0x7fff => {
            let low = u64::from(word_at(device, 0x1c)?);
            let high = u64::from(word_at(device, 0x1e)?);
            (low | high << 16) << 20
        }
        // The highest bit selects KiB. 0xffff, an unknown size, has it set as well and is therefore matched above.
        kib if kib & 0x8000 != 0 => u64::from(kib & 0x7fff) << 10,
        mib => u64::from(mib) << 20,
    };
    // At which speed it works; older tables say only which one it could have.
    let rated = speed_at(device, 0x15);
    let width = word_at(device, 0x0a).filter(|width| !matches!(*width, 0 | 0xffff));
    Some(MemoryModule {
        bytes,
        technology: device.get(0x12).and_then(|kind| technology(*kind)),
        transfers: speed_at(device, 0x20).or(rated),
        rated,
        width: width.unwrap_or(USUAL_WIDTH),
    })
}

/// A speed in MT/s; 0 is unknown, and 0xffff that it does not fit.
fn speed_at(device: &[u8], at: usize) -> Option<u16> {
    word_at(device, at).filter(|speed| !matches!(*speed, 0 | 0xffff))
}

fn word_at(structure: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes([*structure.get(at)?, *structure.get(at + 1)?]))
}

/// Table 78 of DSP0134.
fn technology(kind: u8) -> Option<&'static str> {
    Some(match kind {
        0x18 => "DDR3",
        0x1a => "DDR4",
        0x1c => "LPDDR2",
        0x1d => "LPDDR3",
        0x1e => "LPDDR4",
        0x20 => "HBM",
        0x21 => "HBM2",
        0x22 => "DDR5",
        0x23 => "LPDDR5",
        _ => return None,
    })
}

/// A memory device as firmware writes it, with one string, for tests.
#[cfg(test)]
pub fn device(mib: u16, extended: u32, kind: u8, speed: u16, configured: u16) -> Vec<u8> {
    let mut device = vec![0_u8; 0x22];
    device[0] = 17;
    device[1] = 0x22;
    device[0x0c..0x0e].copy_from_slice(&mib.to_le_bytes());
    device[0x12] = kind;
    device[0x15..0x17].copy_from_slice(&speed.to_le_bytes());
    device[0x1c..0x20].copy_from_slice(&extended.to_le_bytes());
    device[0x20..0x22].copy_from_slice(&configured.to_le_bytes());
    device.extend(b"DIMM A\0\0");
    device
}

#[cfg(test)]
mod tests {
    use super::{MemoryModule, device, listed, modules, swap};

    #[test]
    fn modules_are_counted_and_empty_slots_are_not() {
        let mut table = vec![1, 4, 0, 0, 0, 0];
        table.extend(device(16384, 0, 0x1a, 3200, 2933));
        table.extend(device(0, 0, 2, 0, 0));
        table.extend(device(16384, 0, 0x1a, 3200, 2933));
        table.extend(device(0x7fff, 65536, 0x22, 4800, 0));
        table.extend([127, 4, 0, 0, 0, 0]);
        let found = modules(&table).unwrap();
        let first = MemoryModule {
            bytes: 16 << 30,
            technology: Some("DDR4"),
            transfers: Some(2933),
            rated: Some(3200),
            width: 64,
        };
        assert_eq!(found[0], first);
        let said = listed(&found);
        assert_eq!(said, "2 × 16 GiB DDR4 2933 MT/s; 1 × 64 GiB DDR5 4800 MT/s");
    }

    #[test]
    fn a_broken_table_ends() {
        for table in [&[][..], &[17], &[17, 0, 0, 0], &[17, 200, 0], &[17, 4, 0, 0, 1]] {
            assert_eq!(modules(table), None);
        }
        let whole = device(16384, 0, 0x1a, 3200, 2933);
        for end in 0..whole.len() {
            let _ = modules(&whole[..end]);
        }
    }

    #[test]
    fn swap_is_told_without_how_full_it_is() {
        let head = "Filename Type Size Used Priority\n";
        assert_eq!(swap(head.trim()), "none");
        let text = format!("{head}/dev/nvme0n1p3 partition 8388604 512 -2\n");
        assert_eq!(swap(&text), "/dev/nvme0n1p3 partition 8 GiB");
    }
}
