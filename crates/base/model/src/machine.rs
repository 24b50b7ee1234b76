//! Machines, environments and targets.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::host::{By, Host};

/// The kind of a machine: a short frozen list of facts, hashed. Equal machines are of one kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// `fp1:` and the first 16 hexadecimal digits of the hash over the sorted facts.
    pub fingerprint: String,
    /// The facts: CPU model, topology, memory size, board or instance type.
    pub facts: BTreeMap<String, String>,
}

/// The facts that may change on a machine; recorded with every run and whenever they change within one.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Environment {
    /// `env1:` and the first 16 hexadecimal digits of the hash over the sorted facts.
    pub fingerprint: String,
    /// The facts: kernel, command line, governor, mitigations, filesystem and device of the target
    /// directory, versions of libraries and tools.
    pub facts: BTreeMap<String, String>,
}

/// Where invocations happen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Target {
    /// `local`; `unknown` of results of other tools.
    pub name: String,
    /// Which one of the machines of its kind it is.
    pub host: Host,
    /// Of which kind it is.
    pub machine: Machine,
    /// In what state it is.
    pub environment: Environment,
}

impl Target {
    /// Whether runs on both count as of one machine.
    #[must_use]
    pub fn is_one_with(&self, other: &Self, by: By) -> bool {
        self.machine.fingerprint == other.machine.fingerprint && by.mixes(&self.host, &other.host)
    }
}

/// The process that carries a run out: while it lives, the run is `running`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owner {
    /// Process id on this machine.
    pub pid: u32,
    /// Start time of the process, in clock ticks since boot (field 22 of /proc/PID/stat).
    pub start_ticks: u64,
    /// The kernel's random boot id.
    pub boot_id: String,
}

/// Where a CPU is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuPlace {
    /// Number that the kernel gives it.
    pub cpu: u32,
    /// Its core: CPUs of one core have the same number, which is that of its first CPU.
    pub core: u32,
    /// Its node of memory.
    pub node: u32,
}

/// Facts of the host that `start` gives to a workload, so that it needs no code to find them.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Facts {
    /// The CPUs that the process may run on.
    pub cpus: Vec<u32>,
    /// Where each CPU is, as far as the kernel reports it.
    #[serde(default)]
    pub places: Vec<CpuPlace>,
    /// Size of the first-level data cache, in bytes; 0 when unknown.
    pub l1d_bytes: u64,
    /// Size of the second-level cache, in bytes; 0 when unknown.
    pub l2_bytes: u64,
    /// Size of the last-level cache, in bytes; 0 when unknown.
    pub llc_bytes: u64,
    /// Memory that plumb may use: the smaller of RAM and the cgroup's limit, in bytes.
    pub memory_bytes: u64,
    /// Size of a page, in bytes.
    pub page_bytes: u64,
    /// CPU features that matter to workloads (`aes`, `avx2`, …).
    pub cpu_features: Vec<String>,
    /// The model of the CPU.
    pub cpu_model: String,
    /// The plumb binary, for workloads that need a helper process.
    pub plumb: String,
}
