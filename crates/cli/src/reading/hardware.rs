//! What the results should be by the hardware of this machine: its microarchitecture, memory channels and links.

use std::collections::BTreeMap;
use std::net::{IpAddr, ToSocketAddrs};
use std::path::Path;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use plumb_machine::{
    DiskLink, MemoryChannels, NetworkLink, Root, disk_link, memory_channels, network_link,
};
use plumb_model::{Expectation, FarEnd, Metric, PlannedPoint, Point, Settings, Value, has_value};
use plumb_reference::{HardwareFigure, Microarchitecture, microarchitecture};

/// The bytes that a point of memory works on are so many times those of all last-level caches, before the channels limit it.
const BEYOND_CACHES: u64 = 4;

/// How long a name server may take to say where the other machine is.
const LONGEST_LOOKUP: Duration = Duration::from_secs(1);

/// Figures in cycles for every point of a run that measures one; nothing if no table has this processor. A result is compared
/// with them if the run also measures the clock (`cpu.frequency`).
pub fn expectations(points: &[PlannedPoint]) -> Vec<Expectation> {
    let cpuinfo = Root::from_environment().text("/proc/cpuinfo").unwrap_or_default();
    let Some(known) = microarchitecture(&cpuinfo) else { return Vec::new() };
    of_microarchitecture(&known, is_guest(&cpuinfo), points)
}

/// What the memory channels, the network link and the link of the disk that holds this folder carry, for every point that is
/// limited by one; nothing of what plumb does not know. Without a folder, files are on a medium that plumb makes.
pub fn limits(points: &[PlannedPoint], folder: Option<&Path>) -> Vec<Expectation> {
    let root = Root::from_environment();
    let mut all = Vec::new();
    if let Some(link) = folder.and_then(|folder| disk_link(&root, folder)) {
        all.extend(of_link(&link, points));
    }
    // The firmware of a guest is made up.
    let is_guest = is_guest(&root.text("/proc/cpuinfo").unwrap_or_default());
    if let Some(channels) = memory_channels(&root).filter(|_| !is_guest) {
        all.extend(of_channels(&channels, points));
    }
    // Several points with one far end need one lookup.
    let mut links: BTreeMap<&FarEnd, Option<NetworkLink>> = BTreeMap::new();
    for planned in points.iter().filter(|planned| sends_one_way(planned)) {
        let Some(far_end) = &planned.far_end else { continue };
        let link = links
            .entry(far_end)
            .or_insert_with(|| address(far_end).and_then(|address| network_link(&root, address)));
        all.extend(link.as_ref().and_then(|link| of_network(link, planned)));
    }
    all
}

fn of_link(link: &DiskLink, points: &[PlannedPoint]) -> Vec<Expectation> {
    let limited = points.iter().filter(|planned| uses_link(planned));
    limited
        .filter_map(|planned| {
            let metric = planned.description.primary()?;
            let name = format!("{} of {}", link.name, link.disk);
            Some(limit(planned, metric, link.bytes_per_s, name))
        })
        .collect()
}

/// The channels limit arrays that are far larger than the caches.
fn of_channels(channels: &MemoryChannels, points: &[PlannedPoint]) -> Vec<Expectation> {
    let limited = points.iter().filter(|planned| !planned.is_ceiling);
    limited
        .filter_map(|planned| {
            let use_of_memory = MemoryUse::of(planned)?;
            let is_large =
                use_of_memory.bytes >= channels.cache_bytes.saturating_mul(BEYOND_CACHES).max(1);
            let metric = planned.description.primary().filter(|_| is_large)?;
            let most = channels.bytes_per_s / use_of_memory.moved_per_byte;
            Some(limit(planned, metric, most, channels.name.clone()))
        })
        .collect()
}

fn of_network(link: &NetworkLink, planned: &PlannedPoint) -> Option<Expectation> {
    let metric = planned.description.primary()?;
    Some(limit(planned, metric, link.tcp_bytes_per_s, link.name.clone()))
}

