//! The share of glibc's loader in the time of a command, from the loader's own statistics.
//!
//! `LD_DEBUG=statistics` has each process report at its exit how long its loader took before `main`, in ticks of the time
//! stamp counter. The same counter, read around the run, gives the whole.

use std::fs;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use plumb_model::LoaderFigures;
use plumb_protocol::Failure;
use plumb_workload_kit::spawn::SpawnedProgram;

/// The variables that ask glibc for statistics, and into which files: this name, a dot and the process id.
pub(crate) const STATISTICS: (&str, &str) = ("LD_DEBUG", "statistics");
pub(crate) const OUTPUT: &str = "LD_DEBUG_OUTPUT";

/// Runs of which the median share is taken, and the time after which no further one begins.
const RUNS: usize = 5;
const LONGEST: Duration = Duration::from_secs(2);

/// What the loaders of the processes of one run report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct LoaderReport {
    /// Ticks in all loaders before the programs began.
    ticks: u64,
    at_start: u64,
    at_end: u64,
    processes: u64,
}

/// The figures of some runs of a program whose environment has [`STATISTICS`] and [`OUTPUT`], which is `prefix` in `folder`.
///
/// # Errors
/// If the program can't be started, or `around` fails.
pub(crate) fn figures(
    program: &mut SpawnedProgram,
    folder: &Path,
    mut around: impl FnMut(&mut dyn FnMut() -> Result<(), Failure>) -> Result<(), Failure>,
) -> Result<LoaderFigures, Failure> {
    let began = Instant::now();
    let mut found: Vec<(f64, LoaderReport)> = Vec::new();
    while found.len() < RUNS && (found.is_empty() || began.elapsed() < LONGEST) {
        let mut whole = 0;
        around(&mut || {
            let before = ticks();
            program.run()?;
            whole = ticks().saturating_sub(before);
            Ok(())
        })?;
        let report = take_report(folder)
            .map_err(|error| Failure::io("reading the loader's statistics", &error))?;
        if report.processes == 0 {
            return Ok(LoaderFigures::Unsupported(
                "no process of the command was loaded by glibc's loader (static, another libc, or setuid)".into(),
            ));
        }
        if whole == 0 {
            return Ok(LoaderFigures::Unsupported(format!(
                "plumb does not know the clock of glibc's loader on {}",
                std::env::consts::ARCH
            )));
        }
        found.push((share(report.ticks, whole), report));
    }
    found.sort_by(|one, other| one.0.total_cmp(&other.0));
    let (share, report) = found[found.len() / 2];
    Ok(LoaderFigures::Measured { share, at_start: report.at_start, at_end: report.at_end })
}

#[expect(clippy::cast_precision_loss, reason = "ticks of a run stay far below 2^53")]
fn share(part: u64, whole: u64) -> f64 {
    part as f64 / whole as f64
}

/// The counter by which glibc's loader measures; 0 where it is not known.
#[cfg(target_arch = "x86_64")]
#[expect(unsafe_code, reason = "the time stamp counter has no safe form")]
fn ticks() -> u64 {
    // SAFETY: reads a counter that every x86_64 processor has.
    unsafe { std::arch::x86_64::_rdtsc() }
}

/// The counter by which glibc's loader measures; 0 where it is not known.
#[cfg(not(target_arch = "x86_64"))]
fn ticks() -> u64 {
    0
}

/// Reads and removes what the processes of a run wrote.
fn take_report(folder: &Path) -> io::Result<LoaderReport> {
    let mut report = LoaderReport::default();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        report.add(&String::from_utf8_lossy(&fs::read(&path)?));
        fs::remove_file(path)?;
    }
    Ok(report)
}

impl LoaderReport {
    /// Adds what one process reports; of one that became other programs, each of them.
    fn add(&mut self, text: &str) {
        let mut at_start = 0;
        let mut is_final = false;
        for line in text.lines() {
            // `     12345:	  total startup time in dynamic loader: 476852 cycles`
            let said = line.split_once(':').map_or("", |(_, said)| said.trim());
            let Some((name, value)) = said.split_once(": ") else { continue };
            let number = value.split_whitespace().next().and_then(|word| word.parse().ok());
            let Some(number) = number else { continue };
            match name {
                "total startup time in dynamic loader" => {
                    self.processes += 1;
                    self.ticks = self.ticks.saturating_add(number);
                }
                "number of relocations" => {
                    at_start = number;
                    self.at_start = self.at_start.saturating_add(number);
                    self.at_end = self.at_end.saturating_add(number);
                    is_final = false;
                }
                "final number of relocations" if !is_final => {
                    self.at_end = self.at_end.saturating_add(number.saturating_sub(at_start));
                    is_final = true;
                }
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::LoaderReport;

    /// Of glibc 2.36: a process that became another program, which ended without its exit handlers.
    const TEXT: &str = "\
      5021:\t\n      5021:\truntime linker statistics:
      5021:\t  total startup time in dynamic loader: 1476852 cycles
      5021:\t            time needed for relocation: 376852 cycles (25.5%)
      5021:\t                 number of relocations: 405
      5021:\t      number of relocations from cache: 12
      5021:\t        number of relative relocations: 5566
      5021:\t           time needed to load objects: 810000 cycles (54.8%)
      5021:\t\n      5021:\truntime linker statistics:
      5021:\t           final number of relocations: 10188
      5021:\tfinal number of relocations from cache: 13
      5021:\t  total startup time in dynamic loader: 100 cycles
      5021:\t                 number of relocations: 7
";

    #[test]
    fn the_statistics_of_glibc_are_read() {
        let mut report = LoaderReport::default();
        report.add(TEXT);
        let expected =
            LoaderReport { ticks: 1_476_952, at_start: 412, at_end: 10_195, processes: 2 };
        assert_eq!(report, expected);
        report.add("garbage: \n:::\n1: number of relocations: many\n");
        assert_eq!(report, expected);
    }
}
