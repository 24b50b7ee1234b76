//! `compression.7zip`: the benchmark that is built into 7-Zip, a fresh process a sample.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use plumb_model::{AuditClass, Better, Description, Metric, Ready, Requirement, Role, SampleIs};
use plumb_protocol::{Batch, Failure, Instance, Start, StartError, StartedWorkload, Workload};

use plumb_workload_kit::affinity::CpuSet;
use plumb_workload_kit::declare::{between, integer, reported, threads, workload};
use plumb_workload_kit::placement::{Placement, in_words, placement};
use plumb_workload_kit::spawn::{
    OutputPipe, SpawnedProgram, VALUES_OF_TOOLS, describe_end, find_program, metrics,
};
use plumb_workload_kit::threads::oversubscribed;
use plumb_workload_kit::{ended, memory_floor};

/// The workload `compression.7zip`: its parameters and metrics, and how it starts.
pub(crate) struct SevenZip;

/// The program under the names that it has had: 7-Zip's own first, because `7z` may be a shell script
/// that starts it.
const PROGRAMS: [&str; 3] = ["7zz", "7z", "7za"];

const FIX: &str = "apt-get install 7zip (or p7zip-full)";

/// Names of what every sample reports: what `wait4` tells of the process, then what 7-Zip says.
const VALUE_NAMES: [&str; 7] =
    ["user", "system", "cpu", "peak_memory", "compress", "decompress", "rating"];

/// Length of a 7-Zip test by default, in seconds.
const OWN_TEST_TIME: usize = 4;

impl Workload for SevenZip {
    fn describe(&self) -> Description {
        let mut all = vec![
            printed(
                "compress",
                "B/s",
                "uncompressed bytes per second when compressing, all threads \
                together",
            ),
            printed(
                "decompress",
                "B/s",
                "uncompressed bytes per second when unpacking, all threads \
                together",
            ),
            printed("rating", "ops/s", "7-Zip's total rating (MIPS × 1000000)"),
        ];
        all.extend(metrics(VALUES_OF_TOOLS));
        Description {
            roles: vec![Role::Workload],
            parameters: vec![
                between(1, 1024, threads("threads of 7-Zip (-mmt)")),
                placement(),
                between(
                    18,
                    30,
                    integer(
                        "dictionary",
                        "",
                        18,
                        "dictionary size as a power of 2: 18 is 2^18 bytes (-md)",
                    ),
                ),
                between(
                    0,
                    60,
                    integer(
                        "test_time",
                        "seconds",
                        0,
                        "approximate length of each 7-Zip test (-mtime)",
                    ),
                ),
            ],
            metrics: all,
            requirements: vec![Requirement {
                needs: "7zz, 7z or 7za".into(),
                why: "plumb measures the installed 7-Zip".into(),
                fix: FIX.into(),
            }],
            sample_is: SampleIs::Process,
            timeout_s: Some(3600),
            audit_class: Some(AuditClass::Process),
            ..workload(
                "compression.7zip",
                "7-Zip's built-in benchmark: LZMA compression and decompression",
            )
        }
    }

    fn manual(&self) -> &'static str {
        include_str!("seven_zip.md")
    }

    fn start(&self, start: &Start) -> Result<StartedWorkload, StartError> {
        let threads = start.size("threads");
        let dictionary = start.size("dictionary");
        check_memory(threads, dictionary, start.facts.memory_bytes)?;
        let path = find(&PROGRAMS)?;
        let output = OutputPipe::new()?;
        let argv = arguments(&path, threads, dictionary, start.size("test_time"));
        let program = SpawnedProgram::new(&path, &argv, Some(output.end()), start.seed)?;
        let mut ready = Ready::default();
        ready.versions.insert("7zip".into(), version(&path)?);
        ready.notes.push(format!("program {}", path.display()));
        ready.notes.push(memory_floor::note(program.rehearse()));
        // Its threads are its own: it is kept to as many CPUs as they would have.
        let kept = Placement::of(start)?.cpus(threads, &start.facts)?;
        let mut facts = start.facts.clone();
        if let Some(cpus) = &kept {
            CpuSet::of(cpus).apply()?;
            ready.notes.push(format!("7-Zip and its threads run {}", in_words(cpus)));
            facts.cpus.retain(|&cpu| cpus.iter().any(|&kept| u32::try_from(kept) == Ok(cpu)));
        }
        ready.flags.extend(oversubscribed(threads, &facts));
        Ok(StartedWorkload {
            instance: Box::new(SevenZipRuns { program, output, dictionary }),
            ready,
        })
    }
}

