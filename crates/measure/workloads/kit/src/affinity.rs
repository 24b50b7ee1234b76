//! Which CPUs a thread may run on.
#![expect(unsafe_code, reason = "sched_setaffinity has no safe form in std")]

use std::fs;

use plumb_protocol::Failure;

/// The CPUs that a thread may run on.
#[derive(Clone)]
pub struct CpuSet(libc::cpu_set_t);

impl CpuSet {
    /// The set of the calling thread.
    ///
    /// # Errors
    /// When the kernel does not tell (more CPUs than libc's set holds).
    pub fn current() -> Result<Self, Failure> {
        let mut set = Self::empty();
        let size = std::mem::size_of::<libc::cpu_set_t>();
        // SAFETY: the set is live, writable, and of the stated size.
        if unsafe { libc::sched_getaffinity(0, size, &raw mut set.0) } == 0 {
            Ok(set)
        } else {
            Err(Failure::last_os_error("sched_getaffinity"))
        }
    }

    /// One CPU alone.
    pub fn only(cpu: usize) -> Self {
        let mut set = Self::empty();
        // SAFETY: CPU_SET checks nothing itself; the index is inside the set.
        if cpu < CAPACITY {
            unsafe { libc::CPU_SET(cpu, &mut set.0) };
        }
        set
    }

    fn empty() -> Self {
        // SAFETY: plain bits, for which all zeroes is a value.
        Self(unsafe { std::mem::zeroed() })
    }

    /// Its CPUs in rising order.
    pub fn cpus(&self) -> Vec<usize> {
        // SAFETY: the index is inside the set.
        (0..CAPACITY).filter(|&cpu| unsafe { libc::CPU_ISSET(cpu, &self.0) }).collect()
    }

    /// Keeps the calling thread to this set. Makes one system call, so a forked child may do it.
    ///
    /// # Errors
    /// When no CPU of the set may be used.
    pub fn apply(&self) -> Result<(), Failure> {
        let size = std::mem::size_of::<libc::cpu_set_t>();
        // SAFETY: the set is live and of the stated size.
        if unsafe { libc::sched_setaffinity(0, size, &raw const self.0) } == 0 {
            Ok(())
        } else {
            Err(Failure::last_os_error("sched_setaffinity"))
        }
    }
}

const CAPACITY: usize = libc::CPU_SETSIZE as usize;

/// Whether two CPUs are threads of one core; false when the kernel does not tell.
pub fn share_a_core(one: usize, other: usize) -> bool {
    let siblings = |cpu: usize| {
        fs::read_to_string(format!("/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings"))
            .ok()
    };
    siblings(one).is_some_and(|mask| siblings(other) == Some(mask))
}
