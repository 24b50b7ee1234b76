//! Monitors on trees of several kernels, at two moments each (trees/README.md), and next to another
//! reader of the same files.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[expect(dead_code, reason = "the machines are for other tests")]
#[path = "../../../base/machine/tests/trees/mod.rs"]
mod trees;

use std::collections::BTreeMap;

use plumb_machine::Root;
use plumb_model::{CounterKind, Readings};
use plumb_monitors::interference;
use plumb_monitors::{MonitorThreads, PacedMonitor};
use procfs_core::{DiskStats, ExplicitSystemInfo, FromBufRead, FromBufReadSI, FromRead};

macro_rules! pair {
    ($name:literal) => {
        (
            include_str!(concat!("trees/watch-", $name, ".tree")),
            include_str!(concat!("trees/watch-", $name, "-later.tree")),
        )
    };
}

/// What all monitors read from one moment of a tree to the other, and those that are not there.
fn between((before, after): (&str, &str)) -> (Readings, BTreeMap<String, String>) {
    let folder = tempfile::tempdir().unwrap();
    trees::lay_out(before, folder.path());
    let every = plumb_monitors::ALL
        .iter()
        .filter(|monitor| !["tree", "latency", "perf"].contains(&monitor.name));
    let wanted: Vec<PacedMonitor> =
        every.map(|monitor| PacedMonitor { monitor, hz: 0.1 }).collect();
    let mut recorder = MonitorThreads::start(&Root::at(folder.path()), &wanted);
    recorder.begin(None);
    // The slow thread reads for itself: it must have seen the first moment.
    std::thread::sleep(std::time::Duration::from_millis(100));
    trees::lay_out(after, folder.path());
    let readings = recorder.end();
    let gaps = recorder.unsupported().iter().map(|gap| (gap.monitor.clone(), gap.why.clone()));
    (readings, gaps.collect())
}

fn amounts(readings: &Readings, names: &[&str]) -> Vec<u64> {
    let amount = |name: &&str| {
        readings.trace(name).unwrap_or_else(|| panic!("no {name}: {readings:?}")).amount()
    };
    names.iter().map(amount).collect()
}

/// Rules that need no more than the two moments; shares depend on the length of the test.
fn rules(readings: &Readings) -> Vec<&'static str> {
    interference::find(readings).iter().map(|found| found.rule).collect()
}

#[test]
fn a_guest_that_is_robbed_and_swaps() {
    let (readings, unsupported) = between(pair!("guest-5.10"));
    let names = [
        "stat.steal",
        "stat.intr",
        "vmstat.pswpin",
        "psi.memory.some",
        "diskstats.nvme0n1.written_sectors",
        "softnet.processed",
    ];
    assert_eq!(amounts(&readings, &names), [60, 1000, 8, 900_000, 2000, 256]);
    assert!(readings.trace("vmstat.nr_free_pages").is_none(), "levels are in meminfo");
    for rule in ["steal", "swap-in", "memory-pressure"] {
        assert!(rules(&readings).contains(&rule), "{rule}");
    }
    for (monitor, why) in [("cpufreq", "no CPU frequency"), ("powercap", "no RAPL")] {
        assert!(unsupported[monitor].contains(why), "{unsupported:?}");
    }
    assert!(unsupported["schedstat"].contains("this kernel has no /proc/schedstat"));
}