fn printed(name: &str, unit: &str, summary: &str) -> Metric {
    reported(name, unit, Better::Higher, summary)
}

/// The first of these programs that is installed.
fn find(names: &[&str]) -> Result<PathBuf, StartError> {
    names
        .iter()
        .find_map(|name| find_program(name).ok())
        .ok_or_else(|| StartError::unsupported("7-Zip is not installed", FIX))
}

/// One loop of the benchmark.
fn arguments(path: &Path, threads: usize, dictionary: usize, test_time: usize) -> Vec<OsString> {
    let mut argv = vec![path.as_os_str().to_owned(), "b".into(), "1".into()];
    argv.push(format!("-mmt={threads}").into());
    argv.push(format!("-md={dictionary}").into());
    if test_time != OWN_TEST_TIME {
        argv.push(format!("-mtime={test_time}").into());
    }
    argv
}

/// What the program says of itself when it is given nothing to do.
fn version(path: &Path) -> Result<String, StartError> {
    let output = ended::output(&mut Command::new(path))
        .map_err(|e| Failure::io(format!("starting {}", path.display()), &e))?;
    let output = String::from_utf8_lossy(&output.stdout);
    banner_version(&output).map(str::to_owned).ok_or_else(|| {
        let why = format!("{} is not 7-Zip: it reports no version", path.display());
        StartError::unsupported(why, FIX)
    })
}

/// The version in `7-Zip (z) 26.02 (x64) : Copyright …`, `7-Zip [64] 16.02 : Copyright …`.
fn banner_version(output: &str) -> Option<&str> {
    let banner = output.lines().find_map(|line| line.strip_prefix("7-Zip "))?;
    banner.split_whitespace().find(|word| word.starts_with(|c: char| c.is_ascii_digit()))
}

/// Refuses what would not fit: 7-Zip itself only warns.
fn check_memory(threads: usize, dictionary: usize, memory: u64) -> Result<(), StartError> {
    // As its `RAM usage` says: 14 dictionaries for each pair of threads, and some MiB.
    let needs = threads.div_ceil(2) as u64 * ((11 << 20) + (14 << dictionary));
    if memory == 0 || needs <= memory / 4 * 3 {
        return Ok(());
    }
    Err(StartError::unsupported(
        format!(
            "threads={threads} with dictionary={dictionary} needs about {} MiB, too much for plumb's limit \
             of {} MiB",
            needs >> 20,
            memory >> 20
        ),
        "set a smaller dictionary or fewer threads, or raise the memory limit",
    ))
}

/// The output of 7-Zip's benchmark, in SI units.
#[derive(Debug, PartialEq)]
struct BenchmarkResult {
    compress: f64,
    decompress: f64,
    rating: f64,
}

/// The numbers of the line that begins so; bars between columns are left out.
fn numbers(text: &str, start: &str) -> Option<Vec<f64>> {
    let rest = text.lines().find_map(|line| line.trim_start().strip_prefix(start))?;
    let words = rest.split_whitespace().filter(|&word| word != "|");
    words.map(|word| word.parse().ok()).collect()
}

/// Reads the line of this dictionary and the line `Tot:`. The tables of p7zip 9 and 16 and of 7-Zip up to
/// 26 agree in both; only what `Avr:` has differs.
fn parse(text: &str, dictionary: usize) -> Option<BenchmarkResult> {
    let row = numbers(text, &format!("{dictionary}:")).filter(|row| row.len() == 8)?;
    let total = numbers(text, "Tot:")?;
    let result = BenchmarkResult {
        compress: row[0] * 1024.0,
        decompress: row[4] * 1024.0,
        rating: total.last()? * 1e6,
    };
    (result.compress > 0.0 && result.decompress > 0.0 && result.rating > 0.0).then_some(result)
}

