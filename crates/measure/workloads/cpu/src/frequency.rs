//! `cpu.frequency`: at how many cycles per second a CPU works, and how much of its time it does not.

use plumb_model::{AuditClass, Better, Description, Flag, FlagKind, Ready};
use plumb_protocol::{Batch, Failure, Instance, Start, StartError, StartedWorkload, Workload};
use plumb_protocol::{clock_source, current_cpu, now_ns};

use plumb_workload_kit::declare;
use plumb_workload_kit::placement::{Placement, TasksInTurn, in_words, placement_or};

use super::gaps::Gaps;
use super::kernel_counters::{KernelCounters, KernelCounts};
use super::only_x86::only_x86;
use super::power::power;

/// The workload `cpu.frequency`: its parameters and metrics, and how it starts.
pub(super) struct Frequency;

/// Instructions of a pass of a chain, and cycles of each: an addition takes one, a multiplication three on every x86-64 of
/// Intel since 2008 and of AMD since 2017.
const INSTRUCTIONS: u64 = 128;
const CYCLES: [u64; 2] = [1, 3];

/// Passes of a piece: 32768 and 32640 cycles, about ten microseconds each.
const PASSES: [u64; 2] = [256, 85];

/// What is added, and multiplied by.
const OPERANDS: [u64; 2] = [0x9e37_79b9_7f4a_7c15, 0xd134_2543_de82_ef95];

/// How far the two may lie apart.
const AGREEMENT: f64 = 0.01;

/// More lost than this is flagged.
const MUCH_LOST: f64 = 0.02;

/// Periods of a quota last 100 ms: a shorter sample would see part of one.
const SHORTEST_SAMPLE_NS: u64 = 400_000_000;

/// What every sample reports; the last ones if the kernel counts them.
const NAMES: [&str; 9] = [
    "frequency",
    "multiply",
    "lost",
    "gaps",
    "longest",
    "steal",
    "interrupts",
    "waited",
    "throttled",
];
const NAMES_WITHOUT_WAITED: [&str; 8] =
    ["frequency", "multiply", "lost", "gaps", "longest", "steal", "interrupts", "throttled"];

impl Workload for Frequency {
    fn describe(&self) -> Description {
        Description {
            parameters: vec![placement_or("same-cpu")],
            metrics: vec![
                declare::reported(
                    "frequency",
                    "Hz",
                    Better::Higher,
                    "cycles per second from a chain of additions, excluding gaps",
                ),
                declare::reported(
                    "multiply",
                    "Hz",
                    Better::Neither,
                    "cycles per second from a chain of multiplications",
                ),
                declare::reported_share("lost", Better::Lower, "share of the time lost in gaps"),
                declare::reported(
                    "gaps",
                    "",
                    Better::Neither,
                    "gaps: 10 µs segments that took at least 1.5 times as long as the shortest",
                ),
                declare::reported_time("longest", "length of the longest gap"),
                declare::reported_share(
                    "steal",
                    Better::Neither,
                    "share of the time that the hypervisor gave to other guests (/proc/stat)",
                ),
                declare::reported(
                    "interrupts",
                    "",
                    Better::Neither,
                    "interrupts on the CPU during a sample (/proc/interrupts)",
                ),
                declare::reported_share(
                    "waited",
                    Better::Neither,
                    "share of the time that the thread was ready but did not run (schedstat)",
                ),
                declare::reported_share(
                    "throttled",
                    Better::Neither,
                    "share of the time that a CPU quota throttled its cgroup (cpu.stat)",
                ),
            ],
            audit_class: Some(AuditClass::Cpu),
            ..declare::workload("cpu.frequency", "effective clock rate of a CPU, and its lost time")
        }
    }

