//! `cpu.syscall`: into the kernel and back.

use plumb_model::{AuditClass, Description, Ready};
use plumb_protocol::{Failure, Start, StartError, StartedWorkload, Workload};

use plumb_workload_kit::declare;
use plumb_workload_kit::placement::placement;
use plumb_workload_kit::threads::{self, Member, Team};

/// The workload `cpu.syscall`: its parameters and metrics, and how it starts.
pub(super) struct Syscall;

/// System calls of an iteration.
const CALLS: u64 = 64;

impl Workload for Syscall {
    fn describe(&self) -> Description {
        declare::scaling(Description {
            parameters: vec![declare::threads("threads, each calling the kernel"), placement()],
            metrics: vec![
                declare::time("time", "wall time of one system call on each thread"),
                declare::rate("rate", "ops/s", "system calls per second, all threads together"),
            ],
            audit_class: Some(AuditClass::Cpu),
            ..declare::workload("cpu.syscall", "the cheapest system call: getppid")
        })
    }

    fn manual(&self) -> &'static str {
        include_str!("syscall.md")
    }

    fn start(&self, start: &Start) -> Result<StartedWorkload, StartError> {
        let threads = start.size("threads").max(1);
        let team = Team::placed(threads, start, |_| Ok(Caller::new()))?;
        let work = declare::work(&[("time", CALLS), ("rate", CALLS * threads as u64)]);
        let mut ready = Ready { work, ..Ready::default() };
        ready.notes.extend(mitigations());
        threads::describe(threads, start, &mut ready)?;
        Ok(StartedWorkload { instance: Box::new(team), ready })
    }
}

/// The kernel's mitigations at its border, which are much of the cost of a call.
fn mitigations() -> Option<String> {
    let known: Vec<String> =
        ["meltdown", "spectre_v2", "mds"].into_iter().filter_map(mitigation).collect();
    (!known.is_empty()).then(|| known.join("; "))
}

/// The kernel's mitigation of one vulnerability; None if it does not know it.
fn mitigation(name: &str) -> Option<String> {
    let path = format!("/sys/devices/system/cpu/vulnerabilities/{name}");
    let text = std::fs::read_to_string(path).ok()?;
    // `Mitigation; Retpolines; IBPB conditional …`: what follows are details.
    let parts: Vec<&str> = text.split(';').take(2).map(str::trim).collect();
    Some(format!("{name}: {}", parts.join(", ")))
}

/// One thread's calls.
struct Caller {
    parent: u64,
    calls: u64,
    /// The sum of all answers.
    sum: u64,
}

impl Caller {
    fn new() -> Self {
        Self { parent: call::parent(), calls: 0, sum: 0 }
    }
}

impl Member for Caller {
    fn run(&mut self, iterations: u64) -> Result<(), Failure> {
        for _ in 0..iterations * CALLS {
            self.sum = self.sum.wrapping_add(call::parent());
        }
        self.calls += iterations * CALLS;
        Ok(())
    }

    fn verify(&mut self) -> Result<(), Failure> {
        let expected = self.parent.wrapping_mul(self.calls);
        if self.sum != expected {
            return Err(Failure(format!(
                "cpu.syscall: {} answers add up to {}, not {expected}; the parent's process ID is {}",
                self.calls, self.sum, self.parent
            )));
        }
        (self.calls, self.sum) = (0, 0);
        Ok(())
    }
}

mod call {
    #![expect(unsafe_code, reason = "a system call by its number has no safe form")]

    /// getppid by its number: it does nothing in the kernel but to look, and no library keeps its answer.
    #[cfg(target_arch = "x86_64")]
    #[inline(never)]
    pub(super) fn parent() -> u64 {
        let mut number = libc::SYS_getppid.unsigned_abs();
        // SAFETY: getppid takes nothing and touches no memory of ours; the kernel changes rcx and r11.
        unsafe {
            std::arch::asm!(
                "syscall",
                inout("rax") number,
                out("rcx") _,
                out("r11") _,
                options(att_syntax, nostack)
            );
        }
        number
    }

    /// The same through the C library.
    #[cfg(not(target_arch = "x86_64"))]
    #[inline(never)]
    pub(super) fn parent() -> u64 {
        // SAFETY: getppid takes nothing and touches no memory of ours.
        unsafe { libc::syscall(libc::SYS_getppid) }.unsigned_abs()
    }
}

#[cfg(test)]
mod tests {
    use super::{Caller, Member, call};

    #[test]
    fn the_answer_is_the_parent() {
        assert_eq!(call::parent(), u64::from(std::os::unix::process::parent_id()));
    }

    #[test]
    fn a_wrong_answer_is_found() {
        let mut caller = Caller::new();
        caller.run(2).unwrap();
        caller.verify().unwrap();
        caller.run(1).unwrap();
        caller.sum += 1;
        assert!(caller.verify().unwrap_err().0.contains("64 answers"));
    }
}
