//! `cpu.integer`: one integer instruction, repeatedly.

use plumb_model::{AuditClass, Description, Ready};
use plumb_protocol::{Start, StartError, StartedWorkload, Workload};

use plumb_workload_kit::declare;
use plumb_workload_kit::placement::placement;
use plumb_workload_kit::threads::{self, Team};

#[cfg(target_arch = "x86_64")]
use super::integer_loops as loops;
use super::known_loop::{CONSTANTS, Chain, KernelLoop, KnownLoop};
use super::only_x86::only_x86;

/// The workload `cpu.integer`: its parameters and metrics, and how it starts.
pub(super) struct Integer;

/// Operations of a pass.
const OPERATIONS: u64 = 128;

/// Chains of the independent loops; of the divisions, whose operands have fixed registers, half as many.
const CHAINS: usize = 8;

/// Passes of an iteration.
const PASSES: u64 = 512;

impl Workload for Integer {
    fn describe(&self) -> Description {
        declare::scaling(Description {
            parameters: vec![
                declare::choice("operation", &["add", "mul", "div"], "instruction to repeat"),
                declare::choice(
                    "chain",
                    &["dependent", "independent"],
                    "dependent: each operation waits for the previous one (latency); independent: they \
                     overlap (throughput)",
                ),
                declare::threads("threads, each running the loop"),
                placement(),
            ],
            metrics: vec![
                declare::time("time", "wall time of one operation on each thread"),
                declare::rate("rate", "ops/s", "operations per second, all threads together"),
            ],
            audit_class: Some(AuditClass::Cpu),
            ..declare::workload("cpu.integer", "adds, multiplies or divides 64-bit integers")
        })
    }

    fn manual(&self) -> &'static str {
        include_str!("integer.md")
    }

    fn start(&self, start: &Start) -> Result<StartedWorkload, StartError> {
        only_x86("cpu.integer")?;
        let operation = IntegerOperation::of(start)?;
        let chain = Chain::of(start);
        let threads = start.size("threads").max(1);
        let team = Team::placed(threads, start, move |_| Ok(operation.known_loop(chain)))?;
        let done = OPERATIONS * PASSES;
        let work = declare::work(&[("time", done), ("rate", done * threads as u64)]);
        let mut ready = Ready { work, ..Ready::default() };
        threads::describe(threads, start, &mut ready)?;
        Ok(StartedWorkload { instance: Box::new(team), ready })
    }
}

#[derive(Debug, Clone, Copy)]
enum IntegerOperation {
    Add,
    Mul,
    Div,
}

impl IntegerOperation {
    fn of(start: &Start) -> Result<Self, StartError> {
        match start.text("operation") {
            "add" => Ok(Self::Add),
            "mul" => Ok(Self::Mul),
            "div" => Ok(Self::Div),
            other => Err(StartError::Failed(format!("cpu.integer has no operation `{other}`"))),
        }
    }

    #[cfg(target_arch = "x86_64")]
    fn kernel(self, chain: Chain) -> KernelLoop {
        match (self, chain) {
            (Self::Add, Chain::Dependent) => loops::add_dependent,
            (Self::Add, Chain::Independent) => loops::add_independent,
            (Self::Mul, Chain::Dependent) => loops::mul_dependent,
            (Self::Mul, Chain::Independent) => loops::mul_independent,
            (Self::Div, Chain::Dependent) => loops::div_dependent,
            (Self::Div, Chain::Independent) => loops::div_independent,
        }
    }

    /// Never called: the workload refuses to start.
    #[cfg(not(target_arch = "x86_64"))]
    fn kernel(self, _chain: Chain) -> KernelLoop {
        |_, _, _| ()
    }

    /// How many chains run next to each other.
    fn chains(self, chain: Chain) -> usize {
        match (self, chain) {
            (_, Chain::Dependent) => 1,
            (Self::Div, Chain::Independent) => CHAINS / 2,
            (Self::Add | Self::Mul, Chain::Independent) => CHAINS,
        }
    }

    /// The second operand: odd, so that no product loses bits; as a dividend nearly 2^64.
    fn constant(self) -> u64 {
        match self {
            Self::Add | Self::Mul => 0x9e37_79b9_7f4a_7c15,
            Self::Div => 0xfedc_ba98_7654_3211,
        }
    }

    /// One operation, in plain code.
    fn once(self, value: u64) -> u64 {
        match self {
            Self::Add => value.wrapping_add(self.constant()),
            Self::Mul => value.wrapping_mul(self.constant()),
            Self::Div => self.constant() / value,
        }
    }

    fn known_loop(self, chain: Chain) -> KnownLoop {
        let chains = self.chains(chain) as u64;
        // Quotients have half the bits of the dividend, as divisors have.
        let starts: Vec<u64> = (0..chains).map(|chain| (1 << 32) + 2 * chain + 1).collect();
        let each = OPERATIONS * PASSES / chains;
        let ends = starts
            .iter()
            .map(|start| (0..each).fold(*start, |value, _| self.once(value)))
            .collect();
        let constants = [self.constant(); CONSTANTS];
        KnownLoop::new("cpu.integer", self.kernel(chain), constants, PASSES, (starts, ends))
    }
}

#[cfg(test)]
mod tests {
    use super::{Chain, IntegerOperation};
    use plumb_workload_kit::threads::Member;

    #[test]
    fn every_loop_ends_where_plain_code_does() {
        for operation in [IntegerOperation::Add, IntegerOperation::Mul, IntegerOperation::Div] {
            for chain in [Chain::Dependent, Chain::Independent] {
                let mut known = operation.known_loop(chain);
                known.run(3).unwrap();
                known.verify().unwrap_or_else(|why| panic!("{operation:?} {chain:?}: {why}"));
            }
        }
    }
}
