//! Which CPUs a thread may run on.

use plumb_protocol::Failure;
use rustix::process::Pid;
use rustix::thread::{CpuSet as Mask, sched_getaffinity, sched_setaffinity};

/// The CPUs that a thread may run on.
#[derive(Clone)]
pub struct CpuSet(Mask);

impl CpuSet {
    /// The set of the calling thread.
    ///
    /// # Errors
    /// When the kernel does not report (more CPUs than a set holds).
    pub fn current() -> Result<Self, Failure> {
        let mask = sched_getaffinity(None);
        mask.map(Self).map_err(|error| Failure::io("sched_getaffinity", &error.into()))
    }

    /// One CPU alone.
    #[must_use]
    pub fn only(cpu: usize) -> Self {
        Self::of(&[cpu])
    }

    /// A set of exactly these CPUs.
    #[must_use]
    pub fn of(cpus: &[usize]) -> Self {
        let mut mask = Mask::new();
        cpus.iter().filter(|&&cpu| cpu < Mask::MAX_CPU).for_each(|&cpu| mask.set(cpu));
        Self(mask)
    }

    /// Its CPUs in rising order.
    #[must_use]
    pub fn cpus(&self) -> Vec<usize> {
        (0..Mask::MAX_CPU).filter(|&cpu| self.0.is_set(cpu)).collect()
    }

    /// Keeps the calling thread to this set. Makes one system call, so a forked child may do it.
    ///
    /// # Errors
    /// When no CPU of the set may be used.
    pub fn apply(&self) -> Result<(), Failure> {
        sched_setaffinity(None, &self.0)
            .map_err(|error| Failure::io("sched_setaffinity", &error.into()))
    }

    /// Keeps a process of one thread to this set.
    ///
    /// # Errors
    /// When the process is gone or of another user, or no CPU of the set may be used.
    pub fn apply_to(&self, process: u32) -> Result<(), Failure> {
        let id = i32::try_from(process).ok().and_then(Pid::from_raw);
        sched_setaffinity(id, &self.0)
            .map_err(|error| Failure::io(format!("pinning process {process}"), &error.into()))
    }
}
