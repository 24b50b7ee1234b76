//! `crypto.random`: random numbers for keys, bytes per second.

use chacha20::ChaCha20Rng;
use chacha20::rand_core::{Rng, SeedableRng};
use plumb_model::{AuditClass, CurveKind, Description, Ready};
use plumb_protocol::{Failure, Start, StartError, StartedWorkload, Workload};
use plumb_workload_kit::declare;
use plumb_workload_kit::placement::placement;
use plumb_workload_kit::threads::Member;
use ring::rand::{SecureRandom, SystemRandom};

use crate::batches::started_without_trial;
use crate::libcrypto::Libcrypto;
use crate::provider::{Provider, parameters};

/// Smallest and largest request, in bytes: 16 bytes twice in a row is then a fault, and no chance.
const SIZES: (usize, usize) = (32, 1 << 20);

/// The workload `crypto.random`: its parameters and metrics, and how it starts.
pub(super) struct RandomNumbers;

impl Workload for RandomNumbers {
    fn describe(&self) -> Description {
        let (least, most) = SIZES;
        let size = declare::bytes("bytes", 32, "size of a request, from 32 B to 1 MiB");
        let mut all = vec![
            declare::curve(CurveKind::Line, declare::between(least, most, size)),
            declare::threads("threads, each with separate requests"),
            placement(),
        ];
        all.extend(parameters(&["ring", "rustcrypto", "system"]));
        declare::scaling(Description {
            parameters: all,
            ceiling: Some("provider".into()),
            metrics: vec![
                declare::rate("throughput", "B/s", "random bytes per second, all threads together"),
                declare::rate("operations", "ops/s", "requests per second, all threads together"),
            ],
            audit_class: Some(AuditClass::Cpu),
            ..declare::workload("crypto.random", "generates random numbers for keys")
        })
    }

    fn manual(&self) -> &'static str {
        include_str!("random.md")
    }

    fn start(&self, start: &Start) -> Result<StartedWorkload, StartError> {
        let provider = Provider::of(start)?;
        let mut ready = Ready::default();
        provider.describe(&["chacha20"], &start.facts, &mut ready);
        let bytes = start.size("bytes");
        let amounts = [("throughput", bytes as u64), ("operations", 1)];
        // The kernel's generator and one in the process do not do the same work.
        started_without_trial(start, provider, ready, &amounts, move |provider, _| {
            Ok(Box::new(Requests { generator: generator(provider)?, buffer: vec![0; bytes] })
                as Box<dyn Member>)
        })
    }
}

/// Fills buffers with random bytes.
trait Generator: Send {
    fn fill(&mut self, buffer: &mut [u8]) -> Result<(), Failure>;
}

fn generator(provider: Provider) -> Result<Box<dyn Generator>, StartError> {
    match provider {
        Provider::Ring => Ok(Box::new(KernelGenerator(SystemRandom::new()))),
        Provider::RustCrypto => {
            let mut seed = [0; 32];
            KernelGenerator(SystemRandom::new()).fill(&mut seed)?;
            Ok(Box::new(UserGenerator(ChaCha20Rng::from_seed(seed))))
        }
        Provider::System(library) => Ok(Box::new(SystemGenerator(library))),
    }
}

/// The kernel's generator: one getrandom(2) per request, by way of ring.
struct KernelGenerator(SystemRandom);

impl Generator for KernelGenerator {
    fn fill(&mut self, buffer: &mut [u8]) -> Result<(), Failure> {
        self.0.fill(buffer).map_err(|_| Failure("getrandom failed".into()))
    }
}

/// ChaCha20 in the process, seeded once by the kernel.
struct UserGenerator(ChaCha20Rng);

impl Generator for UserGenerator {
    fn fill(&mut self, buffer: &mut [u8]) -> Result<(), Failure> {
        self.0.fill_bytes(buffer);
        Ok(())
    }
}

/// libcrypto's generator (RAND_bytes), a CTR_DRBG per thread.
struct SystemGenerator(&'static Libcrypto);

impl Generator for SystemGenerator {
    fn fill(&mut self, buffer: &mut [u8]) -> Result<(), Failure> {
        self.0.fill_random(buffer)
    }
}

/// Requests for random bytes of one size.
struct Requests {
    generator: Box<dyn Generator>,
    buffer: Vec<u8>,
}

impl Member for Requests {
    fn run(&mut self, iterations: u64) -> Result<(), Failure> {
        for _ in 0..iterations {
            self.generator.fill(&mut self.buffer)?;
        }
        std::hint::black_box(&mut self.buffer);
        Ok(())
    }

    fn verify(&mut self) -> Result<(), Failure> {
        let result = looks_random(&self.buffer);
        self.buffer.fill(0);
        result
    }
}

/// The monobit test of NIST SP 800-22 at eight standard deviations, and no block of 16 bytes twice in a row: a buffer
/// that was not filled fails both.
#[expect(clippy::cast_precision_loss, reason = "buffers stay far below 2^53 bytes")]
fn looks_random(bytes: &[u8]) -> Result<(), Failure> {
    let bits = bytes.len() as f64 * 8.0;
    let ones: u32 = bytes.iter().map(|byte| byte.count_ones()).sum();
    let deviations = (f64::from(ones) - bits / 2.0).abs() / (bits.sqrt() / 2.0);
    let blocks = bytes.chunks_exact(16);
    let repeated = blocks.clone().zip(blocks.skip(1)).any(|(block, next)| block == next);
    if deviations > 8.0 || repeated {
        return Err(Failure("crypto.random: the bytes are not random".into()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{generator, looks_random};
    use crate::libcrypto::Libcrypto;
    use crate::provider::Provider;

    #[test]
    fn every_provider_gives_bytes_that_look_random() {
        let library = Provider::System(Libcrypto::load("", true).unwrap());
        for provider in [Provider::Ring, Provider::RustCrypto, library] {
            let mut buffer = [0; 4096];
            assert!(looks_random(&buffer).is_err());
            generator(provider).unwrap().fill(&mut buffer).unwrap();
            looks_random(&buffer).unwrap();
            let (first, rest) = buffer.split_at_mut(16);
            rest[..16].copy_from_slice(first);
            assert!(looks_random(&buffer).is_err());
        }
    }
}
