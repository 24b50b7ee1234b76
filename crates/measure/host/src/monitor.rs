//! Monitors: what reads counters beside a workload.
//!
//! A monitor is a file here and a page beside it, listed in [`ALL`]. Its `parse` is a pure function from
//! the kernel's text to named values; its [`Source`] keeps files open and reads them again. A
//! [`Recorder`] reads all wanted ones from a thread of its own, and keeps raw values: rates are made
//! from two of them when somebody asks.
//!
//! What a machine does not have is *unsupported*, with the reason; what fails while it is read is a gap
//! in the readings. Neither ever ends a run.

mod cgroup;
mod clock;
mod cpufreq;
mod diskstats;
mod files;
mod hwmon;
mod interrupts;
mod kmsg;
mod latency;
mod meminfo;
mod mountstats;
mod net;
mod perf;
mod powercap;
mod psi;
mod recorder;
mod schedstat;
mod sheet;
mod snmp;
mod softirqs;
mod softnet;
mod stat;
mod thermal;
mod tree;
mod vmstat;
mod worker;

use crate::Root;

pub use recorder::{MonitorCost, Recorder};
pub use sheet::{Field, Put, Sheet};

/// Readings a second of the cheap monitors that show bursts.
const OFTEN_HZ: f64 = 10.0;
/// Readings a second of the others.
const SELDOM_HZ: f64 = 1.0;
/// The fewest and the most readings a second that can be asked for.
pub const RATES_HZ: (f64, f64) = (0.1, 100.0);

/// What a monitor is, known without starting it.
#[derive(Debug)]
pub struct Monitor {
    /// Its name, the first part of its counters' names.
    pub name: &'static str,
    /// What it reads, in one line.
    pub summary: &'static str,
    /// Its manual.
    pub manual: &'static str,
    /// Readings a second where nobody says otherwise; None: it reads only when it is asked for.
    pub default_hz: Option<f64>,
    /// Whether a reading may take long, so that it gets a thread of its own.
    pub slow: bool,
    /// Opens its files; the error says why this machine does not have it.
    pub open: fn(&Root) -> Result<Box<dyn Source>, String>,
}

/// An opened monitor.
pub trait Source: Send {
    /// Another process is measured from now on; None where its number is not known.
    ///
    /// # Errors
    /// Why it can't be watched.
    fn attach(&mut self, _worker: Option<u32>) -> Result<(), String> {
        Ok(())
    }

    /// Reads all counters once.
    ///
    /// # Errors
    /// Why they can't be read now.
    fn read(&mut self, sheet: &mut Sheet) -> Result<(), String>;
}

/// All monitors; what is not listed does not exist.
pub const ALL: &[&Monitor] = &[
    &stat::MONITOR,
    &psi::MONITOR,
    &cgroup::MONITOR,
    &worker::MONITOR,
    &tree::MONITOR,
    &clock::MONITOR,
    &meminfo::MONITOR,
    &vmstat::MONITOR,
    &schedstat::MONITOR,
    &interrupts::MONITOR,
    &softirqs::MONITOR,
    &diskstats::MONITOR,
    &net::MONITOR,
    &snmp::MONITOR,
    &softnet::MONITOR,
    &mountstats::MONITOR,
    &cpufreq::MONITOR,
    &thermal::MONITOR,
    &hwmon::MONITOR,
    &powercap::MONITOR,
    &kmsg::MONITOR,
    &perf::MONITOR,
    &latency::MONITOR,
];

/// The monitor of this name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Monitor> {
    ALL.iter().find(|monitor| monitor.name == name).copied()
}

/// Gives a text to every parser, whatever it is: for tests that want none of them to stumble.
pub fn parse_all(text: &str, put: &mut Put<'_>) {
    let parsers: [files::Parse; 13] = [
        cgroup::parse,
        diskstats::parse,
        interrupts::parse,
        meminfo::parse,
        mountstats::parse,
        net::parse,
        psi::parse,
        schedstat::parse,
        snmp::parse,
        softirqs::parse,
        softnet::parse,
        stat::parse,
        vmstat::parse,
    ];
    parsers.iter().for_each(|parse| parse("io", text, put));
    for parse in [worker::stat, worker::schedstat, worker::status, worker::io, worker::sched] {
        parse(text, put);
    }
    let _ = kmsg::parse(text);
}

/// A monitor with the rate at which it is to be read.
#[derive(Debug, Clone, Copy)]
pub struct Wanted {
    /// The monitor.
    pub monitor: &'static Monitor,
    /// Readings a second.
    pub hz: f64,
}

/// The monitors that these words ask for: `none`, or names with or without a rate (`stat=20`), which
/// are added to the default ones.
///
/// # Errors
/// The word that is wrong, and why.
pub fn wanted(words: &[String]) -> Result<Vec<Wanted>, String> {
    let mut wanted: Vec<Wanted> = Vec::new();
    if !words.iter().any(|word| word == "none") {
        let one = |&monitor: &&'static Monitor| Some(Wanted { monitor, hz: monitor.default_hz? });
        wanted.extend(ALL.iter().filter_map(one));
    }
    for word in words.iter().filter(|word| *word != "none") {
        let (name, hz) = word.split_once('=').map_or((word.as_str(), None), |(n, r)| (n, Some(r)));
        let monitor = find(name).ok_or_else(|| format!("no monitor is called `{name}`"))?;
        let hz = hz.map_or(Ok(monitor.default_hz.unwrap_or(SELDOM_HZ)), rate)?;
        wanted.retain(|it| it.monitor.name != name);
        wanted.push(Wanted { monitor, hz });
    }
    Ok(wanted)
}

fn rate(text: &str) -> Result<f64, String> {
    let (least, most) = RATES_HZ;
    let hz: Option<f64> = text.trim_end_matches("Hz").parse().ok();
    hz.filter(|hz| (least..=most).contains(hz))
        .ok_or_else(|| format!("`{text}` is no rate from {least} to {most} a second"))
}

#[cfg(test)]
mod tests {
    use super::{ALL, wanted};

    #[test]
    fn every_monitor_has_a_name_of_its_own_and_a_manual_that_names_it() {
        for (index, monitor) in ALL.iter().enumerate() {
            assert!(ALL[..index].iter().all(|other| other.name != monitor.name));
            let title = format!("# monitor.{}\n", monitor.name);
            assert!(monitor.manual.starts_with(&title), "{}", monitor.name);
            for part in ["Reads", "Misleads"] {
                assert!(monitor.manual.contains(part), "{} lacks `{part}`", monitor.name);
            }
        }
    }

    #[test]
    fn words_add_to_the_default_ones_or_stand_alone() {
        let of = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
            wanted(&words)
                .map(|all| all.iter().map(|it| (it.monitor.name, it.hz)).collect::<Vec<_>>())
        };
        let default = of(&[]).unwrap();
        assert!(default.contains(&("stat", 10.0)) && !default.iter().any(|it| it.0 == "perf"));
        assert_eq!(of(&["none"]).unwrap(), []);
        assert_eq!(of(&["none", "stat=0.5", "perf"]).unwrap(), [("stat", 0.5), ("perf", 1.0)]);
        assert_eq!(of(&["stat=20Hz"]).unwrap().len(), default.len());
        for wrong in ["nonesuch", "stat=", "stat=1000", "stat=-1", "stat=NaN"] {
            assert!(of(&[wrong]).is_err(), "{wrong}");
        }
    }
}