#[test]
fn a_server_with_sensors_a_quota_and_nfs() {
    let (readings, _) = between(pair!("server-6.1"));
    let names = [
        "schedstat.run",
        "cgroup.throttled",
        "cgroup.io.read",
        "thermal.throttles",
        "powercap.intel-rapl:0-package-0.energy",
        "mountstats./srv/data.READ.ops",
        "mountstats./srv/data.READ.rtt",
    ];
    let energy = 262_143_328_850 - 262_143_328_000 + 150;
    assert_eq!(amounts(&readings, &names), [800_000_000, 150_000, 4096, 2, energy, 40, 200]);
    let gauges = [
        ("cpufreq.max", 3_400_000, 2_600_000),
        ("cpufreq.min", 800_000, 800_000),
        ("thermal.x86_pkg_temp.temperature", 61_000, 91_000),
        ("hwmon.hwmon0-coretemp.temp1", 61_000, 91_000),
        ("hwmon.hwmon1-nct6775.fan1", 1200, 1200),
    ];
    for (name, first, last) in gauges {
        let readings = &readings.trace(name).unwrap().readings;
        assert_eq!((readings[0].value, readings.last().unwrap().value), (first, last), "{name}");
    }
    assert!(readings.trace("thermal.acpitz.temperature").is_none(), "below freezing");
    let rules = rules(&readings);
    assert!(rules.contains(&"throttled") && rules.contains(&"heat"), "{rules:?}");
}

#[test]
fn nfs_as_a_kernel_told_of_it() {
    let (readings, unsupported) = between(pair!("captured-nfs-6.1"));
    let of = |name| format!("mountstats./run/guest/nfs.{name}");
    let names = ["READ.ops", "READ.received", "WRITE.ops", "WRITE.sent", "WRITE.rtt"].map(of);
    let amounts = amounts(&readings, &names.each_ref().map(String::as_str));
    assert_eq!(amounts, [830, 985_788, 453, 979_032, 1287]);
    assert!(!unsupported.contains_key("mountstats"), "{unsupported:?}");
}

#[test]
fn an_old_kernel_with_version_1_of_everything() {
    let (readings, unsupported) = between(pair!("old-4.19"));
    let names = ["schedstat.run", "diskstats.sda.writes", "cgroup.throttled", "cgroup.io.read"];
    assert_eq!(amounts(&readings, &names), [900, 60, 200_000, 8192]);
    assert!(unsupported["psi"].contains("no /proc/pressure"), "{unsupported:?}");
    assert!(rules(&readings).contains(&"throttled"));
}

#[test]
fn a_new_kernel_with_columns_that_nobody_knows() {
    let (readings, _) = between(pair!("new-7.0"));
    let names =
        ["stat.softirqs", "schedstat.run", "diskstats.vda.flushes", "psi.cpu.some", "psi.irq.full"];
    assert_eq!(amounts(&readings, &names), [50, 20, 3, 20, 7]);
}

/// The text of a file in a tree.
fn file<'t>(tree: &'t str, path: &str) -> &'t str {
    let start = format!("== {path}\n");
    let (_, rest) = tree.split_once(&start).unwrap();
    rest.split("== /").next().unwrap()
}

/// The difference that another reader sees between the two moments; nothing if it is none.
fn moved(of: impl Fn(&str) -> u64, (before, after): (&str, &str)) -> Option<u64> {
    Some(of(after) - of(before)).filter(|difference| *difference > 0)
}

/// The two moments of every machine that was captured.
const CAPTURED: [(&str, &str); 3] =
    [pair!("captured-6.1"), pair!("captured-6.18"), pair!("captured-7.3")];

#[test]
fn captured_machines_read_as_the_procfs_crate_reads_them() {
    for pair in CAPTURED {
        let (readings, _) = between(pair);
        let ours = |name: &str| readings.trace(name).map(plumb_model::Trace::amount);
        for (name, theirs) in of_procfs(pair) {
            assert_eq!(ours(&name), theirs, "{name} of {}", file(pair.0, "/proc/version"));
        }
        for (name, of) in [
            ("meminfo.MemFree", (|memory| memory.mem_free) as fn(&procfs_core::Meminfo) -> u64),
            ("meminfo.Cached", |memory| memory.cached),
            ("meminfo.Dirty", |memory| memory.dirty),
        ] {
            let memory = |tree: &str| {
                procfs_core::Meminfo::from_buf_read(file(tree, "/proc/meminfo").as_bytes()).unwrap()
            };
            let mean =
                [pair.0, pair.1].iter().map(|text| of(&memory(text)) / 1024).sum::<u64>() / 2;
            assert_eq!(ours(name), Some(mean), "{name}");
            assert_eq!(readings.trace(name).unwrap().counter.kind, CounterKind::Gauge);
        }
    }
}

