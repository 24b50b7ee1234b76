//! How late a sleeping thread wakes up.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use plumb_machine::now;

use crate::counter_buffer::{CounterBuffer, CounterField};
use crate::monitor::{CounterSource, Monitor};

/// The monitor `latency`: its rate and its manual, and how it is opened.
pub const MONITOR: Monitor = Monitor {
    name: "latency",
    summary: "wake-up latency of a thread that repeatedly sleeps 10 ms",
    manual: include_str!("latency.md"),
    // It wakes up a hundred times per second: only for who asks.
    default_hz: None,
    slow: false,
    parsers: &[],
    open: |_| {
        let seen = Arc::new(WakeUps::default());
        let sleeper = Arc::clone(&seen);
        std::thread::Builder::new()
            .name("plumb-latency".into())
            .spawn(move || sleep(&sleeper))
            .map_err(|error| format!("can't start a thread: {error}"))?;
        Ok(Box::new(WakeupLatency { seen }))
    },
};

/// Length of a sleep.
const SLEEP: Duration = Duration::from_millis(10);

#[derive(Default)]
struct WakeUps {
    wakeups: AtomicU64,
    late_ns: AtomicU64,
    worst_ns: AtomicU64,
    over: AtomicBool,
}

struct WakeupLatency {
    seen: Arc<WakeUps>,
}

impl Drop for WakeupLatency {
    fn drop(&mut self) {
        self.seen.over.store(true, Ordering::Relaxed);
    }
}

/// Sleeps until nobody looks any more.
fn sleep(seen: &WakeUps) {
    while !seen.over.load(Ordering::Relaxed) {
        let before = now().monotonic_ns;
        std::thread::sleep(SLEEP);
        let slept = Duration::from_nanos(now().monotonic_ns.saturating_sub(before));
        let late = u64::try_from(slept.saturating_sub(SLEEP).as_nanos()).unwrap_or(u64::MAX);
        seen.wakeups.fetch_add(1, Ordering::Relaxed);
        seen.late_ns.fetch_add(late, Ordering::Relaxed);
        seen.worst_ns.fetch_max(late, Ordering::Relaxed);
    }
}

impl CounterSource for WakeupLatency {
    fn read(&mut self, buffer: &mut CounterBuffer) -> Result<(), String> {
        buffer.put(CounterField::counter("wakeups", ""), self.seen.wakeups.load(Ordering::Relaxed));
        buffer.put(CounterField::counter("late", "ns"), self.seen.late_ns.load(Ordering::Relaxed));
        buffer
            .put(CounterField::gauge("worst", "ns"), self.seen.worst_ns.swap(0, Ordering::Relaxed));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{CounterBuffer, MONITOR};
    use plumb_machine::Root;
    use std::time::Duration;

    #[test]
    fn a_sleeper_wakes_up_late_but_not_early() {
        let mut source = (MONITOR.open)(&Root::default()).unwrap();
        let mut buffer = CounterBuffer::new("latency");
        for at_ns in [1, 2] {
            buffer.turn(at_ns);
            source.read(&mut buffer).unwrap();
            std::thread::sleep(Duration::from_millis(60));
        }
        let (traces, _) = buffer.finish();
        let of =
            |name: &str| traces.iter().find(|trace| trace.counter.name == name).unwrap().amount();
        assert!(of("latency.wakeups") >= 1 && of("latency.late") > 0);
    }
}
