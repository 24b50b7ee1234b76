//! `language.sieve`: the same sieve in several languages, a fresh process a sample.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use plumb_model::{AuditClass, Description, Parameter, Ready, Role, SampleIs};
use plumb_protocol::{
    Batch, Failure, Held, Instance, Start, StartError, StartedWorkload, Workload,
};

use crate::toolchain::{LANGUAGES, Language};
use plumb_workload_kit::declare::{between, choice, integer, workload};
use plumb_workload_kit::memory_floor;
use plumb_workload_kit::primes::count_primes;
use plumb_workload_kit::spawn::{
    EndedProcess, OutputPipe, SpawnedProgram, VALUE_NAMES, describe_end, metrics,
};

/// The workload `language.sieve`: its parameters and metrics, and how it starts.
pub(crate) struct SieveInLanguages;

/// The fixture that both workloads share: the program, written and compiled.
pub(crate) const PROGRAM: &str = "language.program";

/// How many of a process's values are reported: user, system, cpu, `peak_memory`.
const VALUES: usize = 4;

impl Workload for SieveInLanguages {
    fn describe(&self) -> Description {
        Description {
            roles: vec![Role::Workload],
            parameters: vec![which(), limit()],
            metrics: metrics(VALUES),
            fixture: Some(vec!["language".into()]),
            fixture_kind: Some(PROGRAM.to_owned()),
            sample_is: SampleIs::Process,
            timeout_s: Some(3600),
            audit_class: Some(AuditClass::Process),
            ..workload("language.sieve", "the same prime sieve in several languages")
        }
    }

    fn manual(&self) -> &'static str {
        include_str!("sieve.md")
    }

    fn prepare(&self, start: &Start) -> Result<(Ready, Box<dyn Held>), StartError> {
        prepare(start)
    }

    fn start(&self, start: &Start) -> Result<StartedWorkload, StartError> {
        let language = language(start)?;
        let limit = start.size("limit");
        check_memory(language, limit as u64, start.facts.memory_bytes)?;
        let argv = arguments(start, limit)?;
        let output = OutputPipe::new()?;
        let program =
            SpawnedProgram::new(Path::new(&argv[0]), &argv, Some(output.end()), start.seed)?;
        let expected = expected_line(limit);
        let mut ready = Ready { versions: [version(language, start)].into(), ..Ready::default() };
        ready.notes.push(memory_floor::note(program.rehearse()));
        Ok(StartedWorkload {
            instance: Box::new(SieveProcesses { program, output, expected }),
            ready,
        })
    }
}

/// The parameter that names the language.
pub(crate) fn which() -> Parameter {
    let words: Vec<&str> = LANGUAGES.iter().map(|language| language.name.as_str()).collect();
    choice("language", &words, "language of the program")
}

/// The parameter of the largest number.
pub(crate) fn limit() -> Parameter {
    let limit = integer("limit", "numbers", 1_000_000, "find the primes up to this number");
    between(9, 1_000_000_000, limit)
}

/// Writes and compiles the source, for all invocations.
///
/// # Errors
/// Unsupported if the compiler or interpreter is missing.
pub(crate) fn prepare(start: &Start) -> Result<(Ready, Box<dyn Held>), StartError> {
    let language = language(start)?;
    let folder = BuildFolder(Path::new(&start.scratch).join(format!("sieve-{}", language.name)));
    fs::create_dir_all(&folder.0)
        .map_err(|e| Failure::io(format!("creating {}", folder.0.display()), &e))?;
    let built = language.build(&folder.0)?;
    let mut ready = Ready { bytes_on_disk: folder.bytes(), ..Ready::default() };
    ready.versions.insert(language.tool().to_owned(), built.version.clone());
    let endpoints = &mut ready.endpoints;
    endpoints.insert("program".into(), built.program.to_string_lossy().into_owned());
    endpoints.insert("version".into(), built.version);
    endpoints.insert("arguments".into(), built.arguments.join("\n"));
    Ok((ready, Box::new(folder)))
}

