//! What the kernel counts of a thread that was kept from its CPU: read between samples, without allocating.

use std::fs::File;
use std::os::unix::fs::FileExt;

use plumb_model::TICK_NS;
use plumb_protocol::Failure;

/// Room for /proc/interrupts of many CPUs; what is beyond is not read.
const BUFFER_BYTES: usize = 256 << 10;

/// Counters that only rise, as they stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct KernelCounts {
    /// Time that the hypervisor gave to others, in nanoseconds, in ticks of 10 ms.
    pub(super) steal_ns: u64,
    /// Interrupts of all kinds.
    pub(super) interrupts: u64,
    /// Time that this thread was ready to run and did not, in nanoseconds.
    pub(super) waited_ns: Option<u64>,
    /// Time for which a quota stopped a group that this thread is in, in nanoseconds.
    pub(super) throttled_ns: Option<u64>,
}

impl KernelCounts {
    /// The counts since then.
    pub(super) fn since(self, before: Self) -> Self {
        self.with(before, u64::saturating_sub)
    }

    /// The sum of both, which no overflow wraps.
    pub(super) fn plus(self, other: Self) -> Self {
        self.with(other, u64::saturating_add)
    }

    fn with(self, other: Self, join: fn(u64, u64) -> u64) -> Self {
        Self {
            steal_ns: join(self.steal_ns, other.steal_ns),
            interrupts: join(self.interrupts, other.interrupts),
            waited_ns: join_known(self.waited_ns, other.waited_ns, join),
            throttled_ns: join_known(self.throttled_ns, other.throttled_ns, join),
        }
    }
}

/// Both joined; if one is unknown, the other.
fn join_known(one: Option<u64>, other: Option<u64>, join: fn(u64, u64) -> u64) -> Option<u64> {
    match (one, other) {
        (Some(one), Some(other)) => Some(join(one, other)),
        (known, None) | (None, known) => known,
    }
}

/// The open files.
pub(super) struct KernelCounters {
    /// The CPU that steal and interrupts are of; of all if none is named.
    cpu: Option<usize>,
    stat: File,
    interrupts: Option<File>,
    schedule: Option<File>,
    groups: Vec<File>,
    text: Vec<u8>,
}

impl KernelCounters {
    /// For the calling thread.
    ///
    /// # Errors
    /// When there is no /proc/stat.
    pub(super) fn open(cpu: Option<usize>) -> Result<Self, Failure> {
        let stat = File::open("/proc/stat").map_err(|error| Failure::io("/proc/stat", &error))?;
        let membership = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let groups = cpu_groups(&membership).into_iter();
        Ok(Self {
            cpu,
            stat,
            interrupts: File::open("/proc/interrupts").ok(),
            schedule: File::open("/proc/thread-self/schedstat").ok(),
            groups: groups.filter_map(|group| File::open(group + "/cpu.stat").ok()).collect(),
            text: vec![0; BUFFER_BYTES],
        })
    }

    /// How they stand.
    pub(super) fn read(&mut self) -> KernelCounts {
        let Self { cpu, stat, interrupts, schedule, groups, text } = self;
        let steal = steal_ticks(contents(stat, text), *cpu).unwrap_or(0);
        let interrupts =
            interrupts.as_ref().map_or(0, |file| interrupts_of(contents(file, text), *cpu));
        let waited_ns = schedule.as_ref().and_then(|file| waited_ns(contents(file, text)));
        let throttled = groups.iter().filter_map(|group| throttled_ns(contents(group, text)));
        // The longest: the times of nested groups overlap, and a sum would count them twice.
        let throttled_ns = throttled.max();
        KernelCounts { steal_ns: steal * TICK_NS, interrupts, waited_ns, throttled_ns }
    }
}

/// What the file holds now; nothing when it can't be read.
fn contents<'t>(file: &File, text: &'t mut [u8]) -> &'t str {
    let mut length = 0;
    // A read of /proc can give less than there is room for: only an empty one is the end.
    while let Ok(more @ 1..) = file.read_at(&mut text[length..], length as u64) {
        length += more;
    }
    std::str::from_utf8(&text[..length]).unwrap_or_default()
}

/// The eighth figure of a CPU in /proc/stat, or of all.
fn steal_ticks(text: &str, cpu: Option<usize>) -> Option<u64> {
    let line = text.lines().find(|line| {
        let name = line.split_whitespace().next().and_then(|word| word.strip_prefix("cpu"));
        name.is_some_and(|number| match cpu {
            Some(cpu) => number.parse() == Ok(cpu),
            // The line of all CPUs has no number.
            None => number.is_empty(),
        })
    })?;
    line.split_whitespace().nth(8)?.parse().ok()
}

