//! `compression.lz`: a block packed and unpacked by a small LZ77 of our own.

use plumb_model::{AuditClass, Better, Description, Metric, Ready};
use plumb_protocol::{Failure, Instance, Start, StartError, StartedWorkload, Workload, now_ns};

use plumb_workload_kit::declare::{self, headline, reported};
use plumb_workload_kit::placement::placement;
use plumb_workload_kit::threads::{self, Member, Team};

use crate::block::{bound, compress, decompress, places};
use crate::generator;

/// The workload `compression.lz`: its parameters and metrics, and how it starts.
pub(crate) struct Lz;

/// Smallest and largest block.
const SIZES: std::ops::RangeInclusive<u64> = 1024..=1 << 30;

/// Repeats reach as far back as in the data of `compression.7zip` at its default.
const DICTIONARY_BITS: u32 = 18;

const NAMES: [&str; 3] = ["compress", "decompress", "ratio"];

impl Workload for Lz {
    fn describe(&self) -> Description {
        declare::scaling(Description {
            parameters: vec![
                declare::bytes("size", 1 << 20, "size of the block"),
                declare::threads("threads, each with a separate block"),
                placement(),
            ],
            metrics: vec![
                packing_rate(
                    "compress",
                    "bytes of the block compressed per second, all threads together",
                ),
                packing_rate(
                    "decompress",
                    "bytes of the block unpacked per second, all threads together",
                ),
                reported(
                    "ratio",
                    "",
                    Better::Neither,
                    "size of the block divided by its packed size",
                ),
            ],
            timeout_s: Some(declare::LONG_TIMEOUT_S),
            audit_class: Some(AuditClass::Cpu),
            ..declare::workload("compression.lz", "compresses and unpacks a block, as LZ4 does")
        })
    }

    fn manual(&self) -> &'static str {
        include_str!("lz.md")
    }

    fn start(&self, start: &Start) -> Result<StartedWorkload, StartError> {
        let size = size(start)?;
        let threads = start.size("threads").max(1);
        let team = Team::placed(threads, start, move |_| Ok(Packer::new(size)))?;
        let mut ready = Ready::default();
        threads::describe(threads, start, &mut ready)?;
        Ok(StartedWorkload { instance: Box::new(Packers { team, iterations: 0 }), ready })
    }
}

fn packing_rate(name: &str, summary: &str) -> Metric {
    headline(reported(name, "B/s", Better::Higher, summary))
}

fn size(start: &Start) -> Result<usize, StartError> {
    let size = start.integer("size");
    if !SIZES.contains(&size) {
        return Err(StartError::unsupported(
            format!("size={size} is outside the allowed range"),
            format!("set `size` between {} and {}", SIZES.start(), SIZES.end()),
        ));
    }
    // The block, its packed bytes, and what comes back.
    let needed = 3 * size * start.integer("threads").max(1);
    let memory = start.facts.memory_bytes;
    if memory > 0 && needed > memory / 4 * 3 {
        return Err(StartError::unsupported(
            format!(
                "the blocks need about {needed} bytes of memory, over three quarters of plumb's limit of {memory}"
            ),
            "set a smaller `size` or fewer `threads`",
        ));
    }
    Ok(start.size("size"))
}

/// One thread's block, packed and unpacked, with the times of the sample under way.
struct Packer {
    block: Vec<u8>,
    packed: Vec<u8>,
    length: usize,
    unpacked: Vec<u8>,
    places: Vec<u32>,
    compress_ns: u64,
    decompress_ns: u64,
}

impl Packer {
    fn new(size: usize) -> Self {
        Self {
            block: generator::bytes(size, DICTIONARY_BITS),
            packed: vec![1; bound(size)],
            length: 0,
            unpacked: vec![1; size],
            places: places(),
            compress_ns: 0,
            decompress_ns: 0,
        }
    }

    fn once(&mut self) -> Result<(), Failure> {
        let start = now_ns();
        self.length = compress(&self.block, &mut self.packed, &mut self.places);
        let packed = now_ns();
        decompress(&self.packed[..self.length], &mut self.unpacked)
            .map_err(|why| Failure(format!("compression.lz: {why}")))?;
        self.compress_ns += packed - start;
        self.decompress_ns += now_ns() - packed;
        Ok(())
    }
}

impl Member for Packer {
    fn run(&mut self, iterations: u64) -> Result<(), Failure> {
        (self.compress_ns, self.decompress_ns) = (0, 0);
        (0..iterations).try_for_each(|_| self.once())
    }

    /// Compares every byte, then forgets both results, so that the next batch has to make them.
    fn verify(&mut self) -> Result<(), Failure> {
        if self.unpacked != self.block {
            let mut pairs = self.unpacked.iter().zip(&self.block);
            let at = pairs.position(|(unpacked, byte)| unpacked != byte).unwrap_or(0);
            return Err(Failure(format!("compression.lz: byte {at} differs after unpacking")));
        }
        self.packed.fill(0);
        self.unpacked.fill(0);
        Ok(())
    }
}

/// The threads, whose rates add up.
struct Packers {
    team: Team<Packer>,
    iterations: u64,
}

impl Instance for Packers {
    fn run(&mut self, iterations: u64) -> Result<(), Failure> {
        self.iterations = iterations;
        self.team.run(iterations)
    }

    fn verify(&mut self) -> Result<(), Failure> {
        self.team.verify()
    }

    fn checks_computation(&self) -> bool {
        true
    }

    fn value_names(&self) -> &'static [&'static str] {
        &NAMES
    }

    #[expect(clippy::cast_precision_loss, reason = "bytes and times stay far below 2^53")]
    fn values(&mut self, out: &mut [f64]) {
        let mut values = [0.0; NAMES.len()];
        let iterations = self.iterations;
        self.team.each(|packer| {
            let bytes = packer.block.len() as f64 * iterations as f64;
            values[0] += bytes * 1e9 / packer.compress_ns.max(1) as f64;
            values[1] += bytes * 1e9 / packer.decompress_ns.max(1) as f64;
            values[2] = packer.block.len() as f64 / packer.length.max(1) as f64;
        });
        out.copy_from_slice(&values);
    }

    fn shortest_sample_ns(&self) -> u64 {
        self.team.shortest_sample_ns()
    }
}

#[cfg(test)]
mod tests {
    use super::{Member, Packer};

    #[test]
    fn a_block_that_came_back_damaged_or_not_at_all_is_found() {
        let mut packer = Packer::new(10_000);
        packer.run(2).unwrap();
        assert!(packer.compress_ns > 0 && packer.decompress_ns > 0);
        packer.verify().unwrap();
        assert!(packer.verify().is_err(), "nothing was unpacked since");
        packer.run(1).unwrap();
        packer.unpacked[7_777] ^= 1;
        assert!(packer.verify().unwrap_err().0.contains("byte 7777"));
    }
}
