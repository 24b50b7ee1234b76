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

/// The subject of a fact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Theme {
    /// Processors, their frequency and their idle states.
    Cpu,
    /// Memory and swap.
    Memory,
    /// Board, firmware, power, what is below.
    Firmware,
    /// Disks: models, schedulers, caches.
    Disks,
    /// Network devices: drivers, speeds, offloads.
    Network,
    /// The target directory.
    Place,
    /// What plumb's own group may use.
    Limits,
    /// The kernel: version, command line, build.
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
    /// The data that it moves, or why it moves none.
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

/// What stands before the facts of the machine on which servers are started, if that is another one (`--to`).
pub const OF_FAR_END: &str = "far.";

/// All facts, in the order in which they are shown. A name with a point is a sysctl.
pub const FACTS: &[FactKind] = &[
    relevant("cpu", Theme::Cpu, "a different processor"),
    relevant("cpus", Theme::Cpu, "a different number of CPUs"),
    relevant("cores_per_socket", Theme::Cpu, "a different topology"),
    relevant("threads_per_socket", Theme::Cpu, "a different topology"),
    relevant("numa_nodes", Theme::Cpu, "the distance to memory"),
    relevant("numa_distances", Theme::Cpu, "the distance to memory"),
    relevant("caches", Theme::Cpu, "how much data fits into each cache"),
    relevant("cpus_online", Theme::Cpu, "CPUs went online or offline"),
    relevant("cpus_isolated", Theme::Cpu, "the scheduler avoids these CPUs"),
    relevant("cpus_tickless", Theme::Cpu, "fewer timer ticks on these CPUs"),
    relevant("microcode", Theme::Cpu, "contains mitigations and fixes"),
    relevant("mitigations", Theme::Cpu, "each slows kernel entry"),
    relevant("smt", Theme::Cpu, "whether two threads may share a core"),
    relevant("smt_active", Theme::Cpu, "a busy sibling slows a core by a third"),
    relevant("frequency_driver", Theme::Cpu, "how the frequency follows the load"),
    relevant("frequency_limits", Theme::Cpu, "how high the frequency can go"),
    relevant("governor", Theme::Cpu, "how soon the frequency rises"),
    relevant("energy_preference", Theme::Cpu, "how soon the frequency rises"),
    relevant("no_turbo", Theme::Cpu, "turbo depends on temperature and other cores"),
    relevant("boost", Theme::Cpu, "turbo depends on temperature and other cores"),
    relevant("idle_driver", Theme::Cpu, "how deeply idle CPUs sleep"),
    relevant("idle_states", Theme::Cpu, "how long a CPU takes to wake"),
    relevant("memory", Theme::Memory, "how much data fits into memory"),
    relevant("memory_modules", Theme::Memory, "memory channels and speed"),
    relevant("huge_pages", Theme::Memory, "TLB misses, varying from run to run"),
    relevant("huge_pages_defrag", Theme::Memory, "page faults may compact memory"),
    relevant("huge_page_pool", Theme::Memory, "memory reserved for some programs"),
    relevant("same_page_merging", Theme::Memory, "a thread that scans memory"),
    relevant("swap", Theme::Memory, "where pages go when memory is short"),
    relevant("compressed_swap", Theme::Memory, "swapping costs CPU time instead of I/O"),
    relevant("virtualisation", Theme::Firmware, "neighbours, and exits to the hypervisor"),
    relevant("vendor", Theme::Firmware, "a different machine"),
    relevant("product", Theme::Firmware, "a different machine"),
    relevant("board", Theme::Firmware, "a different machine"),
    relevant("model", Theme::Firmware, "a different machine"),
    relevant("cloud", Theme::Firmware, "a different machine"),
    relevant("bios", Theme::Firmware, "sets clocks and limits"),
    harmless("boot_mode", Theme::Firmware, "no effect once the kernel runs"),
    relevant("power", Theme::Firmware, "on battery the frequency is limited"),
    relevant("disk", Theme::Disks, "the target directory's disk"),
    harmless("disks", Theme::Disks, "workloads use only the target directory's disk"),
    harmless(
        "network_devices",
        Theme::Network,
        "relevant with --to or if a network workload names a host; loopback and local paths do not use \
         them",
    ),
    relevant("congestion_control", Theme::Network, "how fast a connection ramps up"),
    relevant("filesystem", Theme::Place, "storage workloads depend on it"),
    harmless("device", Theme::Place, "the name may change at every boot"),
    relevant("mount_options", Theme::Place, "access times and flushing"),
    relevant("filesystem_options", Theme::Place, "journal, barriers and compression"),
    relevant("cpus_allowed", Theme::Limits, "how many CPUs plumb may use"),
    relevant("cpu_quota", Theme::Limits, "a cgroup over its quota is throttled"),
    relevant("memory_limit", Theme::Limits, "how much data fits into memory"),
    relevant("kernel", Theme::Kernel, "affects every system call"),
    harmless("kernel_build", Theme::Kernel, "a date; kernel_config has the options"),
    relevant("kernel_config", Theme::Kernel, "the same version, built differently"),
    relevant("command_line", Theme::Kernel, "can change almost anything"),
    relevant("preemption", Theme::Kernel, "how long a wake-up takes"),
    relevant("timer_frequency", Theme::Kernel, "how often each CPU is interrupted"),
    relevant("clock_source", Theme::Kernel, "the cost of reading the clock"),
    relevant("security", Theme::Kernel, "hooks in file, socket and process calls"),
    relevant("address_randomisation", Theme::Settings, "whether memory layouts vary"),
    relevant("swappiness", Theme::Settings, "which pages are reclaimed when memory is short"),
    relevant("autogroup", Theme::Settings, "how processes share CPU time"),
    relevant("kernel.numa_balancing", Theme::Settings, "page faults that track memory use"),
    relevant("kernel.nmi_watchdog", Theme::Settings, "uses a counter and interrupts CPUs"),
    relevant("kernel.sched_rt_runtime_us", Theme::Settings, "real-time tasks are throttled"),
    relevant("kernel.sched_schedstats", Theme::Settings, "the scheduler keeps more statistics"),
    relevant("kernel.timer_migration", Theme::Settings, "timers move away from idle CPUs"),
    relevant("kernel.perf_event_paranoid", Theme::Settings, "which counters can be read"),
    relevant("net.core.bpf_jit_enable", Theme::Settings, "filters are compiled or interpreted"),
    relevant("net.core.busy_poll", Theme::Settings, "sockets poll instead of sleeping"),
    relevant("net.core.default_qdisc", Theme::Settings, "how packets queue"),
    relevant("net.core.rmem_max", Theme::Settings, "the largest socket buffer"),
    relevant("net.core.wmem_max", Theme::Settings, "the largest socket buffer"),
    relevant("net.ipv4.icmp_msgs_per_sec", Theme::Settings, "limits on echo replies"),
    relevant("net.ipv4.icmp_ratelimit", Theme::Settings, "limits on echo replies"),
    relevant("net.ipv4.tcp_rmem", Theme::Settings, "how large the TCP window gets"),
    relevant("net.ipv4.tcp_wmem", Theme::Settings, "how large the TCP window gets"),
    relevant("vm.compaction_proactiveness", Theme::Settings, "a kernel thread that moves pages"),
    relevant("vm.dirty_background_ratio", Theme::Settings, "when writeback begins"),
    relevant("vm.dirty_expire_centisecs", Theme::Settings, "when writeback begins"),
    relevant("vm.dirty_ratio", Theme::Settings, "when writers must wait"),
    relevant("vm.overcommit_memory", Theme::Settings, "whether large mappings are refused"),
    relevant("vm.stat_interval", Theme::Settings, "a timer on every CPU"),
    relevant("vm.zone_reclaim_mode", Theme::Settings, "reclaim locally, or use remote memory"),
    relevant("os", Theme::Software, "libraries and tools that commands use"),
    relevant("container", Theme::Software, "its filesystem, filters and limits"),
    relevant("libc", Theme::Software, "copying, locks and program start"),
    relevant("openssl", Theme::Software, "the encryption library of many commands"),
    harmless("openssh", Theme::Software, "the ssh workloads record it themselves"),
    harmless("gcc", Theme::Software, "a workload that uses it records it"),
    harmless("clang", Theme::Software, "a workload that uses it records it"),
    harmless("rustc", Theme::Software, "a workload that uses it records it"),
    harmless("go", Theme::Software, "a workload that uses it records it"),
    harmless("python", Theme::Software, "a workload that uses it records it"),
    relevant("prepared", Theme::Run, "the settings applied for the run"),
    harmless("labels", Theme::Run, "the user's own names for the run"),
    harmless("plumb", Theme::Run, "workloads have their own versions"),
    fatal("load", Theme::Run, "another workload ran alongside on purpose"),
    fatal("status", Theme::Run, "one of the runs is not finished"),
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
    /// if it is missing, it was not read: without root, or by an older plumb.
    #[must_use]
    pub fn is_of_environment(&self) -> bool {
        self.theme != Theme::Run && !IDENTITY.contains(&self.name)
    }

    /// The fact of this name, also if it is one of the far end.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Self> {
        let name = name.strip_prefix(OF_FAR_END).unwrap_or(name);
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
        assert_eq!(FactKind::named("far.governor"), FactKind::named("governor"));
    }
}
