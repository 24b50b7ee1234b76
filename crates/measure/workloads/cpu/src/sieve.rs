//! `cpu.sieve`: primes by the sieve of langs-performance, whole sieves per second.

use std::hint::black_box;

use plumb_model::{AuditClass, Description, Ready, Rung};
use plumb_protocol::{Failure, Start, StartError, StartedWorkload, Workload};

use plumb_workload_kit::declare;
use plumb_workload_kit::placement::placement;
use plumb_workload_kit::primes::count_primes;
use plumb_workload_kit::threads::{self, Member, Team};

/// Smallest and largest limit: below, a sieve is too short to time; above, it needs over 4 GB.
const LIMITS: std::ops::RangeInclusive<u64> = 1_000..=1_000_000_000;

/// Bytes that one sieve may hold at its peak, per number of the limit: 4 for each odd number, up to
/// twice that while an allocator copies the growing array, and the primes.
const PEAK_BYTES_PER_NUMBER: u64 = 5;

/// Arrays that keep their memory need neither the allocator nor new pages.
fn without_allocation() -> Rung {
    let reserved =
        declare::rung("preallocated arrays", "cpu.sieve", "rate", &[("growth", "reserved")]);
    // Several threads have one thread as their ceiling.
    declare::rung_if(&[("growth", "push"), ("threads", "1")], reserved)
}

/// The workload `cpu.sieve`: its parameters and metrics, and how it starts.
pub(super) struct Sieve;

impl Workload for Sieve {
    fn describe(&self) -> Description {
        let mut description = declare::scaling(Description {
            parameters: vec![
                declare::integer("limit", "numbers", 1_000_000, "primes up to this number"),
                declare::choice(
                    "growth",
                    &["push", "reserved"],
                    "push: arrays grow from empty in each sieve; reserved: arrays of full size are \
                     reused",
                ),
                declare::threads("threads, each running a separate sieve"),
                placement(),
            ],
            metrics: vec![
                declare::rate("rate", "ops/s", "sieves per second, all threads together"),
                declare::time("time", "wall time of one sieve on each thread"),
            ],
            timeout_s: Some(declare::LONG_TIMEOUT_S),
            audit_class: Some(AuditClass::Cpu),
            // Since 2 the loop is compiled by itself: 10 % less time.
            version: 2,
            ..declare::workload("cpu.sieve", "finds primes with a sieve over a growing array")
        });
        description.rungs.push(without_allocation());
        description
    }

    fn manual(&self) -> &'static str {
        include_str!("sieve.md")
    }

    fn start(&self, start: &Start) -> Result<StartedWorkload, StartError> {
        let limit = limit(start)?;
        let threads = start.size("threads").max(1);
        let growth = SieveMemory::of(start);
        let expected = count_primes(limit);
        let team = Team::placed(threads, start, move |_| Ok(Siever::new(limit, expected, growth)))?;
        Ok(StartedWorkload { instance: Box::new(team), ready: ready(threads, start)? })
    }
}

/// Where the arrays of a sieve get their memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SieveMemory {
    /// Each sieve grows its arrays from nothing and gives them back.
    Push,
    /// All sieves of a thread use the same arrays, which never grow.
    Reserved,
}

impl SieveMemory {
    /// Reads the parameter `growth`.
    fn of(start: &Start) -> Self {
        match start.text("growth") {
            "reserved" => Self::Reserved,
            _ => Self::Push,
        }
    }
}

fn limit(start: &Start) -> Result<u32, StartError> {
    let limit = start.integer("limit");
    if !LIMITS.contains(&limit) {
        return Err(StartError::unsupported(
            format!("a sieve up to {limit} is outside the range of this workload"),
            format!("set `limit` between {} and {}", LIMITS.start(), LIMITS.end()),
        ));
    }
    let needed = limit * PEAK_BYTES_PER_NUMBER * start.integer("threads").max(1);
    let memory = start.facts.memory_bytes;
    if memory > 0 && needed > memory {
        return Err(StartError::unsupported(
            format!(
                "the sieves need {needed} bytes of memory, too much for plumb's limit of {memory}"
            ),
            "set a smaller `limit` or fewer `threads`",
        ));
    }
    u32::try_from(limit).map_err(|_| StartError::Failed(format!("limit {limit} is too large")))
}

