//! What plumb reads of other machines, and what it finds wrong with them, laid out from `trees/`.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod trees;

use std::collections::BTreeMap;
use std::path::Path;

use plumb_machine::doctor::{DiagnosisInput, MachineActivity, diagnose};
use plumb_machine::{Root, environment, machine};
use plumb_model::{FACTS, FactKind, Theme};

/// The facts of a tree's machine, with the environment of its root directory.
fn facts(name: &str) -> BTreeMap<String, String> {
    let tree = trees::tree(name);
    let root = Root::at(tree.path());
    let mut facts = environment(&root, Path::new("/")).facts;
    facts.extend(machine(&root).facts);
    facts
}

/// The facts of these names, a line each; `-` if one was not read.
fn shown(facts: &BTreeMap<String, String>, names: &[&str]) -> String {
    let line = |name: &&str| format!("{name}: {}", facts.get(*name).map_or("-", String::as_str));
    names.iter().map(line).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_laptop() {
    let names = [
        "frequency_limits",
        "governor",
        "idle_states",
        "caches",
        "swap",
        "power",
        "bios",
        "boot_mode",
        "disk",
        "disks",
        "network_devices",
        "preemption",
        "timer_frequency",
        "security",
        "net.ipv4.tcp_rmem",
        "filesystem_options",
        "libc",
        "cloud",
        "container",
    ];
    insta::assert_snapshot!(shown(&facts("laptop"), &names), @"
    frequency_limits: 400–3400 / 4700 MHz
    governor: powersave
    idle_states: POLL 0 µs, C1E 2 µs, C10 680 µs
    caches: L1d 48 KiB shared by 0-1, L3 18 MiB shared by 0-7
    swap: /dev/nvme0n1p3 partition 8 GiB
    power: battery
    bios: LENOVO N3AET82W (1.47 ) 05/30/2024
    boot_mode: UEFI
    disk: nvme0n1: SAMSUNG MZVL2512HCJQ-00BL7, 512 GB, solid state, write back, scheduler none, queue 1023, firmware CXA7601Q
    disks: nvme0n1: SAMSUNG MZVL2512HCJQ-00BL7, 512 GB, solid state, write back, scheduler none, queue 1023, firmware CXA7601Q
    network_devices: wlp0s20f3: iwlwifi, MTU 1500
    preemption: full
    timer_frequency: 250 Hz
    security: lockdown, capability, landlock, yama, apparmor
    net.ipv4.tcp_rmem: 4096 131072 6291456
    filesystem_options: rw,errors=remount-ro
    libc: 2.36-9+deb12u10
    cloud: -
    container: none
    ");
}

#[test]
fn a_server() {
    let names = [
        "numa_distances",
        "numa_nodes",
        "cpus_isolated",
        "cpus_tickless",
        "idle_states",
        "boost",
        "huge_page_pool",
        "disk",
        "network_devices",
        "preemption",
        "swap",
        "kernel_config",
    ];
    insta::assert_snapshot!(shown(&facts("server"), &names), @"
    numa_distances: 10 12 32 32; 12 10 32 32; 32 32 10 12; 32 32 12 10
    numa_nodes: 4
    cpus_isolated: 2-3
    cpus_tickless: 2-3
    idle_states: POLL 0 µs, C1 1 µs, C2 800 µs (off)
    boost: 0
    huge_page_pool: 1024 of 2048 kB
    disk: dm-0: vg0-root, 107 GB, solid state; on sda: ATA MZ7L3480HCHQ0D3, 480 GB, solid state, write through, scheduler mq-deadline, queue 64, firmware HG58
    network_devices: eno1: bnxt_en, 25000 Mbit/s full duplex, MTU 9000
    preemption: none, asked for at boot
    swap: none
    kernel_config: -
    ");
}

#[test]
fn a_guest_of_a_cloud() {
    let names = ["virtualisation", "cloud", "product", "disk", "security", "idle_driver"];
    insta::assert_snapshot!(shown(&facts("aws"), &names), @"
    virtualisation: virtual machine (Amazon EC2)
    cloud: AWS
    product: m5.large
    disk: nvme0n1: Amazon Elastic Block Store, 8.59 GB, solid state, write through, scheduler none, firmware 1.0
    security: SELinux permissive
    idle_driver: none
    ");
}

#[test]
fn a_container() {
    let names = [
        "container",
        "cpu_quota",
        "memory_limit",
        "cpus_allowed",
        "filesystem_options",
        "disk",
        "libc",
        "openssl",
        "network_devices",
        "security",
    ];
    insta::assert_snapshot!(shown(&facts("container"), &names), @"
    container: docker
    cpu_quota: 1.50 CPUs
    memory_limit: 512 MiB
    cpus_allowed: 3
    filesystem_options: rw,xino=off
    disk: -
    libc: 1.2.5-r10
    openssl: 3.5.1-r0
    network_devices: -
    security: apparmor; AppArmor profile docker-default (enforce)
    ");
}

#[test]
fn a_board() {
    let names = ["model", "cpus", "frequency_limits", "disk", "network_devices", "preemption"];
    insta::assert_snapshot!(shown(&facts("board"), &names), @"
    model: Raspberry Pi 4 Model B Rev 1.4
    cpus: 4
    frequency_limits: 600–1800 MHz, held to 1500 MHz
    disk: mmcblk0: 31.91 GB, solid state, scheduler mq-deadline
    network_devices: eth0: bcmgenet, 1000 Mbit/s full duplex, MTU 1500
    preemption: PREEMPT
    ");
}

#[test]
fn every_fact_that_is_read_is_listed_and_nearly_every_listed_one_is_read_somewhere() {
    let mut seen: BTreeMap<String, String> = BTreeMap::new();
    for (name, _) in trees::TREES {
        seen.extend(facts(name));
    }
    for name in seen.keys() {
        assert!(FactKind::named(name).is_some(), "`{name}` is read and not listed");
    }
    let missing = FACTS.iter().filter(|fact| fact.theme != Theme::Run && !fact.name.contains('.'));
    let missing: Vec<&str> =
        missing.map(|fact| fact.name).filter(|name| !seen.contains_key(*name)).collect();
    insta::assert_snapshot!(missing.join(" "), @"memory_modules clang rustc go");
}

/// The mark of a tree's machine, and a line a symptom.
fn diagnosed(name: &str) -> String {
    let tree = trees::tree(name);
    let root = Root::at(tree.path());
    let activity = MachineActivity::default();
    let dir = Path::new("/");
    let input = DiagnosisInput { root: &root, dir, room: None, activity: &activity, audited: true };
    let found = diagnose(&input).unwrap();
    let line = |symptom: &plumb_model::Symptom| {
        format!("{} {}: {}", symptom.severity.word(), symptom.name, symptom.evidence)
    };
    let head = format!("{}, {} points", found.grade(), found.points());
    std::iter::once(head).chain(found.symptoms.iter().map(line)).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_laptop_on_battery_is_a_bad_place() {
    insta::assert_snapshot!(diagnosed("laptop"), @"
    F, 15 points
    major governor: powersave in /sys/devices/system/cpu/cpufreq/policy*/scaling_governor
    major battery: discharging, from /sys/class/power_supply/*/status
    minor services: running: cron, packagekitd
    minor irqbalance: irqbalance is running
    minor turbo: 0 in /sys/devices/system/cpu/intel_pstate/no_turbo
    minor smt: 1 in /sys/devices/system/cpu/smt/active
    minor deep-idle: C10 takes 680 µs to exit, from /sys/devices/system/cpu/cpu0/cpuidle/state*/latency
    minor throttled: 311 times since boot, from /sys/devices/system/cpu/cpu0/thermal_throttle/package_throttle_count
    minor huge-pages: always in /sys/kernel/mm/transparent_hugepage/enabled
    minor swapped: 1.15 GiB in use, from /proc/swaps
    minor low-memory: 881 MiB of 15.34 GiB available, from /proc/meminfo
    note timers: enabled: apt-daily.timer, fstrim.timer
    note not-root: user ID 1000, from /proc/self/status
    ");
}

#[test]
fn a_server_that_was_set_up_for_it_is_a_good_one() {
    insta::assert_snapshot!(diagnosed("server"), @"A, 0 points");
}

#[test]
fn a_guest_shows_its_steal() {
    insta::assert_snapshot!(diagnosed("aws"), @"
    C, 5 points
    major steal: 2.6 % of all CPU time since boot, from /proc/stat
    minor virtualised: virtual machine (Amazon EC2)
    minor smt: 1 in /sys/devices/system/cpu/smt/active
    note not-root: user ID 1000, from /proc/self/status
    ");
}

#[test]
fn a_container_shows_its_limits() {
    insta::assert_snapshot!(diagnosed("container"), @"
    F, 18 points
    grave cpu-quota: 1.50 CPUs for plumb's cgroup, throttled 320 times so far
    major one-cpu: only CPU 3, from Cpus_allowed_list in /proc/self/status
    major governor: schedutil in /sys/devices/system/cpu/cpufreq/policy*/scaling_governor
    major clock-source: hpet in /sys/devices/system/clocksource/clocksource0/current_clocksource
    minor turbo: 1 in /sys/devices/system/cpu/cpufreq/boost
    minor smt: 1 in /sys/devices/system/cpu/smt/active
    minor directory: / is on the layers of a container: overlay on overlay, from /proc/self/mountinfo
    note container: running in docker
    note capabilities: root without SYS_ADMIN, SYS_NICE, PERFMON, from /proc/self/status
    ");
}

#[test]
fn a_board_has_a_governor() {
    insta::assert_snapshot!(diagnosed("board"), @"
    C, 3 points
    major governor: ondemand in /sys/devices/system/cpu/cpufreq/policy*/scaling_governor
    note not-root: user ID 1000, from /proc/self/status
    ");
}

#[test]
fn where_nothing_can_be_read_there_is_no_mark() {
    let empty = tempfile::tempdir().unwrap();
    let root = Root::at(empty.path());
    let activity = MachineActivity::default();
    let dir = Path::new("/");
    let input =
        DiagnosisInput { root: &root, dir, room: None, activity: &activity, audited: false };
    assert_eq!(diagnose(&input), None);
}

/// What no file of the kernel says: nothing, signs, numbers that overflow, and these under its own keys.
fn hostile(was: &str) -> Vec<String> {
    let numbers = "18446744073709551615 ".repeat(12);
    let key = |line: &str| line.split([':', ' ', '\t']).next().unwrap_or_default().to_owned();
    let keyed =
        was.lines().map(|line| format!("{}: {numbers}\n{} {numbers}\n", key(line), key(line)));
    let keyed = keyed.collect();
    vec![String::new(), "-1".into(), ": ( ) [ ] ; = \u{0} \u{1b} K".into(), numbers, keyed]
}

#[test]
fn whatever_stands_in_a_file_nothing_breaks() {
    for (name, text) in
        trees::TREES.iter().filter(|(name, _)| ["laptop", "container"].contains(name))
    {
        let tree = trees::tree(name);
        let root = Root::at(tree.path());
        let activity = MachineActivity::default();
        let dir = Path::new("/");
        let input =
            DiagnosisInput { root: &root, dir, room: None, activity: &activity, audited: true };
        for path in text.lines().filter_map(|line| line.strip_prefix("== ")) {
            let file = root.path(path);
            let was = std::fs::read_to_string(&file).unwrap();
            for hostile in hostile(&was) {
                std::fs::write(&file, hostile).unwrap();
                let _ = (machine(&root), environment(&root, dir));
                assert!(diagnose(&input).is_some());
            }
            std::fs::write(&file, was).unwrap();
        }
    }
}
