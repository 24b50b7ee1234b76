//! /sys/class/hwmon: sensors of the board and of devices.

use plumb_model::CounterKind;

use crate::counter_buffer::{CounterBuffer, CounterField};
use crate::files::OpenFile;
use crate::monitor::{CounterSource, Monitor, SLOW_HZ};

/// The monitor `hwmon`: its rate and its manual, and how it is opened.
pub const MONITOR: Monitor = Monitor {
    name: "hwmon",
    summary: "temperatures, fans, voltages, currents and power of the board's sensors",
    manual: include_str!("hwmon.md"),
    default_hz: Some(SLOW_HZ),
    slow: true,
    parsers: &[],
    open: |root| {
        let folder = "/sys/class/hwmon";
        let mut sensors = Vec::new();
        for chip in root.names(folder) {
            let name = root.text(&format!("{folder}/{chip}/name")).unwrap_or_else(|| chip.clone());
            for file in root.names(&format!("{folder}/{chip}")) {
                let Some(sensor) = file.strip_suffix("_input") else { continue };
                let Some((unit, kind)) = quantity(sensor) else { continue };
                let Ok(kept) = OpenFile::open(root, &format!("{folder}/{chip}/{file}")) else {
                    continue;
                };
                sensors.push(Sensor {
                    of: format!("{chip}-{name}"),
                    name: sensor.to_owned(),
                    unit,
                    kind,
                    file: kept,
                });
            }
        }
        match sensors.is_empty() {
            true => Err("this machine has no visible sensors (common in virtual machines)".into()),
            false => Ok(Box::new(Hwmon { sensors, buffer: Vec::new() })),
        }
    },
};

struct Sensor {
    of: String,
    name: String,
    unit: &'static str,
    kind: CounterKind,
    file: OpenFile,
}

struct Hwmon {
    sensors: Vec<Sensor>,
    buffer: Vec<u8>,
}

/// Unit and kind of `temp1`, `fan2`, …, as Documentation/hwmon/sysfs-interface gives them.
fn quantity(sensor: &str) -> Option<(&'static str, CounterKind)> {
    let what = sensor.trim_end_matches(|c: char| c.is_ascii_digit());
    Some(match what {
        "temp" => ("m°C", CounterKind::Gauge),
        "fan" => ("rpm", CounterKind::Gauge),
        "in" => ("mV", CounterKind::Gauge),
        "curr" => ("mA", CounterKind::Gauge),
        "power" => ("uW", CounterKind::Gauge),
        "energy" => ("uJ", CounterKind::Counter),
        _ => return None,
    })
}

impl CounterSource for Hwmon {
    fn read(&mut self, counters: &mut CounterBuffer) -> Result<(), String> {
        for sensor in &self.sensors {
            // A sensor may be asleep (disks, NICs), or below zero.
            let text = sensor.file.text(&mut self.buffer).unwrap_or_default();
            let Ok(value) = text.trim().parse() else { continue };
            let field = CounterField {
                of: &sensor.of,
                name: &sensor.name,
                unit: sensor.unit,
                kind: sensor.kind,
            };
            counters.put(field, value);
        }
        Ok(())
    }
}
