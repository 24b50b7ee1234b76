//! `process.command`: the wall clock and resource use of a command, a fresh process a sample.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{self, ExitStatus};

use plumb_model::{AuditClass, Description, Flag, FlagKind, Ready, Rung, SampleIs, StartUp};
use plumb_protocol::{
    Batch, Failure, Held, Instance, Start, StartError, StartedWorkload, Workload,
};

use crate::cold_files::ColdFiles;
use crate::loader::{OUTPUT, STATISTICS, figures};
use crate::mapped_files::{TracedRun, trace};
use crate::static_program::StaticProgram;
use plumb_workload_kit::declare::{path, rung, rung_if, switch, text, workload};
use plumb_workload_kit::folder::Folder;
use plumb_workload_kit::spawn::{
    EndedProcess, SpawnedProgram, VALUE_NAMES, VALUE_NAMES_WITH_END, describe_end, find_program,
    metrics,
};
use plumb_workload_kit::{ended, memory_floor};

/// Letters of what an untimed command says last that a failure repeats.
const MAX_SHOWN_CHARS: usize = 200;

/// The command that is measured if none is named.
const DEFAULT_COMMAND: &str = r#"["/bin/true"]"#;

/// Of a command that does nothing, the start of a small static program is a part; of others it would be a tiny one.
fn small_program() -> Rung {
    let does_nothing =
        [("command", DEFAULT_COMMAND), ("program", ""), ("shell", "no"), ("cold", "no")];
    rung_if(&does_nothing, rung("a small static program", "process.exec", "time", &[]))
}

/// The workload `process.command`: its parameters and metrics, and how it starts.
pub(crate) struct ProcessCommand;

impl Workload for ProcessCommand {
    fn describe(&self) -> Description {
        Description {
            parameters: vec![
                text(
                    "command",
                    DEFAULT_COMMAND,
                    "JSON array of the program and its arguments, or just the program",
                ),
                path("program", "file to start instead of the one in `command`"),
                switch("shell", "run the text of `command` with `/bin/sh -c`"),
                switch(
                    "ignore_failure",
                    "accept processes that end with a non-zero status or by a \
                signal",
                ),
                switch("cold", "drop the pages of the command's ELF files before every run"),
                text("setup", "", "untimed shell command before the first run of a worker"),
                text("before_each", "", "untimed shell command before every run"),
                text("after_each", "", "untimed shell command after every run"),
                text("cleanup", "", "untimed shell command after the last run of a worker"),
            ],
            metrics: metrics(VALUE_NAMES.len()),
            sample_is: SampleIs::Process,
            timeout_s: Some(86_400),
            audit_class: Some(AuditClass::Process),
            rungs: vec![small_program()],
            ..workload(
                "process.command",
                "runs a command from start to end; each sample is a fresh process",
            )
        }
    }

    fn manual(&self) -> &'static str {
        include_str!("command.md")
    }

    fn start(&self, start: &Start) -> Result<StartedWorkload, StartError> {
        let SetUp { words, path, untimed } = self.set_up(start)?;
        let mut argv: Vec<OsString> = words.iter().map(OsString::from).collect();
        let cold = if start.is_on("cold") {
            Some(ColdFiles::open(&files_of(start, &path, &argv, &untimed)?)?)
        } else {
            None
        };
        // All sides of a comparison that proves itself are started by it, so that its own time is no difference.
        let spin = start
            .extra_work
            .map(|extra| StaticProgram::spinning(Path::new(&start.scratch), extra.loops));
        let spin = spin.transpose()?;
        let program = match &spin {
            Some(spin) => {
                argv.splice(0..0, ["spin".into(), path.clone().into_os_string()]);
                let spin_path = Path::new(OsStr::from_bytes(spin.path().to_bytes()));
                SpawnedProgram::new(spin_path, &argv, None, start.seed)?
            }
            None => SpawnedProgram::new(&path, &argv, None, start.seed)?,
        };
        let mut ready = Ready::default();
        ready.notes.push(format!("program {}", path.display()));
        ready.notes.push(memory_floor::note(program.rehearse()));
        ready.notes.extend(untimed.notes());
        if let Some(cold) = &cold {
            let files = cold.len();
            let bytes = cold.bytes();
            ready.notes.push(format!(
                "cold: {bytes} bytes of {files} ELF files dropped from memory before each run"
            ));
        }
        let instance = CommandRuns {
            program,
            shown: words.join(" "),
            ignore_failure: start.is_on("ignore_failure"),
            untimed,
            spin,
            cold,
        };
        Ok(StartedWorkload { instance: Box::new(instance), ready })
    }

    fn prepare(&self, start: &Start) -> Result<(Ready, Box<dyn Held>), StartError> {
        let SetUp { words, path, untimed } = self.set_up(start)?;
        let argv: Vec<OsString> = words.iter().map(OsString::from).collect();
        let run = traced(&path, &argv, &untimed)?;
        if !run.status.success() && !start.is_on("ignore_failure") {
            return Err(failed(&words.join(" "), run.status).into());
        }
        let folder = Folder::create(Path::new(&start.scratch), "loader")?;
        let mut program = SpawnedProgram::new(&path, &argv, None, start.seed)?
            .with_variable(STATISTICS.0, STATISTICS.1)?
            .with_variable(OUTPUT, &folder.path().join("statistics").display().to_string())?;
        let loader = figures(&mut program, folder.path(), |run| {
            untimed.run("before_each", &untimed.before_each)?;
            run()?;
            untimed.run("after_each", &untimed.after_each)
        })?;
        untimed.run("cleanup", &untimed.cleanup)?;
        let mut ready = Ready::default();
        let paths: Vec<&String> = run.files.iter().map(|file| &file.path).collect();
        let text = serde_json::to_string(&paths).map_err(|error| Failure(error.to_string()))?;
        ready.endpoints.insert(FILES.to_owned(), text);
        ready.start_up = Some(StartUp { files: run.files, loader });
        Ok((ready, Box::new(())))
    }
}

