//! Every symptom that plumb knows: the only list, from which docs/doctor.md is made.

/// A symptom that plumb knows.
#[derive(Debug, Clone, Copy)]
pub struct SymptomKind {
    /// Its name, as `plumb doctor` prints it.
    pub name: &'static str,
    /// How bad it can be, for the documentation.
    pub effects: &'static str,
    /// What it does to measurements.
    pub why: &'static str,
    /// The kinds of work whose results it moves; the first four are what an audit looks at.
    pub disturbs: &'static [&'static str],
    /// The fix, unless the check knows a better one.
    pub fix: &'static str,
}

const ALL: &[&str] = &["cpu", "memory", "scheduler", "process", "storage", "network"];
const COMPUTING: &[&str] = &["cpu", "memory", "process"];
const WAKING: &[&str] = &["scheduler", "storage", "network"];
const FILES: &[&str] = &["storage"];

/// All symptoms, in the order of docs/doctor.md.
pub const SYMPTOMS: &[SymptomKind] = &[
    SymptomKind {
        name: "virtualised",
        effects: "minor",
        why: "other guests share caches and memory bandwidth, and nothing inside this guest shows it",
        disturbs: ALL,
        fix: "measure on bare metal or a dedicated host; otherwise compare with plumb ab",
    },
    SymptomKind {
        name: "steal",
        effects: "minor from 0.1 %, major from 1 %, grave from 5 %",
        why: "the host ran other guests while this one had work to do",
        disturbs: ALL,
        fix: "use a machine with dedicated CPUs",
    },
    SymptomKind {
        name: "busy",
        effects: "minor from 5 % of a CPU, major from 25 %, grave from half of all CPUs",
        why: "other processes use CPU time, caches and memory bandwidth",
        disturbs: ALL,
        fix: "stop them, or wait until they finish",
    },
    SymptomKind {
        name: "load",
        effects: "note",
        why: "something ran in the last minute, and may run again",
        disturbs: ALL,
        fix: "wait until `uptime` shows a load below 0.5 per CPU",
    },
    SymptomKind {
        name: "services",
        effects: "minor",
        why: "these services start background work at unpredictable times",
        disturbs: ALL,
        fix: "stop them while you measure",
    },
    SymptomKind {
        name: "timers",
        effects: "note",
        why: "these timers start background work at unpredictable times",
        disturbs: ALL,
        fix: "plumb run --set timers=off",
    },
    SymptomKind {
        name: "irqbalance",
        effects: "minor",
        why: "it moves interrupts from CPU to CPU while you measure",
        disturbs: WAKING,
        fix: "plumb run --set stop-service=irqbalance",
    },
    SymptomKind {
        name: "one-cpu",
        effects: "major",
        why: "plumb, its monitors and kernel threads share the workload's CPU and interrupt it",
        disturbs: ALL,
        fix: "give plumb two CPUs or more (taskset, cpuset, or a larger machine)",
    },
    SymptomKind {
        name: "governor",
        effects: "major",
        why: "the frequency follows the load, so short or bursty work runs slower",
        disturbs: ALL,
        fix: "plumb run --set governor=performance",
    },
    SymptomKind {
        name: "turbo",
        effects: "minor",
        why: "the frequency depends on temperature and on the load of other cores",
        disturbs: COMPUTING,
        fix: "plumb run --set turbo=off",
    },
    SymptomKind {
        name: "smt",
        effects: "minor",
        why: "work on the sibling thread slows this one by about a third, and does not show as steal",
        disturbs: COMPUTING,
        fix: "plumb run --set smt=off",
    },
    SymptomKind {
        name: "deep-idle",
        effects: "minor",
        why: "the deeper a CPU's idle state, the longer it takes to wake",
        disturbs: WAKING,
        fix: "plumb run --set cpu-latency=10",
    },
    SymptomKind {
        name: "throttled",
        effects: "minor",
        why: "the CPU has overheated since boot and lowered its frequency",
        disturbs: COMPUTING,
        fix: "plumb run --set cooldown=60C@round, or --set turbo=off",
    },
    SymptomKind {
        name: "battery",
        effects: "major",
        why: "on battery the firmware limits power, more so as the charge drops",
        disturbs: ALL,
        fix: "plug it in",
    },
    SymptomKind {
        name: "clock-source",
        effects: "major",
        why: "reading the clock needs a system call, which takes a microsecond or more",
        disturbs: ALL,
        fix: "boot with clocksource=tsc, unless the kernel reports the TSC as unstable",
    },
    SymptomKind {
        name: "debug-kernel",
        effects: "major",
        why: "debug checks slow the kernel down, some paths by a factor of ten",
        disturbs: ALL,
        fix: "boot a kernel built without them",
    },
    SymptomKind {
        name: "layout-fixed",
        effects: "minor",
        why: "every process has the same memory layout, so results depend on one lucky or unlucky layout",
        disturbs: COMPUTING,
        fix: "plumb run --set sysctl.kernel.randomize_va_space=2",
    },
    SymptomKind {
        name: "huge-pages",
        effects: "minor",
        why: "whether a process gets huge pages is down to chance and varies from run to run, and khugepaged merges pages in the background",
        disturbs: &["memory", "process"],
        fix: "plumb run --set thp=madvise",
    },
    SymptomKind {
        name: "numa-balancing",
        effects: "minor",
        why: "the kernel unmaps pages to see which node uses them, and migrates them",
        disturbs: &["memory"],
        fix: "plumb run --set sysctl.kernel.numa_balancing=0",
    },
    SymptomKind {
        name: "damon",
        effects: "note",
        why: "a kernel thread clears and reads the accessed bits of pages, so some loads walk page \
              tables again",
        disturbs: &["memory"],
        fix: "echo off > /sys/kernel/mm/damon/admin/kdamonds/0/state, if you are allowed to",
    },
    SymptomKind {
        name: "ksm",
        effects: "minor",
        why: "a kernel thread scans all mergeable pages, which takes memory bandwidth, and writes to merged pages fault",
        disturbs: &["memory"],
        fix: "echo 2 > /sys/kernel/mm/ksm/run stops it and splits merged pages",
    },
    SymptomKind {
        name: "compaction",
        effects: "note",
        why: "a kernel thread compacts memory more eagerly than usual, and programs wait for pages that it moves",
        disturbs: &["memory"],
        fix: "plumb run --set sysctl.vm.compaction_proactiveness=20",
    },
    SymptomKind {
        name: "swapped",
        effects: "minor",
        why: "swapped-out pages are read back at unpredictable times",
        disturbs: &["memory", "process", "storage"],
        fix: "plumb run --set swap-reset",
    },
    SymptomKind {
        name: "slow-memory",
        effects: "note",
        why: "memory bandwidth is lower than the modules allow",
        disturbs: &["memory"],
        fix: "look for the memory speed in the firmware; more modules per channel, or the CPU, may limit it",
    },
    SymptomKind {
        name: "empty-channels",
        effects: "minor",
        why: "memory bandwidth is limited to the channels with a module",
        disturbs: &["memory"],
        fix: "check whether a module has failed or is loose; fill all channels alike",
    },
    SymptomKind {
        name: "low-memory",
        effects: "minor under 10 % or 512 MiB, major under 5 % or 128 MiB",
        why: "the kernel drops caches and reclaims memory while you measure",
        disturbs: &["memory", "process", "storage"],
        fix: "stop the largest users: ps -eo rss,pid,comm --sort -rss | head",
    },
    SymptomKind {
        name: "cpu-quota",
        effects: "major, grave if the group was already throttled",
        why: "a cgroup that exceeds its quota is stopped for the rest of each 100 ms period",
        disturbs: ALL,
        fix: "start plumb outside the cgroup, or lift its limit (docker run without --cpus)",
    },
    SymptomKind {
        name: "directory",
        effects: "minor",
        why: "storage results are not those of a local disk",
        disturbs: FILES,
        fix: "use a directory on a local disk: plumb run --dir DIR",
    },
    SymptomKind {
        name: "slow-link",
        effects: "minor",
        why: "the link limits the throughput of the disk",
        disturbs: FILES,
        fix: "move the disk to a slot with more lanes, reseat it, or look for a limit in the firmware",
    },
    SymptomKind {
        name: "full-disk",
        effects: "minor under 10 % free, major under 1 GiB",
        why: "files become fragmented, and SSDs slow down",
        disturbs: FILES,
        fix: "free some space, or use another directory: plumb run --dir DIR",
    },
    SymptomKind {
        name: "container",
        effects: "note",
        why: "seccomp filters can slow every system call, and layered filesystems every open",
        disturbs: &["process", "storage", "network"],
        fix: "measure outside the container, unless you want to include its overhead",
    },
    SymptomKind {
        name: "not-root",
        effects: "note",
        why: "most preparations and some monitors need root",
        disturbs: &[],
        fix: "sudo plumb run --prepare lab",
    },
    SymptomKind {
        name: "capabilities",
        effects: "note",
        why: "some preparations and monitors need capabilities that root lacks here",
        disturbs: &[],
        fix: "docker run --cap-add SYS_ADMIN --cap-add SYS_NICE --cap-add PERFMON",
    },
    SymptomKind {
        name: "no-proc",
        effects: "major",
        why: "plumb cannot see what else is running, how often the workload waits, or the number of CPUs",
        disturbs: ALL,
        fix: "mount -t proc proc /proc",
    },
    SymptomKind {
        name: "no-audit",
        effects: "note",
        why: "the smallest difference that this machine can detect is unknown",
        disturbs: &[],
        fix: "plumb doctor --audit",
    },
];

#[cfg(test)]
mod tests {
    use super::SYMPTOMS;

    #[test]
    fn every_symptom_has_one_name_a_reason_and_a_fix() {
        for (index, kind) in SYMPTOMS.iter().enumerate() {
            assert!(
                SYMPTOMS[..index].iter().all(|earlier| earlier.name != kind.name),
                "{}",
                kind.name
            );
            assert!(!kind.fix.is_empty() && !kind.why.is_empty());
        }
    }
}
