//! Context switches of a process and its children, read between samples.
#![expect(unsafe_code, reason = "getrusage has no safe form in std")]

use plumb_model::{Better, Metric};
use plumb_protocol::{Batch, Failure, Instance, current_cpu, now_ns};

use crate::declare::reported;

/// The value that [`Switching`] adds.
pub const SWITCHES: &str = "switches";

/// Context switches of this process so far, by yielding, waiting or preemption, and of children that it reaped.
#[must_use]
pub fn own_switches() -> (u64, u64) {
    (switches_of(libc::RUSAGE_SELF), switches_of(libc::RUSAGE_CHILDREN))
}

/// Context switches of this process or of its reaped children so far, voluntary or not.
fn switches_of(who: libc::c_int) -> u64 {
    // SAFETY: rusage is plain numbers, for which all zeroes is a value; the pointer is to a live one.
    let usage = unsafe {
        let mut filled: libc::rusage = std::mem::zeroed();
        libc::getrusage(who, &raw mut filled);
        filled
    };
    usage.ru_nvcsw.unsigned_abs() + usage.ru_nivcsw.unsigned_abs()
}

/// The metric of [`Switching`], for each of what it counts.
#[must_use]
pub fn switches(of: &str) -> Metric {
    let summary = format!("context switches of parent and children per {of}");
    reported(SWITCHES, "", Better::Neither, &summary)
}

/// Tells next to another instance how often its tasks, and children that it reaped, were switched; for each of so many that an
/// iteration makes.
pub struct Switching<I> {
    instance: I,
    made: u64,
    iterations: u64,
    before: u64,
}

impl<I: Instance> Switching<I> {
    /// Beside this instance, whose iteration makes so many.
    pub fn beside(instance: I, made: usize) -> Self {
        Self { instance, made: made.max(1) as u64, iterations: 1, before: 0 }
    }
}

impl<I: Instance> Instance for Switching<I> {
    fn run(&mut self, iterations: u64) -> Result<(), Failure> {
        self.instance.run(iterations)
    }

    fn verify(&mut self) -> Result<(), Failure> {
        self.instance.verify()
    }

    fn batch(&mut self, iterations: &[u64], batch: &mut Batch) -> Result<(), Failure> {
        self.before = all();
        for &k in iterations {
            let start = now_ns();
            self.instance.run(k)?;
            let elapsed = now_ns() - start;
            batch.record(start, elapsed, k, current_cpu());
            self.iterations = k;
            batch.record_reported(|row| self.values(row));
        }
        Ok(())
    }

    fn value_names(&self) -> &'static [&'static str] {
        &[SWITCHES]
    }

    #[expect(clippy::cast_precision_loss, reason = "counts of one sample stay far below 2^53")]
    fn values(&mut self, out: &mut [f64]) {
        let now = all();
        out[0] = (now - self.before) as f64 / (self.made * self.iterations.max(1)) as f64;
        self.before = now;
    }

    fn shortest_sample_ns(&self) -> u64 {
        self.instance.shortest_sample_ns()
    }

    fn least_iterations(&self) -> u64 {
        self.instance.least_iterations()
    }
}

fn all() -> u64 {
    let (own, of_children) = own_switches();
    own + of_children
}

#[cfg(test)]
mod tests {
    use plumb_protocol::{Failure, Instance};

    use super::Switching;

    struct SwitchSleeps;

    impl Instance for SwitchSleeps {
        fn run(&mut self, iterations: u64) -> Result<(), Failure> {
            let nap = std::time::Duration::from_micros(100);
            (0..iterations).for_each(|_| std::thread::sleep(nap));
            Ok(())
        }
    }

    #[test]
    fn a_sleep_is_a_switch() {
        let mut sleeps = Switching::beside(SwitchSleeps, 1);
        let mut value = [0.0];
        sleeps.values(&mut value);
        sleeps.run(20).unwrap();
        sleeps.iterations = 20;
        sleeps.values(&mut value);
        assert!(value[0] >= 1.0, "{value:?}");
    }
}
