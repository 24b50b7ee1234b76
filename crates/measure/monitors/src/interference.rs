//! Interference: what the readings next to an invocation say about other things that ran.
//!
//! Each rule looks at counters alone, never at the times that were measured, and its threshold stands
//! here and nowhere else: what is excluded by these rules is excluded whether it was fast or slow. The
//! thresholds are far above what an idle machine shows, and below what moves a median by a percent or so.
//!
//! Whose time it was is the difference between the whole machine (`stat`) and plumb with all that it
//! started (`tree`). Kernel threads belong to nobody, and a workload that uses disks keeps some of them
//! busy: system time counts as foreign only if plumb's own processes moved no data.

use plumb_model::{Interference, KernelLine, Reading, Readings, Samples, TICKS_PER_S, Trace};
use plumb_units::{seconds_to, whole_percent};

use crate::monitors::tree::MAX_PROCESSES;

/// Share of all CPU time that the hypervisor may give to others (docs/monitors.md, *Interference*).
const STEAL: f64 = 0.01;
/// Fewer ticks than this are chance, whatever share they are.
const FEWEST_TICKS: u64 = 3;
/// Share of the time in which a cgroup's quota may hold somebody up.
const THROTTLED: f64 = 0.01;
/// Relative change of the fastest CPU's frequency.
const FREQUENCY: f64 = 0.05;
/// CPU time of others, as a share of one CPU, and in ticks: what the clock's ticks can get wrong.
const FOREIGN_CPU: f64 = 0.10;
const FOREIGN_TICKS: u64 = 6;
/// Share of the time that a worker of one thread may wait for a CPU, and at least so long.
const WAITED: f64 = 0.05;
const WAITED_NS: u64 = 5_000_000;
/// Page faults of others that needed a disk, a second and in all.
const FOREIGN_FAULTS: f64 = 100.0;
/// Bytes a second that others moved from and to disks, and in all.
const FOREIGN_IO: f64 = 5e6;
const FOREIGN_BYTES: u64 = 1_000_000;
/// Plumb's own processes moved no data to speak of: this share of what was moved, or so many bytes.
const OWN_SHARE: f64 = 0.1;
const OWN_BYTES: u64 = 1_000_000;
/// If plumb's own processes were not read for more than this share of the time, nothing is said of others.
const MOST_UNSEEN: f64 = 0.1;
/// Share of the time in which tasks may wait for memory, or for disks that the workload does not use.
const MEMORY_PRESSURE: f64 = 0.01;
const IO_PRESSURE: f64 = 0.10;
/// Block devices without a disk of their own: on files, on other devices, in memory, behind a program.
const VIRTUAL_DISKS: [&str; 6] = ["loop", "dm-", "zram", "ram", "nbd", "md"];
/// Interrupts a second in a burst, and as a multiple of the median.
const BURST: f64 = 20_000.0;
const BURST_TIMES: f64 = 10.0;
/// More context switches than this, for each interrupt beyond the usual, and programs wake each other.
const WAKING: f64 = 0.5;
/// Intervals between readings that a median takes.
const FEWEST_INTERVALS: usize = 5;
/// Lines of the kernel's log of this level and worse: warnings.
pub(crate) const WARNING: u8 = 4;
/// The kernel's own clock may be off by this much.
const KERNEL_CLOCK_NS: u64 = 10_000_000;
/// A clock that moves by this much against another was set, in microseconds.
const CLOCK_STEP_US: u64 = 1_000;
/// The longest piece of a line of the kernel that is shown, in characters.
const MAX_LINE_CHARS: usize = 100;

/// The names of all rules.
pub const RULES: [&str; 15] = [
    "steal",
    "throttled",
    "heat",
    "frequency",
    "swap-in",
    "foreign-cpu",
    "waited",
    "foreign-faults",
    "foreign-io",
    "memory-pressure",
    "io-pressure",
    "interrupts",
    "kernel-log",
    "clock-step",
    "suspended",
];