fn limit(planned: &PlannedPoint, metric: &Metric, value: f64, name: String) -> Expectation {
    Expectation {
        of: planned.point.series(&metric.name),
        value,
        range: None,
        reference: None,
        in_cycles: false,
        limit: Some(name),
    }
}

/// How a point uses memory.
struct MemoryUse {
    /// Bytes of all arrays of all threads.
    bytes: u64,
    /// Bytes that the channels move at least for each byte that the point counts.
    moved_per_byte: f64,
}

impl MemoryUse {
    /// None if the point does not measure the bandwidth of memory.
    fn of(planned: &PlannedPoint) -> Option<Self> {
        let (arrays, moved_per_byte) = match planned.point.workload.as_str() {
            // A copy is counted once, but read and written.
            "memory.copy" => (2, 2.0),
            // Ordinary stores also read what they overwrite, but the CPU may avoid that.
            "memory.read" | "memory.write" => (1, 1.0),
            _ => return None,
        };
        let settings = &planned.point.settings;
        let threads = settings.get("threads").and_then(Value::integer).unwrap_or(1);
        let bytes = settings.get("size")?.integer()?.saturating_mul(threads).saturating_mul(arrays);
        Some(Self { bytes, moved_per_byte })
    }
}

/// Whether a point sends a stream in one direction to another machine.
fn sends_one_way(planned: &PlannedPoint) -> bool {
    let settings = &planned.point.settings;
    planned.point.workload == "network.tcp"
        && !planned.is_ceiling
        && (has_value(settings, "direction", "up") || has_value(settings, "direction", "down"))
}

/// The first address of the other machine. None if its name has none, as an alias of ssh, or if no name server answers in time: the
/// link is not worth a longer wait.
fn address(far_end: &FarEnd) -> Option<IpAddr> {
    let host = match far_end {
        FarEnd::Ssh { destination, .. } => {
            destination.rsplit_once('@').map_or(destination.as_str(), |(_, host)| host)
        }
        FarEnd::Peer { host, .. } => host.as_str(),
    };
    if let Ok(address) = host.parse() {
        return Some(address);
    }
    let host = host.to_owned();
    let (sender, receiver) = mpsc::channel();
    // A lookup cannot be interrupted. Nobody waits for this thread.
    let lookup = move || {
        let found = (host.as_str(), 0).to_socket_addrs().ok().and_then(|mut all| all.next());
        // If the time is over, nobody receives it.
        let _ = sender.send(found.map(|address| address.ip()));
    };
    thread::Builder::new().spawn(lookup).ok()?;
    receiver.recv_timeout(LONGEST_LOOKUP).ok().flatten()
}

/// Whether a point moves bytes in one direction between memory and the disk of the target directory.
fn uses_link(planned: &PlannedPoint) -> bool {
    let settings = &planned.point.settings;
    planned.point.workload == "storage.sequential"
        && planned.far_end.is_none()
        && !planned.is_ceiling
        && planned.preparation.iter().all(|preparation| preparation.medium().is_none())
        && !has_value(settings, "place", "memory")
        // Reads and writes at once use both directions.
        && !has_value(settings, "operation", "mixed")
        // A file that is named may be on another disk.
        && has_value(settings, "file", "")
}

/// Whether a hypervisor says what processor this is.
fn is_guest(cpuinfo: &str) -> bool {
    let mut flags = cpuinfo.lines().filter(|line| line.starts_with("flags"));
    flags.next().is_some_and(|line| line.split_whitespace().any(|flag| flag == "hypervisor"))
}