    fn manual(&self) -> &'static str {
        include_str!("frequency.md")
    }

    fn start(&self, start: &Start) -> Result<StartedWorkload, StartError> {
        only_x86("cpu.frequency")?;
        let mut ready = Ready::default();
        let cpus = Placement::of(start)?.cpus(1, &start.facts)?;
        let pinned = match &cpus {
            Some(cpus) => {
                ready.notes.push(format!("pinned, {}", in_words(cpus)));
                let mut tasks = TasksInTurn::new(cpus)?;
                tasks.go_to_next()?;
                Some(tasks)
            }
            None => {
                ready.notes.push("not pinned: steal and interrupts cover all CPUs".into());
                None
            }
        };
        let cpu = cpus.and_then(|cpus| cpus.first().copied());
        let cpuinfo = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        ready.notes.extend(bogomips(&cpuinfo));
        let mut counters = KernelCounters::open(cpu)?;
        let now = counters.read();
        let names: &'static [&'static str] = match (now.waited_ns, now.throttled_ns) {
            (Some(_), Some(_)) => &NAMES,
            (Some(_), None) => &NAMES[..8],
            (None, Some(_)) => &NAMES_WITHOUT_WAITED,
            (None, None) => &NAMES[..7],
        };
        let lacks = NAMES.iter().filter(|name| !names.contains(name));
        ready.without = lacks.map(|name| (*name).to_owned()).collect();
        Ok(StartedWorkload {
            instance: Box::new(FrequencyPieces::new(names, counters, pinned)),
            ready,
        })
    }
}

/// The figure of the kernel, with what it means.
fn bogomips(cpuinfo: &str) -> Option<String> {
    let line = cpuinfo.lines().find(|line| line.starts_with("bogomips"))?;
    let (_, figure) = line.split_once(':')?;
    Some(format!(
        "BogoMIPS {}: a constant that the kernel uses for delays, on x86 twice the rate of the time-stamp counter in MHz; it does not measure speed",
        figure.trim()
    ))
}

#[cfg(target_arch = "x86_64")]
const CHAINS: [fn(u64, u64, u64) -> u64; 2] =
    [super::integer_loops::add_chain, super::integer_loops::mul_chain];

/// Never called: the workload refuses to start.
#[cfg(not(target_arch = "x86_64"))]
const CHAINS: [fn(u64, u64, u64) -> u64; 2] = [|value, _, _| value; 2];

/// Pieces of the two chains in turn, timed one after the other.
struct FrequencyPieces {
    names: &'static [&'static str],
    counters: KernelCounters,
    /// Nanoseconds that reading the clock takes.
    reading_ns: u64,
    /// Where each chain stands, where it stood at the last check, and how many pieces of it were since.
    values: [u64; 2],
    checked: [u64; 2],
    pieces: u64,
    /// Times of one sample, a piece of the first chain and one of the second in turn.
    times_ns: Vec<u64>,
    _pinned: Option<TasksInTurn>,
}

/// What a sample, or all of a batch, shows.
#[derive(Default)]
struct FrequencySample {
    elapsed_ns: f64,
    /// Nanoseconds of a piece of each chain, summed over `samples`.
    pieces_ns: [f64; 2],
    samples: u32,
    gaps: Gaps,
    explained: KernelCounts,
}

impl FrequencyPieces {
    fn new(
        names: &'static [&'static str],
        counters: KernelCounters,
        pinned: Option<TasksInTurn>,
    ) -> Self {
        let values = [1; 2];
        Self {
            names,
            counters,
            reading_ns: clock_source().overhead_ns,
            values,
            checked: values,
            pieces: 0,
            times_ns: Vec::new(),
            _pinned: pinned,
        }
    }

    /// Takes so many pieces of each chain; when it began and ended.
    fn take(&mut self, iterations: u64) -> [u64; 2] {
        self.times_ns.clear();
        let start = now_ns();
        let mut before = start;
        for _ in 0..iterations {
            for (which, chain) in CHAINS.iter().enumerate() {
                self.values[which] = chain(self.values[which], OPERANDS[which], PASSES[which]);
                let now = now_ns();
                self.times_ns.push(now - before);
                before = now;
            }
        }
        self.pieces += iterations;
        [start, before]
    }

    #[expect(clippy::cast_precision_loss, reason = "times stay far below 2^53 ns")]
    fn seen(&self, elapsed_ns: u64, explained: KernelCounts) -> FrequencySample {
        // Pieces of both chains alternate: additions stand at even places, multiplications at odd ones.
        let each = [0, 1].map(|first| {
            Gaps::of(self.times_ns.iter().copied().skip(first).step_by(2), self.reading_ns)
        });
        FrequencySample {
            elapsed_ns: elapsed_ns as f64,
            pieces_ns: each.map(|gaps| gaps.piece_ns),
            samples: 1,
            gaps: each[0].with(each[1]),
            explained,
        }
    }
}

