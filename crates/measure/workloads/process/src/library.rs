//! `process.library`: what a library adds to the start of a program, from pairs with and without it.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::Path;

use plumb_model::{AuditClass, Description, MappedFile, Ready, RelocationCounts, SampleIs};
use plumb_protocol::{
    Batch, Failure, Instance, SplitMix64, Start, StartError, StartedWorkload, Workload, current_cpu,
};
use plumb_workload_kit::declare::{reported_time, text, workload};
use plumb_workload_kit::spawn::{EndedProcess, SpawnedProgram, describe_end, find_program};

use crate::mapped_files::trace;

/// The program that starts with and without the library: it does nothing else.
const PROGRAM: &str = "/bin/true";
/// The variable that has the loader add a library.
const PRELOAD: &str = "LD_PRELOAD";

/// The workload `process.library`.
pub(crate) struct Library;

impl Workload for Library {
    fn describe(&self) -> Description {
        Description {
            parameters: vec![text(
                "library",
                "libm.so.6",
                "the library: a path, or a name that the loader searches for",
            )],
            metrics: vec![
                reported_time("added", "wall time with the library minus without it, of one pair"),
                reported_time("with", "wall time of /bin/true with the library"),
                reported_time("without", "wall time of /bin/true without it"),
            ],
            sample_is: SampleIs::Process,
            audit_class: Some(AuditClass::Process),
            ..workload(
                "process.library",
                "starts /bin/true with a library preloaded and without it, in pairs",
            )
        }
    }

    fn manual(&self) -> &'static str {
        include_str!("library.md")
    }

    fn start(&self, start: &Start) -> Result<StartedWorkload, StartError> {
        let library = start.text("library");
        if library.is_empty() || library.contains([':', ' ', '\t', '\n']) {
            return Err(Failure(format!(
                "library=`{library}`: {PRELOAD} takes a name without blanks and colons"
            ))
            .into());
        }
        find_program(PROGRAM).map_err(|failure| {
            StartError::unsupported(failure.0, "install coreutils, or another /bin/true")
        })?;
        let with = program(start.seed)?.with_variable(PRELOAD, library)?;
        let without = program(start.seed.wrapping_add(1))?;
        let added = added_files(&with, &without)?;
        if added.is_empty() {
            return Err(StartError::unsupported(
                format!(
                    "{PROGRAM} maps no further file with {PRELOAD}={library}: it is static, has the library anyway, or its loader can't load it"
                ),
                format!("see what the loader says: {PRELOAD}={library} {PROGRAM}"),
            ));
        }
        let mut ready = Ready::default();
        ready.notes.push(note(&added));
        let pairs = LibraryPairs { with, without, random: SplitMix64::new(start.seed) };
        Ok(StartedWorkload { instance: Box::new(pairs), ready })
    }
}

/// The program without any library preloaded.
fn program(seed: u64) -> Result<SpawnedProgram, Failure> {
    let argv = [OsString::from(PROGRAM)];
    Ok(SpawnedProgram::new(Path::new(PROGRAM), &argv, None, seed)?.without(&[PRELOAD]))
}

/// The ELF files that are mapped only with the library: itself, and what it needs.
fn added_files(
    with: &SpawnedProgram,
    without: &SpawnedProgram,
) -> Result<Vec<MappedFile>, StartError> {
    let without = trace(without)?;
    let known: BTreeSet<&String> = without.files.iter().map(|file| &file.path).collect();
    let mut added = trace(with)?.files;
    added.retain(|file| !known.contains(&file.path));
    Ok(added)
}

fn note(added: &[MappedFile]) -> String {
    let counts = added.iter().filter_map(|file| file.relocations);
    let relocations: u64 = counts.map(RelocationCounts::total).sum();
    let paths: Vec<&str> = added.iter().map(|file| file.path.as_str()).collect();
    format!("the library adds {relocations} relocations in {}", paths.join(", "))
}

struct LibraryPairs {
    with: SpawnedProgram,
    without: SpawnedProgram,
    random: SplitMix64,
}

impl LibraryPairs {
    /// Both starts, in random order, because the second may find warmer caches.
    fn pair(&mut self) -> Result<(EndedProcess, EndedProcess), Failure> {
        if self.random.below(2) == 0 {
            let with = run(&mut self.with)?;
            Ok((with, run(&mut self.without)?))
        } else {
            let without = run(&mut self.without)?;
            Ok((run(&mut self.with)?, without))
        }
    }
}

fn run(program: &mut SpawnedProgram) -> Result<EndedProcess, Failure> {
    let ended = program.run()?;
    if ended.status.success() {
        return Ok(ended);
    }
    Err(Failure(format!("{PROGRAM} failed: {}", describe_end(ended.status))))
}

#[expect(clippy::cast_precision_loss, reason = "times of a start stay far below 2^53 ns")]
fn seconds(ended: &EndedProcess) -> f64 {
    ended.elapsed_ns as f64 * 1e-9
}

impl Instance for LibraryPairs {
    fn run(&mut self, _iterations: u64) -> Result<(), Failure> {
        self.pair().map(drop)
    }

    fn value_names(&self) -> &'static [&'static str] {
        &["added", "with", "without"]
    }

    fn batch(&mut self, iterations: &[u64], batch: &mut Batch) -> Result<(), Failure> {
        self.with.rehearse();
        for _ in iterations {
            let (with, without) = self.pair()?;
            let start_ns = with.start_ns.min(without.start_ns);
            batch.record(start_ns, with.elapsed_ns + without.elapsed_ns, 1, current_cpu());
            let with_s = seconds(&with);
            let without_s = seconds(&without);
            batch.record_values(&[with_s - without_s, with_s, without_s]);
        }
        Ok(())
    }

    fn fixed_iterations(&self) -> bool {
        true
    }
}
