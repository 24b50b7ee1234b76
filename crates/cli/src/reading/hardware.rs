//! What the results should be by the microarchitecture of this machine.

use std::path::Path;

use plumb_machine::{DiskLink, Root, disk_link};
use plumb_model::{Expectation, PlannedPoint, Point, Settings, has_value};
use plumb_reference::{HardwareFigure, Microarchitecture, microarchitecture};

/// Figures in cycles for every point of a run that measures one; nothing if no table has this processor. A result is compared
/// with them if the run also measures the clock (`cpu.frequency`).
pub fn expectations(points: &[PlannedPoint]) -> Vec<Expectation> {
    let cpuinfo = Root::from_environment().text("/proc/cpuinfo").unwrap_or_default();
    let Some(known) = microarchitecture(&cpuinfo) else { return Vec::new() };
    of_microarchitecture(&known, is_guest(&cpuinfo), points)
}

/// What the link of the disk carries that holds this folder, for every point that reads or writes files there; nothing if plumb
/// does not know the link.
pub fn limits(points: &[PlannedPoint], folder: &Path) -> Vec<Expectation> {
    match disk_link(&Root::from_environment(), folder) {
        Some(link) => of_link(&link, points),
        None => Vec::new(),
    }
}

fn of_link(link: &DiskLink, points: &[PlannedPoint]) -> Vec<Expectation> {
    let mut all = Vec::new();
    for planned in points.iter().filter(|planned| uses_link(planned)) {
        let Some(metric) = planned.description.primary() else { continue };
        all.push(Expectation {
            of: planned.point.series(&metric.name),
            value: link.bytes_per_s,
            range: None,
            reference: None,
            in_cycles: false,
            limit: Some(format!("{} of {}", link.name, link.disk)),
        });
    }
    all
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
    use plumb_machine::DiskLink;
    use plumb_model::{Expectation, PlannedPoint, Point, Program, Settings, Value};
    use plumb_reference::{microarchitecture, microarchitectures};

    use super::{is_guest, of_link, of_microarchitecture};

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
