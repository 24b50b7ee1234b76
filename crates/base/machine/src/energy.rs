//! The energy counters of a machine (powercap: RAPL on Intel and AMD, SCMI on Arm), and which of them may be added.
//!
//! `/sys/class/powercap` lists a zone and its parts side by side: a package, its cores and its graphics, and on some machines
//! the whole platform (`psys`) that contains the packages. Sums of these would count energy twice. Memory (`dram`) is listed
//! below a package, although the counter of the package does not contain it; it is not counted either.

use std::time::{Duration, Instant};

use crate::root::Root;

const FOLDER: &str = "/sys/class/powercap";
/// The zone of the whole platform: it contains the packages.
const PLATFORM: &str = "psys";

/// A zone with an energy counter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EnergyZone {
    /// Its folder and its name, as counters are called: `intel-rapl:0-package-0`.
    pub counter: String,
    /// The file with its counter.
    pub file: String,
    /// The counter starts again after this value, in microjoules.
    pub range_uj: u64,
    /// Its folder: `intel-rapl:0`.
    folder: String,
    /// Its name: `package-0`.
    name: String,
}

impl EnergyZone {
    /// All zones of this machine.
    #[must_use]
    pub fn all(root: &Root) -> Vec<Self> {
        let mut zones = Vec::new();
        for folder in root.names(FOLDER) {
            let path = format!("{FOLDER}/{folder}");
            let Some(range_uj) = root.number(&format!("{path}/max_energy_range_uj")) else {
                continue;
            };
            let name = root.text(&format!("{path}/name")).unwrap_or_default();
            zones.push(Self {
                counter: format!("{folder}-{name}"),
                file: format!("{path}/energy_uj"),
                range_uj,
                folder,
                name,
            });
        }
        zones
    }

    /// The zones whose sum is the energy of the machine's processors: those that contain no other and are in none. If the
    /// same package has two drivers (`intel-rapl` and `intel-rapl-mmio`), one of them is counted.
    ///
    /// # Errors
    /// If there is no zone.
    pub fn counted(root: &Root) -> Result<Vec<Self>, String> {
        let mut whole = Self::all(root);
        // `intel-rapl:0:1` is a part of `intel-rapl:0`.
        whole.retain(|zone| zone.folder.matches(':').count() == 1);
        let (platforms, mut packages): (Vec<Self>, Vec<Self>) =
            whole.into_iter().partition(|zone| zone.is_platform());
        // `intel-rapl` reads the registers of the CPU, and drivers with longer names read the same counters elsewhere.
        let drivers = packages.iter().map(EnergyZone::driver);
        let driver = drivers.min_by_key(|driver| driver.len()).map(str::to_owned);
        packages.retain(|zone| Some(zone.driver()) == driver.as_deref());
        match (packages.is_empty(), platforms.is_empty()) {
            (false, _) => Ok(packages),
            (true, false) => Ok(platforms),
            (true, true) => Err("this machine has no energy counters (no RAPL)".to_owned()),
        }
    }

    /// The energy since the counter last started from zero, in microjoules.
    ///
    /// # Errors
    /// If the counter cannot be read: since Linux 5.10, only root can.
    pub fn read_uj(&self, root: &Root) -> Result<u64, String> {
        let text = std::fs::read_to_string(root.path(&self.file))
            .map_err(|error| format!("{}: {error}", self.file))?;
        text.trim().parse().map_err(|_| format!("{}: `{}` is not a number", self.file, text.trim()))
    }

    /// The energy between two readings of the counter, in microjoules: it may have started again once.
    #[must_use]
    pub fn moved_uj(&self, from_uj: u64, to_uj: u64) -> u64 {
        if to_uj >= from_uj {
            to_uj - from_uj
        } else {
            self.range_uj.saturating_sub(from_uj).saturating_add(to_uj)
        }
    }

