//! The head of the page, and how figures are written.

use std::fs;
use std::path::Path;
use std::process::Command;

use plumb_stats::Interval;

/// Where the part of the page begins that people write.
const BY_HAND: &str = "\n## The figures of the README\n";

/// The handwritten end of the page; empty if there is none.
pub fn by_hand(page: &Path) -> String {
    let old = fs::read_to_string(page).unwrap_or_default();
    old.find(BY_HAND).map(|at| old[at..].to_owned()).unwrap_or_default()
}

/// Title, machine, date and command.
pub fn head() -> String {
    let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpuinfo
        .lines()
        .find(|line| line.starts_with("model name"))
        .and_then(|line| line.split(": ").nth(1))
        .unwrap_or("unknown");
    let cpus = cpuinfo.lines().filter(|line| line.starts_with("processor")).count();
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let date = match Command::new("date").args(["-u", "+%Y-%m-%d %H:%M UTC"]).output() {
        Ok(output) => String::from_utf8_lossy(&output.stdout).trim().to_owned(),
        Err(_) => String::new(),
    };
    format!(
        "# The cost of measuring with plumb\n\n`make bench` rewrites this page, except its last section. {}, {} × {}, Linux {}, \
         load average before: {}. Intervals are at 95 %.\n",
        date,
        cpus,
        model,
        kernel.trim(),
        load.split_whitespace().next().unwrap_or("unknown"),
    )
}

/// `1.03 [1.02, 1.05]` of log ratios.
pub fn ratio(log_ratios: &[f64]) -> String {
    match plumb_stats::pairs::signed_rank_interval(log_ratios, 0.95) {
        Ok(Interval { estimate, low, high }) => {
            format!("{:.3} [{:.3}, {:.3}]", estimate.exp(), low.exp(), high.exp())
        }
        Err(why) => format!("no interval: {why}"),
    }
}

/// The median, or NaN of nothing.
pub fn median(values: &[f64]) -> f64 {
    plumb_stats::describe::median(values).unwrap_or(f64::NAN)
}
