//! Memory: huge pages, balancing, swap, what is left, and the group's quota.

use plumb_model::Severity;

use crate::cgroup;
use crate::doctor::found::FoundSymptom;
use crate::fingerprint::{chosen, memory_modules, numa_nodes};
use crate::memory_channels::known_channels;
use crate::root::Root;
use plumb_units::binary_size;

/// Available memory, in KiB and as one part in so many, under which it is low.
const LOW_MEMORY: [(u64, u64, Severity); 2] =
    [(128 << 10, 20, Severity::Major), (512 << 10, 10, Severity::Minor)];
/// Swap in use, in KiB, that is worth a symptom: a few idle pages are not.
const SWAPPED_KIB: u64 = 16 << 10;

pub fn check(root: &Root) -> Vec<FoundSymptom> {
    let checks = [
        huge_pages,
        balancing,
        sampled,
        merged,
        compacted,
        swapped,
        slow_modules,
        empty_channels,
        low,
        quota,
    ];
    checks.iter().filter_map(|check| check(root)).collect()
}

fn huge_pages(root: &Root) -> Option<FoundSymptom> {
    let file = "/sys/kernel/mm/transparent_hugepage/enabled";
    let always = chosen(&root.text(file)?) == "always";
    always.then(|| FoundSymptom::new("huge-pages", Severity::Minor, format!("always in {file}")))
}

fn balancing(root: &Root) -> Option<FoundSymptom> {
    let file = "/proc/sys/kernel/numa_balancing";
    // Above 1 the kernel balances between tiers of memory, which unmaps pages just the same.
    let on = root.number(file)? > 0 && numa_nodes(root) > 1;
    on.then(|| FoundSymptom::new("numa-balancing", Severity::Minor, format!("on in {file}")))
}

/// DAMON looks at which pages are used, and may move or reclaim them.
fn sampled(root: &Root) -> Option<FoundSymptom> {
    let folder = "/sys/kernel/mm/damon/admin/kdamonds";
    let on = root.names(folder).into_iter().find(|name| {
        root.text(&format!("{folder}/{name}/state")).is_some_and(|state| state == "on")
    })?;
    let evidence = format!("on in {folder}/{on}/state");
    Some(FoundSymptom::new("damon", Severity::Note, evidence))
}

/// KSM reads pages to find equal ones.
fn merged(root: &Root) -> Option<FoundSymptom> {
    let file = "/sys/kernel/mm/ksm/run";
    // 0 and 2 both mean stopped; 2 also splits what was merged.
    let on = root.number(file)? == 1;
    on.then(|| FoundSymptom::new("ksm", Severity::Minor, format!("1 in {file}")))
}

/// 20 is what a kernel begins with.
fn compacted(root: &Root) -> Option<FoundSymptom> {
    let file = "/proc/sys/vm/compaction_proactiveness";
    let eager = root.number(file)?;
    // The kernel's default is 20.
    (eager > 20)
        .then(|| FoundSymptom::new("compaction", Severity::Note, format!("{eager} in {file}")))
}

/// The fourth column of /proc/swaps is what is used, in KiB.
fn swapped(root: &Root) -> Option<FoundSymptom> {
    let text = root.text("/proc/swaps")?;
    let used = text.lines().skip(1).filter_map(|line| line.split_whitespace().nth(3)?.parse().ok());
    let kib = used.fold(0, u64::saturating_add);
    let evidence = format!("{} in use, from /proc/swaps", binary_size(kib.saturating_mul(1024)));
    (kib >= SWAPPED_KIB).then(|| FoundSymptom::new("swapped", Severity::Minor, evidence))
}

/// Modules that the firmware runs below their rated speed, because of their number, the CPU or a setting.
fn slow_modules(root: &Root) -> Option<FoundSymptom> {
    let modules = memory_modules(root)?;
    let slow: Vec<(u16, u16)> = modules
        .iter()
        .filter_map(|module| Some((module.transfers?, module.rated?)))
        .filter(|(transfers, rated)| transfers < rated)
        .collect();
    let (transfers, rated) = slow.first()?;
    let evidence = format!(
        "{} of {} modules run at {transfers} MT/s and are rated {rated} MT/s, from SMBIOS",
        slow.len(),
        modules.len()
    );
    Some(FoundSymptom::new("slow-memory", Severity::Note, evidence))
}

