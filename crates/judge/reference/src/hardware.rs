//! What microarchitectures should reach, in cycles of their clock: figures that others measured or that models of compilers state,
//! each with its source and the sentence that states it.

use plumb_model::{Settings, Value};
use serde::Deserialize;

/// The schema of the files.
pub const HARDWARE_SCHEMA: &str = "plumb.hardware/1";

/// All files. A file is listed here or not read. Hybrid processors are left out: their number does not say which kind of
/// core a CPU is; Arm, because `cpu.frequency` runs on x86 only.
const FILES: &[&str] = &[
    include_str!("../hardware/broadwell.toml"),
    include_str!("../hardware/emerald-rapids.toml"),
    include_str!("../hardware/haswell.toml"),
    include_str!("../hardware/ice-lake-server.toml"),
    include_str!("../hardware/ivy-bridge.toml"),
    include_str!("../hardware/sandy-bridge.toml"),
    include_str!("../hardware/sapphire-rapids.toml"),
    include_str!("../hardware/skylake-server.toml"),
    include_str!("../hardware/skylake.toml"),
    include_str!("../hardware/tiger-lake.toml"),
    include_str!("../hardware/zen-2.toml"),
    include_str!("../hardware/zen-3.toml"),
    include_str!("../hardware/zen-4.toml"),
    include_str!("../hardware/zen-5.toml"),
    include_str!("../hardware/zen.toml"),
];

/// Parameters of which a figure holds for every value: they choose a place for the same work.
const MAY_DIFFER: [&str; 3] = ["placement", "node", "pages"];

/// A microarchitecture and what it should reach.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Microarchitecture {
    /// The format and its version: [`HARDWARE_SCHEMA`].
    pub schema: String,
    /// As its maker calls it: `Zen 3`.
    pub name: String,
    /// The processors that have it.
    #[serde(rename = "cpu")]
    pub cpus: Vec<CpuModels>,
    /// What workloads should take on it.
    #[serde(rename = "figure")]
    pub figures: Vec<HardwareFigure>,
}

/// Processors by the numbers in /proc/cpuinfo.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CpuModels {
    /// The value of `vendor_id`.
    pub vendor: String,
    /// The value of `cpu family`.
    pub family: u64,
    /// Ranges of `model`, both ends included.
    pub models: Vec<(u64, u64)>,
    /// Where these numbers stand.
    pub source: String,
}

/// What a workload should take on a microarchitecture.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct HardwareFigure {
    /// What it is of: `second-level cache`.
    pub name: String,
    /// The workload that measures it.
    pub workload: String,
    /// The metric of that workload: a time per unit of work, or a rate.
    pub metric: String,
    /// Settings that a point must have, as people type them.
    #[serde(default)]
    pub settings: Settings,
    /// The smallest and the largest value of the parameter `size`, in bytes.
    #[serde(default)]
    pub sizes: Option<(u64, u64)>,
    /// Cycles per unit of work.
    pub cycles: f64,
    /// The most cycles that are as expected: other libraries, address translation, neighbours.
    pub most: f64,
    /// The processor on which it was measured, or that the model is of.
    pub measured_on: String,
    /// Who states it.
    pub source: String,
    /// The words that state it.
    pub states: String,
    /// When it was published; empty if the source does not say.
    #[serde(default)]
    pub date: String,
}

/// All microarchitectures, by the names of their files.
///
/// # Errors
/// When a file is faulty, which a test excludes.
pub fn microarchitectures() -> Result<Vec<Microarchitecture>, toml::de::Error> {
    FILES.iter().map(|text| toml::from_str(text)).collect()
}

/// The microarchitecture of the first processor in this text of /proc/cpuinfo; None if no file has its number.
#[must_use]
pub fn microarchitecture(cpuinfo: &str) -> Option<Microarchitecture> {
    let known = microarchitectures().ok()?;
    known.into_iter().find(|known| known.cpus.iter().any(|cpus| cpus.contains(cpuinfo)))
}

impl CpuModels {
    fn contains(&self, cpuinfo: &str) -> bool {
        let model = number(cpuinfo, "model");
        field(cpuinfo, "vendor_id") == Some(self.vendor.as_str())
            && number(cpuinfo, "cpu family") == Some(self.family)
            && model.is_some_and(|model| {
                self.models.iter().any(|(first, last)| (*first..=*last).contains(&model))
            })
    }
}

