//! `language.sieve`: the same sieve in several languages, a fresh process a sample.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

use plumb_model::{AuditClass, Description, Parameter, Ready, Role, Rung, SampleIs};
use plumb_protocol::{
    Batch, Failure, Held, Instance, Start, StartError, StartedWorkload, Workload,
};

use crate::fixture::{self, version};
use crate::toolchain::{LANGUAGES, Language};
use plumb_workload_kit::declare::{between, choice, integer, rung, rung_if, text, workload};
use plumb_workload_kit::primes::count_primes;
use plumb_workload_kit::processes::die_with_parent;
use plumb_workload_kit::spawn::{
    EndedProcess, OutputPipe, SpawnedProgram, VALUE_NAMES, describe_end, metrics,
};
use plumb_workload_kit::{ended, memory_floor};

/// The workload `language.sieve`: its parameters and metrics, and how it starts.
pub(crate) struct SieveInLanguages;

/// The fixture that both workloads share: the program, written and compiled.
pub(crate) const PROGRAM: &str = "language.program";

/// The parameters that the program depends on.
pub(crate) const FIXTURE_DEPENDS_ON: [&str; 2] = ["language", "tool"];

/// How many of a process's values are reported: user, system, cpu, `peak_memory`.
const VALUES: usize = 4;

/// Compiled code without the start of a process, whose arrays keep their memory from one sieve to the next.
fn sieve_alone() -> Rung {
    let alone =
        rung("the sieve without process start-up", "cpu.sieve", "time", &[("limit", "$limit")]);
    rung_if(&[("language", "c")], alone)
}

