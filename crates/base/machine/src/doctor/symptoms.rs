//! Every symptom that plumb knows: the only list, from which docs/doctor.md is made.

/// A symptom that plumb knows.
#[derive(Debug, Clone, Copy)]
pub struct SymptomKind {
    /// Its name.
    pub name: &'static str,
    /// How bad it can be, for the documentation.
    pub effects: &'static str,
    /// What it does to measurements.
    pub why: &'static str,
    /// The kinds of work whose results it moves; the first four are what an audit looks at.
    pub disturbs: &'static [&'static str],
    /// What mends it, unless the check knows better.
    pub fix: &'static str,
}

const ALL: &[&str] = &["cpu", "memory", "scheduler", "process", "storage", "network"];
const COMPUTING: &[&str] = &["cpu", "memory", "process"];
const WAKING: &[&str] = &["scheduler", "storage", "network"];
const FILES: &[&str] = &["storage"];

/// All symptoms.
pub const SYMPTOMS: &[SymptomKind] = &[
    SymptomKind {
        name: "virtualised",
        effects: "minor",
        why: "other guests share caches and memory, and leave no trace of it",
        disturbs: ALL,
        fix: "measure on bare metal or a dedicated host; else judge changes by plumb ab",
    },
    SymptomKind {
        name: "steal",
        effects: "minor from 0.1 %, major from 1 %, grave from 5 %",
        why: "the host ran somebody else while this machine wanted to run",
        disturbs: ALL,
        fix: "take a machine with CPUs of its own",
    },
    SymptomKind {
        name: "busy",
        effects: "minor from 5 % of a CPU, major from 25 %, grave from half of all CPUs",
        why: "other processes take the CPU, caches and memory",
        disturbs: ALL,
        fix: "end them, or wait",
    },
    SymptomKind {
        name: "load",
        effects: "note",
        why: "something ran in the last minute, and may come back",
        disturbs: ALL,
        fix: "wait until `uptime` shows less than 0.5 a CPU",
    },
    SymptomKind {
        name: "services",
        effects: "minor",
        why: "these start work of their own at times that nobody chose",
        disturbs: ALL,
        fix: "stop them while measuring",
    },
    SymptomKind {
        name: "timers",
        effects: "note",
        why: "these start work of their own at times that nobody chose",
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
        why: "plumb, its monitors and the kernel's threads interrupt the workload",
        disturbs: ALL,
        fix: "let plumb have two CPUs or more (taskset, cpuset, the machine's size)",
    },
    SymptomKind {
        name: "governor",
        effects: "major",
        why: "the clock follows the load, so that short or waiting work runs slower",
        disturbs: ALL,
        fix: "plumb run --set governor=performance",
    },
    SymptomKind {
        name: "turbo",
        effects: "minor",
        why: "the clock depends on heat, and on what other cores do",
        disturbs: COMPUTING,
        fix: "plumb run --set turbo=off",
    },
    SymptomKind {
        name: "smt",
        effects: "minor",
        why: "whatever runs on a sibling takes a third of the core and leaves no steal",
        disturbs: COMPUTING,
        fix: "plumb run --set smt=off",
    },
    SymptomKind {
        name: "deep-idle",
        effects: "minor",
        why: "waking takes long, and how long depends on how idle the machine was",
        disturbs: WAKING,
        fix: "plumb run --set cpu-latency=10",
    },
    SymptomKind {
        name: "throttled",
        effects: "minor",
        why: "it grew too hot since it was started, and lowered its clock",
        disturbs: COMPUTING,
        fix: "plumb run --set cooldown=60C@round, or --set turbo=off",
    },
    SymptomKind {
        name: "battery",
        effects: "major",
        why: "the firmware holds power down, and the more the emptier",
        disturbs: ALL,
        fix: "plug it in",
    },
    SymptomKind {
        name: "clock-source",
        effects: "major",
        why: "reading the clock takes a system call, a microsecond or more",
        disturbs: ALL,
        fix: "boot with clocksource=tsc, where the kernel does not call the TSC unstable",
    },
    SymptomKind {
        name: "debug-kernel",
        effects: "major",
        why: "checks in the kernel slow it down, some paths by ten times",
        disturbs: ALL,
        fix: "boot a kernel that was built without them",
    },
    SymptomKind {
        name: "layout-fixed",
        effects: "minor",
        why: "address spaces look the same every time: one layout's luck passes for the truth",
        disturbs: COMPUTING,
        fix: "plumb run --set sysctl.kernel.randomize_va_space=2",
    },
    SymptomKind {
        name: "huge-pages",
        effects: "minor",
        why: "whether memory comes in huge pages is luck, and changes from process to process",
        disturbs: &["memory", "process"],
        fix: "plumb run --set thp=madvise",
    },
    SymptomKind {
        name: "numa-balancing",
        effects: "minor",
        why: "the kernel unmaps memory to see who uses it, and moves it",
        disturbs: &["memory"],
        fix: "plumb run --set sysctl.kernel.numa_balancing=0",
    },
    SymptomKind {
        name: "swapped",
        effects: "minor",
        why: "what was swapped out comes back at times that nobody chose",
        disturbs: &["memory", "process", "storage"],
        fix: "plumb run --set swap-reset",
    },
    SymptomKind {
        name: "low-memory",
        effects: "minor under 10 % or 512 MiB, major under 5 % or 128 MiB",
        why: "the kernel drops caches and reclaims memory while you measure",
        disturbs: &["memory", "process", "storage"],
        fix: "end what holds it: ps -eo rss,pid,comm --sort -rss | head",
    },
    SymptomKind {
        name: "cpu-quota",
        effects: "major, grave where it was used up before",
        why: "a group over its quota stands still for the rest of 100 ms",
        disturbs: ALL,
        fix: "start plumb outside the group, or lift its limit (docker run without --cpus)",
    },
    SymptomKind {
        name: "directory",
        effects: "minor",
        why: "what is measured there is not a disk of this machine",
        disturbs: FILES,
        fix: "name a directory on a local disk: plumb run --dir DIR",
    },
    SymptomKind {
        name: "full-disk",
        effects: "minor under 10 % free, major under 1 GiB",
        why: "files come to lie in pieces, and solid state disks slow down",
        disturbs: FILES,
        fix: "make room, or name another directory: plumb run --dir DIR",
    },
    SymptomKind {
        name: "container",
        effects: "note",
        why: "its filters and its filesystem cost at every system call and open",
        disturbs: &["process", "storage", "network"],
        fix: "measure outside, where that is what you want to know",
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
        why: "some preparations and monitors need what this root was not given",
        disturbs: &[],
        fix: "docker run --cap-add SYS_ADMIN --cap-add SYS_NICE --cap-add PERFMON",
    },
    SymptomKind {
        name: "no-audit",
        effects: "note",
        why: "nobody knows how small a change this machine can show",
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
            assert!(SYMPTOMS[..index].iter().all(|it| it.name != kind.name), "{}", kind.name);
            assert!(!kind.fix.is_empty() && !kind.why.is_empty());
        }
    }
}
