//! /sys/class/powercap: energy as the CPU counts it (RAPL).

use std::time::Duration;

use plumb_machine::{EnergyZone, Root};

use crate::counter_buffer::{CounterBuffer, CounterField};
use crate::files::OpenFile;
use crate::monitor::{CounterSource, Monitor, SLOW_HZ};

/// The monitor `powercap`: its rate and its manual, and how it is opened.
pub const MONITOR: Monitor = Monitor {
    name: "powercap",
    summary: "energy use of CPU packages, cores and memory (RAPL)",
    manual: include_str!("powercap.md"),
    default_hz: Some(SLOW_HZ),
    slow: false,
    parsers: &[],
    open: |root| open(root, Duration::from_millis(20)),
};

/// A zone whose counter is read.
#[derive(Debug)]
struct Zone {
    zone: EnergyZone,
    file: OpenFile,
    last_uj: Option<u64>,
    sum_uj: u64,
}

impl Zone {
    /// The energy since the first reading, over any number of readings less than a range apart.
    fn add(&mut self, now_uj: u64) -> u64 {
        if let Some(last_uj) = self.last_uj {
            self.sum_uj = self.sum_uj.saturating_add(self.zone.moved_uj(last_uj, now_uj));
        }
        self.last_uj = Some(now_uj);
        self.sum_uj
    }

    fn now_uj(&self, buffer: &mut Vec<u8>) -> Result<u64, String> {
        let text = self.file.text(buffer)?;
        text.trim().parse().map_err(|_| format!("{}: not a number", self.zone.counter))
    }
}

#[derive(Debug)]
struct Powercap {
    zones: Vec<Zone>,
    buffer: Vec<u8>,
}

/// Opens all zones that count; one that reads zero, and still does after `pause`, has no sensor.
fn open(root: &Root, pause: Duration) -> Result<Box<dyn CounterSource>, String> {
    let mut zones = Vec::new();
    let mut refused = None;
    for zone in EnergyZone::all(root) {
        match OpenFile::open(root, &zone.file) {
            Ok(file) => zones.push(Zone { zone, file, last_uj: None, sum_uj: 0 }),
            Err(why) => refused = Some(why),
        }
    }
    if zones.is_empty() {
        return Err(
            refused.unwrap_or_else(|| "this machine has no energy counters (no RAPL)".to_owned())
        );
    }
    let mut buffer = Vec::new();
    if all_zero(&zones, &mut buffer) {
        // One reading of zero may be chance: the counter begins at zero and wraps.
        std::thread::sleep(pause);
        if all_zero(&zones, &mut buffer) {
            return Err("the energy counters are always zero: there is no sensor".to_owned());
        }
    }
    Ok(Box::new(Powercap { zones, buffer }))
}

/// Whether all zones have counted nothing.
fn all_zero(zones: &[Zone], buffer: &mut Vec<u8>) -> bool {
    zones.iter().all(|zone| zone.now_uj(buffer) == Ok(0))
}

impl CounterSource for Powercap {
    fn read(&mut self, counters: &mut CounterBuffer) -> Result<(), String> {
        for zone in &mut self.zones {
            let now = zone.now_uj(&mut self.buffer)?;
            let sum = zone.add(now);
            counters.put(CounterField::counter("energy", "uJ").of(&zone.zone.counter), sum);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{CounterBuffer, open};
    use plumb_machine::Root;
    use std::fs;
    use std::time::Duration;

    fn tree(energy: &str) -> (tempfile::TempDir, Root) {
        let folder = tempfile::tempdir().unwrap();
        let zone = folder.path().join("sys/class/powercap/intel-rapl:0");
        fs::create_dir_all(&zone).unwrap();
        for (file, text) in
            [("name", "package-0"), ("energy_uj", energy), ("max_energy_range_uj", "1000")]
        {
            fs::write(zone.join(file), format!("{text}\n")).unwrap();
        }
        let root = Root::at(folder.path());
        (folder, root)
    }

    #[test]
    fn a_counter_that_starts_again_goes_on() {
        let (folder, root) = tree("900");
        let mut source = open(&root, Duration::ZERO).unwrap();
        let mut counters = CounterBuffer::new("powercap");
        for (at_ns, energy) in [(1, "900"), (2, "990"), (3, "40"), (4, "50")] {
            let file = folder.path().join("sys/class/powercap/intel-rapl:0/energy_uj");
            fs::write(file, energy).unwrap();
            counters.turn(at_ns);
            source.read(&mut counters).unwrap();
        }
        let (traces, _) = counters.finish();
        assert_eq!(traces[0].counter.name, "powercap.intel-rapl:0-package-0.energy");
        assert_eq!(traces[0].amount(), 90 + 50 + 10);
    }

    #[test]
    fn a_counter_that_is_always_zero_is_unsupported() {
        let (_folder, root) = tree("0");
        assert!(open(&root, Duration::ZERO).err().unwrap().contains("always zero"));
        let empty = tempfile::tempdir().unwrap();
        assert!(open(&Root::at(empty.path()), Duration::ZERO).err().unwrap().contains("no RAPL"));
    }
}