/// The endpoint by which the fixture names the ELF files of the command, as a JSON array of paths.
const FILES: &str = "elf_files";

/// The ELF files of the command: as the fixture found them, or as one more run shows.
fn files_of(
    start: &Start,
    path: &Path,
    argv: &[OsString],
    untimed: &Untimed,
) -> Result<Vec<String>, StartError> {
    if let Some(found) = start.endpoints.get(FILES) {
        return serde_json::from_str(found)
            .map_err(|error| Failure(format!("the list of ELF files: {error}")).into());
    }
    let run = traced(path, argv, untimed)?;
    Ok(run.files.into_iter().map(|file| file.path).collect())
}

/// One untimed run of the command under ptrace.
fn traced(path: &Path, argv: &[OsString], untimed: &Untimed) -> Result<TracedRun, StartError> {
    untimed.run("before_each", &untimed.before_each)?;
    let run = trace(&SpawnedProgram::new(path, argv, None, 0)?)?;
    untimed.run("after_each", &untimed.after_each)?;
    Ok(run)
}

/// A command whose `setup` has run.
struct SetUp {
    words: Vec<String>,
    /// The program of the first word, or of the parameter `program`.
    path: PathBuf,
    untimed: Untimed,
}

impl ProcessCommand {
    fn set_up(&self, start: &Start) -> Result<SetUp, StartError> {
        let words = words(start.text("command"), start.is_on("shell"))?;
        let values = self.values(start);
        let words: Vec<String> = words.iter().map(|word| filled(word, &values)).collect();
        let first = match start.text("program") {
            "" => words.first().map_or("", String::as_str),
            program => program,
        };
        let untimed = Untimed::of(start, &values);
        // Before the program is looked for: `setup` may well make it.
        untimed.run("setup", &untimed.setup)?;
        let path = find_program(first).map_err(|failure| missing(failure, first))?;
        Ok(SetUp { words, path, untimed })
    }

    /// The command's own parameters, as they stand in it, with their values.
    fn values(&self, start: &Start) -> Vec<(String, String)> {
        let description = self.describe();
        let own = start.params.iter().filter(|(name, _)| description.parameter(name).is_none());
        own.map(|(name, value)| (format!("{{{name}}}"), value.to_string())).collect()
    }
}

/// A text with the values of the command's own parameters.
fn filled(text: &str, values: &[(String, String)]) -> String {
    values.iter().fold(text.to_owned(), |text, (asked, value)| text.replace(asked, value))
}

/// The program and its arguments.
fn words(command: &str, shell: bool) -> Result<Vec<String>, Failure> {
    if shell {
        return Ok(vec!["/bin/sh".into(), "-c".into(), command.into()]);
    }
    if command.is_empty() {
        return Err(Failure("parameter `command` is empty".into()));
    }
    if !command.starts_with('[') {
        return Ok(vec![command.into()]);
    }
    match serde_json::from_str::<Vec<String>>(command) {
        Ok(words) if !words.is_empty() => Ok(words),
        Ok(_) => Err(Failure("parameter `command` is an empty list".into())),
        Err(error) => Err(Failure(format!(
            "parameter `command` looks like a JSON array of strings but is invalid: {error}"
        ))),
    }
}

