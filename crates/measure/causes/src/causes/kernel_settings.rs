//! Settings of the kernel that are known to slow work down.

use crate::cause::{Cause, Remedy, Removal, Suspect, Suspicion, uses_files};

/// Files below `/proc/sys` that somebody changed for the worse.
pub const CAUSE: Cause = Cause {
    name: "kernel-settings",
    summary: "unusual settings of the kernel",
    manual: include_str!("kernel_settings.md"),
    suspect,
};

/// A setting that slows down work of one area if its value is far from the kernel's default.
struct KernelSetting {
    /// Its name, as sysctl(8) takes it.
    name: &'static str,
    /// The work that it concerns.
    area: Area,
    /// Which values are suspicious.
    unusual: Unusual,
    /// The kernel's default: vm.rst, net.rst, ip-sysctl.rst and sched-bwc.rst of Linux 6.12.
    default: &'static str,
}

#[derive(Clone, Copy)]
enum Area {
    Files,
    /// Connections over the loopback device: other paths have a network namespace of their own, with defaults.
    Loopback,
    All,
}

enum Unusual {
    Below(u64),
    Above(u64),
    NotAmong(&'static [&'static str]),
}

/// Limits in `vm.dirty_*`, as a share of memory in percent. One that is set in bytes replaces the share.
struct DirtyLimit {
    ratio: &'static str,
    bytes: &'static str,
    least_percent: u64,
    default_percent: u64,
}

/// So many bytes are not few, on a machine of any size.
const ENOUGH_BYTES: u64 = 1 << 30;

const SETTINGS: [KernelSetting; 17] = [
    setting("vm.vfs_cache_pressure", Area::Files, Unusual::Above(500), "100"),
    setting("vm.laptop_mode", Area::Files, Unusual::Above(0), "0"),
    setting("vm.zone_reclaim_mode", Area::All, Unusual::Above(0), "0"),
    setting("vm.compaction_proactiveness", Area::All, Unusual::Above(20), "20"),
    setting("kernel.sched_cfs_bandwidth_slice_us", Area::All, Unusual::Below(2_000), "5000"),
    setting("net.ipv4.tcp_window_scaling", Area::Loopback, Unusual::Below(1), "1"),
    setting("net.ipv4.tcp_sack", Area::Loopback, Unusual::Below(1), "1"),
    setting("net.ipv4.tcp_moderate_rcvbuf", Area::Loopback, Unusual::Below(1), "1"),
    setting("net.ipv4.tcp_limit_output_bytes", Area::Loopback, Unusual::Below(262_144), "1048576"),
    setting(
        "net.ipv4.tcp_congestion_control",
        Area::Loopback,
        Unusual::NotAmong(&["bbr", "cubic", "reno"]),
        "cubic",
    ),
    setting("net.core.netdev_max_backlog", Area::Loopback, Unusual::Below(1_000), "1000"),
    setting("net.core.netdev_budget", Area::Loopback, Unusual::Below(300), "300"),
    setting("net.core.dev_weight", Area::Loopback, Unusual::Below(64), "64"),
    setting("net.core.bpf_jit_enable", Area::Loopback, Unusual::Below(1), "1"),
    setting("net.core.rmem_default", Area::Loopback, Unusual::Below(65_536), "212992"),
    setting("net.core.wmem_default", Area::Loopback, Unusual::Below(65_536), "212992"),
    setting("net.core.somaxconn", Area::Loopback, Unusual::Below(128), "4096"),
];

const DIRTY_LIMITS: [DirtyLimit; 2] = [
    DirtyLimit {
        ratio: "vm.dirty_ratio",
        bytes: "vm.dirty_bytes",
        least_percent: 5,
        default_percent: 20,
    },
    DirtyLimit {
        ratio: "vm.dirty_background_ratio",
        bytes: "vm.dirty_background_bytes",
        least_percent: 2,
        default_percent: 10,
    },
];

const fn setting(
    name: &'static str,
    area: Area,
    unusual: Unusual,
    default: &'static str,
) -> KernelSetting {
    KernelSetting { name, area, unusual, default }
}