/// Something else that ran, and when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Disturbance {
    /// The rule that found it.
    pub rule: &'static str,
    /// What was seen.
    pub evidence: String,
    /// From when on, on CLOCK_MONOTONIC, in nanoseconds.
    pub from_ns: u64,
    /// End of the disturbance, in nanoseconds of the monotonic clock.
    pub to_ns: u64,
}

/// What ran next to an invocation besides plumb.
#[must_use]
pub fn find(readings: &Readings) -> Vec<Disturbance> {
    let Some(seen) = Window::of(readings) else { return Vec::new() };
    let whole = [
        ("steal", seen.steal()),
        ("throttled", seen.throttled()),
        ("heat", seen.heat()),
        ("frequency", seen.frequency()),
        ("swap-in", seen.swapped_in()),
        ("foreign-cpu", seen.foreign_cpu()),
        ("waited", seen.waited()),
        ("foreign-faults", seen.foreign_faults()),
        ("foreign-io", seen.foreign_io()),
        ("memory-pressure", seen.pressure("psi.memory.some", MEMORY_PRESSURE)),
        ("io-pressure", seen.io_pressure()),
    ];
    let whole = whole.into_iter().filter_map(|(rule, evidence)| {
        Some(Disturbance { rule, evidence: evidence?, from_ns: seen.from_ns, to_ns: seen.to_ns })
    });
    let moments = [
        seen.interrupt_burst(),
        seen.kernel_lines(),
        seen.jump("clock-step", "clock.realtime_ahead", "the wall clock was stepped by"),
        seen.jump("suspended", "clock.boottime_ahead", "the machine was suspended for"),
    ];
    whole.chain(moments.into_iter().flatten()).collect()
}

/// The samples that it touches: those that were under way; all, if none was.
#[must_use]
pub fn touched(found: &Disturbance, samples: &Samples) -> Interference {
    let ends = samples.start_ns.iter().zip(&samples.elapsed_ns);
    let under_way = ends.map(|(start, elapsed)| {
        *start <= found.to_ns && start.saturating_add(*elapsed) >= found.from_ns
    });
    let under_way: Vec<bool> = under_way.collect();
    // If it falls between samples, all of them are suspect.
    let first = under_way.iter().position(|under_way| *under_way).unwrap_or(0);
    let all = samples.len().saturating_sub(1);
    let last = under_way.iter().rposition(|under_way| *under_way).unwrap_or(all);
    Interference { rule: found.rule.to_owned(), first, last, evidence: found.evidence.clone() }
}

/// The readings with the time that they span.
struct Window<'r> {
    readings: &'r Readings,
    from_ns: u64,
    to_ns: u64,
}

impl<'r> Window<'r> {
    /// None if nothing was read twice.
    fn of(readings: &'r Readings) -> Option<Self> {
        let firsts = readings.traces.iter().filter_map(|trace| trace.readings.first());
        let lasts = readings.traces.iter().filter_map(|trace| trace.readings.last());
        let from_ns = firsts.map(|reading| reading.at_ns).min()?;
        let to_ns = lasts.map(|reading| reading.at_ns).max()?;
        (to_ns > from_ns).then_some(Self { readings, from_ns, to_ns })
    }

    #[expect(clippy::cast_precision_loss, reason = "lengths stay far below 2^53 ns")]
    fn seconds(&self) -> f64 {
        (self.to_ns - self.from_ns) as f64 * 1e-9
    }

    fn amount(&self, name: &str) -> u64 {
        self.readings.amount(name)
    }

    fn sum(&self, names: &[&str]) -> u64 {
        names.iter().map(|name| self.amount(name)).fold(0, u64::saturating_add)
    }

    /// The largest value of a trace.
    fn most(&self, name: &str) -> Option<u64> {
        self.readings.trace(name)?.readings.iter().map(|reading| reading.value).max()
    }

