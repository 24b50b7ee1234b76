//! `cpu.float`: one floating-point instruction, repeatedly.

use plumb_model::{AuditClass, Description, Ready};
use plumb_protocol::{Start, StartError, StartedWorkload, Workload};

use plumb_workload_kit::declare;
use plumb_workload_kit::placement::placement;
use plumb_workload_kit::threads::{self, Team};
use plumb_workload_kit::vector::{Width, width};

#[cfg(target_arch = "x86_64")]
use super::float_loops as loops;
use super::known_loop::{CONSTANTS, Chain, KernelLoop, KnownLoop};
use super::only_x86::only_x86;

/// The workload `cpu.float`: its parameters and metrics, and how it starts.
pub(super) struct Float;

/// Instructions of a pass.
const INSTRUCTIONS: u64 = 120;

/// Registers of the independent loops: no CPU has more than ten such instructions under way.
const CHAINS: usize = 12;

/// Passes of an iteration.
const PASSES: u64 = 540;

impl Workload for Float {
    fn describe(&self) -> Description {
        declare::scaling(Description {
            parameters: vec![
                declare::choice(
                    "operation",
                    &["add", "mul", "fma"],
                    "instruction to repeat: add, multiply, or fused multiply-add",
                ),
                declare::choice(
                    "kind",
                    &["scalar", "vector"],
                    "scalar: one number per register; vector: a full register",
                ),
                width(),
                declare::choice(
                    "chain",
                    &["dependent", "independent"],
                    "dependent: each instruction waits for the previous one (latency); independent: they \
                     overlap (throughput)",
                ),
                declare::threads("threads, each running the loop"),
                placement(),
            ],
            metrics: vec![
                declare::time("time", "wall time of one instruction on each thread"),
                declare::rate(
                    "rate",
                    "FLOP/s",
                    "floating-point operations per second, all threads together; an fma counts as two",
                ),
            ],
            audit_class: Some(AuditClass::Cpu),
            ..declare::workload(
                "cpu.float",
                "adds, multiplies or multiply-adds 64-bit floating-point numbers",
            )
        })
    }