impl FrequencySample {
    /// With the next sample.
    fn add(&mut self, other: &Self) {
        self.elapsed_ns += other.elapsed_ns;
        self.samples += other.samples;
        self.pieces_ns[0] += other.pieces_ns[0];
        self.pieces_ns[1] += other.pieces_ns[1];
        self.gaps = self.gaps.with(other.gaps);
        self.explained = self.explained.plus(other.explained);
    }

    /// Cycles a second by each chain.
    #[expect(clippy::cast_precision_loss, reason = "a piece has some 10,000 cycles")]
    fn frequencies(&self) -> [f64; 2] {
        [0, 1].map(|which| {
            let cycles = CYCLES[which] * INSTRUCTIONS * PASSES[which];
            cycles as f64 * 1e9 * f64::from(self.samples) / self.pieces_ns[which].max(1.0)
        })
    }

    #[expect(clippy::cast_precision_loss, reason = "times stay far below 2^53 ns")]
    fn share(&self, ns: u64) -> f64 {
        ns as f64 / self.elapsed_ns.max(1.0)
    }

    fn lost(&self) -> f64 {
        self.gaps.lost_ns / self.elapsed_ns.max(1.0)
    }

    /// The reported values, in the order of the names.
    #[expect(clippy::cast_precision_loss, reason = "counts of a sample stay far below 2^53")]
    fn values(&self) -> [f64; NAMES.len()] {
        let [frequency, multiply] = self.frequencies();
        let gaps = &self.gaps;
        let explained = &self.explained;
        let always = [
            frequency,
            multiply,
            self.lost(),
            gaps.count as f64,
            gaps.longest_ns / 1e9,
            self.share(explained.steal_ns),
            explained.interrupts as f64,
        ];
        let counted = [explained.waited_ns, explained.throttled_ns].into_iter().flatten();
        let all = always.into_iter().chain(counted.map(|ns| self.share(ns)));
        let mut values = [0.0; NAMES.len()];
        values.iter_mut().zip(all).for_each(|(slot, value)| *slot = value);
        values
    }

    /// Reasons for distrust.
    fn flags(&self) -> Vec<Flag> {
        let mut flags = Vec::new();
        let [frequency, multiply] = self.frequencies();
        if (multiply / frequency - 1.0).abs() > AGREEMENT {
            let why = format!(
                "{:.0} MHz from additions, {:.0} MHz from multiplications: one of them takes an unexpected number of cycles on this CPU",
                frequency / 1e6,
                multiply / 1e6
            );
            flags.push(Flag::new(FlagKind::Other("chains-differ".into()), why));
        }
        if self.lost() > MUCH_LOST {
            flags.push(Flag::new(FlagKind::Interference, self.account()));
        }
        flags
    }

    /// What was lost, and what of it the kernel explains.
    fn account(&self) -> String {
        let explained = &self.explained;
        let mut parts =
            vec![format!("the hypervisor took {}", percent(self.share(explained.steal_ns)))];
        let waited = explained.waited_ns.map(|ns| percent(self.share(ns)));
        parts.extend(waited.map(|share| format!("the thread waited for {share}")));
        let throttled = explained.throttled_ns.map(|ns| percent(self.share(ns)));
        parts.extend(throttled.map(|share| format!("a quota throttled it for {share}")));
        format!(
            "{} of the time was lost in {} gaps, the longest {:.1} ms; according to the kernel, {}, with {} interrupts",
            percent(self.lost()),
            self.gaps.count,
            self.gaps.longest_ns / 1e6,
            parts.join(", "),
            explained.interrupts
        )
    }
}

impl Instance for FrequencyPieces {
    fn run(&mut self, iterations: u64) -> Result<(), Failure> {
        self.take(iterations);
        Ok(())
    }