impl Workload for SieveInLanguages {
    fn describe(&self) -> Description {
        Description {
            // 2: C++ uses the standard algorithms, and Go 64-bit integers, as in langs-performance.
            version: 2,
            roles: vec![Role::Workload],
            parameters: parameters(),
            metrics: metrics(VALUES),
            fixture: Some(FIXTURE_DEPENDS_ON.map(str::to_owned).into()),
            fixture_kind: Some(PROGRAM.to_owned()),
            sample_is: SampleIs::Process,
            timeout_s: Some(3600),
            audit_class: Some(AuditClass::Process),
            rungs: vec![sieve_alone()],
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
        check_memory(language, limit as u64, start)?;
        let argv = arguments(start, limit)?;
        if may_use_up_memory(language, limit as u64, start) {
            try_once(language, limit, &argv)?;
        }
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

/// The parameters of both workloads.
pub(crate) fn parameters() -> Vec<Parameter> {
    let words: Vec<&str> = LANGUAGES.iter().map(|language| language.name.as_str()).collect();
    let limit = integer("limit", "numbers", 1_000_000, "find the primes up to this number");
    vec![
        choice("language", &words, "language of the program"),
        between(9, 1_000_000_000, limit),
        // A text and no path: versions are different points.
        text("tool", "", "compiler or interpreter to use instead of that in PATH"),
    ]
}

/// Writes and compiles the source, for all invocations.
///
/// # Errors
/// Unsupported if the compiler or interpreter is missing.
pub(crate) fn prepare(start: &Start) -> Result<(Ready, Box<dyn Held>), StartError> {
    let language = language(start)?;
    let tool = start.text("tool");
    let name: String =
        tool.chars().map(|letter| if letter.is_alphanumeric() { letter } else { '-' }).collect();
    let name = format!("sieve-{}{name}", language.name);
    let language = match tool {
        "" => language.clone(),
        tool if tool.contains('/') && !tool.starts_with('/') => {
            let why = format!("tool={tool} is a relative path");
            return Err(StartError::unsupported(why, "give an absolute path, or a name in PATH"));
        }
        tool => language.with_tool(tool),
    };
    fixture::prepare(start, &name, &language, language.own_source()?)
}

/// The program and its arguments, the limit last.
///
/// # Errors
/// If it was not prepared.
pub(crate) fn arguments(start: &Start, limit: usize) -> Result<Vec<OsString>, StartError> {
    let mut all = fixture::argv(start)?;
    all.push(limit.to_string().into());
    Ok(all)
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

/// Refuses a limit whose process would not fit into plumb's memory, or into the heap of its runtime: it would be killed
/// half-way.
pub(crate) fn check_memory(
    language: &Language,
    limit: u64,
    start: &Start,
) -> Result<(), StartError> {
    let memory = start.facts.memory_bytes;
    let needs = language.memory_bytes(limit) >> 20;
    if memory > 0 && needs > (memory >> 20) / 4 * 3 {
        return Err(StartError::unsupported(
            format!(
                "language={} with limit={limit} needs about {needs} MiB, too much for plumb's limit of {} MiB",
                language.name,
                memory >> 20
            ),
            "set a smaller limit, or raise the memory limit",
        ));
    }
    let heap = start.endpoints.get("heap").and_then(|bytes| bytes.parse::<u64>().ok());
    match heap {
        Some(heap) if language.least_heap_bytes(limit) > heap => Err(StartError::unsupported(
            format!(
                "language={} with limit={limit} needs a heap of at least {} MiB, but the runtime limits its own to {} MiB",
                language.name,
                language.least_heap_bytes(limit) >> 20,
                heap >> 20
            ),
            language.more_memory(),
        )),
        _ => Ok(()),
    }
}

/// What runtimes write when they have used up their memory, or the largest list that they can have.
const OUT_OF_MEMORY: [&str; 12] = [
    "OutOfMemory",
    "out of memory",
    "Out of memory",
    "not enough memory",
    "table overflow",
    "MemoryError",
    "bad_alloc",
    "memory allocation of",
    "Cannot allocate memory",
    "Allowed memory size",
    "nvalid array length",
    "invalid table size",
];

/// The error of a process that ended early: unsupported if its runtime used up its memory, as `errors` say.
pub(crate) fn end_of_process(
    language: &Language,
    limit: usize,
    errors: &str,
    otherwise: Failure,
) -> StartError {
    let line = errors.lines().find(|line| OUT_OF_MEMORY.iter().any(|text| line.contains(text)));
    match line {
        Some(line) => StartError::unsupported(
            format!(
                "language={} with limit={limit} needs more memory than the runtime has: {}",
                language.name,
                line.trim()
            ),
            language.more_memory(),
        ),
        None => otherwise.into(),
    }
}

/// Whether a process takes so much memory that its runtime may stop it: an eighth of what plumb may use, or 1 GiB.
fn may_use_up_memory(language: &Language, limit: u64, start: &Start) -> bool {
    let memory = start.facts.memory_bytes;
    let much = if memory > 0 { (memory / 8).min(1 << 30) } else { 1 << 30 };
    language.memory_bytes(limit) > much
}

/// A process before those that are measured, to see whether its memory is enough.
fn try_once(language: &Language, limit: usize, argv: &[OsString]) -> Result<(), StartError> {
    let mut command = Command::new(&argv[0]);
    command.args(&argv[1..]);
    die_with_parent(&mut command);
    let output = ended::output(&mut command)
        .map_err(|error| Failure::io(format!("starting {}", argv[0].to_string_lossy()), &error))?;
    if output.status.success() {
        return Ok(());
    }
    let errors = String::from_utf8_lossy(&output.stderr);
    let failure = Failure(format!("the sieve failed: {}", describe_end(output.status)));
    Err(end_of_process(language, limit, &errors, failure))
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
    use plumb_protocol::Failure;

    use super::{Language, StartError, end_of_process};

    #[test]
    fn a_runtime_that_used_up_its_memory_is_unsupported() {
        let said = [
            (
                "java",
                "Exception in thread \"main\" java.lang.OutOfMemoryError: Java heap space\n\tat Sieve.main",
                "-Xmx",
            ),
            (
                "node",
                "<--- JS stacktrace --->\nFATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory\n 1: 0xb7",
                "--max-old-space-size",
            ),
            ("luajit", "luajit: not enough memory", "GC64"),
            ("luajit", "luajit: sieve.lua:8: table overflow", "length of tables"),
            ("python", "Traceback\nMemoryError", "set a smaller limit"),
        ];
        for (name, errors, fix) in said {
            let language = Language::find(name).unwrap();
            let failure = Failure("it ended".into());
            match end_of_process(language, 7, errors, failure) {
                StartError::Unsupported { why, fix: told } => {
                    assert!(
                        why.starts_with(&format!("language={name} with limit=7 needs")),
                        "{why}"
                    );
                    assert!(told.contains(fix), "{told}");
                }
                StartError::Failed(why) => panic!("{name}: {why}"),
            }
        }
        let failure = Failure("it ended".into());
        let other = end_of_process(Language::find("c").unwrap(), 7, "segmentation fault", failure);
        assert!(matches!(other, StartError::Failed(_)), "{other:?}");
    }
}