    /// The share of the time after the last full reading of plumb's own processes; None if there is none.
    ///
    /// With very many processes only their number is read, and a monitor that failed is not read again: what they did
    /// since then is unknown.
    fn unseen_share(&self) -> Option<f64> {
        let readings = &self.readings.trace("tree.processes")?.readings;
        let is_full = |reading: &&Reading| {
            usize::try_from(reading.value).is_ok_and(|processes| processes <= MAX_PROCESSES)
        };
        let last = readings.iter().rev().find(is_full)?;
        Some(ratio(self.to_ns.saturating_sub(last.at_ns), self.to_ns - self.from_ns))
    }

    /// Whether it is known what plumb's own processes did.
    fn knows_own(&self) -> bool {
        self.unseen_share().is_some_and(|share| share <= MOST_UNSEEN)
    }

    /// Bytes that plumb's own processes moved from and to devices.
    fn own_bytes(&self) -> u64 {
        self.amount("tree.read").saturating_add(self.amount("tree.written"))
    }

    /// Bytes that the machine moved from and to block devices.
    fn all_bytes(&self) -> u64 {
        // In spite of their names these two count KiB, not pages.
        let kb = self.amount("vmstat.pgpgin").saturating_add(self.amount("vmstat.pgpgout"));
        kb.saturating_mul(1024)
    }

    /// Ticks of all CPUs, whatever they did.
    fn all_ticks(&self) -> u64 {
        // Without guest and guest_nice: the kernel counts those in user and nice already (proc(5)).
        let times = ["user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal"];
        let ticks = times.iter().map(|name| self.amount(&format!("stat.{name}")));
        ticks.fold(0, u64::saturating_add)
    }

    fn steal(&self) -> Option<String> {
        let all = self.all_ticks();
        let stolen = self.amount("stat.steal");
        let share = ratio(stolen, all);
        (share > STEAL && stolen >= FEWEST_TICKS)
            .then(|| format!("the hypervisor took {} of the CPU time", whole_percent(share)))
    }

    fn throttled(&self) -> Option<String> {
        // Each group that plumb is in may have a quota; the one that held it up longest counts.
        let throttled = self.readings.traces.iter().filter(|trace| {
            let name = &trace.counter.name;
            name.starts_with("cgroup.") && name.ends_with("throttled")
        });
        let held_us = throttled.map(Trace::amount).max()?;
        let share = ratio(held_us, 1_000_000) / self.seconds();
        (share > THROTTLED).then(|| {
            format!("a cgroup's CPU quota throttled plumb for {} ms in total", held_us / 1000)
        })
    }

    fn heat(&self) -> Option<String> {
        let times = self.amount("thermal.throttles");
        (times > 0).then(|| format!("CPUs were throttled {times} times because of heat"))
    }

    /// The first reading is from before the work began.
    fn frequency(&self) -> Option<String> {
        let readings = &self.readings.trace("cpufreq.max")?.readings;
        let working = readings.get(1..)?;
        let least = working.iter().map(|reading| reading.value).min()?;
        let most = working.iter().map(|reading| reading.value).max()?;
        let change = 1.0 - ratio(least, most);
        (working.len() > 1 && change > FREQUENCY).then(|| {
            format!(
                "the frequency of the fastest CPU ranged from {} to {} MHz",
                least / 1000,
                most / 1000
            )
        })
    }

    fn swapped_in(&self) -> Option<String> {
        let pages = self.amount("vmstat.pswpin");
        (pages > 0).then(|| format!("{pages} pages were swapped in"))
    }

