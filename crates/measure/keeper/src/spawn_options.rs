//! How a process is started: what holds for it alone and ends with it, so that nothing is to be undone.
#![expect(unsafe_code, reason = "scheduling classes and personality have no safe form")]

use std::io;

use serde::{Deserialize, Serialize};

/// The scheduling class of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SchedulingClass {
    /// The ordinary one.
    Other,
    /// For work that does not wait for people: fewer preemptions.
    Batch,
    /// Only when nothing else wants to run.
    Idle,
    /// Real time, until it waits, with this priority (1–99).
    Fifo(u8),
    /// Real time in turns, with this priority (1–99).
    RoundRobin(u8),
}

impl SchedulingClass {
    fn policy(self) -> (i32, i32) {
        match self {
            Self::Other => (libc::SCHED_OTHER, 0),
            Self::Batch => (libc::SCHED_BATCH, 0),
            Self::Idle => (libc::SCHED_IDLE, 0),
            Self::Fifo(priority) => (libc::SCHED_FIFO, i32::from(priority)),
            Self::RoundRobin(priority) => (libc::SCHED_RR, i32::from(priority)),
        }
    }
}

/// One of the options with which a process is started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SpawnOption {
    /// The nice level.
    Nice(i32),
    /// The scheduling class.
    SchedulingClass(SchedulingClass),
    /// The CPUs, by affinity.
    Pin(Vec<u32>),
    /// The CPUs, by its own control group.
    Cpuset(Vec<u32>),
    /// Microseconds of CPU time in each period of 100 ms, by its own control group.
    CpuQuota(u64),
    /// Bytes of memory, by its own control group.
    MemoryLimit(u64),
    /// Bytes per second in each direction from and to each disk, by its own control group; None for no limit.
    IoLimit(Option<u64>),
    /// Bytes more in the environment; None for a number that chance picks.
    Padding(Option<usize>),
    /// Whether address spaces are laid out the same way.
    FixedLayout(bool),
    /// Whether it runs outside of a tracer of its parent.
    Untraced(bool),
    /// A variable that is not in its environment.
    UnsetVariable(String),
    /// A variable of its environment, with its value.
    SetVariable(String, String),
}

/// How a process is started.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct SpawnOptions {
    /// Its nice level.
    pub nice: Option<i32>,
    /// Its scheduling class.
    pub class: Option<SchedulingClass>,
    /// The CPUs that it may run on; empty for all.
    pub cpus: Vec<u32>,
    /// The process whose mounts it sees: one that holds a medium.
    pub mounts_of: Option<u32>,
    /// The control groups that it is put into: their folders.
    pub groups: Vec<String>,
    /// Changes of its environment, in their order: a variable with its value, or None if it does not inherit it.
    pub variables: Vec<(String, Option<String>)>,
    /// So many bytes more in its environment.
    pub padding: Option<usize>,
    /// Whether that is so for all processes, and not for this one by chance.
    pub same_padding: bool,
    /// Whether its address space is laid out the same way every time.
    pub fixed_layout: bool,
    /// Whether it runs outside of a tracer of its parent.
    pub untraced: bool,
}

impl SpawnOptions {
    /// Whether this process may do all of it; tried on a thread, which ends with what it was given.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn probe(&self) -> io::Result<()> {
        std::thread::scope(|scope| {
            let thread = std::thread::Builder::new().spawn_scoped(scope, || self.take_on())?;
            let tried = thread.join();
            tried.unwrap_or_else(|_| Err(io::Error::other("plumb could not test it")))
        })
    }

    /// Gives it to the calling thread. It allocates nothing, so that it may stand between fork and exec.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn take_on(&self) -> io::Result<()> {
        self.be_pinned()?;
        if let Some(nice) = self.nice {
            // Against POSIX, Linux sets it for the calling thread alone, which makes a probe harmless.
            rustix::process::setpriority_process(None, nice)?;
        }
        // SAFETY: no memory is shared; all arguments are plain numbers or valid for the call.
        unsafe {
            if let Some(class) = self.class {
                let (policy, priority) = class.policy();
                let mut parameters: libc::sched_param = std::mem::zeroed();
                parameters.sched_priority = priority;
                done(libc::sched_setscheduler(0, policy, &raw const parameters))?;
            }
            if self.fixed_layout {
                // This value only asks (personality(2)).
                let now = libc::personality(0xffff_ffff);
                let fixed = now.cast_unsigned() | libc::ADDR_NO_RANDOMIZE.cast_unsigned();
                done(libc::personality(fixed.into()).min(0))?;
            }
        }
        Ok(())
    }

    fn be_pinned(&self) -> io::Result<()> {
        if self.cpus.is_empty() {
            return Ok(());
        }
        let mut set = rustix::thread::CpuSet::new();
        for &cpu in &self.cpus {
            // rustix panics beyond its size, and nothing may panic between fork and exec.
            if cpu as usize >= rustix::thread::CpuSet::MAX_CPU {
                return Err(io::ErrorKind::InvalidInput.into());
            }
            set.set(cpu as usize);
        }
        Ok(rustix::thread::sched_setaffinity(None, &set)?)
    }
}

fn done(result: i32) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::{SchedulingClass, SpawnOptions};

    #[test]
    fn what_is_tried_does_not_stay() {
        let before = rustix::process::getpriority_process(None).unwrap();
        let options =
            SpawnOptions { nice: Some(before + 1), cpus: vec![0], ..SpawnOptions::default() };
        options.probe().unwrap();
        assert_eq!(rustix::process::getpriority_process(None).unwrap(), before);
        let batch = SpawnOptions {
            class: Some(SchedulingClass::Batch),
            fixed_layout: true,
            ..SpawnOptions::default()
        };
        batch.probe().unwrap();
    }

    #[test]
    fn what_the_kernel_refuses_is_told() {
        let options = SpawnOptions { cpus: vec![1_000_000], ..SpawnOptions::default() };
        assert!(options.probe().is_err());
        let options =
            SpawnOptions { class: Some(SchedulingClass::Fifo(120)), ..SpawnOptions::default() };
        assert!(options.probe().is_err());
    }
}
