//! `memory.stream`: the four loops of STREAM.

use plumb_model::Description;
use plumb_protocol::{Failure, Start, StartError, StartedWorkload, Workload};
use plumb_workload_kit::declare;
use plumb_workload_kit::mapping::Mapping;
use plumb_workload_kit::threads::{Member, Team};

use crate::arrays::{self, Arrays};
use crate::kernels::{Stores, StreamKernel, StreamOperation};

/// Elements are whole numbers below 2^40: whatever a kernel makes of two of them is exact.
const ELEMENT_BITS: u32 = 40;

/// Bytes of an element.
const ELEMENT_BYTES: u64 = 8;

/// The workload `memory.stream`: its parameters and metrics, and how it starts.
pub(super) struct StreamLoops;

impl Workload for StreamLoops {
    fn describe(&self) -> Description {
        Description {
            parameters: arrays::parameters(vec![
                declare::choice(
                    "kernel",
                    &["triad", "copy", "scale", "add"],
                    "a = b + 3c, a = b, a = 3b, or a = b + c",
                ),
                Stores::parameter(),
            ]),
            metrics: vec![arrays::bandwidth(
                "bytes read and written per second as STREAM counts them, all threads together",
            )],
            ceiling: Some("stores".into()),
            ..arrays::described("memory.stream", "STREAM's loops on arrays of doubles")
        }
    }

    fn manual(&self) -> &'static str {
        include_str!("stream.md")
    }

    fn start(&self, start: &Start) -> Result<StartedWorkload, StartError> {
        let kernel = StreamOperation::of(start);
        let stores = Stores::of(start)?;
        let sources = kernel.sources();
        let arrays = Arrays::of(start, 1 + sources)?;
        let seed = start.seed;
        let team = Team::placed(arrays.threads, start, move |index: usize| {
            Streamer::new(kernel, stores, arrays, seed ^ index as u64)
        })?;
        let counted = arrays.size as u64 * (sources as u64 + 1);
        let mut ready = arrays.ready(start, &team, counted, |member: &Streamer, see| {
            see(&member.to);
            member.from.iter().for_each(see);
        })?;
        ready.notes.push(traffic(sources as u64, stores));
        Ok(StartedWorkload { instance: Box::new(team), ready })
    }
}

/// The memory traffic of an element, in addition to the counted bytes.
fn traffic(sources: u64, stores: Stores) -> String {
    let counted = ELEMENT_BYTES * (sources + 1);
    let moved = ELEMENT_BYTES * (sources + stores.traffic());
    format!("each element counts as {counted} bytes; uncached, memory traffic is {moved} bytes")
}

/// One thread's arrays.
struct Streamer {
    kernel: StreamOperation,
    run: StreamKernel,
    to: Mapping,
    /// One or two.
    from: Vec<Mapping>,
}

impl Streamer {
    fn new(
        kernel: StreamOperation,
        stores: Stores,
        arrays: Arrays,
        seed: u64,
    ) -> Result<Self, StartError> {
        let run = StreamKernel::new(kernel, stores, arrays.width);
        let to = arrays.array(|at| !at)?;
        let sources = 0..kernel.sources() as u64;
        let from = sources.map(|source| arrays.array(|at| element(at, seed ^ source << 32)));
        Ok(Self { kernel, run, to, from: from.collect::<Result<_, _>>()? })
    }

    /// The sources; of a kernel with one, the same twice.
    fn sources(&self) -> (&[u64], &[u64]) {
        match self.from.as_slice() {
            [b, c] => (b.words(), c.words()),
            [b] => (b.words(), b.words()),
            _ => (&[], &[]),
        }
    }
}

/// The bits of the double at this place of a source; no two of an array are equal.
#[expect(clippy::cast_precision_loss, reason = "below 2^40")]
fn element(at: u64, seed: u64) -> u64 {
    let whole = at.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(seed) % (1 << ELEMENT_BITS);
    (whole as f64).to_bits()
}

impl Member for Streamer {
    fn run(&mut self, iterations: u64) -> Result<(), Failure> {
        let (b, c) = match self.from.as_slice() {
            [b, c] => (b, c),
            [b] => (b, b),
            _ => return Err(Failure("memory.stream: no source".into())),
        };
        for _ in 0..iterations {
            self.run.run(self.to.words_mut(), b.words(), c.words());
        }
        Ok(())
    }

    /// Compares every element, then changes one a page of each source, so that the next batch has something to do.
    fn verify(&mut self) -> Result<(), Failure> {
        let (b, c) = self.sources();
        for (at, ((&a, &b), &c)) in self.to.words().iter().zip(b).zip(c).enumerate() {
            let a = f64::from_bits(a);
            let expected = self.kernel.element(f64::from_bits(b), f64::from_bits(c));
            // Bit for bit: the loops round as plain code does, one operation after the other.
            if a.to_bits() != expected.to_bits() {
                return Err(Failure(format!("memory.stream: element {at} is {a}, not {expected}")));
            }
        }
        let other =
            |bits| (2.0_f64.powi(ELEMENT_BITS.cast_signed()) - f64::from_bits(bits)).to_bits();
        self.from.iter_mut().for_each(|source| arrays::change_pages(source, other));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{Arrays, Member, Stores, StreamOperation, Streamer, traffic};
    use plumb_workload_testing::TestPoint;

    #[test]
    fn an_element_that_is_wrong_or_old_is_found() {
        let point = TestPoint::new(crate::ALL, "memory.stream", &[("size", "64KiB")]);
        for kernel in [
            StreamOperation::Triad,
            StreamOperation::Copy,
            StreamOperation::Scale,
            StreamOperation::Add,
        ] {
            let arrays = Arrays::of(&point.start, 3).unwrap();
            let mut streamer = Streamer::new(kernel, Stores::Regular, arrays, 1).unwrap();
            assert!(streamer.verify().is_err(), "nothing was computed yet");
            streamer.run(1).unwrap();
            streamer.verify().unwrap();
            assert!(streamer.verify().is_err(), "nothing was computed since");
            streamer.run(2).unwrap();
            streamer.to.words_mut()[777] ^= 1;
            let failure = streamer.verify().unwrap_err();
            assert!(failure.0.contains("element 777 is"), "{failure}");
        }
    }

    #[test]
    fn traffic_is_what_lines_that_are_read_first_make_it() {
        let said = |sources, stores| traffic(sources, stores);
        assert!(
            said(1, Stores::Regular).starts_with(
                "each element counts as 16 bytes; uncached, memory traffic is 24 bytes"
            )
        );
        assert!(
            said(2, Stores::Regular).starts_with(
                "each element counts as 24 bytes; uncached, memory traffic is 32 bytes"
            )
        );
        assert!(said(2, Stores::NonTemporal).contains("memory traffic is 24 bytes"));
    }
}