    /// Whether it is the whole platform: `psys`, or `psys-1` on machines with several packages.
    fn is_platform(&self) -> bool {
        let rest = self.name.strip_prefix(PLATFORM);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
    }

    fn driver(&self) -> &str {
        self.folder.split(':').next().unwrap_or_default()
    }
}

/// Adds up the energy of the counted zones.
#[derive(Debug)]
pub struct EnergyMeter<'r> {
    root: &'r Root,
    zones: Vec<(EnergyZone, u64)>,
    sum_uj: u64,
}

impl<'r> EnergyMeter<'r> {
    /// Starts at zero.
    ///
    /// # Errors
    /// If this machine has no energy counters, or they cannot be read.
    pub fn start(root: &'r Root) -> Result<Self, String> {
        let mut zones = Vec::new();
        for zone in EnergyZone::counted(root)? {
            let now_uj = zone.read_uj(root)?;
            zones.push((zone, now_uj));
        }
        Ok(Self { root, zones, sum_uj: 0 })
    }

    /// The energy since the start, in microjoules. To be called more often than the counters start again.
    ///
    /// # Errors
    /// If a counter cannot be read.
    pub fn read_uj(&mut self) -> Result<u64, String> {
        for (zone, last_uj) in &mut self.zones {
            let now_uj = zone.read_uj(self.root)?;
            self.sum_uj += zone.moved_uj(*last_uj, now_uj);
            *last_uj = now_uj;
        }
        Ok(self.sum_uj)
    }

    /// The counters that are added.
    #[must_use]
    pub fn counters(&self) -> Vec<String> {
        self.zones.iter().map(|(zone, _)| zone.counter.clone()).collect()
    }