/// Channels without a module while others have one: the bandwidth of a machine that lost a module, or that was bought with too few.
fn empty_channels(root: &Root) -> Option<FoundSymptom> {
    let known = known_channels(root)?;
    let is_uneven = known.used > 0 && known.used < known.all;
    let evidence = format!("{} of {} channels have a module, from EDAC", known.used, known.all);
    is_uneven.then(|| FoundSymptom::new("empty-channels", Severity::Minor, evidence))
}

fn meminfo_kib(root: &Root, name: &str) -> Option<u64> {
    root.field("/proc/meminfo", name)?.split_whitespace().next()?.parse().ok()
}

fn low(root: &Root) -> Option<FoundSymptom> {
    // Not MemFree: a healthy machine fills nearly all of its memory with cache.
    let left_kib = meminfo_kib(root, "MemAvailable")?;
    let all_kib = meminfo_kib(root, "MemTotal")?;
    let (_, _, effect) =
        LOW_MEMORY.iter().find(|(kib, part, _)| left_kib < *kib || left_kib < all_kib / part)?;
    let evidence = format!(
        "{} of {} available, from /proc/meminfo",
        binary_size(left_kib.saturating_mul(1024)),
        binary_size(all_kib.saturating_mul(1024))
    );
    Some(FoundSymptom::new("low-memory", *effect, evidence))
}

fn quota(root: &Root) -> Option<FoundSymptom> {
    let cpus = cgroup::cpu_quota(root)?;
    let stopped = cgroup::throttled(root).unwrap_or(0);
    let effect = if stopped > 0 { Severity::Grave } else { Severity::Major };
    let stopped =
        if stopped > 0 { format!(", throttled {stopped} times so far") } else { String::new() };
    let evidence = format!("{cpus:.2} CPUs for plumb's cgroup{stopped}");
    Some(FoundSymptom::new("cpu-quota", effect, evidence))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{LOW_MEMORY, binary_size, check};
    use crate::doctor::symptoms::SYMPTOMS;
    use crate::fingerprint::firmware_memory_device as device;
    use crate::root::{Root, plant};

    fn evidence(root: &Root) -> Vec<String> {
        check(root).iter().map(|found| format!("{}: {}", found.name, found.evidence)).collect()
    }

    #[test]
    fn slow_modules_and_empty_channels_are_found() {
        let base = "/sys/devices/system/edac/mc/mc0";
        let tree = plant(&[
            (&format!("{base}/dimm0/dimm_location"), "channel 0 slot 0\n"),
            (&format!("{base}/dimm0/size"), "16384\n"),
            (&format!("{base}/dimm1/dimm_location"), "channel 1 slot 0\n"),
            (&format!("{base}/dimm1/size"), "0\n"),
        ]);
        let root = Root::at(tree.path());
        let tables = root.path("/sys/firmware/dmi/tables");
        fs::create_dir_all(&tables).unwrap();
        fs::write(tables.join("DMI"), device(16384, 0, 0x1a, 3200, 2933)).unwrap();
        assert_eq!(
            evidence(&root),
            [
                "slow-memory: 1 of 1 modules run at 2933 MT/s and are rated 3200 MT/s, from SMBIOS",
                "empty-channels: 1 of 2 channels have a module, from EDAC",
            ]
        );
        fs::write(tables.join("DMI"), device(16384, 0, 0x1a, 3200, 3200)).unwrap();
        let evidence = evidence(&root);
        assert_eq!(evidence.len(), 1, "{evidence:?}");
    }

    #[test]
    fn the_documentation_has_the_limits_of_the_code() {
        let told = |(kib, part, effect): &(u64, u64, plumb_model::Severity)| {
            format!("{} under {} % or {}", effect.word(), 100 / part, binary_size(kib * 1024))
        };
        let all: Vec<String> = LOW_MEMORY.iter().rev().map(told).collect();
        let documented = SYMPTOMS.iter().find(|kind| kind.name == "low-memory").unwrap();
        assert_eq!(documented.effects, all.join(", "));
    }
}
