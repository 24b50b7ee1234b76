//! `sample.sum`: adds up the bytes of a buffer.

use std::hint::black_box;

use plumb_model::{AuditClass, Description, Ready};
use plumb_protocol::{Failure, Instance, Start, StartError, Started, Workload};
use plumb_workload_kit::declare;

/// Bytes of the buffer.
const SIZE: usize = 64 << 10;
/// Every value a byte can have, again and again: what they add up to is known.
const EXPECTED: u64 = (SIZE as u64 / 256) * (255 * 256 / 2);

/// The workload.
pub(super) struct Sum;

impl Workload for Sum {
    fn describe(&self) -> Description {
        Description {
            metrics: vec![declare::rate("rate", "B/s", "bytes added per second")],
            audit_class: Some(AuditClass::Cpu),
            ..declare::workload("sample.sum", "the sum of the bytes of a buffer")
        }
    }

    fn manual(&self) -> &'static str {
        include_str!("sum.md")
    }

    fn start(&self, _: &Start) -> Result<Started, StartError> {
        let bytes = (0..=u8::MAX).cycle().take(SIZE).collect();
        let ready = Ready { work: declare::work(&[("rate", SIZE as u64)]), ..Ready::default() };
        Ok(Started { instance: Box::new(Adder { bytes, sum: None }), ready })
    }
}

struct Adder {
    bytes: Vec<u8>,
    sum: Option<u64>,
}

impl Instance for Adder {
    fn run(&mut self, iterations: u64) -> Result<(), Failure> {
        for _ in 0..iterations {
            let sum = black_box(&self.bytes).iter().map(|&byte| u64::from(byte)).sum();
            self.sum = black_box(Some(sum));
        }
        Ok(())
    }

    fn verify(&mut self) -> Result<(), Failure> {
        match self.sum {
            Some(sum) if sum != EXPECTED => {
                Err(Failure(format!("sample.sum came to {sum}, right is {EXPECTED}")))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Adder, Instance, SIZE};

    #[test]
    fn the_sum_is_right_and_a_changed_byte_is_found() {
        let mut adder = Adder { bytes: (0..=u8::MAX).cycle().take(SIZE).collect(), sum: None };
        adder.run(2).unwrap();
        adder.verify().unwrap();
        adder.bytes[100] ^= 1;
        adder.run(1).unwrap();
        assert!(adder.verify().unwrap_err().0.contains("right is 8355840"));
    }
}