    /// The time between two updates of the first counter, over up to 20 of them; None if there are fewer than 3 in this time.
    ///
    /// # Errors
    /// If the counter cannot be read.
    pub fn update_interval(&self, at_most: Duration) -> Result<Option<Duration>, String> {
        const UPDATES: u32 = 20;
        const PAUSE: Duration = Duration::from_micros(100);
        let Some((zone, _)) = self.zones.first() else { return Ok(None) };
        let begun = Instant::now();
        let mut last_uj = zone.read_uj(self.root)?;
        let mut first_update: Option<Instant> = None;
        let mut last_update = begun;
        let mut updates = 0;
        while updates < UPDATES && begun.elapsed() < at_most {
            std::thread::sleep(PAUSE);
            let now_uj = zone.read_uj(self.root)?;
            if now_uj != last_uj {
                last_uj = now_uj;
                last_update = Instant::now();
                updates += 1;
                first_update.get_or_insert(last_update);
            }
        }
        // The first update ends an interval of which the beginning was not seen.
        let intervals = updates.saturating_sub(1);
        let between = first_update.map(|first| last_update - first);
        Ok(between.filter(|_| intervals >= 2).map(|between| between / intervals))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::time::{Duration, Instant};

    use super::{EnergyMeter, EnergyZone};
    use crate::root::{Root, plant};

    /// A captured tree of zones: folder, name and counter.
    fn tree(zones: &[(&str, &str, &str)]) -> (tempfile::TempDir, Root) {
        let mut files = Vec::new();
        for (folder, name, energy_uj) in zones {
            let path = format!("sys/class/powercap/{folder}");
            files.push((format!("{path}/name"), (*name).to_owned()));
            files.push((format!("{path}/energy_uj"), (*energy_uj).to_owned()));
            files.push((format!("{path}/max_energy_range_uj"), "262143328850".to_owned()));
        }
        let files: Vec<(&str, &str)> =
            files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
        let tree = plant(&files);
        let root = Root::at(tree.path());
        (tree, root)
    }

    fn counted(zones: &[(&str, &str, &str)]) -> Vec<String> {
        let (_tree, root) = tree(zones);
        let counted = EnergyZone::counted(&root).unwrap();
        counted.into_iter().map(|zone| zone.counter).collect()
    }

    #[test]
    fn a_laptop_of_intel_counts_its_package_without_its_parts_and_the_platform() {
        let zones = [
            ("intel-rapl:0", "package-0", "1"),
            ("intel-rapl:0:0", "core", "1"),
            ("intel-rapl:0:1", "uncore", "1"),
            ("intel-rapl:0:2", "dram", "1"),
            ("intel-rapl:1", "psys", "1"),
            ("intel-rapl-mmio:0", "package-0", "1"),
        ];
        assert_eq!(counted(&zones), ["intel-rapl:0-package-0"]);
    }

    #[test]
    fn a_server_of_amd_counts_both_packages() {
        let zones = [
            ("intel-rapl:0", "package-0", "1"),
            ("intel-rapl:0:0", "core", "1"),
            ("intel-rapl:1", "package-1", "1"),
            ("intel-rapl:1:0", "core", "1"),
            ("intel-rapl:2", "psys-1", "1"),
        ];
        assert_eq!(counted(&zones), ["intel-rapl:0-package-0", "intel-rapl:1-package-1"]);
    }

    #[test]
    fn arm_counts_the_zones_of_its_firmware_and_a_machine_may_have_the_platform_only() {
        let arm = [("arm-scmi:0", "soc", "1"), ("arm-scmi:0:0", "cluster-0", "1")];
        assert_eq!(counted(&arm), ["arm-scmi:0-soc"]);
        assert_eq!(counted(&[("intel-rapl:0", "psys", "1")]), ["intel-rapl:0-psys"]);
    }

    #[test]
    fn without_a_zone_there_is_no_meter() {
        let (_tree, root) = tree(&[]);
        assert!(EnergyMeter::start(&root).unwrap_err().contains("no RAPL"));
    }

    #[test]
    fn a_meter_adds_the_packages_also_if_one_starts_again() {
        let (_tree, root) = tree(&[
            ("intel-rapl:0", "package-0", "262143328000"),
            ("intel-rapl:1", "package-1", "500"),
        ]);
        let mut meter = EnergyMeter::start(&root).unwrap();
        let write = |folder: &str, energy_uj: &str| {
            let file = format!("sys/class/powercap/{folder}/energy_uj");
            fs::write(root.path(&file), energy_uj).unwrap();
        };
        write("intel-rapl:0", "150");
        write("intel-rapl:1", "700");
        assert_eq!(meter.read_uj(), Ok(850 + 150 + 200));
        assert_eq!(meter.read_uj(), Ok(1200));
    }

    #[test]
    fn a_counter_that_never_moves_has_no_update_interval() {
        let (_tree, root) = tree(&[("intel-rapl:0", "package-0", "0")]);
        let meter = EnergyMeter::start(&root).unwrap();
        assert_eq!(meter.update_interval(Duration::from_millis(2)), Ok(None));
    }

    #[test]
    fn the_interval_between_updates_is_that_of_the_counter() {
        let (_tree, root) = tree(&[("intel-rapl:0", "package-0", "0")]);
        let meter = EnergyMeter::start(&root).unwrap();
        let file = root.path("sys/class/powercap/intel-rapl:0/energy_uj");
        let every = Duration::from_millis(5);
        let found = std::thread::scope(|scope| {
            scope.spawn(|| {
                let begun = Instant::now();
                let mut energy_uj = 0;
                while begun.elapsed() < Duration::from_secs(1) {
                    energy_uj += 1000;
                    // A reader must not see an empty file, which writing in place would show for a moment.
                    let new = file.with_extension("new");
                    fs::write(&new, energy_uj.to_string()).unwrap();
                    fs::rename(&new, &file).unwrap();
                    std::thread::sleep(every);
                }
            });
            meter.update_interval(Duration::from_millis(900)).unwrap().unwrap()
        });
        assert!(found >= every && found < 8 * every, "{found:?}");
    }
}
