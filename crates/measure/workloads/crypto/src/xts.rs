//! `crypto.xts`: encryption of disk sectors with AES in XTS mode, bytes per second.

use std::hint::black_box;

use aes::cipher::consts::U16;
use aes::cipher::{BlockCipherDecrypt, BlockCipherEncrypt, BlockSizeUser, KeyInit};
use aes::{Aes128, Aes256};
use plumb_model::{AuditClass, CurveKind, Description, Ready};
use plumb_protocol::{Failure, SplitMix64, Start, StartError, StartedWorkload, Workload};
use plumb_workload_kit::declare;
use plumb_workload_kit::placement::placement;
use plumb_workload_kit::threads::Member;
use xts_mode::{Xts128, get_tweak_default};

use crate::batches::started;
use crate::libcrypto::{CipherContext, Direction};
use crate::provider::{Provider, acceleration, parameters};
use crate::speed::{self, SpeedTest};

/// Smallest and largest sector, in bytes.
const SIZES: (usize, usize) = (16, 1 << 20);

/// The workload `crypto.xts`: its parameters and metrics, and how it starts.
pub(super) struct Xts;

impl Workload for Xts {
    fn describe(&self) -> Description {
        let (least, most) = SIZES;
        let sector = declare::bytes("bytes", 4096, "sector size, a multiple of 16 B up to 1 MiB");
        let mut all = vec![
            declare::choice(
                "cipher",
                &["aes-256-xts", "aes-128-xts"],
                "cipher; its two keys have 256 or 128 bits each",
            ),
            declare::curve(CurveKind::Line, declare::between(least, most, sector)),
            declare::choice("direction", &["encrypt", "decrypt"], "encrypt or decrypt"),
            declare::threads("threads, each with a separate key and sector"),
            placement(),
        ];
        all.extend(parameters(&["rustcrypto", "system"]));
        all.push(acceleration());
        declare::scaling(Description {
            parameters: all,
            ceiling: Some("provider".into()),
            metrics: vec![
                declare::rate("throughput", "B/s", "bytes per second, all threads together"),
                declare::rate("operations", "ops/s", "sectors per second, all threads together"),
            ],
            audit_class: Some(AuditClass::Cpu),
            ..declare::workload("crypto.xts", "encrypts disk sectors with AES in XTS mode")
        })
    }

    fn manual(&self) -> &'static str {
        include_str!("xts.md")
    }

    fn start(&self, start: &Start) -> Result<StartedWorkload, StartError> {
        let bytes = start.integer("bytes");
        if !bytes.is_multiple_of(16) {
            return Err(StartError::Failed(format!("bytes={bytes} is not a multiple of 16")));
        }
        let amounts = [("throughput", bytes), ("operations", 1)];
        if speed::is_needed(start) {
            return speed::started(start, &amounts, speed_test(start));
        }
        let provider = Provider::of(start)?;
        let mut ready = Ready::default();
        provider.describe(&["xts-mode", "aes"], &start.facts, &mut ready);
        let is_large = start.text("cipher") == "aes-256-xts";
        let direction = match start.text("direction") {
            "decrypt" => Direction::Decrypt,
            _ => Direction::Encrypt,
        };
        let seed = start.seed;
        started(start, provider, ready, &amounts, move |provider, thread| {
            let make = |key: &[u8], direction| sectors(provider, is_large, key, direction);
            check_known_answer(if is_large { &LARGE } else { &SMALL }, &make)?;
            let mut random = SplitMix64::new(seed.wrapping_add(thread as u64));
            let mut key = vec![0; if is_large { 64 } else { 32 }];
            random.fill(&mut key);
            let mut text = vec![0; usize::try_from(bytes).unwrap_or_default()];
            random.fill(&mut text);
            let back = match direction {
                Direction::Encrypt => Direction::Decrypt,
                Direction::Decrypt => Direction::Encrypt,
            };
            Ok(Box::new(SectorWork {
                forward: make(&key, direction)?,
                back: make(&key, back)?,
                sector: text.clone(),
                text,
                number: 0,
            }) as Box<dyn Member>)
        })
    }
}