    fn value_names(&self) -> &'static [&'static str] {
        self.names
    }

    fn batch(&mut self, iterations: &[u64], batch: &mut Batch) -> Result<(), Failure> {
        let most = iterations.iter().copied().max().unwrap_or(0);
        let room = usize::try_from(2 * most).map_err(|_| Failure("too many segments".into()))?;
        // Written to, so that no page is touched for the first time in a sample.
        self.times_ns.resize(room, 1);
        let mut all = FrequencySample::default();
        for &k in iterations {
            let before = self.counters.read();
            let [start, end] = self.take(k);
            let cpu = current_cpu();
            let explained = self.counters.read().since(before);
            let seen = self.seen(end - start, explained);
            batch.record(start, end - start, k, cpu);
            batch.record_values(&seen.values()[..self.names.len()]);
            all.add(&seen);
        }
        if all.samples > 0 {
            all.flags().into_iter().for_each(|flag| batch.flag(flag));
        }
        Ok(())
    }

    /// Where both chains must stand after so many pieces.
    fn verify(&mut self) -> Result<(), Failure> {
        let added = OPERANDS[0].wrapping_mul(INSTRUCTIONS * PASSES[0]).wrapping_mul(self.pieces);
        let factor = power(OPERANDS[1], INSTRUCTIONS * PASSES[1] * self.pieces);
        let expected = [self.checked[0].wrapping_add(added), self.checked[1].wrapping_mul(factor)];
        if self.values != expected {
            return Err(Failure(format!(
                "cpu.frequency: after {} segments the chains contain {:x?}, not {expected:x?}",
                self.pieces, self.values
            )));
        }
        (self.checked, self.pieces) = (self.values, 0);
        Ok(())
    }

    fn shortest_sample_ns(&self) -> u64 {
        SHORTEST_SAMPLE_NS
    }
}

/// A share as percent, for people.
fn percent(share: f64) -> String {
    plumb_units::percent_to(share, 1)
}

#[cfg(test)]
mod tests {
    use super::{
        FrequencyPieces, FrequencySample, Gaps, Instance, KernelCounters, KernelCounts, NAMES,
        bogomips,
    };
    use plumb_model::FlagKind;

    fn pieces() -> FrequencyPieces {
        FrequencyPieces::new(&NAMES, KernelCounters::open(None).unwrap(), None)
    }

    #[test]
    fn chains_that_stand_elsewhere_are_found() {
        let mut pieces = pieces();
        pieces.run(3).unwrap();
        pieces.verify().unwrap();
        pieces.run(2).unwrap();
        pieces.pieces += 1;
        assert!(pieces.verify().unwrap_err().0.contains("after 3 segments"));
        pieces.pieces -= 1;
        pieces.values[1] ^= 2;
        assert!(pieces.verify().is_err());
    }

    fn seen(lost_ns: f64, pieces_ns: [f64; 2]) -> FrequencySample {
        let gaps = Gaps { piece_ns: pieces_ns[0], lost_ns, count: 5, longest_ns: 5e7 };
        let explained = KernelCounts {
            steal_ns: 10_000_000,
            interrupts: 77,
            waited_ns: None,
            throttled_ns: Some(480_000_000),
        };
        FrequencySample { elapsed_ns: 1e9, pieces_ns, samples: 1, gaps, explained }
    }

    #[test]
    fn what_is_lost_is_flagged_with_what_explains_it() {
        let seen_of = seen(5e8, [10_000.0, 9_961.0]);
        let flags = seen_of.flags();
        assert_eq!(flags.len(), 1, "{flags:?}");
        assert_eq!(flags[0].flag, FlagKind::Interference);
        assert_eq!(
            flags[0].why,
            "50.0 % of the time was lost in 5 gaps, the longest 50.0 ms; according to the kernel, the hypervisor took 1.0 %, \
             a quota throttled it for 48.0 %, with 77 interrupts"
        );
        let values = seen_of.values();
        assert!((values[0] - 3.2768e9).abs() < 1.0 && (values[2] - 0.5).abs() < 1e-12);
        assert!((values[7] - 0.48).abs() < 1e-12, "without `waited` the last follows: {values:?}");
    }

    #[test]
    fn chains_that_differ_by_more_than_a_hundredth_are_flagged() {
        assert!(seen(0.0, [10_000.0, 9_961.0]).flags().is_empty());
        let flags = seen(0.0, [10_000.0, 13_281.0]).flags();
        assert_eq!(flags[0].flag, FlagKind::Other("chains-differ".into()));
        assert!(flags[0].why.starts_with("3277 MHz from additions, 2458 MHz"), "{flags:?}");
    }

    #[test]
    fn bogomips_comes_with_its_meaning() {
        let note = bogomips("processor : 0\nbogomips\t: 4890.81\n").unwrap();
        assert!(
            note.starts_with("BogoMIPS 4890.81: a constant that the kernel uses for delays"),
            "{note}"
        );
        assert_eq!(bogomips("processor : 0\n"), None);
    }
}