fn of_microarchitecture(
    known: &Microarchitecture,
    is_guest: bool,
    points: &[PlannedPoint],
) -> Vec<Expectation> {
    let name = match is_guest {
        true => format!("{} as reported by the hypervisor", known.name),
        false => known.name.clone(),
    };
    let mut all = Vec::new();
    for figure in &known.figures {
        let of_workload = points.iter().filter(|planned| {
            planned.point.workload == figure.workload
                && planned.point.conditions.is_empty()
                && planned.far_end.is_none()
                // Nobody asked whether a ceiling is as fast as it should be.
                && !planned.is_ceiling
        });
        for planned in of_workload {
            let Some(wanted) = settings(figure, planned) else { continue };
            let has_metric = planned.description.metric(&figure.metric).is_some();
            if has_metric && figure.is_of(&wanted, &planned.point.settings) {
                all.push(Expectation {
                    of: planned.point.series(&figure.metric),
                    value: figure.cycles,
                    range: Some((figure.cycles, figure.most)),
                    reference: Some(name.clone()),
                    in_cycles: true,
                    limit: None,
                });
            }
        }
    }
    all
}

/// All settings of the point that a figure names; None if the workload does not have them.
fn settings(figure: &HardwareFigure, planned: &PlannedPoint) -> Option<Settings> {
    Some(Point::new(&planned.description, &figure.settings, 1).ok()?.settings)
}

#[cfg(test)]
mod tests {
    use plumb_machine::{DiskLink, MemoryChannels, NetworkLink};
    use plumb_model::{Expectation, PlannedPoint, Point, Program, Settings, Value};
    use plumb_reference::{microarchitecture, microarchitectures};

    use super::{is_guest, of_channels, of_link, of_microarchitecture, of_network, sends_one_way};

    fn planned(workload: &str, settings: &[(&str, &str)]) -> PlannedPoint {
        let description = plumb_workloads::find(workload).unwrap().describe();
        let typed: Settings = settings
            .iter()
            .map(|(name, word)| ((*name).to_owned(), Value::Text((*word).to_owned())))
            .collect();
        let point = Point::new(&description, &typed, 2).unwrap();
        PlannedPoint::new(point, description, Program { argv: Vec::new() })
    }

    const GUEST: &str =
        "vendor_id : AuthenticAMD\ncpu family : 25\nmodel : 1\nflags : fpu hypervisor aes\n";

    /// What a point should reach on a guest of this kind.
    fn of(workload: &str, settings: &[(&str, &str)]) -> Vec<Expectation> {
        let known = microarchitecture(GUEST).unwrap();
        of_microarchitecture(&known, is_guest(GUEST), &[planned(workload, settings)])
    }

    #[test]
    fn sizes_within_a_cache_are_expected_in_cycles() {
        let known = microarchitecture(GUEST).unwrap();
        let first = of("memory.latency", &[("size", "16KiB")]);
        assert_eq!(first.len(), 1, "{first:?}");
        assert!(first[0].in_cycles);
        assert_eq!((first[0].value, first[0].range), (4.0, Some((4.0, 5.0))));
        assert_eq!(first[0].of, "memory.latency:size=16KiB/latency");
        assert_eq!(first[0].reference.as_deref(), Some("Zen 3 as reported by the hypervisor"));
        assert_eq!(of("memory.latency", &[("size", "128KiB")])[0].value, 12.0);
        // Between the caches, and beyond them, no table has a figure.
        assert!(of("memory.latency", &[("size", "32KiB")]).is_empty());
        assert!(of("memory.latency", &[]).is_empty());
        assert_eq!(of("crypto.aead", &[])[0].value, 0.383);
        assert!(of("crypto.aead", &[("bytes", "1KiB")]).is_empty());
        // Other work, or another library.
        let others =
            [("aad", "64KiB"), ("direction", "open"), ("provider", "rustcrypto"), ("threads", "2")];
        for other in others {
            assert!(of("crypto.aead", &[other]).is_empty(), "{other:?}");
        }
        assert_eq!(of("crypto.aead", &[("placement", "same-cpu")]).len(), 1);
        let ceiling = PlannedPoint { is_ceiling: true, ..planned("crypto.aead", &[]) };
        assert!(of_microarchitecture(&known, true, &[ceiling]).is_empty());
    }

