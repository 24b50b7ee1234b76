//! `classic.langsperformance`: the programs of famzah/langs-performance, from a checkout that the user names.

use std::path::Path;

use plumb_model::{AuditClass, Better, Description, Parameter, Ready, Role, SampleIs};
use plumb_protocol::{
    Batch, Failure, Held, Instance, Start, StartError, StartedWorkload, Workload, current_cpu,
};
use plumb_workload_kit::declare::{
    between, choice, path, reported, reported_time, time_bound, workload,
};
use plumb_workload_kit::memory_floor;
use plumb_workload_kit::spawn::{EndedProcess, OutputPipe, SpawnedProgram, describe_end};

use crate::fixture::{self, argv, version};
use crate::sieve::expected_line;
use crate::toolchain::Language;

/// The workload `classic.langsperformance`: its parameters and metrics, and how it starts.
pub(crate) struct ClassicLoop;

/// A program of the checkout.
struct ClassicProgram {
    /// The language, as plumb calls it.
    language: &'static str,
    /// Its source in the checkout.
    source: &'static str,
    /// The class that Java starts, in place of that of plumb's source.
    class: Option<&'static str>,
}

const fn program(language: &'static str, source: &'static str) -> ClassicProgram {
    ClassicProgram { language, source, class: None }
}

/// The programs whose algorithm is that of plumb's source.
const PROGRAMS: [ClassicProgram; 7] = [
    program("cpp", "primes.cpp"),
    program("rust", "primes.rs"),
    ClassicProgram { class: Some("PrimeNumbersBenchmarkApp"), ..program("java", "primes.java") },
    program("go", "primes.go"),
    program("node", "primes.js"),
    program("python", "primes.py"),
    program("perl", "primes.pl"),
];

/// The limit of all programs, which is written in their sources.
const LIMIT: usize = 10_000_000;

/// The programs take whole seconds.
const SECOND_NS: usize = 1_000_000_000;

/// The longest time of a process. Its lines wait in a pipe of 64 KiB until it has ended, so it would hang if it printed
/// more: in 30 s that takes loops of 13 ms, a fifth of what C++ takes here.
const LONGEST_NS: usize = 30 * SECOND_NS;

/// What is reported of each process.
const VALUES: [&str; 2] = ["cpu", "loops"];

/// What the program depends on.
const FIXTURE_DEPENDS_ON: [&str; 2] = ["language", "from"];

impl Workload for ClassicLoop {
    fn describe(&self) -> Description {
        Description {
            roles: vec![Role::Workload],
            parameters: parameters(),
            metrics: vec![
                reported_time(VALUES[0], "CPU time of the whole process, divided by its loops"),
                reported(VALUES[1], "loops", Better::Higher, "loops of the process"),
            ],
            fixture: Some(FIXTURE_DEPENDS_ON.map(str::to_owned).into()),
            fixture_kind: Some("langsperformance.program".to_owned()),
            sample_is: SampleIs::Process,
            timeout_s: Some(600),
            audit_class: Some(AuditClass::Process),
            ..workload(
                "classic.langsperformance",
                "langs-performance: a prime sieve in several languages, from your checkout",
            )
        }
    }

    fn manual(&self) -> &'static str {
        include_str!("classic_loop.md")
    }

    fn prepare(&self, start: &Start) -> Result<(Ready, Box<dyn Held>), StartError> {
        let checkout = start.text("from");
        if checkout.is_empty() {
            return Err(StartError::unsupported(
                "the checkout of langs-performance is not set",
                "git clone https://github.com/famzah/langs-performance, and pass its folder as from=/…/langs-performance",
            ));
        }
        let program = classic_program(start)?;
        let source = Path::new(checkout).join(program.source);
        let text = std::fs::read_to_string(&source).map_err(|error| {
            let why = format!("{}: {error}", source.display());
            StartError::unsupported(why, "pass a checkout of langs-performance as from=FOLDER")
        })?;
        let language = program.language()?;
        fixture::prepare(start, &format!("primes-{}", language.name), &language, &text)
    }

    fn start(&self, start: &Start) -> Result<StartedWorkload, StartError> {
        let time = start.size("time");
        if !time.is_multiple_of(SECOND_NS) {
            return Err(StartError::unsupported(
                "the programs take whole seconds",
                "set time to 1s, 2s, 3s, …",
            ));
        }
        let argv = argv(start)?;
        let output = OutputPipe::new()?;
        let program =
            SpawnedProgram::new(Path::new(&argv[0]), &argv, Some(output.end()), start.seed)?
                .with_variable("RUN_TIME", &(time / SECOND_NS).to_string())?;
        let language = classic_program(start)?.language()?;
        let mut ready = Ready { versions: [version(&language, start)].into(), ..Ready::default() };
        ready.notes.push(memory_floor::note(program.rehearse()));
        let instance = ClassicProcesses { program, output, expected: expected_line(LIMIT) };
        Ok(StartedWorkload { instance: Box::new(instance), ready })
    }
}