struct SevenZipRuns {
    program: SpawnedProgram,
    output: OutputPipe,
    dictionary: usize,
}

impl SevenZipRuns {
    fn once(&mut self, batch: Option<&mut Batch>) -> Result<(), Failure> {
        let ended = self.program.run()?;
        let text = self.output.take()?;
        if !ended.status.success() {
            return Err(Failure(format!(
                "7-Zip's benchmark failed: {} (versions without -mtime need test_time={OWN_TEST_TIME}); its last line: {}",
                describe_end(ended.status),
                last_line(&text),
            )));
        }
        let result = parse(&text, self.dictionary).ok_or_else(|| {
            Failure(format!(
                "7-Zip's benchmark printed no result; its last line: {}",
                last_line(&text)
            ))
        })?;
        if let Some(batch) = batch {
            ended.record(batch, VALUES_OF_TOOLS);
            batch.record_values(&[result.compress, result.decompress, result.rating]);
        }
        Ok(())
    }
}

fn last_line(text: &str) -> &str {
    text.lines().map(str::trim).rfind(|line| !line.is_empty()).unwrap_or("nothing")
}

impl Instance for SevenZipRuns {
    fn run(&mut self, _iterations: u64) -> Result<(), Failure> {
        self.once(None)
    }

    fn value_names(&self) -> &'static [&'static str] {
        &VALUE_NAMES
    }

    fn batch(&mut self, iterations: &[u64], batch: &mut Batch) -> Result<(), Failure> {
        self.program.rehearse();
        iterations.iter().try_for_each(|_| self.once(Some(&mut *batch)))
    }

    fn fixed_iterations(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;
    use std::path::Path;

    use plumb_protocol::{Instance, StartError};

    use super::{
        OutputPipe, SevenZipRuns, SpawnedProgram, arguments, banner_version, check_memory, find,
        parse,
    };

    /// 7zz b 1 -mmt=4 -md=22 on a virtual machine with two CPUs.
    const SEVEN_ZIP_26: &str = "
7-Zip (z) 26.02 (x64) : Copyright (c) 1999-2026 Igor Pavlov : 2026-06-25
 64-bit locale=C.UTF-8 Threads:2 OPEN_MAX:20000

 mt=4 d=22
Compiler:  ver:12.2.0 GCC 12.2.0 : SSE2

1T CPU Freq (MHz):  3838  3858  3867  3852  3858  3869  3865
4T CPU Freq (MHz): 199% 1918   198% 1914

RAM size:   24105 MB (LP),  # CPU hardware threads:   2
RAM usage:    130 MB (LP),  # Benchmark threads:      4

                       Compressing  |                  Decompressing
Dict     Speed Usage    R/U Rating  |      Speed Usage    R/U Rating
         KiB/s     %   MIPS   MIPS  |      KiB/s     %   MIPS   MIPS

22:      14002   167   8175  13622  |      37420    75   4264   3192
----------------------------------  | ------------------------------
Avr:     14002   167   8175  13622  |      37420    75   4264   3192
Tot:             121   6220   8407
";

    /// 7z b -mmt1 on a Pentium P6200, as published.
    const P7ZIP_16: &str = "
7-Zip [64] 16.02 : Copyright (c) 1999-2016 Igor Pavlov : 2016-05-21
p7zip Version 16.02 (locale=pt_PT.UTF-8,Utf16=on,HugeFiles=on,64 bits,1 CPU Intel(R) Pentium(R) CPU        P6200  @ 2.13GHz (20655),ASM)

Intel(R) Pentium(R) CPU        P6200  @ 2.13GHz (20655)
CPU Freq: - - - - - - - - -

RAM size:    3731 MB,  # CPU hardware threads:   1
RAM usage:    435 MB,  # Benchmark threads:      1

                       Compressing  |                  Decompressing
Dict     Speed Usage    R/U Rating  |      Speed Usage    R/U Rating
         KiB/s     %   MIPS   MIPS  |      KiB/s     %   MIPS   MIPS

22:       2162    99   2114   2104  |      25064    99   2153   2140
23:       2055    99   2105   2094  |      24484    98   2152   2119
24:       1987    99   2149   2137  |      24358    99   2150   2138
25:       1899    99   2185   2169  |      23916   100   2139   2129
----------------------------------  | ------------------------------
Avr:              99   2138   2126  |               99   2149   2132
Tot:              99   2144   2129
";

    #[test]
    fn results_and_versions_of_old_and_new_programs_are_read() {
        let new = parse(SEVEN_ZIP_26, 22).unwrap();
        assert_eq!((new.compress, new.decompress), (14002.0 * 1024.0, 37420.0 * 1024.0));
        assert_eq!((new.rating, banner_version(SEVEN_ZIP_26)), (8407e6, Some("26.02")));
        let old = parse(P7ZIP_16, 25).unwrap();
        assert_eq!((old.compress, old.decompress), (1899.0 * 1024.0, 23916.0 * 1024.0));
        assert_eq!((old.rating, banner_version(P7ZIP_16)), (2129e6, Some("16.02")));
        assert_eq!(banner_version("7-Zip (a) [64] 16.02 : Copyright"), Some("16.02"));
    }

    #[test]
    fn what_is_no_whole_result_is_none() {
        assert_eq!(parse(P7ZIP_16, 21), None);
        assert_eq!(parse("", 22), None);
        let cut = &SEVEN_ZIP_26[..SEVEN_ZIP_26.find("Avr:").unwrap()];
        assert_eq!(parse(cut, 22), None);
        assert_eq!(parse(&SEVEN_ZIP_26.replace("37420    75   4264   3192", "0 0 0 0"), 22), None);
        assert_eq!(parse(&SEVEN_ZIP_26.replace("14002   167", "-"), 22), None);
        assert_eq!(banner_version("BusyBox v1.36"), None);
    }

    #[test]
    fn the_program_is_asked_for_one_loop() {
        let path = Path::new("/usr/bin/7zz");
        let words = |test_time| arguments(path, 2, 22, test_time).join(" ".as_ref());
        assert_eq!(words(1), "/usr/bin/7zz b 1 -mmt=2 -md=22 -mtime=1");
        assert_eq!(words(4), "/usr/bin/7zz b 1 -mmt=2 -md=22");
    }

    #[test]
    fn a_program_that_fails_or_says_something_else_is_quoted() {
        let why = |script: &str| {
            let output = OutputPipe::new().unwrap();
            let argv = ["sh", "-c", script].map(OsString::from);
            let program =
                SpawnedProgram::new(Path::new("/bin/sh"), &argv, Some(output.end()), 1).unwrap();
            SevenZipRuns { program, output, dictionary: 22 }.run(1).unwrap_err().0
        };
        let failed = why("echo; echo System ERROR:; echo E_INVALIDARG; exit 2");
        assert!(failed.starts_with("7-Zip's benchmark failed: exit status 2"), "{failed}");
        assert!(failed.contains("test_time=4") && failed.ends_with("E_INVALIDARG"), "{failed}");
        assert!(why("echo hello").ends_with("no result; its last line: hello"));
    }

    #[test]
    fn what_is_missing_or_would_not_fit_is_unsupported() {
        let Err(StartError::Unsupported { why, fix }) = find(&["no-such-7z"]) else {
            panic!("there is no such program");
        };
        assert_eq!(why, "7-Zip is not installed");
        assert!(fix.starts_with("apt-get install 7zip"), "{fix}");
        check_memory(16, 30, 0).unwrap();
        check_memory(2, 22, 1 << 30).unwrap();
        let Err(StartError::Unsupported { why, .. }) = check_memory(16, 25, 2 << 30) else {
            panic!("16 threads with 32 MiB take 3.6 GiB");
        };
        assert!(
            why.contains("needs about 3672 MiB, too much for plumb's limit of 2048 MiB"),
            "{why}"
        );
    }
}
