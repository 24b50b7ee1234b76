//! Counters of perf_event, attached to the worker and what it starts.
#![expect(unsafe_code, reason = "perf_event_open has no safe wrapper here")]

use std::io::Error;
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};

use plumb_machine::Root;

use crate::counter_buffer::{CounterBuffer, CounterField};
use crate::monitor::{CounterSource, Monitor};

/// The monitor `perf`: its rate and its manual, and how it is opened.
pub const MONITOR: Monitor = Monitor {
    name: "perf",
    summary: "software and hardware counters of the worker and its children",
    manual: include_str!("perf.md"),
    // Each fork of a watched process copies its counters, which a benchmark of fork would feel.
    default_hz: None,
    slow: false,
    parsers: &[],
    open: |root| {
        open(SOFTWARE[0].1, SOFTWARE[0].2, 0, None)
            .map_err(|error| format!("perf_event_open: {error}; see kernel.perf_event_paranoid"))?;
        Ok(Box::new(PerfSource { root: root.clone(), events: Vec::new() }))
    },
};

/// Name, unit, type and number of an event.
type PerfEventKind = (&'static str, u32, u64, &'static str);

const TYPE_HARDWARE: u32 = 0;
const TYPE_SOFTWARE: u32 = 1;
const SOFTWARE: [PerfEventKind; 5] = [
    ("task_clock", TYPE_SOFTWARE, 1, "ns"),
    ("context_switches", TYPE_SOFTWARE, 3, ""),
    ("migrations", TYPE_SOFTWARE, 4, ""),
    ("minor_faults", TYPE_SOFTWARE, 5, ""),
    ("major_faults", TYPE_SOFTWARE, 6, ""),
];
const HARDWARE: [PerfEventKind; 4] = [
    ("cycles", TYPE_HARDWARE, 0, ""),
    ("instructions", TYPE_HARDWARE, 1, ""),
    ("cache_misses", TYPE_HARDWARE, 3, ""),
    ("branch_misses", TYPE_HARDWARE, 5, ""),
];
/// PERF_FORMAT_TOTAL_TIME_ENABLED and PERF_FORMAT_TOTAL_TIME_RUNNING.
const READ_FORMAT: u64 = 1 | 2;
/// `inherit`, the second flag.
const INHERIT: u64 = 1 << 1;
/// The flag PERF_FLAG_FD_CLOEXEC: programs that are started do not inherit the counter.
const CLOEXEC: libc::c_ulong = 1 << 3;

/// struct perf_event_attr as its first version had it (linux/perf_event.h); kernels take it for ever.
#[repr(C)]
#[derive(Default)]
struct PerfEventAttributes {
    kind: u32,
    size: u32,
    config: u64,
    sample_period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup_events: u32,
    bp_type: u32,
    bp_addr: u64,
}

/// Opens a counter of a thread and of what it starts later, in a group if there is one.
fn open(kind: u32, config: u64, tid: i32, group: Option<&OwnedFd>) -> Result<OwnedFd, Error> {
    let attributes = PerfEventAttributes {
        kind,
        size: u32::try_from(size_of::<PerfEventAttributes>()).unwrap_or(0),
        config,
        // Not PERF_FORMAT_GROUP, which does not work with `inherit` (perf_event_open(2)): each is read alone.
        read_format: READ_FORMAT,
        flags: INHERIT,
        ..PerfEventAttributes::default()
    };
    let group = group.map_or(-1, |group| group.as_raw_fd());
    // SAFETY: the structure is as large as it says and lives through the call, which only reads it; what
    // it returns is a fresh file descriptor that nobody else owns.
    unsafe {
        let fd = libc::syscall(
            libc::SYS_perf_event_open,
            &raw const attributes,
            tid,
            -1,
            group,
            CLOEXEC,
        );
        let fd = i32::try_from(fd).ok().filter(|fd| *fd >= 0).ok_or_else(Error::last_os_error)?;
        Ok(OwnedFd::from_raw_fd(fd))
    }
}

/// A counter on one thread.
struct PerfEvent {
    kind: PerfEventKind,
    fd: OwnedFd,
}