fn suspect(suspect: &Suspect<'_>) -> Option<Suspicion> {
    let mut found: Vec<UnusualSetting> = Vec::new();
    for setting in SETTINGS.iter().filter(|setting| concerns(setting.area, suspect)) {
        let Some(now) = value(suspect, setting.name) else { continue };
        if is_unusual(&setting.unusual, &now) {
            found.push(UnusualSetting::new(setting.name, now, setting.default.to_owned()));
        }
    }
    if concerns(Area::Files, suspect) {
        found.extend(DIRTY_LIMITS.iter().filter_map(|limit| low_dirty_limit(limit, suspect)));
    }
    if found.is_empty() {
        return None;
    }
    let evidence: Vec<String> = found
        .iter()
        .map(|setting| format!("{} is {} (usual: {})", setting.name, setting.now, setting.usual))
        .collect();
    let knobs =
        found.iter().map(|setting| format!("sysctl.{}={}", setting.name, setting.usual)).collect();
    let commands: Vec<String> = found.into_iter().map(|setting| setting.command).collect();
    Some(Suspicion {
        evidence: evidence.join(", "),
        is_common: false,
        ways: vec![Removal::Knobs(knobs)],
        remedy: Remedy {
            text: "set the kernel's default, and find what sets it: a file in /etc/sysctl.d or /usr/lib/sysctl.d, or a tuned profile".to_owned(),
            command: commands.join("; "),
        },
    })
}

/// A setting that was found.
struct UnusualSetting {
    name: &'static str,
    now: String,
    usual: String,
    /// What sets the default for good.
    command: String,
}

impl UnusualSetting {
    fn new(name: &'static str, now: String, usual: String) -> Self {
        let command = format!("sysctl -w {name}={usual}");
        Self { name, now, usual, command }
    }
}

/// Whether settings of this area matter to what is measured.
fn concerns(area: Area, suspect: &Suspect<'_>) -> bool {
    let is_program = suspect.starts_programs();
    match area {
        Area::All => true,
        Area::Files => is_program || uses_files(&suspect.point.workload),
        Area::Loopback => {
            is_program || suspect.setting("path").is_some_and(|path| path.to_string() == "loopback")
        }
    }
}

fn value(suspect: &Suspect<'_>, name: &str) -> Option<String> {
    let text = suspect.root.text(&format!("/proc/sys/{}", name.replace('.', "/")))?;
    Some(text.trim().to_owned())
}

fn is_unusual(unusual: &Unusual, now: &str) -> bool {
    match unusual {
        Unusual::Below(least) => now.parse().is_ok_and(|now: u64| now < *least),
        Unusual::Above(most) => now.parse().is_ok_and(|now: u64| now > *most),
        Unusual::NotAmong(usual) => !usual.contains(&now),
    }
}

/// The limit if programs that write wait for the disk early.
fn low_dirty_limit(limit: &DirtyLimit, suspect: &Suspect<'_>) -> Option<UnusualSetting> {
    let now_bytes: u64 = value(suspect, limit.bytes)?.parse().ok()?;
    let kib = suspect.root.field("/proc/meminfo", "MemTotal")?;
    let memory = kib.split_whitespace().next()?.parse::<u64>().ok()?.saturating_mul(1024);
    if now_bytes > 0 {
        // To write the share would set the bytes to 0, and the old value could not be restored.
        let usual = memory / 100 * limit.default_percent;
        let least = (memory / 100 * limit.least_percent).min(ENOUGH_BYTES);
        return (now_bytes < least).then(|| UnusualSetting {
            command: format!("sysctl -w {}={}", limit.ratio, limit.default_percent),
            ..UnusualSetting::new(limit.bytes, now_bytes.to_string(), usual.to_string())
        });
    }
    let percent: u64 = value(suspect, limit.ratio)?.parse().ok()?;
    (percent < limit.least_percent).then(|| {
        UnusualSetting::new(limit.ratio, percent.to_string(), limit.default_percent.to_string())
    })
}
