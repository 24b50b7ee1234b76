//! /sys/class/thermal and the CPUs' own count of throttling.

use crate::counter_buffer::{CounterBuffer, CounterField};
use crate::files::{OpenFile, cpu_files};
use crate::monitor::{CounterSource, Monitor, SLOW_HZ};

/// The monitor `thermal`: its rate and its manual, and how it is opened.
pub const MONITOR: Monitor = Monitor {
    name: "thermal",
    summary: "temperatures of the thermal zones, and thermal throttling events",
    manual: include_str!("thermal.md"),
    default_hz: Some(SLOW_HZ),
    slow: true,
    parsers: &[],
    open: |root| {
        let folder = "/sys/class/thermal";
        let mut zones = Vec::new();
        for zone in root.names(folder).iter().filter(|name| name.starts_with("thermal_zone")) {
            let kind = root.text(&format!("{folder}/{zone}/type"));
            let name = kind.unwrap_or_else(|| zone.clone());
            let file = OpenFile::open(root, &format!("{folder}/{zone}/temp")).ok();
            zones.extend(file.map(|file| (name, file)));
        }
        let throttled = cpu_files(root, "thermal_throttle/core_throttle_count");
        match zones.is_empty() && throttled.is_empty() {
            true => {
                Err("this machine has no visible thermal zone (common in virtual machines)".into())
            }
            false => Ok(Box::new(Thermal { zones, throttled, buffer: Vec::new() })),
        }
    },
};

struct Thermal {
    zones: Vec<(String, OpenFile)>,
    throttled: Vec<OpenFile>,
    buffer: Vec<u8>,
}

impl CounterSource for Thermal {
    fn read(&mut self, counters: &mut CounterBuffer) -> Result<(), String> {
        for (name, file) in &self.zones {
            // A zone that sleeps gives an error, one below freezing a negative number.
            let Ok(text) = file.text(&mut self.buffer) else { continue };
            if let Ok(millidegrees) = text.trim().parse::<u64>() {
                counters.put(CounterField::gauge("temperature", "m°C").of(name), millidegrees);
            }
        }
        let mut count = 0_u64;
        for file in &self.throttled {
            let text = file.text(&mut self.buffer).ok();
            count = count.wrapping_add(text.and_then(|text| text.trim().parse().ok()).unwrap_or(0));
        }
        if !self.throttled.is_empty() {
            counters.put(CounterField::counter("throttles", ""), count);
        }
        Ok(())
    }
}
