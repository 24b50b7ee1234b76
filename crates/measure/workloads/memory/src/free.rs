//! `memory.free`: memory that nobody uses, as the kernel counts it.

use std::fs::File;
use std::os::unix::fs::FileExt;

use plumb_model::{AuditClass, Better, Description, Ready};
use plumb_protocol::{Failure, Instance, Start, StartError, StartedWorkload, Workload};
use plumb_workload_kit::declare;

/// Where the kernel tells of the machine's memory, and of this process's.
const MACHINE: &str = "/proc/meminfo";
const OWN: &str = "/proc/self/status";

/// Room for either: both have some 1,500 bytes.
const BUFFER_BYTES: usize = 16 << 10;

/// Names of the metrics, and of the fields that the first two are.
const VALUES: [&str; 3] = ["free", "available", "own"];
const FIELDS: [&str; 2] = ["MemFree:", "MemAvailable:"];
const OWN_FIELD: &str = "VmRSS:";

/// The workload `memory.free`: its parameters and metrics, and how it starts.
pub(super) struct FreeMemory;

impl Workload for FreeMemory {
    fn describe(&self) -> Description {
        Description {
            metrics: vec![
                declare::reported(VALUES[0], "B", Better::Higher, "unused memory (MemFree)"),
                declare::reported(
                    VALUES[1],
                    "B",
                    Better::Higher,
                    "memory available to programs without swapping (MemAvailable)",
                ),
                declare::reported(
                    VALUES[2],
                    "B",
                    Better::Neither,
                    "memory used by plumb's worker, which the other two figures do not include (VmRSS)",
                ),
            ],
            audit_class: Some(AuditClass::Memory),
            ..declare::workload("memory.free", "reads how much memory is free")
        }
    }

    fn manual(&self) -> &'static str {
        include_str!("free.md")
    }

    fn start(&self, _: &Start) -> Result<StartedWorkload, StartError> {
        let mut reader = MeminfoReader {
            machine: open(MACHINE)?,
            own: open(OWN)?,
            text: Box::new([0; BUFFER_BYTES]),
            values: [0; 3],
        };
        reader.run(1)?;
        reader.verify()?;
        Ok(StartedWorkload { instance: Box::new(reader), ready: Ready::default() })
    }
}

/// The files, held open: each reading makes them again.
struct MeminfoReader {
    machine: File,
    own: File,
    text: Box<[u8; BUFFER_BYTES]>,
    values: [u64; 3],
}

impl MeminfoReader {
    fn read(&mut self) -> Result<(), Failure> {
        let length = read(&self.machine, MACHINE, self.text.as_mut_slice())?;
        for (value, field) in self.values.iter_mut().zip(FIELDS) {
            *value = bytes_of(&self.text[..length], field);
        }
        let length = read(&self.own, OWN, self.text.as_mut_slice())?;
        self.values[2] = bytes_of(&self.text[..length], OWN_FIELD);
        Ok(())
    }
}

fn open(path: &str) -> Result<File, StartError> {
    File::open(path).map_err(|error| {
        StartError::unsupported(format!("{path} can't be read: {error}"), "mount /proc")
    })
}

/// Reads a file of /proc from its beginning into `text`; returns its length.
fn read(file: &File, path: &str, text: &mut [u8]) -> Result<usize, Failure> {
    file.read_at(text, 0).map_err(|error| Failure::io(path, &error))
}

/// The bytes that stand after this name, in KiB; 0 if it is missing.
fn bytes_of(text: &[u8], field: &str) -> u64 {
    let line =
        text.split(|byte| *byte == b'\n').find_map(|line| line.strip_prefix(field.as_bytes()));
    let mut kib = 0_u64;
    for byte in line.unwrap_or_default().trim_ascii_start() {
        if !byte.is_ascii_digit() {
            break;
        }
        kib = kib.saturating_mul(10).saturating_add(u64::from(byte - b'0'));
    }
    kib.saturating_mul(1024)
}

impl Instance for MeminfoReader {
    fn run(&mut self, iterations: u64) -> Result<(), Failure> {
        (0..iterations).try_for_each(|_| self.read())
    }

    /// The kernel told all.
    fn verify(&mut self) -> Result<(), Failure> {
        match VALUES.iter().zip(self.values).find(|(_, value)| *value == 0) {
            None => Ok(()),
            Some((name, _)) => {
                Err(Failure(format!("memory.free: the kernel does not report `{name}`")))
            }
        }
    }

    fn value_names(&self) -> &'static [&'static str] {
        &VALUES
    }

    #[expect(clippy::cast_precision_loss, reason = "sizes of memory stay below 2^53")]
    fn values(&mut self, out: &mut [f64]) {
        for (out, value) in out.iter_mut().zip(self.values) {
            *out = value as f64;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Instance, MeminfoReader, bytes_of};

    #[test]
    fn fields_are_read_by_name() {
        let text = b"MemTotal:       24690000 kB\nMemFree:           24908 kB\nMemAvailable:\n";
        assert_eq!(bytes_of(text, "MemFree:"), 24908 * 1024);
        assert_eq!((bytes_of(text, "MemAvailable:"), bytes_of(text, "VmRSS:")), (0, 0));
    }

    #[test]
    fn a_kernel_that_does_not_tell_is_found() {
        let open = |path| std::fs::File::open(path).unwrap();
        let machine = open("/proc/meminfo");
        let own = open("/proc/self/status");
        let mut reader = MeminfoReader {
            machine,
            own,
            text: Box::new([0; super::BUFFER_BYTES]),
            values: [0; 3],
        };
        assert!(reader.verify().is_err(), "nothing was read yet");
        reader.run(1).unwrap();
        reader.verify().unwrap();
        reader.machine = open("/proc/version");
        reader.run(1).unwrap();
        assert!(reader.verify().unwrap_err().0.contains("does not report `free`"));
    }
}