fn ready(threads: usize, start: &Start) -> Result<Ready, StartError> {
    let mut ready = Ready { work: declare::work(&[("rate", threads as u64)]), ..Ready::default() };
    threads::describe(threads, start, &mut ready)?;
    Ok(ready)
}

/// One thread's sieve.
struct Siever {
    limit: u32,
    expected: usize,
    reuse: bool,
    odd: Vec<u32>,
    primes: Vec<u32>,
}

impl Siever {
    fn new(limit: u32, expected: usize, growth: SieveMemory) -> Self {
        let reuse = growth == SieveMemory::Reserved;
        let mut siever = Self { limit, expected, reuse, odd: Vec::new(), primes: Vec::new() };
        if reuse {
            siever.odd = vec![0; limit as usize / 2];
            siever.primes = vec![0; expected];
        }
        siever
    }

    fn sieve(&mut self) -> usize {
        self.odd.clear();
        self.primes.clear();
        let limit = black_box(self.limit);
        push_odd_numbers(&mut self.odd, limit);
        strike_multiples(&mut self.odd, limit.isqrt());
        self.primes.push(2);
        for &number in &self.odd {
            if number != 0 {
                self.primes.push(number);
            }
        }
        let count = black_box(&self.primes).len();
        if !self.reuse {
            self.odd = Vec::new();
            self.primes = Vec::new();
        }
        count
    }
}

/// 3, 5, 7 … up to `limit`, one at a time into an array that grows as it must.
fn push_odd_numbers(odd: &mut Vec<u32>, limit: u32) {
    let mut number = 3;
    while number <= limit {
        odd.push(number);
        number += 2;
    }
}

/// Zeroes the multiples of every number up to `root` that is still there, from its square on.
fn strike_multiples(odd: &mut [u32], root: u32) {
    for number in (3..=root).step_by(2) {
        let number = number as usize;
        if odd[(number - 3) / 2] == 0 {
            continue;
        }
        let mut index = (number * number - 3) / 2;
        while index < odd.len() {
            odd[index] = 0;
            index += number;
        }
    }
}

impl Member for Siever {
    fn run(&mut self, iterations: u64) -> Result<(), Failure> {
        for _ in 0..iterations {
            let found = self.sieve();
            if found != self.expected {
                let Self { limit, expected, .. } = self;
                return Err(Failure(format!(
                    "cpu.sieve found {found} primes up to {limit} instead of {expected}"
                )));
            }
        }
        Ok(())
    }

    /// Every sieve has been checked in `run`, where the count costs nothing.
    fn verify(&mut self) -> Result<(), Failure> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{Member, SieveMemory, Siever, count_primes};

    #[test]
    fn counts_are_the_published_ones_however_arrays_grow() {
        for growth in [SieveMemory::Push, SieveMemory::Reserved] {
            // The last is the square of a prime, whose root must still strike it.
            for limit in [1_000, 1_001, 1_000_000, 1_018_081] {
                let count = count_primes(limit);
                let mut siever = Siever::new(limit, count, growth);
                assert_eq!((siever.sieve(), siever.sieve()), (count, count), "up to {limit}");
            }
        }
    }

    #[test]
    fn reserved_arrays_are_large_enough_and_pushed_ones_are_given_back() {
        let mut siever = Siever::new(100_000, 9_592, SieveMemory::Reserved);
        let room = (siever.odd.capacity(), siever.primes.capacity());
        siever.run(2).unwrap();
        assert_eq!((siever.odd.capacity(), siever.primes.capacity()), room);
        let mut siever = Siever::new(100_000, 9_592, SieveMemory::Push);
        siever.run(2).unwrap();
        assert_eq!(siever.odd.capacity(), 0);
    }

    #[test]
    fn a_wrong_count_fails() {
        let failure = Siever::new(1_000, 167, SieveMemory::Reserved).run(1).unwrap_err();
        assert_eq!(failure.0, "cpu.sieve found 168 primes up to 1000 instead of 167");
    }
}
