//! What plumb reads of other machines, laid out from `trees/`.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod trees;

use std::collections::BTreeMap;
use std::path::Path;

use plumb_host::{Root, environment, machine};
use plumb_model::{FACTS, FactKind, Theme};

const TREES: [(&str, &str); 5] = [
    ("laptop", include_str!("trees/laptop.tree")),
    ("server", include_str!("trees/server.tree")),
    ("aws", include_str!("trees/aws.tree")),
    ("container", include_str!("trees/container.tree")),
    ("board", include_str!("trees/board.tree")),
];

/// The facts of a tree's machine, with the environment of its root directory.
fn facts(name: &str) -> BTreeMap<String, String> {
    let tree = tempfile::tempdir().unwrap();
    let (_, text) = TREES.iter().find(|(tree, _)| *tree == name).unwrap();
    trees::lay_out(text, tree.path());
    let root = Root::at(tree.path());
    let mut facts = environment(&root, Path::new("/")).facts;
    facts.extend(machine(&root).facts);
    facts
}

/// The facts of these names, a line each; `-` where one was not read.
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
    for (name, _) in TREES {
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