/// What the procfs crate says that each counter moved by.
fn of_procfs(pair: (&str, &str)) -> Vec<(String, Option<u64>)> {
    let info = ExplicitSystemInfo {
        boot_time_secs: 0,
        ticks_per_second: 100,
        page_size: 4096,
        is_little_endian: true,
    };
    let stat = |tree: &str| {
        procfs_core::KernelStats::from_buf_read(file(tree, "/proc/stat").as_bytes(), &info).unwrap()
    };
    let traffic = |tree: &str| {
        let text = file(tree, "/proc/net/dev");
        procfs_core::net::InterfaceDeviceStatus::from_buf_read(text.as_bytes()).unwrap().0["lo"]
            .clone()
    };
    let pressure = |tree: &str| {
        let text = file(tree, "/proc/pressure/cpu");
        procfs_core::CpuPressure::from_read(text.as_bytes()).unwrap().some.total
    };
    let faults = |tree: &str| {
        let text = file(tree, "/proc/vmstat");
        let line = text.lines().find_map(|line| line.strip_prefix("pgfault "));
        line.unwrap().parse().unwrap()
    };
    let mut all = vec![
        ("stat.user".to_owned(), moved(|tree| stat(tree).total.user, pair)),
        ("stat.system".to_owned(), moved(|tree| stat(tree).total.system, pair)),
        ("stat.idle".to_owned(), moved(|tree| stat(tree).total.idle, pair)),
        ("stat.ctxt".to_owned(), moved(|tree| stat(tree).ctxt, pair)),
        ("stat.processes".to_owned(), moved(|tree| stat(tree).processes, pair)),
        ("net.lo.rx_bytes".to_owned(), moved(|tree| traffic(tree).recv_bytes, pair)),
        ("net.lo.tx_packets".to_owned(), moved(|tree| traffic(tree).sent_packets, pair)),
        ("psi.cpu.some".to_owned(), moved(pressure, pair)),
        ("vmstat.pgfault".to_owned(), moved(faults, pair)),
    ];
    let disks =
        |tree: &str| DiskStats::from_buf_read(file(tree, "/proc/diskstats").as_bytes()).unwrap().0;
    for disk in disks(pair.0) {
        let now =
            |tree: &str| disks(tree).into_iter().find(|other| other.name == disk.name).unwrap();
        let name = |field: &str| format!("diskstats.{}.{field}", disk.name);
        all.push((name("writes"), moved(|tree| now(tree).writes, pair)));
        all.push((name("queue"), moved(|tree| now(tree).weighted_time_in_progress, pair)));
    }
    all
}

#[test]
fn captured_guests_were_held_up_by_their_quota() {
    for pair in [pair!("captured-6.1"), pair!("captured-7.3")] {
        let (readings, unsupported) = between(pair);
        assert!(rules(&readings).contains(&"throttled"), "{:?}", rules(&readings));
        assert!(!unsupported.contains_key("schedstat"), "{unsupported:?}");
        let [run, cpu] = amounts(&readings, &["schedstat.run", "stat.user"])[..] else { panic!() };
        assert!(run > 0 && cpu > 0, "{run} {cpu}");
    }
}

#[test]
fn no_parser_stumbles_over_the_text_of_another() {
    let trees = [pair!("server-6.1"), pair!("old-4.19"), pair!("guest-5.10")];
    for (before, after) in trees.into_iter().chain(CAPTURED) {
        for part in before.split("== ").chain(after.split("== ")) {
            for cut in [0, part.len() / 3, part.len() / 2, part.len()] {
                let cut = (0..=cut).rev().find(|&at| part.is_char_boundary(at)).unwrap();
                let mut found = 0;
                plumb_monitors::parse_all(&part[..cut], &mut |_, _| found += 1);
                assert!(found < 5_000);
            }
        }
    }
}