    /// Of user and system time of a process only the sum is exact: the kernel guesses the parts of one
    /// that is shorter than a tick.
    fn foreign_cpu(&self) -> Option<String> {
        let mut all = self.sum(&["stat.user", "stat.nice"]);
        // Threads of the kernel that move plumb's own bytes use system time that is not another's.
        if self.own_bytes() < OWN_BYTES {
            all = all.saturating_add(self.amount("stat.system"));
        }
        // What ran after the last reading of plumb's own processes may all be theirs.
        let unseen = self.unseen_share()? * ratio(self.all_ticks(), 1);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a number of ticks"
        )]
        let own = self.sum(&["tree.user", "tree.system"]).saturating_add(unseen.ceil() as u64);
        let ticks = all.saturating_sub(own);
        let share = ratio(ticks, 1) / (self.seconds() * TICKS_PER_S);
        (self.knows_own() && share > FOREIGN_CPU && ticks >= FOREIGN_TICKS)
            .then(|| format!("other processes used {} of one CPU", whole_percent(share)))
    }

    /// Only of a worker of one thread that runs alone: others make themselves wait.
    fn waited(&self) -> Option<String> {
        // plumb, its keeper, and the worker.
        let alone = self.most("worker.threads")? == 1 && self.most("tree.processes")? <= 3;
        let waited_ns = self.amount("worker.wait");
        let share = ratio(waited_ns, 1_000_000_000) / self.seconds();
        (alone && share > WAITED && waited_ns >= WAITED_NS)
            .then(|| format!("the worker waited {} of the time for a CPU", whole_percent(share)))
    }

    fn foreign_faults(&self) -> Option<String> {
        let all = self.amount("vmstat.pgmajfault");
        let faults = all.saturating_sub(self.amount("tree.major_faults"));
        let rate = ratio(faults, 1) / self.seconds();
        // Both the rate and the number: in a window much shorter than a second a few faults make a high rate.
        (self.knows_own() && rate.min(ratio(faults, 1)) > FOREIGN_FAULTS)
            .then(|| format!("{faults} major page faults in other processes"))
    }

    fn foreign_io(&self) -> Option<String> {
        let all = self.all_bytes();
        let own = self.own_bytes();
        let foreign = all.saturating_sub(own);
        let rate = ratio(foreign, 1) / self.seconds();
        let is_foreign = self.knows_own() && ratio(own, all.max(1)) < OWN_SHARE;
        (is_foreign && rate > FOREIGN_IO && foreign >= FOREIGN_BYTES)
            .then(|| format!("other processes read and wrote {:.0} MB/s on disks", rate / 1e6))
    }

    fn pressure(&self, name: &str, most: f64) -> Option<String> {
        let share = ratio(self.amount(name), 1_000_000) / self.seconds();
        let what = name.trim_start_matches("psi.").trim_end_matches(".some");
        (share > most)
            .then(|| format!("tasks waited for {what} during {} of the time", whole_percent(share)))
    }

    /// Who waits is not known, so whose bytes they wait for decides. A workload behind a slow link waits long for few: they
    /// are plumb's own if they are a tenth of what the machine moved, or if no disk worked meanwhile.
    fn io_pressure(&self) -> Option<String> {
        let own = self.own_bytes();
        let waits_itself = own > 0 && ratio(own, self.all_bytes().max(1)) >= OWN_SHARE;
        let idle =
            self.knows_own() && own < OWN_BYTES && !waits_itself && self.disks_may_have_worked();
        idle.then(|| self.pressure("psi.io.some", IO_PRESSURE)).flatten()
    }

    /// Whether disks worked for a good part of the time, as far as they were read.
    ///
    /// Devices on files and in memory do not count: what waits for those waits for the disk below them, or for a program
    /// such as the simulated link of `block`, whose bytes the kernel does not count for any process.
    fn disks_may_have_worked(&self) -> bool {
        let busy = self.readings.traces.iter().filter_map(|trace| {
            let device = trace.counter.name.strip_prefix("diskstats.")?.strip_suffix(".busy")?;
            let is_virtual = VIRTUAL_DISKS.iter().any(|kind| device.starts_with(kind));
            Some(if is_virtual { 0 } else { trace.amount() })
        });
        let busy_ms: Vec<u64> = busy.collect();
        let longest_ms = busy_ms.iter().max();
        longest_ms.is_none_or(|&ms| ratio(ms, 1_000) / self.seconds() > IO_PRESSURE)
    }

    /// Not where programs were switched about as much more often: they wake each other, with an interrupt where they run on two CPUs.
    fn interrupt_burst(&self) -> Option<Disturbance> {
        let intervals: Vec<_> = self.readings.trace("stat.intr")?.readings.windows(2).collect();
        let switches = self.readings.trace("stat.ctxt");
        let interrupted: Vec<f64> = intervals
            .iter()
            .map(|pair| a_second(pair[1].value.saturating_sub(pair[0].value), pair))
            .collect();
        let switched: Vec<f64> = intervals
            .iter()
            .map(|pair| {
                let [before, after] = [&pair[0], &pair[1]]
                    .map(|end| switches.map_or(0, |trace| value_at(trace, end.at_ns)));
                a_second(after.saturating_sub(before), pair)
            })
            .collect();
        let median = middle(&interrupted)?;
        let switched_usually = middle(&switched)?;
        let others = (0..intervals.len()).filter(|&index| {
            let more_switches = switched[index] - switched_usually;
            more_switches <= WAKING * (interrupted[index] - median)
        });
        let worst = others.max_by(|&a, &b| interrupted[a].total_cmp(&interrupted[b]))?;
        let burst = interrupted[worst];
        let worst = intervals[worst];
        let is_burst =
            intervals.len() >= FEWEST_INTERVALS && burst > BURST.max(BURST_TIMES * median);
        is_burst.then(|| Disturbance {
            rule: "interrupts",
            evidence: format!("{burst:.0} interrupts per second, {median:.0} otherwise"),
            from_ns: worst[0].at_ns,
            to_ns: worst[1].at_ns,
        })
    }

    fn kernel_lines(&self) -> Option<Disturbance> {
        let since = self.from_ns.saturating_sub(KERNEL_CLOCK_NS);
        let mut lines: Vec<&KernelLine> = self.readings.lines.iter().collect();
        lines.retain(|line| line.level <= WARNING && line.at_ns >= since);
        let first = lines.first()?;
        let last = lines.last()?;
        let text: String =
            first.text.chars().filter(|c| !c.is_control()).take(MAX_LINE_CHARS).collect();
        let more = match lines.len() {
            1 => String::new(),
            n => format!(" (and {} more lines)", n - 1),
        };
        Some(Disturbance {
            rule: "kernel-log",
            evidence: format!("kernel log: {text}{more}"),
            from_ns: first.at_ns,
            to_ns: last.at_ns,
        })
    }

    /// A clock that moved against CLOCK_MONOTONIC.
    fn jump(&self, rule: &'static str, name: &str, what: &str) -> Option<Disturbance> {
        let readings = &self.readings.trace(name)?.readings;
        let pair = readings.windows(2).max_by_key(|pair| pair[0].value.abs_diff(pair[1].value))?;
        let by_us = pair[0].value.abs_diff(pair[1].value);
        (by_us >= CLOCK_STEP_US).then(|| Disturbance {
            rule,
            evidence: format!("{what} {}", seconds_to(ratio(by_us, 1_000_000), 3)),
            from_ns: pair[0].at_ns,
            to_ns: pair[1].at_ns,
        })
    }
}

/// The median, of an even number the upper one; None of nothing.
fn middle(rates: &[f64]) -> Option<f64> {
    let mut sorted = rates.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied()
}

/// So much between two readings, a second.
fn a_second(amount: u64, pair: &[Reading]) -> f64 {
    ratio(amount, pair[1].at_ns.saturating_sub(pair[0].at_ns).max(1)) * 1e9
}

/// The value at a time: readings that repeat the one before are left out.
fn value_at(trace: &Trace, at_ns: u64) -> u64 {
    let last = trace.readings.iter().rfind(|reading| reading.at_ns <= at_ns);
    last.or(trace.readings.first()).map_or(0, |reading| reading.value)
}

#[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
fn ratio(of: u64, to: u64) -> f64 {
    if to == 0 { 0.0 } else { of as f64 / to as f64 }
}

#[cfg(test)]
mod tests;