impl HardwareFigure {
    /// Whether a point of its workload with these settings measures it. `wanted` are all settings of the point that
    /// [`Self::settings`] name: what they do not name must have its default, because it may change the work.
    #[must_use]
    pub fn is_of(&self, wanted: &Settings, settings: &Settings) -> bool {
        let size = settings.get("size").and_then(Value::integer);
        let is_of_size = match self.sizes {
            None => true,
            Some((least, most)) => size.is_some_and(|size| (least..=most).contains(&size)),
        };
        let may_differ =
            |name: &str| MAY_DIFFER.contains(&name) || (name == "size" && self.sizes.is_some());
        is_of_size
            && settings
                .iter()
                .all(|(name, value)| may_differ(name) || wanted.get(name) == Some(value))
    }
}

/// The first value of a field of /proc/cpuinfo.
fn field<'t>(cpuinfo: &'t str, name: &str) -> Option<&'t str> {
    let lines = cpuinfo.lines().filter_map(|line| line.split_once(':'));
    let mut values = lines.filter(|(key, _)| key.trim() == name);
    values.next().map(|(_, value)| value.trim())
}

/// A field that is a whole number.
fn number(cpuinfo: &str, name: &str) -> Option<u64> {
    field(cpuinfo, name)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::{FILES, HARDWARE_SCHEMA, microarchitecture, microarchitectures};

    #[test]
    fn every_figure_has_a_source_and_a_width() {
        let all = microarchitectures().unwrap();
        assert_eq!(all.len(), FILES.len());
        for known in all {
            let name = &known.name;
            assert_eq!(known.schema, HARDWARE_SCHEMA, "{name}");
            assert!(known.cpus.iter().all(|cpus| !cpus.source.is_empty()), "{name}");
            for figure in known.figures {
                let of = format!("{name}: {}", figure.name);
                assert!(figure.cycles > 0.0 && figure.most > figure.cycles, "{of}");
                // Wider than a factor of four says nothing.
                assert!(figure.most <= 4.0 * figure.cycles, "{of}");
                for text in [&figure.measured_on, &figure.source, &figure.states] {
                    assert!(!text.is_empty(), "{of}");
                }
            }
        }
    }

    #[test]
    fn no_processor_has_two_microarchitectures() {
        let all = microarchitectures().unwrap();
        for vendor in ["GenuineIntel", "AuthenticAMD"] {
            for family in [6, 23, 25, 26] {
                for model in 0..=255 {
                    let text = format!(
                        "vendor_id\t: {vendor}\ncpu family\t: {family}\nmodel\t\t: {model}\nmodel name\t: x\n"
                    );
                    let found = all
                        .iter()
                        .filter(|known| known.cpus.iter().any(|cpus| cpus.contains(&text)));
                    assert!(found.count() <= 1, "{text}");
                }
            }
        }
    }

    fn of(cpuinfo: &str) -> Option<String> {
        microarchitecture(cpuinfo).map(|known| known.name)
    }

    fn x86(vendor: &str, family: u32, model: u32) -> Option<String> {
        of(&format!("vendor_id : {vendor}\ncpu family : {family}\nmodel : {model}\n"))
    }

    #[test]
    fn processors_are_known_by_their_numbers() {
        assert_eq!(x86("AuthenticAMD", 25, 1), Some("Zen 3".into()));
        assert_eq!(x86("AuthenticAMD", 25, 17), Some("Zen 4".into()));
        assert_eq!(x86("GenuineIntel", 6, 85), Some("Skylake server".into()));
        // Hybrid: the number does not say which core it is.
        assert_eq!(x86("GenuineIntel", 6, 151), None);
        // A processor that only an emulator has.
        assert_eq!(x86("GenuineIntel", 15, 6), None);
        // The clock is measured on x86 only, so there is no table for Arm.
        assert_eq!(of("processor : 0\nCPU implementer : 0x41\nCPU part : 0xd0c\n"), None);
        assert_eq!(of(""), None);
    }
}
