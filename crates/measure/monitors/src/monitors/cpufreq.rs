//! /sys/devices/system/cpu/cpu*/cpufreq: the frequencies of the CPUs.

use crate::counter_buffer::{CounterBuffer, Field};
use crate::files::{OpenFile, cpu_files};
use crate::monitor::{Monitor, SELDOM_HZ, Source};

/// This monitor.
pub const MONITOR: Monitor = Monitor {
    name: "cpufreq",
    summary: "the fastest, slowest and mean frequency of all CPUs",
    manual: include_str!("cpufreq.md"),
    default_hz: Some(SELDOM_HZ),
    slow: false,
    parsers: &[],
    open: |root| {
        let files = cpu_files(root, "cpufreq/scaling_cur_freq");
        match files.is_empty() {
            true => Err("this kernel reports no CPU frequency (virtual machines rarely do)".into()),
            false => Ok(Box::new(CpuFreq { files, buffer: Vec::new() })),
        }
    },
};

struct CpuFreq {
    files: Vec<OpenFile>,
    buffer: Vec<u8>,
}

impl Source for CpuFreq {
    fn read(&mut self, counters: &mut CounterBuffer) -> Result<(), String> {
        let (mut least, mut most, mut sum, mut count) = (u64::MAX, 0, 0_u64, 0);
        for file in &self.files {
            // A CPU that was taken away has no frequency.
            let Ok(text) = file.text(&mut self.buffer) else { continue };
            let Ok(khz) = text.trim().parse::<u64>() else { continue };
            (least, most) = (least.min(khz), most.max(khz));
            (sum, count) = (sum.saturating_add(khz), count + 1);
        }
        if count == 0 {
            return Err("no CPU reports its frequency any more".to_owned());
        }
        for (name, khz) in [("max", most), ("min", least), ("mean", sum / count)] {
            counters.put(Field::gauge(name, "kHz"), khz);
        }
        Ok(())
    }
}
