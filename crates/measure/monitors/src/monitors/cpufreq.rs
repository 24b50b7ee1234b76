//! /sys/devices/system/cpu/cpu*/cpufreq: the frequencies of the CPUs.

use crate::counter_buffer::{CounterBuffer, CounterField};
use crate::files::{OpenFile, cpu_files};
use crate::monitor::{CounterSource, Monitor, SLOW_HZ};

/// The monitor `cpufreq`: its rate and its manual, and how it is opened.
pub const MONITOR: Monitor = Monitor {
    name: "cpufreq",
    summary: "the fastest, slowest and mean frequency of all CPUs",
    manual: include_str!("cpufreq.md"),
    default_hz: Some(SLOW_HZ),
    slow: false,
    parsers: &[],
    open: |root| {
        let files = cpu_files(root, "cpufreq/scaling_cur_freq");
        match files.is_empty() {
            true => Err("this kernel reports no CPU frequency (common in virtual machines)".into()),
            false => Ok(Box::new(CpuFreq { files, buffer: Vec::new() })),
        }
    },
};

struct CpuFreq {
    files: Vec<OpenFile>,
    buffer: Vec<u8>,
}

impl CounterSource for CpuFreq {
    fn read(&mut self, counters: &mut CounterBuffer) -> Result<(), String> {
        let mut least = u64::MAX;
        let mut most = 0;
        let mut sum = 0_u64;
        let mut count = 0;
        for file in &self.files {
            // A CPU that was taken away has no frequency.
            let text = file.text(&mut self.buffer).unwrap_or_default();
            let Ok(khz) = text.trim().parse::<u64>() else { continue };
            least = least.min(khz);
            most = most.max(khz);
            sum = sum.saturating_add(khz);
            count += 1;
        }
        if count == 0 {
            return Err("no CPU reports its frequency any more".to_owned());
        }
        for (name, khz) in [("max", most), ("min", least), ("mean", sum / count)] {
            counters.put(CounterField::gauge(name, "kHz"), khz);
        }
        Ok(())
    }
}