/// The test of `openssl speed`.
pub(super) fn speed_test(start: &Start) -> SpeedTest {
    let mut options = vec!["-evp", start.text("cipher")];
    if start.text("direction") == "decrypt" {
        options.push("-decrypt");
    }
    SpeedTest::of_messages(start, &options)
}

/// Makes the cipher of a key and a direction.
type MakeSectors<'m> = dyn Fn(&[u8], Direction) -> Result<Box<dyn SectorCipher>, StartError> + 'm;

/// Encrypts or decrypts sectors in place.
trait SectorCipher: Send {
    fn apply(&mut self, number: u64, sector: &mut [u8]) -> Result<(), Failure>;
}

/// A cipher with its key, computed by a provider.
fn sectors(
    provider: Provider,
    is_large: bool,
    key: &[u8],
    direction: Direction,
) -> Result<Box<dyn SectorCipher>, StartError> {
    if let Provider::System(library) = provider {
        let name = if is_large { c"AES-256-XTS" } else { c"AES-128-XTS" };
        let context = library.cipher(name, direction, key)?;
        return match context {
            Some(context) => Ok(Box::new(context)),
            None => Err(provider.lacks(&name.to_string_lossy(), "`provider=rustcrypto`")),
        };
    }
    let sectors: Box<dyn SectorCipher> = if is_large {
        Box::new(RustCryptoSectors { cipher: pair::<Aes256>(key)?, direction })
    } else {
        Box::new(RustCryptoSectors { cipher: pair::<Aes128>(key)?, direction })
    };
    Ok(sectors)
}

/// The two ciphers of XTS, each with its half of the key.
fn pair<C>(key: &[u8]) -> Result<Xts128<C>, StartError>
where
    C: BlockSizeUser<BlockSize = U16> + KeyInit,
{
    let (data_key, tweak_key) = key.split_at(key.len() / 2);
    let half = |key: &[u8]| {
        C::new_from_slice(key)
            .map_err(|_| Failure(format!("AES refuses a key of {} bytes", key.len())))
    };
    Ok(Xts128::new(half(data_key)?, half(tweak_key)?))
}

/// Sectors by RustCrypto.
struct RustCryptoSectors<C> {
    cipher: Xts128<C>,
    direction: Direction,
}

impl<C> SectorCipher for RustCryptoSectors<C>
where
    C: BlockSizeUser<BlockSize = U16> + BlockCipherEncrypt + BlockCipherDecrypt + Send,
{
    fn apply(&mut self, number: u64, sector: &mut [u8]) -> Result<(), Failure> {
        let tweak = get_tweak_default(u128::from(number));
        match self.direction {
            Direction::Encrypt => self.cipher.encrypt_sector(sector, tweak),
            Direction::Decrypt => self.cipher.decrypt_sector(sector, tweak),
        }
        Ok(())
    }
}

impl SectorCipher for CipherContext {
    fn apply(&mut self, number: u64, sector: &mut [u8]) -> Result<(), Failure> {
        self.begin(&u128::from(number).to_le_bytes())?;
        self.update_in_place(sector)
    }
}

/// A sector that is encrypted, or decrypted, in place repeatedly, each time under the next number.
struct SectorWork {
    forward: Box<dyn SectorCipher>,
    back: Box<dyn SectorCipher>,
    sector: Vec<u8>,
    text: Vec<u8>,
    number: u64,
}

impl Member for SectorWork {
    fn run(&mut self, iterations: u64) -> Result<(), Failure> {
        for _ in 0..iterations {
            self.forward.apply(self.number, &mut self.sector)?;
            self.number += 1;
        }
        black_box(&mut self.sector);
        Ok(())
    }