fn parameters() -> Vec<Parameter> {
    let languages: Vec<&str> = PROGRAMS.iter().map(|program| program.language).collect();
    let time =
        time_bound("time", 10_000_000_000, "how long the process begins new loops (RUN_TIME)");
    vec![
        choice("language", &languages, "language of the program"),
        between(SECOND_NS, LONGEST_NS, time),
        path("from", "absolute path of a checkout of famzah/langs-performance"),
    ]
}

fn classic_program(start: &Start) -> Result<&'static ClassicProgram, StartError> {
    let word = start.text("language");
    PROGRAMS
        .iter()
        .find(|program| program.language == word)
        .ok_or_else(|| StartError::Failed(format!("unknown language `{word}`")))
}

impl ClassicProgram {
    /// The language, compiled and run as plumb's source is, but with this source.
    fn language(&self) -> Result<Language, StartError> {
        let language = Language::find(self.language)
            .ok_or_else(|| StartError::Failed(format!("unknown language `{}`", self.language)))?;
        Ok(language.with_source(self.source, self.class))
    }
}

struct ClassicProcesses {
    program: SpawnedProgram,
    output: OutputPipe,
    expected: String,
}

impl ClassicProcesses {
    /// One process from start to end, and its loops. All of its lines are checked after it has ended.
    fn once(&mut self) -> Result<(EndedProcess, usize), Failure> {
        let ended = self.program.run()?;
        let printed = self.output.take()?;
        if !ended.status.success() {
            return Err(Failure(format!("the program failed: {}", describe_end(ended.status))));
        }
        Ok((ended, loops(&printed, &self.expected)?))
    }
}

/// How many loops a process printed.
fn loops(printed: &str, expected: &str) -> Result<usize, Failure> {
    if let Some(wrong) = printed.lines().find(|line| *line != expected.trim_end()) {
        return Err(Failure(format!(
            "the program printed {wrong:?} instead of {:?}",
            expected.trim_end()
        )));
    }
    match printed.lines().count() {
        0 => Err(Failure("the program printed nothing: RUN_TIME ended before a loop".to_owned())),
        loops => Ok(loops),
    }
}

impl Instance for ClassicProcesses {
    fn run(&mut self, _iterations: u64) -> Result<(), Failure> {
        self.once().map(drop)
    }

    fn value_names(&self) -> &'static [&'static str] {
        &VALUES
    }

    #[expect(clippy::cast_precision_loss, reason = "loops stay far below 2^53")]
    fn batch(&mut self, iterations: &[u64], batch: &mut Batch) -> Result<(), Failure> {
        self.program.rehearse();
        for _ in iterations {
            let (ended, loops) = self.once()?;
            batch.record(ended.start_ns, ended.elapsed_ns, 1, current_cpu());
            batch.record_values(&[ended.cpu_s() / loops as f64, loops as f64]);
        }
        Ok(())
    }

    fn fixed_iterations(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::{PROGRAMS, loops};

    #[test]
    fn every_program_has_its_language() {
        for program in &PROGRAMS {
            assert!(program.language().is_ok(), "{}", program.source);
        }
    }

    #[test]
    fn every_line_is_checked() {
        let expected = "Found 4 prime numbers.\n";
        assert_eq!(loops(&expected.repeat(3), expected).unwrap(), 3);
        for (printed, why) in [
            ("Found 4 prime numbers.\nFound 5 prime numbers.\n", "\"Found 5 prime numbers.\""),
            ("Found 4 prime numbers.\nFound", "\"Found\" instead"),
            ("", "printed nothing"),
        ] {
            let failure = loops(printed, expected).unwrap_err();
            assert!(failure.0.contains(why), "{failure}");
        }
    }
}