fn missing(failure: Failure, first: &str) -> StartError {
    let fix = if first.contains(char::is_whitespace) {
        r#"write program and arguments as a JSON array, like ["ls","-l"]"#
    } else {
        "install the program, or give its full path"
    };
    StartError::unsupported(failure.0, fix)
}

struct CommandRuns {
    program: SpawnedProgram,
    shown: String,
    ignore_failure: bool,
    untimed: Untimed,
    /// The program that starts it after some extra work, kept as long as it is used.
    spin: Option<StaticProgram>,
    /// The files whose pages are dropped before each run.
    cold: Option<ColdFiles>,
}

/// Shell commands around the runs, empty if there is none. Their time is in no sample.
struct Untimed {
    setup: String,
    before_each: String,
    after_each: String,
    cleanup: String,
}

impl Untimed {
    fn of(start: &Start, values: &[(String, String)]) -> Self {
        Self {
            setup: filled(start.text("setup"), values),
            before_each: filled(start.text("before_each"), values),
            after_each: filled(start.text("after_each"), values),
            cleanup: filled(start.text("cleanup"), values),
        }
    }

    /// Runs one of them to its end.
    fn run(&self, name: &str, command: &str) -> Result<(), Failure> {
        if command.is_empty() {
            return Ok(());
        }
        let mut shell = process::Command::new("/bin/sh");
        shell.args(["-c", command]);
        // The command may start a server in the background, which the runs need.
        let output = ended::output(&mut shell)
            .map_err(|error| Failure(format!("{name} failed: {command}: {error}")))?;
        if output.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&output.stderr);
        let last: String =
            said.trim().lines().last().unwrap_or_default().chars().take(MAX_SHOWN_CHARS).collect();
        let colon = if last.is_empty() { "" } else { ": " };
        Err(Failure(format!(
            "{name} failed: {command}: {}{colon}{last}",
            describe_end(output.status)
        )))
    }

    fn notes(&self) -> Vec<String> {
        let all = [
            ("before the first run of a worker", &self.setup),
            ("before each run", &self.before_each),
            ("after each run", &self.after_each),
            ("after the last run of a worker", &self.cleanup),
        ];
        let mut notes: Vec<String> = all
            .into_iter()
            .filter(|(_, command)| !command.is_empty())
            .map(|(when, command)| format!("untimed, {when}: {command}"))
            .collect();
        if !(self.before_each.is_empty() && self.after_each.is_empty()) {
            notes.push("the share of CPU time includes before_each and after_each".to_owned());
        }
        notes
    }
}

impl CommandRuns {
    fn once(&mut self) -> Result<EndedProcess, Failure> {
        self.untimed.run("before_each", &self.untimed.before_each)?;
        if let Some(cold) = &mut self.cold {
            cold.drop_pages()?;
        }
        let ended = self.program.run()?;
        self.untimed.run("after_each", &self.untimed.after_each)?;
        if ended.status.success() || self.ignore_failure {
            return Ok(ended);
        }
        Err(failed(&self.shown, ended.status))
    }
}

fn failed(shown: &str, status: ExitStatus) -> Failure {
    Failure(format!(
        "command failed: {shown}: {} (timed runs have /dev/null for stdin, stdout and stderr; run it by hand to see its output, or accept failures with ignore_failure=yes (-i in `exec` and `ab`))",
        describe_end(status)
    ))
}

impl Instance for CommandRuns {
    fn run(&mut self, _iterations: u64) -> Result<(), Failure> {
        self.once().map(drop)
    }

    fn finish(&mut self) -> Result<(), Failure> {
        self.untimed.run("cleanup", &self.untimed.cleanup)
    }

    fn value_names(&self) -> &'static [&'static str] {
        // Without accepted failures every end is a success.
        if self.ignore_failure { &VALUE_NAMES_WITH_END } else { &VALUE_NAMES }
    }

    fn batch(&mut self, iterations: &[u64], batch: &mut Batch) -> Result<(), Failure> {
        self.program.rehearse();
        let mut smallest = u64::MAX;
        for _ in iterations {
            let ended = self.once()?;
            smallest = smallest.min(ended.peak_memory());
            if self.ignore_failure {
                ended.record_with_end(batch);
            } else {
                ended.record(batch, VALUE_NAMES.len());
            }
        }
        let floor = memory_floor::bytes();
        if smallest <= floor {
            batch
                .flag(Flag::new(FlagKind::Other("memory-floor".into()), memory_floor::note(floor)));
        }
        if let Some(flag) = self.cold.as_ref().and_then(ColdFiles::flag) {
            batch.flag(flag);
        }
        Ok(())
    }

    fn fixed_iterations(&self) -> bool {
        true
    }

    fn adds_extra_work(&self) -> bool {
        self.spin.is_some()
    }
}
