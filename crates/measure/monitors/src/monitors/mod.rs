//! The monitors, a file each with its manual next to it, listed by hand.

mod cgroup;
mod clock;
mod cpufreq;
mod diskstats;
mod hwmon;
mod interrupts;
mod kernel_subject;
mod kmsg;
mod latency;
mod meminfo;
mod mountstats;
mod net;
mod perf;
mod powercap;
mod psi;
mod schedstat;
mod snmp;
mod softirqs;
mod softnet;
mod space;
mod stat;
mod thermal;
pub(crate) mod tree;
mod vmstat;
mod worker;

use crate::counter_buffer::PutValue;
use crate::monitor::Monitor;

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
    &space::MONITOR,
];

/// The monitor of this name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Monitor> {
    ALL.iter().find(|monitor| monitor.name == name).copied()
}

/// Gives a text to every parser, whatever it is: for tests that want none of them to stumble.
pub fn parse_all(text: &str, put: &mut PutValue<'_>) {
    let parsers = ALL.iter().flat_map(|monitor| monitor.parsers);
    parsers.for_each(|parse| parse("io", text, put));
}

#[cfg(test)]
mod tests {
    use super::ALL;

    #[test]
    fn every_monitor_has_a_name_of_its_own_and_a_manual_that_names_it() {
        for (index, monitor) in ALL.iter().enumerate() {
            assert!(ALL[..index].iter().all(|other| other.name != monitor.name));
            let title = format!("# monitor.{}\n", monitor.name);
            assert!(monitor.manual.starts_with(&title), "{}", monitor.name);
            for part in ["Reads", "Pitfalls"] {
                assert!(monitor.manual.contains(part), "{} lacks `{part}`", monitor.name);
            }
        }
    }
}
