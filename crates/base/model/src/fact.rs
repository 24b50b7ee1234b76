//! Every fact that plumb knows of a machine: where it belongs, and how bad it is when it differs.
//!
//! This is the only list. What the host reads must stand here, what a comparison calls relevant is
//! decided here, and a person sees facts in this order.

use std::fmt;

/// How bad a difference is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Impact {
    /// It is not known to move any number.
    Harmless,
    /// It may well be why numbers differ.
    Relevant,
    /// The numbers are not of the same thing.
    Fatal,
}

impl Impact {
    /// The word that is shown.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Harmless => "harmless",
            Self::Relevant => "relevant",
            Self::Fatal => "fatal",
        }
    }
}

/// What a fact is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Theme {
    /// Processors, their frequency and their idle states.
    Cpu,
    /// Memory and swap.
    Memory,
    /// Board, firmware, power, what is below.
    Firmware,
    /// Disks.
    Disks,
    /// Network devices.
    Network,
    /// The target directory.
    Place,
    /// What plumb's own group may use.
    Limits,
    /// The kernel.
    Kernel,
    /// What can be set while it runs.
    Settings,
    /// The operating system, libraries and tools.
    Software,
    /// How the run was carried out; no fact of the machine.
    Run,
}

impl Theme {
    /// The heading over its facts.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::Memory => "memory",
            Self::Firmware => "firmware",
            Self::Disks => "disks",
            Self::Network => "network",
            Self::Place => "target directory",
            Self::Limits => "limits",
            Self::Kernel => "kernel",
            Self::Settings => "settings",
            Self::Software => "software",
            Self::Run => "run",
        }
    }
}

impl fmt::Display for Theme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// A fact that plumb knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FactKind {
    /// Its name, as it is stored.
    pub name: &'static str,
    /// What it is about.
    pub theme: Theme,
    /// How bad it is when it differs.
    pub impact: Impact,
    /// What it moves, or why it moves nothing.
    pub why: &'static str,
}

const fn relevant(name: &'static str, theme: Theme, why: &'static str) -> FactKind {
    FactKind { name, theme, impact: Impact::Relevant, why }
}

const fn harmless(name: &'static str, theme: Theme, why: &'static str) -> FactKind {
    FactKind { name, theme, impact: Impact::Harmless, why }
}

const fn fatal(name: &'static str, theme: Theme, why: &'static str) -> FactKind {
    FactKind { name, theme, impact: Impact::Fatal, why }
}