    fn manual(&self) -> &'static str {
        include_str!("float.md")
    }

    fn start(&self, start: &Start) -> Result<StartedWorkload, StartError> {
        only_x86("cpu.float")?;
        let instruction = FloatInstruction::of(start)?;
        let chain = Chain::of(start);
        let threads = start.size("threads").max(1);
        let team = Team::placed(threads, start, move |_| Ok(instruction.known_loop(chain)))?;
        let done = INSTRUCTIONS * PASSES;
        let flops = done * instruction.operations() * threads as u64;
        let work = declare::work(&[("time", done), ("rate", flops)]);
        let mut ready = Ready { work, ..Ready::default() };
        ready.notes.extend(instruction.width.map(Width::note));
        threads::describe(threads, start, &mut ready)?;
        Ok(StartedWorkload { instance: Box::new(team), ready })
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum FloatOperation {
    Add,
    Mul,
    Fma,
}

/// One instruction; without a width it is scalar.
#[derive(Debug, Clone, Copy)]
struct FloatInstruction {
    operation: FloatOperation,
    width: Option<Width>,
}

impl FloatInstruction {
    fn of(start: &Start) -> Result<Self, StartError> {
        let operation = match start.text("operation") {
            "add" => FloatOperation::Add,
            "mul" => FloatOperation::Mul,
            "fma" => FloatOperation::Fma,
            other => {
                return Err(StartError::Failed(format!("cpu.float has no operation `{other}`")));
            }
        };
        let width = match start.text("kind") {
            "vector" => Some(Width::of(start)?),
            _ => None,
        };
        if operation == FloatOperation::Fma && !has_fma() {
            let fix = "set operation=add or mul";
            return Err(StartError::unsupported("this CPU has no fused multiply-add (FMA)", fix));
        }
        Ok(Self { operation, width })
    }

    /// Numbers in a register.
    fn lanes(self) -> usize {
        self.width.map_or(1, |width| width.bits() as usize / 64)
    }

    /// Operations on numbers that one instruction counts for.
    fn operations(self) -> u64 {
        self.lanes() as u64 * if self.operation == FloatOperation::Fma { 2 } else { 1 }
    }

    /// Both constants of the operation: no result is exact, overflows, or comes back.
    fn constants(self) -> [f64; 2] {
        match self.operation {
            FloatOperation::Add => [0.1, 0.0],
            FloatOperation::Mul => [1.000_000_1, 0.0],
            FloatOperation::Fma => [0.999_999, 0.3],
        }
    }

    /// One operation on one number, in plain code.
    fn once(self, value: f64) -> f64 {
        let [first, second] = self.constants();
        match self.operation {
            FloatOperation::Add => value + first,
            FloatOperation::Mul => value * first,
            FloatOperation::Fma => value.mul_add(first, second),
        }
    }

    fn known_loop(self, chain: Chain) -> KnownLoop {
        let chains = match chain {
            Chain::Dependent => 1,
            Chain::Independent => CHAINS,
        };
        let each = INSTRUCTIONS * PASSES / chains as u64;
        let mut starts = Vec::with_capacity(chains * self.lanes());
        let mut ends = Vec::with_capacity(chains * self.lanes());
        for index in (0_u32..).take(chains * self.lanes()) {
            // Each number of a register starts elsewhere, so that a mixed-up lane is seen at the end.
            let start = 1.0 + f64::from(index) / 128.0;
            let end = (0..each).fold(start, |value, _| self.once(value));
            starts.push(start.to_bits());
            ends.push(end.to_bits());
        }
        let mut with = [0; CONSTANTS];
        let (first, second) = with.split_at_mut(CONSTANTS / 2);
        let [one, other] = self.constants().map(f64::to_bits);
        first.fill(one);
        second.fill(other);
        KnownLoop::new("cpu.float", self.kernel(chain), with, PASSES, (starts, ends))
    }

    #[cfg(target_arch = "x86_64")]
    fn kernel(self, chain: Chain) -> KernelLoop {
        use FloatOperation::{Add, Fma, Mul};
        use Width::{Bits128, Bits256, Bits512};
        let both: [KernelLoop; 2] = match (self.width, self.operation) {
            (None, Add) => [loops::add_scalar_dependent, loops::add_scalar_independent],
            (None, Mul) => [loops::mul_scalar_dependent, loops::mul_scalar_independent],
            (None, Fma) => [loops::fma_scalar_dependent, loops::fma_scalar_independent],
            (Some(Bits128), Add) => [loops::add_128_dependent, loops::add_128_independent],
            (Some(Bits128), Mul) => [loops::mul_128_dependent, loops::mul_128_independent],
            (Some(Bits128), Fma) => [loops::fma_128_dependent, loops::fma_128_independent],
            (Some(Bits256), Add) => [loops::add_256_dependent, loops::add_256_independent],
            (Some(Bits256), Mul) => [loops::mul_256_dependent, loops::mul_256_independent],
            (Some(Bits256), Fma) => [loops::fma_256_dependent, loops::fma_256_independent],
            (Some(Bits512), Add) => [loops::add_512_dependent, loops::add_512_independent],
            (Some(Bits512), Mul) => [loops::mul_512_dependent, loops::mul_512_independent],
            (Some(Bits512), Fma) => [loops::fma_512_dependent, loops::fma_512_independent],
        };
        let [dependent, independent] = both;
        match chain {
            Chain::Dependent => dependent,
            Chain::Independent => independent,
        }
    }

    /// Never called: the workload refuses to start.
    #[cfg(not(target_arch = "x86_64"))]
    fn kernel(self, _chain: Chain) -> KernelLoop {
        |_, _, _| ()
    }
}

#[cfg(target_arch = "x86_64")]
fn has_fma() -> bool {
    is_x86_feature_detected!("fma")
}

#[cfg(not(target_arch = "x86_64"))]
fn has_fma() -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::{Chain, FloatInstruction, FloatOperation, has_fma};
    use plumb_workload_kit::threads::Member;
    use plumb_workload_kit::vector::Width;

    #[test]
    fn every_loop_that_runs_here_ends_where_plain_code_does() {
        let widths = Width::ALL.into_iter().filter(|width| width.is_here()).map(Some);
        for width in widths.chain([None]) {
            for operation in [FloatOperation::Add, FloatOperation::Mul, FloatOperation::Fma] {
                if operation == FloatOperation::Fma && !has_fma() {
                    continue;
                }
                for chain in [Chain::Dependent, Chain::Independent] {
                    let instruction = FloatInstruction { operation, width };
                    let mut known = instruction.known_loop(chain);
                    known.run(2).unwrap();
                    known.verify().unwrap_or_else(|why| panic!("{instruction:?}: {why}"));
                }
            }
        }
    }

    #[test]
    fn a_fused_operation_counts_two_for_each_number() {
        let of = |operation, width| FloatInstruction { operation, width }.operations();
        assert_eq!(of(FloatOperation::Add, None), 1);
        assert_eq!(of(FloatOperation::Mul, Some(Width::Bits512)), 8);
        assert_eq!(of(FloatOperation::Fma, Some(Width::Bits256)), 8);
    }
}