    #[test]
    fn a_link_limits_files_of_the_target_directory_alone() {
        let link = DiskLink {
            disk: "nvme0n1".to_owned(),
            name: "PCIe 4.0 ×4".to_owned(),
            bytes_per_s: 7.9e9,
            best: None,
        };
        let limits =
            |settings: &[(&str, &str)]| of_link(&link, &[planned("storage.sequential", settings)]);
        let read = limits(&[]);
        assert_eq!(read.len(), 1);
        assert_eq!(read[0].limit.as_deref(), Some("PCIe 4.0 ×4 of nvme0n1"));
        assert_eq!(read[0].value, 7.9e9);
        assert_eq!(limits(&[("operation", "write")]).len(), 1);
        assert!(limits(&[("place", "memory")]).is_empty());
        assert!(limits(&[("file", "/mnt/x")]).is_empty());
        assert!(of_link(&link, &[planned("storage.random", &[])]).is_empty());
    }

    #[test]
    fn memory_channels_limit_arrays_beyond_the_caches() {
        let channels = MemoryChannels {
            name: "2 channels of DDR4 at 3200 MT/s".to_owned(),
            bytes_per_s: 51.2e9,
            cache_bytes: 32 << 20,
        };
        let limits = |workload: &str, settings: &[(&str, &str)]| {
            of_channels(&channels, &[planned(workload, settings)])
        };
        let copy = limits("memory.copy", &[]);
        assert_eq!((copy.len(), copy[0].value), (1, 25.6e9));
        assert_eq!(copy[0].limit.as_deref(), Some("2 channels of DDR4 at 3200 MT/s"));
        assert_eq!(limits("memory.read", &[("size", "128MiB")])[0].value, 51.2e9);
        assert_eq!(limits("memory.read", &[("size", "64MiB"), ("threads", "2")]).len(), 1);
        // A part of these stays in the caches.
        assert!(limits("memory.read", &[("size", "64MiB")]).is_empty());
        assert!(limits("memory.copy", &[("size", "8MiB")]).is_empty());
        assert!(limits("memory.latency", &[]).is_empty());
    }

    #[test]
    fn the_network_link_limits_streams_in_one_direction() {
        let link = NetworkLink { name: "1000 Mbit/s of eth0".to_owned(), tcp_bytes_per_s: 117.7e6 };
        let stream = planned("network.tcp", &[]);
        assert!(sends_one_way(&stream));
        let expected = of_network(&link, &stream).unwrap();
        assert_eq!(expected.of, "network.tcp/throughput");
        assert_eq!(expected.limit.as_deref(), Some("1000 Mbit/s of eth0"));
        assert!(!sends_one_way(&planned("network.tcp", &[("direction", "both")])));
        assert!(!sends_one_way(&planned("network.rr", &[])));
    }

    #[test]
    fn a_far_end_has_an_address_or_none() {
        let of = |text: &str| super::address(&text.parse().unwrap());
        assert_eq!(of("peer:192.0.2.7"), Some("192.0.2.7".parse().unwrap()));
        assert_eq!(of("ssh:root@[2001:db8::7]:2222"), Some("2001:db8::7".parse().unwrap()));
        assert!(of("ssh:localhost").is_some_and(|address| address.is_loopback()));
        assert_eq!(of("ssh:no-such-host.invalid"), None);
    }

    /// Every figure names a workload, a metric and settings that exist.
    #[test]
    fn figures_are_of_workloads_that_exist() {
        for known in microarchitectures().unwrap() {
            for figure in &known.figures {
                let of = format!("{}: {}", known.name, figure.name);
                let workload = plumb_workloads::find(&figure.workload);
                let description = workload.unwrap_or_else(|| panic!("{of}")).describe();
                assert!(description.metric(&figure.metric).is_some(), "{of}");
                Point::new(&description, &figure.settings, 1)
                    .unwrap_or_else(|error| panic!("{of}: {error}"));
            }
        }
    }
}