/// All facts, in the order in which they are shown. A name with a point is a sysctl.
pub const FACTS: &[FactKind] = &[
    relevant("cpu", Theme::Cpu, "another processor"),
    relevant("cpus", Theme::Cpu, "another number of processors"),
    relevant("cores_per_socket", Theme::Cpu, "another topology"),
    relevant("threads_per_socket", Theme::Cpu, "another topology"),
    relevant("numa_nodes", Theme::Cpu, "memory is nearer or farther"),
    relevant("numa_distances", Theme::Cpu, "memory is nearer or farther"),
    relevant("caches", Theme::Cpu, "what fits where"),
    relevant("cpus_online", Theme::Cpu, "processors were switched off or on"),
    relevant("cpus_isolated", Theme::Cpu, "the scheduler leaves these alone"),
    relevant("cpus_tickless", Theme::Cpu, "the timer tick interrupts these less"),
    relevant("microcode", Theme::Cpu, "mitigations and errata live in it"),
    relevant("mitigations", Theme::Cpu, "each costs at every entry into the kernel"),
    relevant("smt", Theme::Cpu, "whether siblings may share a core"),
    relevant("smt_active", Theme::Cpu, "a busy sibling takes a third of a core"),
    relevant("frequency_driver", Theme::Cpu, "how frequency follows load"),
    relevant("frequency_limits", Theme::Cpu, "how fast the clock can be"),
    relevant("governor", Theme::Cpu, "how soon the clock rises"),
    relevant("energy_preference", Theme::Cpu, "how soon the clock rises"),
    relevant("no_turbo", Theme::Cpu, "turbo depends on heat and neighbours"),
    relevant("boost", Theme::Cpu, "turbo depends on heat and neighbours"),
    relevant("idle_driver", Theme::Cpu, "how deep processors sleep"),
    relevant("idle_states", Theme::Cpu, "how long waking takes"),
    relevant("memory", Theme::Memory, "what fits"),
    relevant("memory_modules", Theme::Memory, "channels and clock of the memory"),
    relevant("huge_pages", Theme::Memory, "fewer misses of the TLB, by luck"),
    relevant("huge_pages_defrag", Theme::Memory, "page faults may compact memory"),
    relevant("huge_page_pool", Theme::Memory, "memory that only some can use"),
    relevant("same_page_merging", Theme::Memory, "a thread that scans memory"),
    relevant("swap", Theme::Memory, "where memory goes when it is short"),
    relevant("compressed_swap", Theme::Memory, "swapping takes processor time instead"),
    relevant("virtualisation", Theme::Firmware, "neighbours, and exits to what is below"),
    relevant("vendor", Theme::Firmware, "another machine"),
    relevant("product", Theme::Firmware, "another machine"),
    relevant("board", Theme::Firmware, "another machine"),
    relevant("model", Theme::Firmware, "another machine"),
    relevant("cloud", Theme::Firmware, "another machine"),
    relevant("bios", Theme::Firmware, "it sets clocks and limits"),
    harmless("boot_mode", Theme::Firmware, "over once the kernel runs"),
    relevant("power", Theme::Firmware, "on battery the clock is held down"),
    relevant("disk", Theme::Disks, "what is below the target directory"),
    harmless("disks", Theme::Disks, "workloads use the target directory's alone"),
    harmless("network_devices", Theme::Network, "workloads stay on loopback"),
    relevant("congestion_control", Theme::Network, "how fast a connection opens"),
    relevant("filesystem", Theme::Place, "storage workloads measure it"),
    harmless("device", Theme::Place, "a name that moves from boot to boot"),
    relevant("mount_options", Theme::Place, "access times, flushing"),
    relevant("filesystem_options", Theme::Place, "journal, barriers, compression"),
    relevant("cpus_allowed", Theme::Limits, "how many processors plumb may use"),
    relevant("cpu_quota", Theme::Limits, "a group over its quota stands still"),
    relevant("memory_limit", Theme::Limits, "what fits"),
    relevant("kernel", Theme::Kernel, "every system call"),
    harmless("kernel_build", Theme::Kernel, "a date; the configuration stands apart"),
    relevant("kernel_config", Theme::Kernel, "the same version, built otherwise"),
    relevant("command_line", Theme::Kernel, "it switches nearly anything"),
    relevant("preemption", Theme::Kernel, "how long a wake-up waits"),
    relevant("timer_frequency", Theme::Kernel, "how often every processor is interrupted"),
    relevant("clock_source", Theme::Kernel, "what reading the clock costs"),
    relevant("security", Theme::Kernel, "hooks on files, sockets and processes"),
    relevant("address_randomisation", Theme::Settings, "layouts are sampled or fixed"),
    relevant("swappiness", Theme::Settings, "what is dropped when memory is short"),
    relevant("autogroup", Theme::Settings, "which processes share fairly"),
    relevant("kernel.numa_balancing", Theme::Settings, "faults that look where memory is used"),
    relevant("kernel.nmi_watchdog", Theme::Settings, "takes a counter, and interrupts"),
    relevant("kernel.sched_rt_runtime_us", Theme::Settings, "real-time tasks are throttled"),
    relevant("kernel.sched_schedstats", Theme::Settings, "the scheduler counts more"),
    relevant("kernel.timer_migration", Theme::Settings, "timers leave idle processors"),
    relevant("kernel.perf_event_paranoid", Theme::Settings, "which counters can be read"),
    relevant("net.core.bpf_jit_enable", Theme::Settings, "filters compiled or interpreted"),
    relevant("net.core.busy_poll", Theme::Settings, "sockets wait awake"),
    relevant("net.core.default_qdisc", Theme::Settings, "how packets queue"),
    relevant("net.core.rmem_max", Theme::Settings, "the largest socket buffer"),
    relevant("net.core.wmem_max", Theme::Settings, "the largest socket buffer"),
    relevant("net.ipv4.icmp_msgs_per_sec", Theme::Settings, "a limit on echo replies"),
    relevant("net.ipv4.icmp_ratelimit", Theme::Settings, "a limit on echo replies"),
    relevant("net.ipv4.tcp_rmem", Theme::Settings, "how far a window opens"),
    relevant("net.ipv4.tcp_wmem", Theme::Settings, "how far a window opens"),
    relevant("vm.compaction_proactiveness", Theme::Settings, "a thread that moves pages"),
    relevant("vm.dirty_background_ratio", Theme::Settings, "when writing back begins"),
    relevant("vm.dirty_expire_centisecs", Theme::Settings, "when writing back begins"),
    relevant("vm.dirty_ratio", Theme::Settings, "when writers must wait"),
    relevant("vm.overcommit_memory", Theme::Settings, "whether large maps are refused"),
    relevant("vm.stat_interval", Theme::Settings, "a timer on every processor"),
    relevant("vm.zone_reclaim_mode", Theme::Settings, "reclaim near or allocate far"),
    relevant("os", Theme::Software, "everything that commands use"),
    relevant("container", Theme::Software, "its filesystem, filters and limits"),
    relevant("libc", Theme::Software, "copying, locks, start of programs"),
    relevant("openssl", Theme::Software, "what commands encrypt with"),
    harmless("openssh", Theme::Software, "the ssh workloads tell it themselves"),
    harmless("gcc", Theme::Software, "a workload that uses it tells it itself"),
    harmless("clang", Theme::Software, "a workload that uses it tells it itself"),
    harmless("rustc", Theme::Software, "a workload that uses it tells it itself"),
    harmless("go", Theme::Software, "a workload that uses it tells it itself"),
    harmless("python", Theme::Software, "a workload that uses it tells it itself"),
    relevant("prepared", Theme::Run, "knobs that were set for the run"),
    harmless("labels", Theme::Run, "what a person calls it"),
    harmless("plumb", Theme::Run, "workloads have versions of their own"),
    fatal("load", Theme::Run, "something else ran beside, on purpose"),
    fatal("status", Theme::Run, "one of them has not ended"),
];

