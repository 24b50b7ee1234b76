//! Resource use over a batch, as deltas of counters read just before and just after it.
#![expect(unsafe_code, reason = "getrusage has no safe form in std")]

use std::fs;

use plumb_model::{TICK_NS, Usage, UsageSource};

use crate::clock::now_ns;

/// Counters read at the start of a batch.
#[derive(Debug)]
pub struct UsageMeter {
    at_ns: u64,
    own: [u64; 6],
    helpers: (u64, u64),
    iowait_ns: u64,
    device: Option<(u64, u64)>,
}

impl UsageMeter {
    /// Reads all counters: of this process with its threads, of its reaped children, and of the live
    /// `helpers`.
    #[must_use]
    pub fn start(helpers: &[u32]) -> Self {
        Self {
            device: device_bytes(),
            iowait_ns: iowait_ns(),
            helpers: helper_times(helpers),
            own: own_counters(),
            at_ns: now_ns(),
        }
    }

    /// The usage since [`UsageMeter::start`].
    #[must_use]
    pub fn finish(self, helpers: &[u32]) -> Usage {
        // The clock is read last at the start and first at the end: reading the counters is not a time of the batch.
        let wall_ns = now_ns() - self.at_ns;
        let own = own_counters();
        let mut used = [0; 6];
        for (index, counter) in used.iter_mut().enumerate() {
            *counter = own[index].saturating_sub(self.own[index]);
        }
        let [own_user, own_system, minor, major, voluntary, involuntary] = used;
        let (user, system) = helper_times(helpers);
        let device = self.device.zip(device_bytes());
        Usage {
            source: UsageSource::Own,
            wall_ns,
            user_ns: own_user + user.saturating_sub(self.helpers.0),
            system_ns: own_system + system.saturating_sub(self.helpers.1),
            iowait_ns: iowait_ns().saturating_sub(self.iowait_ns),
            minor_faults: minor,
            major_faults: major,
            voluntary_switches: voluntary,
            involuntary_switches: involuntary,
            device_read_bytes: device.map(|(before, after)| after.0.saturating_sub(before.0)),
            device_written_bytes: device.map(|(before, after)| after.1.saturating_sub(before.1)),
        }
    }
}

/// User and system time in nanoseconds, minor and major faults, voluntary and involuntary switches:
/// of this process and its reaped children.
fn own_counters() -> [u64; 6] {
    let mut sum = [0; 6];
    for who in [libc::RUSAGE_SELF, libc::RUSAGE_CHILDREN] {
        // SAFETY: rusage is plain numbers, for which all zeroes is a value; the pointer is valid.
        let usage = unsafe {
            let mut usage: libc::rusage = std::mem::zeroed();
            libc::getrusage(who, &raw mut usage);
            usage
        };
        sum[0] += nanoseconds(usage.ru_utime);
        sum[1] += nanoseconds(usage.ru_stime);
        sum[2] += usage.ru_minflt.unsigned_abs();
        sum[3] += usage.ru_majflt.unsigned_abs();
        sum[4] += usage.ru_nvcsw.unsigned_abs();
        sum[5] += usage.ru_nivcsw.unsigned_abs();
    }
    sum
}

/// A time of the kernel in nanoseconds; it is never negative.
fn nanoseconds(time: libc::timeval) -> u64 {
    time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_usec.unsigned_abs() * 1_000
}

/// User and system time of live processes, from fields 14 and 15 of /proc/PID/stat.
fn helper_times(pids: &[u32]) -> (u64, u64) {
    let mut sum = (0, 0);
    for pid in pids {
        let text = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        // The name in field 2 may hold blanks and parentheses: the last one ends it. Field 3 comes next.
        let after_name = text.rsplit_once(')').map_or("", |(_, rest)| rest);
        let fields: Vec<&str> = after_name.split_whitespace().collect();
        sum.0 += ticks_ns(&fields, 14 - 3);
        sum.1 += ticks_ns(&fields, 15 - 3);
    }
    sum
}

/// Clock ticks in a column, in nanoseconds; 0 if the process has ended meanwhile.
fn ticks_ns(fields: &[&str], column: usize) -> u64 {
    let ticks = fields.get(column).and_then(|text| text.parse::<u64>().ok());
    ticks.unwrap_or(0) * TICK_NS
}

/// Time that CPUs idled with I/O under way, summed over CPUs, from /proc/stat; 0 when unreadable.
fn iowait_ns() -> u64 {
    let text = fs::read_to_string("/proc/stat").unwrap_or_default();
    let ticks = text.lines().next().and_then(|line| line.split_whitespace().nth(5));
    ticks.and_then(|t| t.parse::<u64>().ok()).unwrap_or(0) * TICK_NS
}

/// Bytes read from and written to devices on behalf of this process, from /proc/self/io.
fn device_bytes() -> Option<(u64, u64)> {
    let text = fs::read_to_string("/proc/self/io").ok()?;
    Some((field(&text, "read_bytes:")?, field(&text, "write_bytes:")?))
}

/// The number after a name that begins a line.
fn field(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::UsageMeter;

    #[test]
    fn a_spin_uses_about_its_length_of_cpu_time() {
        let meter = UsageMeter::start(&[]);
        let end = crate::now_ns() + 50_000_000;
        while crate::now_ns() < end {}
        let usage = meter.finish(&[]);
        let cpu = usage.user_ns + usage.system_ns;
        assert!(usage.wall_ns >= 50_000_000);
        assert!(cpu > 1_000_000 && cpu <= usage.wall_ns * 3, "{usage:?}");
    }
}
