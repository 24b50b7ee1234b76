//! CPU time that a hypervisor takes from this machine. A test of times that fails meanwhile shows nothing about the code.

use std::thread;
use std::time::{Duration, Instant};

/// A machine that loses more than this share of its busy CPU time is restless. Measured with two busy loops on the guest that runs
/// CI (2026-11-30): 0 to 1.3 % in calm minutes, 20 % in others, in which a loop of 14 ms took up to 89.
const RESTLESS: f64 = 0.02;
/// CPUs are loaded for so long to see what is taken from them: an idle CPU has nothing to lose.
const LOAD: Duration = Duration::from_secs(2);
/// Between two looks.
const PAUSE: Duration = Duration::from_secs(10);

/// CPU time since boot, of all CPUs, in ticks of the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CpuTime {
    busy: u64,
    stolen: u64,
}

impl CpuTime {
    /// As the kernel counts it now; zero if it cannot be read.
    pub fn now() -> Self {
        Self::of(&std::fs::read_to_string("/proc/stat").unwrap_or_default())
    }

    /// From the first line of `/proc/stat`: `cpu user nice system idle iowait irq softirq steal ...` (proc(5)).
    fn of(stat: &str) -> Self {
        let mut ticks = [0_u64; 8];
        let fields = stat.lines().next().unwrap_or_default().split_whitespace().skip(1);
        for (tick, field) in ticks.iter_mut().zip(fields) {
            *tick = field.parse().unwrap_or(0);
        }
        let [user, nice, system, _idle, _waiting, interrupt, soft_interrupt, stolen] = ticks;
        Self { busy: user + nice + system + interrupt + soft_interrupt, stolen }
    }

    /// The share of the time wanted since then that the hypervisor took, from 0 to 1.
    #[expect(clippy::cast_precision_loss, reason = "ticks of one test run are far below 2^53")]
    pub fn stolen_share_since(self, earlier: Self) -> f64 {
        let busy = self.busy.saturating_sub(earlier.busy);
        let stolen = self.stolen.saturating_sub(earlier.stolen);
        if stolen == 0 { 0.0 } else { stolen as f64 / (busy + stolen) as f64 }
    }
}

/// Whether a machine that lost this share is restless.
pub fn is_restless(stolen_share: f64) -> bool {
    stolen_share > RESTLESS
}

/// Waits until the machine is calm, at most until the deadline. Loads every CPU for two seconds to find out.
pub fn wait_for_calm(deadline: Instant) {
    let begun = Instant::now();
    loop {
        let share = share_under_load();
        if !is_restless(share) || Instant::now() + PAUSE > deadline {
            println!(
                "waited {:.0} s for steal time to fall; it is now {:.1} % of the CPU time",
                begun.elapsed().as_secs_f64(),
                100.0 * share
            );
            return;
        }
        thread::sleep(PAUSE);
    }
}

/// The share of CPU time that is taken while every CPU is busy.
fn share_under_load() -> f64 {
    let before = CpuTime::now();
    let until = Instant::now() + LOAD;
    let cpus = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for _ in 0..cpus {
            scope.spawn(|| {
                while Instant::now() < until {
                    std::hint::spin_loop();
                }
            });
        }
    });
    CpuTime::now().stolen_share_since(before)
}

#[cfg(test)]
mod tests {
    use super::{CpuTime, is_restless};

    #[test]
    fn the_share_is_of_the_time_that_was_wanted() {
        let before = CpuTime::of("cpu  100 0 50 1000 10 0 5 20 0 0\ncpu0 1 1 1\n");
        let after = CpuTime::of("cpu  160 10 60 9000 90 5 10 40 3 3\n");
        // 90 ticks of work, 20 taken; 8,000 idle ones say nothing.
        assert!((after.stolen_share_since(before) - 20.0 / 110.0).abs() < 1e-12);
        assert_eq!(after.stolen_share_since(after).to_bits(), 0.0_f64.to_bits());
        assert_eq!(CpuTime::of(""), CpuTime { busy: 0, stolen: 0 });
        assert_eq!(CpuTime::of("cpu 1 2 3"), CpuTime { busy: 6, stolen: 0 });
    }

    #[test]
    fn calm_and_restless_minutes_differ() {
        assert!(!is_restless(0.0) && !is_restless(0.013) && is_restless(0.2));
    }
}