struct PerfSource {
    root: Root,
    events: Vec<PerfEvent>,
}

/// A counter's value, and how long it was wanted and counting, in nanoseconds.
#[derive(Debug, Default, Clone, Copy)]
struct Count {
    value: u64,
    enabled_ns: u64,
    running_ns: u64,
}

fn read(fd: &OwnedFd) -> Result<Count, String> {
    let mut bytes = [0; 24];
    let length = rustix::io::read(fd, &mut bytes).map_err(|error| format!("perf: {error}"))?;
    if length != bytes.len() {
        return Err("perf: a counter could not be scheduled".to_owned());
    }
    let mut numbers =
        bytes.chunks_exact(8).map(|chunk| chunk.try_into().map(u64::from_ne_bytes).unwrap_or(0));
    // In this order, as the format of the counter says: value, time enabled, time running.
    let [value, enabled_ns, running_ns] = [(); 3].map(|()| numbers.next().unwrap_or(0));
    Ok(Count { value, enabled_ns, running_ns })
}

impl PerfSource {
    /// All counters of one thread: the software ones alone, the hardware ones as a group, so that they
    /// count over the same stretches when there are more than the CPU has registers for.
    fn watch(&mut self, tid: i32) -> Result<(), String> {
        for kind in SOFTWARE {
            let fd = open(kind.1, kind.2, tid, None).map_err(|error| format!("perf: {error}"))?;
            self.events.push(PerfEvent { kind, fd });
        }
        let mut group: Option<usize> = None;
        for kind in HARDWARE {
            let leader = group.map(|index| &self.events[index].fd);
            // Virtual machines seldom have them.
            let Ok(fd) = open(kind.1, kind.2, tid, leader) else { continue };
            group = group.or(Some(self.events.len()));
            self.events.push(PerfEvent { kind, fd });
        }
        Ok(())
    }
}

impl CounterSource for PerfSource {
    fn attach(&mut self, worker: Option<u32>) -> Result<(), String> {
        self.events.clear();
        let Some(pid) = worker else { return Ok(()) };
        // `inherit` covers only what is started later: each thread that exists needs its own counters.
        for tid in self.root.names(&format!("/proc/{pid}/task")) {
            if let Ok(tid) = tid.parse() {
                self.watch(tid)?;
            }
        }
        Ok(())
    }

    fn read(&mut self, buffer: &mut CounterBuffer) -> Result<(), String> {
        for kind in SOFTWARE.into_iter().chain(HARDWARE) {
            let mut sum = Count::default();
            let mut counted = false;
            for event in self.events.iter().filter(|event| event.kind.0 == kind.0) {
                let count = read(&event.fd)?;
                counted = true;
                sum.value += count.value;
                sum.enabled_ns += count.enabled_ns;
                sum.running_ns += count.running_ns;
            }
            if counted {
                buffer.put(CounterField::counter(kind.0, kind.3), sum.value);
            }
            if counted && kind.0 == HARDWARE[0].0 {
                buffer.put(CounterField::counter("enabled", "ns"), sum.enabled_ns);
                buffer.put(CounterField::counter("running", "ns"), sum.running_ns);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{CounterBuffer, MONITOR};
    use plumb_machine::Root;

    #[test]
    fn a_thread_that_works_is_counted_where_the_kernel_lets_us() {
        let Ok(mut source) = (MONITOR.open)(&Root::default()) else { return };
        source.attach(Some(std::process::id())).unwrap();
        let mut buffer = CounterBuffer::new("perf");
        let mut x = 1_u64;
        for at_ns in [1, 2] {
            buffer.turn(at_ns);
            source.read(&mut buffer).unwrap();
            for i in 0..3_000_000_u64 {
                x = std::hint::black_box(x.wrapping_mul(31) ^ i);
            }
        }
        let (traces, _) = buffer.finish();
        let clock = traces.iter().find(|trace| trace.counter.name == "perf.task_clock").unwrap();
        assert!(clock.amount() > 1_000_000, "{x} {clock:?}");
    }
}