/// The program and its arguments, the limit last.
///
/// # Errors
/// If it was not prepared.
pub(crate) fn arguments(start: &Start, limit: usize) -> Result<Vec<OsString>, StartError> {
    let Some(path) = start.endpoints.get("program") else {
        return Err(StartError::Failed("the sieve was not prepared: no `program`".into()));
    };
    let mut all: Vec<OsString> = vec![path.into()];
    let given = start.endpoints.get("arguments").map_or("", String::as_str);
    all.extend(given.lines().map(OsString::from));
    all.push(limit.to_string().into());
    Ok(all)
}

/// The compiler or interpreter with its version.
pub(crate) fn version(language: &Language, start: &Start) -> (String, String) {
    let version = start.endpoints.get("version").cloned().unwrap_or_default();
    (language.tool().to_owned(), version)
}

/// The line that the program has to print.
pub(crate) fn expected_line(limit: usize) -> String {
    let primes = count_primes(u32::try_from(limit).unwrap_or(u32::MAX));
    format!("Found {primes} prime numbers.\n")
}

/// The language that the parameters name.
///
/// # Errors
/// If there is none.
pub(crate) fn language(start: &Start) -> Result<&'static Language, StartError> {
    let word = start.text("language");
    Language::find(word).ok_or_else(|| StartError::Failed(format!("unknown language `{word}`")))
}

/// Refuses a limit whose process would not fit: it would be killed half-way.
pub(crate) fn check_memory(language: &Language, limit: u64, memory: u64) -> Result<(), StartError> {
    let needs = language.memory_bytes(limit) >> 20;
    if memory == 0 || needs <= (memory >> 20) / 4 * 3 {
        return Ok(());
    }
    Err(StartError::unsupported(
        format!(
            "language={} with limit={limit} needs about {needs} MiB, too much for plumb's limit of {} MiB",
            language.name,
            memory >> 20
        ),
        "set a smaller limit, or raise the memory limit",
    ))
}

/// The fixture's folder, removed with it.
struct BuildFolder(PathBuf);

impl BuildFolder {
    fn bytes(&self) -> u64 {
        let files = fs::read_dir(&self.0).into_iter().flatten().flatten();
        files.filter_map(|file| file.metadata().ok()).map(|meta| meta.len()).sum()
    }
}

impl Held for BuildFolder {
    fn clean(self: Box<Self>) -> Result<(), Failure> {
        fs::remove_dir_all(&self.0)
            .map_err(|e| Failure::io(format!("removing {}", self.0.display()), &e))
    }
}

impl Drop for BuildFolder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

struct SieveProcesses {
    program: SpawnedProgram,
    output: OutputPipe,
    expected: String,
}

impl SieveProcesses {
    /// One process from start to end, its line checked after the clock has stopped.
    fn once(&mut self) -> Result<EndedProcess, Failure> {
        let ended = self.program.run()?;
        let said = self.output.take()?;
        if !ended.status.success() {
            return Err(Failure(format!("the sieve failed: {}", describe_end(ended.status))));
        }
        if said == self.expected {
            return Ok(ended);
        }
        Err(Failure(format!("the sieve printed {said:?} instead of {:?}", self.expected)))
    }
}

impl Instance for SieveProcesses {
    fn run(&mut self, _iterations: u64) -> Result<(), Failure> {
        self.once().map(drop)
    }

    fn value_names(&self) -> &'static [&'static str] {
        &VALUE_NAMES[..VALUES]
    }

    fn batch(&mut self, iterations: &[u64], batch: &mut Batch) -> Result<(), Failure> {
        self.program.rehearse();
        for _ in iterations {
            self.once()?.record(batch, VALUES);
        }
        Ok(())
    }

    fn fixed_iterations(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::{Language, StartError, check_memory};

    #[test]
    fn a_process_that_would_not_fit_is_unsupported() {
        let node = Language::find("node").unwrap();
        check_memory(node, 1_000_000, 0).unwrap();
        check_memory(node, 1_000_000, 1 << 30).unwrap();
        let Err(StartError::Unsupported { why, .. }) = check_memory(node, 1_000_000, 64 << 20)
        else {
            panic!("64 MiB are too few");
        };
        assert!(why.contains("79 MiB, too much for plumb's limit of 64 MiB"), "{why}");
    }
}
