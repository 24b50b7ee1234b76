//! `cpu.branch`: a conditional jump for every bit of a row of bits.

use plumb_model::{AuditClass, Description, Ready};
use plumb_protocol::{Failure, SplitMix64, Start, StartError, StartedWorkload, Workload};

use plumb_workload_kit::declare;
use plumb_workload_kit::placement::placement;
use plumb_workload_kit::threads::{self, Member, Team};

use super::only_x86::only_x86;

/// The workload `cpu.branch`: its parameters and metrics, and how it starts.
pub(super) struct Branch;

/// Words of bits: a million jumps before the row repeats, more than any predictor remembers.
const WORDS: usize = 16_384;

/// Words of an iteration, and jumps.
const PIECE: usize = 64;
const JUMPS: u64 = 64 * PIECE as u64;

impl Workload for Branch {
    fn describe(&self) -> Description {
        declare::scaling(Description {
            parameters: vec![
                declare::choice(
                    "pattern",
                    &["predictable", "random"],
                    "predictable: every second jump is taken; random: half of them, at random",
                ),
                declare::threads("threads, each running the loop"),
                placement(),
            ],
            metrics: vec![
                declare::time(
                    "time",
                    "wall time of one jump on each thread, including its share of the loop",
                ),
                declare::rate("rate", "ops/s", "jumps per second, all threads together"),
            ],
            audit_class: Some(AuditClass::Cpu),
            ..declare::workload("cpu.branch", "predictable or unpredictable branches")
        })
    }

    fn manual(&self) -> &'static str {
        include_str!("branch.md")
    }

    fn start(&self, start: &Start) -> Result<StartedWorkload, StartError> {
        only_x86("cpu.branch")?;
        let pattern = BranchPattern::of(start);
        let threads = start.size("threads").max(1);
        let seed = start.seed;
        let team = Team::placed(threads, start, move |index: usize| {
            Ok(match pattern {
                BranchPattern::Predictable => Jumper::in_turn(),
                // Threads on one core share its predictor, so each has its own bits.
                BranchPattern::Random => Jumper::at_random(seed ^ index as u64),
            })
        })?;
        let work = declare::work(&[("time", JUMPS), ("rate", JUMPS * threads as u64)]);
        let mut ready = Ready { work, ..Ready::default() };
        threads::describe(threads, start, &mut ready)?;
        Ok(StartedWorkload { instance: Box::new(team), ready })
    }
}

/// Which jumps are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BranchPattern {
    /// Every second jump is taken.
    Predictable,
    /// Half of the jumps are taken, at random.
    Random,
}

impl BranchPattern {
    /// Reads the parameter `pattern`.
    fn of(start: &Start) -> Self {
        match start.text("pattern") {
            "random" => Self::Random,
            _ => Self::Predictable,
        }
    }
}

/// A walk along the row of bits.
struct Jumper {
    bits: Vec<u64>,
    /// Where the walk stands, where it stood at the last check, and the pieces since.
    piece: usize,
    checked: usize,
    pieces: u64,
    /// Bits that were set, as the jumps found them.
    count: u64,
}

impl Jumper {
    /// Every second bit is set.
    fn in_turn() -> Self {
        Self::new(vec![0x5555_5555_5555_5555; WORDS])
    }

    /// Random bits of this seed.
    fn at_random(seed: u64) -> Self {
        let mut random = SplitMix64::new(seed);
        Self::new(std::iter::repeat_with(|| random.next_u64()).take(WORDS).collect())
    }

    fn new(bits: Vec<u64>) -> Self {
        Self { bits, piece: 0, checked: 0, pieces: 0, count: 0 }
    }

    /// The bits that are set in the pieces since the last check.
    fn expected(&self) -> u64 {
        let each: Vec<u64> = self.bits.chunks(PIECE).map(ones).collect();
        let rounds = self.pieces / each.len() as u64;
        let rest = (self.pieces % each.len() as u64) as usize;
        let over: u64 = each.iter().cycle().skip(self.checked).take(rest).sum();
        rounds * each.iter().sum::<u64>() + over
    }
}

/// The bits that are set in a piece.
fn ones(piece: &[u64]) -> u64 {
    piece.iter().map(|word| u64::from(word.count_ones())).sum()
}

impl Member for Jumper {
    fn run(&mut self, iterations: u64) -> Result<(), Failure> {
        for _ in 0..iterations {
            let from = self.piece * PIECE;
            self.count += jumps::count_ones(&self.bits[from..from + PIECE]);
            self.piece = (self.piece + 1) % (WORDS / PIECE);
        }
        self.pieces += iterations;
        Ok(())
    }

    fn verify(&mut self) -> Result<(), Failure> {
        let expected = self.expected();
        let count = self.count;
        if count != expected {
            return Err(Failure(format!(
                "cpu.branch: the jumps counted {count} set bits instead of {expected}"
            )));
        }
        (self.checked, self.pieces, self.count) = (self.piece, 0, 0);
        Ok(())
    }
}

#[cfg(target_arch = "x86_64")]
mod jumps {
    #![expect(
        unsafe_code,
        reason = "a jump that no compiler makes a conditional move of needs assembly"
    )]

    use std::arch::asm;

    /// How many bits are set: one conditional jump a bit, over the addition that counts it.
    #[inline(never)]
    pub(super) fn count_ones(words: &[u64]) -> u64 {
        let mut count = 0_u64;
        if words.is_empty() {
            return count;
        }
        // SAFETY: reads `words` from the first to the last, of which there is one at least.
        unsafe {
            asm!(
                "2:",
                "movq ({next}), {word}",
                "addq $8, {next}",
                "movl $64, {bits:e}",
                "3:",
                "shrq {word}",
                "jnc 4f",
                "addq {one}, {count}",
                "4:",
                "decl {bits:e}",
                "jnz 3b",
                "decq {words}",
                "jnz 2b",
                next = inout(reg) words.as_ptr() => _,
                words = inout(reg) words.len() => _,
                word = out(reg) _,
                bits = out(reg) _,
                one = in(reg) 1_u64,
                count = inout(reg) count,
                options(att_syntax, readonly, nostack)
            );
        }
        count
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod jumps {
    /// Never called: the workload refuses to start.
    pub(super) fn count_ones(_: &[u64]) -> u64 {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::{Jumper, Member, PIECE, WORDS};

    #[test]
    fn jumps_count_every_bit_over_the_end_of_the_row() {
        for mut jumper in [Jumper::in_turn(), Jumper::at_random(7)] {
            for pieces in [1, 3, (WORDS / PIECE) as u64, 1000] {
                jumper.run(pieces).unwrap();
                jumper.verify().unwrap();
            }
        }
    }

    #[test]
    fn random_bits_are_half_set_and_a_changed_one_is_found() {
        let mut jumper = Jumper::at_random(3);
        let ones: u32 = jumper.bits.iter().map(|word| word.count_ones()).sum();
        assert!((500_000..550_000).contains(&ones), "{ones}");
        jumper.run(1).unwrap();
        jumper.bits[0] ^= 1;
        assert!(jumper.verify().unwrap_err().0.contains("set bits"));
    }
}