/// The sum of a CPU's column in /proc/interrupts, or of all columns.
fn interrupts_of(text: &str, cpu: Option<usize>) -> u64 {
    let Some((head, lines)) = text.split_once('\n') else { return 0 };
    // CPUs that are offline have no column, so columns are found by their names.
    let columns =
        head.split_whitespace().filter_map(|word| word.strip_prefix("CPU")?.parse::<usize>().ok());
    let mut sum = 0;
    for line in lines.lines() {
        let (_, counts) = line.split_once(':').unwrap_or_default();
        // The counts end where the name of the interrupt's controller begins.
        let counts = counts.split_whitespace().map_while(|word| word.parse::<u64>().ok());
        for (column, count) in columns.clone().zip(counts) {
            if cpu.is_none_or(|cpu| cpu == column) {
                sum += count;
            }
        }
    }
    sum
}

/// The second figure of schedstat.
fn waited_ns(text: &str) -> Option<u64> {
    text.split_whitespace().nth(1)?.parse().ok()
}

/// In microseconds of version 2, in nanoseconds of version 1.
fn throttled_ns(text: &str) -> Option<u64> {
    field(text, "throttled_usec ")
        .map(|micros| micros * 1000)
        .or_else(|| field(text, "throttled_time "))
}

/// The number on the line that begins with this name.
fn field(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(name))?.trim().parse().ok()
}

/// The folders of the groups whose quota can stop this process, with their ancestors.
fn cpu_groups(membership: &str) -> Vec<String> {
    let mut folders = Vec::new();
    for line in membership.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else { continue };
        let mounts: &[&str] = match controllers {
            "" => &["/sys/fs/cgroup", "/sys/fs/cgroup/unified"],
            _ if controllers.split(',').any(|controller| controller == "cpu") => {
                &["/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct"]
            }
            _ => continue,
        };
        let path = path.trim_end_matches('/');
        let ends = path.match_indices('/').map(|(at, _)| at).chain([path.len()]);
        let with_ancestors = ends.map(|end| &path[..end]);
        for group in with_ancestors {
            folders.extend(mounts.iter().map(|mount| format!("{mount}{group}")));
        }
    }
    folders.sort();
    folders.dedup();
    folders
}

#[cfg(test)]
mod tests {
    use super::{KernelCounters, cpu_groups, interrupts_of, steal_ticks, throttled_ns, waited_ns};

    #[test]
    fn figures_of_a_cpu_and_of_all() {
        let stat =
            "cpu  9 8 7 6 5 4 3 21 0 0\ncpu0 1 1 1 1 1 1 1 9 0 0\ncpu10 1 1 1 1 1 1 1 12 0 0\n";
        assert_eq!(steal_ticks(stat, None), Some(21));
        assert_eq!((steal_ticks(stat, Some(10)), steal_ticks(stat, Some(1))), (Some(12), None));
        let interrupts = "           CPU0       CPU2\n 24:  1  20  IO-APIC 5-edge\nLOC:  300  4000   Local timer\nERR:  7\n";
        assert_eq!(interrupts_of(interrupts, Some(0)), 308);
        assert_eq!(interrupts_of(interrupts, Some(2)), 4020);
        assert_eq!(
            (interrupts_of(interrupts, Some(1)), interrupts_of(interrupts, None)),
            (0, 4328)
        );
        assert_eq!(waited_ns("10 2000 3\n"), Some(2000));
        assert_eq!(throttled_ns("usage_usec 5\nnr_throttled 1\nthrottled_usec 7\n"), Some(7000));
        assert_eq!(throttled_ns("nr_periods 4\nthrottled_time 77\n"), Some(77));
        assert_eq!(throttled_ns("usage_usec 5\n"), None);
    }

    #[test]
    fn a_group_and_its_ancestors_of_both_versions() {
        let both = cpu_groups("3:memory:/m\n1:cpu,cpuacct:/a/b\n0::/\n");
        assert!(both.contains(&"/sys/fs/cgroup/cpu,cpuacct/a/b".into()), "{both:?}");
        assert!(both.contains(&"/sys/fs/cgroup/cpu/a".into()), "{both:?}");
        assert!(both.contains(&"/sys/fs/cgroup".into()), "{both:?}");
        assert!(!both.iter().any(|group| group.ends_with("/m")), "{both:?}");
    }

    #[test]
    fn counters_of_this_thread_do_not_fall() {
        let mut counters = KernelCounters::open(Some(0)).unwrap();
        let first = counters.read();
        let second = counters.read();
        assert!(second.interrupts >= first.interrupts && second.steal_ns >= first.steal_ns);
        assert!(second.waited_ns >= first.waited_ns);
    }
}