    /// Turns the sector back through the last numbers, and compares it with a sector that comes forward again.
    fn verify(&mut self) -> Result<(), Failure> {
        let first = self.number.saturating_sub(16);
        let last_state = self.sector.clone();
        for number in (first..self.number).rev() {
            self.back.apply(number, &mut self.sector)?;
        }
        if first == 0 && self.sector != self.text {
            return Err(Failure("crypto.xts: a decrypted sector differs from its text".into()));
        }
        for number in first..self.number {
            self.forward.apply(number, &mut self.sector)?;
        }
        if self.sector != last_state {
            return Err(Failure("crypto.xts: encryption and decryption do not agree".into()));
        }
        Ok(())
    }
}

/// A published example.
struct KnownSector {
    key: &'static [u8],
    number: u64,
    text: &'static [u8],
    sealed: &'static [u8],
}

/// IEEE 1619-2007 annex B, vector 2.
static SMALL: KnownSector = KnownSector {
    key: b"\x11\x11\x11\x11\x11\x11\x11\x11\x11\x11\x11\x11\x11\x11\x11\x11\
           \x22\x22\x22\x22\x22\x22\x22\x22\x22\x22\x22\x22\x22\x22\x22\x22",
    number: 0x33_3333_3333,
    text: &[0x44; 32],
    sealed: b"\xc4\x54\x18\x5e\x6a\x16\x93\x6e\x39\x33\x40\x38\xac\xef\x83\x8b\
           \xfb\x18\x6f\xff\x74\x80\xad\xc4\x28\x93\x82\xec\xd6\xd3\x94\xf0",
};

/// IEEE 1619-2007 annex B, vector 10: its first two blocks, which do not depend on the rest.
static LARGE: KnownSector = KnownSector {
    key: b"\x27\x18\x28\x18\x28\x45\x90\x45\x23\x53\x60\x28\x74\x71\x35\x26\
           \x62\x49\x77\x57\x24\x70\x93\x69\x99\x59\x57\x49\x66\x96\x76\x27\
           \x31\x41\x59\x26\x53\x58\x97\x93\x23\x84\x62\x64\x33\x83\x27\x95\
           \x02\x88\x41\x97\x16\x93\x99\x37\x51\x05\x82\x09\x74\x94\x45\x92",
    number: 0xff,
    text: b"\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f\
           \x10\x11\x12\x13\x14\x15\x16\x17\x18\x19\x1a\x1b\x1c\x1d\x1e\x1f",
    sealed: b"\x1c\x3b\x3a\x10\x2f\x77\x03\x86\xe4\x83\x6c\x99\xe3\x70\xcf\x9b\
           \xea\x00\x80\x3f\x5e\x48\x23\x57\xa4\xae\x12\xd4\x14\xa3\xe6\x3b",
};

/// Encrypts and decrypts a published sector.
fn check_known_answer(known: &KnownSector, make: &MakeSectors<'_>) -> Result<(), StartError> {
    let mut sector = known.text.to_vec();
    make(known.key, Direction::Encrypt)?.apply(known.number, &mut sector)?;
    if sector != known.sealed {
        let failure = "crypto.xts: the cipher does not give the published test vector";
        return Err(StartError::Failed(failure.into()));
    }
    make(known.key, Direction::Decrypt)?.apply(known.number, &mut sector)?;
    if sector != known.text {
        return Err(StartError::Failed("crypto.xts: a published sector can't be decrypted".into()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{LARGE, SMALL, check_known_answer, sectors};
    use crate::libcrypto::Libcrypto;
    use crate::provider::Provider;

    #[test]
    fn every_provider_gives_the_published_sectors() {
        let library = Provider::System(Libcrypto::load("", true).unwrap());
        for provider in [Provider::RustCrypto, library] {
            check_known_answer(&SMALL, &|key, direction| sectors(provider, false, key, direction))
                .unwrap();
            check_known_answer(&LARGE, &|key, direction| sectors(provider, true, key, direction))
                .unwrap();
        }
    }
}