/// The facts that make a machine's identity. The list is frozen: another fact would split every history,
/// so what is new belongs to the environment.
pub const IDENTITY: [&str; 10] = [
    "cpu",
    "cpus",
    "cores_per_socket",
    "threads_per_socket",
    "numa_nodes",
    "memory",
    "vendor",
    "product",
    "board",
    "virtualisation",
];

/// Facts that only root can read.
pub const FOR_ROOT: [&str; 1] = ["memory_modules"];

impl FactKind {
    /// Whether it belongs to the environment. Such a fact has a value wherever it can be read, so that
    /// where it is missing it was not read: without root, or by an older plumb.
    #[must_use]
    pub fn is_of_environment(&self) -> bool {
        self.theme != Theme::Run && !IDENTITY.contains(&self.name)
    }

    /// The fact of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Self> {
        FACTS.iter().find(|fact| fact.name == name)
    }
}

impl Impact {
    /// How bad it is when this field differs; what is not known may well matter.
    #[must_use]
    pub fn of(field: &str) -> Self {
        FactKind::named(field).map_or(Self::Relevant, |fact| fact.impact)
    }
}

#[cfg(test)]
mod tests {
    use super::{FACTS, FactKind, IDENTITY, Impact};

    #[test]
    fn facts_have_one_name_each_and_stand_by_themes() {
        for (index, fact) in FACTS.iter().enumerate() {
            assert_eq!(FactKind::named(fact.name), Some(fact), "{} stands twice", fact.name);
            assert!(index == 0 || FACTS[index - 1].theme <= fact.theme, "{}", fact.name);
        }
        assert!(IDENTITY.iter().all(|name| FactKind::named(name).is_some()));
        assert_eq!(Impact::of("a version nobody heard of"), Impact::Relevant);
        assert_eq!(Impact::of("load"), Impact::Fatal);
    }
}
