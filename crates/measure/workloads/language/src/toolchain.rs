//! The compiler or interpreter behind a language: found, asked for its version, and given the source.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;
use std::{env, fs};

use plumb_protocol::{Failure, StartError};
use serde::Deserialize;

use plumb_workload_kit::ended;
use plumb_workload_kit::spawn::find_program;

/// A language that the sieve is written in: an entry of `languages.toml`, which explains the fields.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Language {
    /// The parameter's word.
    pub(super) name: String,
    tool: String,
    probe: Vec<String>,
    #[serde(default)]
    shows_path: bool,
    source: String,
    #[serde(default)]
    compile: Vec<String>,
    runner: Option<String>,
    #[serde(default)]
    runner_probe: Vec<String>,
    #[serde(default)]
    run: Vec<String>,
    memory: (u64, u64),
    #[serde(default)]
    heap_probe: Vec<String>,
    #[serde(default)]
    heap: u64,
    more_memory: Option<String>,
    install: String,
}

/// The file of all languages.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LanguageFile {
    language: Vec<Language>,
}

/// All languages; the first is the default.
pub(super) static LANGUAGES: LazyLock<Vec<Language>> = LazyLock::new(|| {
    // A test reads the file, so it is not wrong here.
    let file: Result<LanguageFile, _> = toml::from_str(include_str!("languages/languages.toml"));
    file.map(|file| file.language).unwrap_or_default()
});

/// The sources by the names that entries have for them.
const SOURCES: [(&str, &str); 13] = [
    ("sieve.c", include_str!("languages/sieve.c")),
    ("sieve.cpp", include_str!("languages/sieve.cpp")),
    ("sieve.rs", include_str!("languages/sieve.rs")),
    ("Sieve.java", include_str!("languages/Sieve.java")),
    ("SieveArrays.java", include_str!("languages/SieveArrays.java")),
    ("sieve.go", include_str!("languages/sieve.go")),
    ("Sieve.cs", include_str!("languages/Sieve.cs")),
    ("sieve.js", include_str!("languages/sieve.js")),
    ("sieve.py", include_str!("languages/sieve.py")),
    ("sieve.php", include_str!("languages/sieve.php")),
    ("sieve.rb", include_str!("languages/sieve.rb")),
    ("sieve.pl", include_str!("languages/sieve.pl")),
    ("sieve.lua", include_str!("languages/sieve.lua")),
];

/// A sieve that can be started.
#[derive(Debug)]
pub(super) struct BuiltSieve {
    /// The file to start.
    pub(super) program: PathBuf,
    /// What it is given before the limit.
    pub(super) arguments: Vec<String>,
    /// The version of the compiler or interpreter, and that of the program that runs what was compiled.
    pub(super) version: String,
    /// The limit of the runtime's heap, in bytes, if it has one.
    pub(super) heap_bytes: Option<u64>,
}

impl Language {
    /// The language of this name.
    pub(super) fn find(name: &str) -> Option<&'static Self> {
        LANGUAGES.iter().find(|language| language.name == name)
    }

    /// About how much memory a process takes that finds the primes up to `limit`, in bytes.
    pub(super) fn memory_bytes(&self, limit: u64) -> u64 {
        self.memory.0 + self.memory.1 * limit
    }

    /// The least heap that holds the numbers up to `limit`, in bytes; 0 if the runtime's heap has no limit of its own.
    pub(super) fn least_heap_bytes(&self, limit: u64) -> u64 {
        self.heap * limit
    }

    /// How to give a process more memory.
    pub(super) fn more_memory(&self) -> &str {
        self.more_memory.as_deref().unwrap_or("set a smaller limit, or raise the memory limit")
    }

    /// The language with another compiler or interpreter: a path, or a name to find in PATH. The program that runs what it
    /// compiled is the one next to it, if there is one.
    pub(super) fn with_tool(&self, tool: &str) -> Self {
        let folder = Path::new(tool).parent().filter(|folder| folder.is_absolute());
        let runner = self.runner.as_ref().map(|runner| {
            let beside = folder.map(|folder| folder.join(runner)).filter(|path| path.is_file());
            beside.map_or_else(|| runner.clone(), |path| path.to_string_lossy().into_owned())
        });
        Self { tool: tool.to_owned(), runner, ..self.clone() }
    }

    /// The language with a source that is not plumb's, and the class that Java starts in place of that of plumb's source.
    pub(super) fn with_source(&self, source: &str, class: Option<&str>) -> Self {
        let own_class = self.source.strip_suffix(".java");
        let run = self.run.iter().map(|word| match class {
            Some(class) if Some(word.as_str()) == own_class => class.to_owned(),
            _ => word.clone(),
        });
        Self { source: source.to_owned(), run: run.collect(), ..self.clone() }
    }

    /// The text of plumb's source.
    ///
    /// # Errors
    /// If there is none of that name, which a test rules out.
    pub(super) fn own_source(&self) -> Result<&'static str, Failure> {
        SOURCES
            .iter()
            .find(|(name, _)| *name == self.source)
            .map(|(_, text)| *text)
            .ok_or_else(|| Failure(format!("there is no source {}", self.source)))
    }

    /// The name of the compiler or interpreter.
    pub(super) fn tool(&self) -> &str {
        &self.tool
    }

    /// Writes this source into `folder` and compiles it, or finds its interpreter.
    ///
    /// # Errors
    /// Unsupported if the compiler or interpreter is missing or does not work.
    pub(super) fn build(&self, folder: &Path, text: &str) -> Result<BuiltSieve, StartError> {
        let tool = self.installed(&self.tool)?;
        let said = ask(&tool, &self.probe, folder).map_err(|why| self.unsupported(why.0))?;
        let mut lines = lines_of_answer(&said);
        let shown = if self.shows_path { lines.next().map(PathBuf::from) } else { None };
        let mut version = lines.next().unwrap_or_default().to_owned();
        let paths = BuildPaths::new(folder, &self.source);
        fs::write(&paths.source, text)
            .map_err(|error| Failure::io(format!("writing {}", paths.source.display()), &error))?;
        let program = if self.compile.is_empty() {
            shown.filter(|path| path.is_file()).unwrap_or(tool)
        } else {
            ask(&tool, &paths.fill(&self.compile), folder).map_err(|why| {
                let fix = format!("check that `{}` compiles a program here", self.tool);
                StartError::unsupported(why.0, fix)
            })?;
            match &self.runner {
                Some(runner) => {
                    let runner = self.installed(runner)?;
                    let said = ask(&runner, &self.runner_probe, folder)
                        .map_err(|why| self.unsupported(why.0))?;
                    let runs = lines_of_answer(&said).next().unwrap_or_default();
                    version += &format!(", run by {runs}");
                    runner
                }
                None => paths.program.clone(),
            }
        };
        let heap_bytes = self.heap_bytes(&program, folder);
        Ok(BuiltSieve { program, arguments: paths.fill(&self.run), version, heap_bytes })
    }

    /// The limit of the heap, as the program that runs says. None if it says nothing: then it reports when memory is used up.
    fn heap_bytes(&self, program: &Path, folder: &Path) -> Option<u64> {
        if self.heap_probe.is_empty() {
            return None;
        }
        let said = ask(program, &self.heap_probe, folder).ok()?;
        let words: Vec<&str> = said.split_whitespace().collect();
        let found = words.windows(3).find(|words| words[..2] == ["MaxHeapSize", "="])?;
        found[2].parse().ok()
    }

    fn installed(&self, tool: &str) -> Result<PathBuf, StartError> {
        find_program(tool).map_err(|why| {
            // The reason is of a path that the user named.
            let is_path = tool.contains('/');
            self.unsupported(if is_path { why.0 } else { format!("`{tool}` is not in PATH") })
        })
    }

    fn unsupported(&self, why: String) -> StartError {
        StartError::unsupported(why, self.install.clone())
    }
}

/// The lines of what a tool prints about itself. A Java that takes options from the environment says so first.
fn lines_of_answer(said: &str) -> impl Iterator<Item = &str> {
    let lines = said.lines().map(str::trim);
    lines.filter(|line| !line.is_empty() && !line.contains("Picked up J"))
}

/// The paths of a build, for which entries have placeholders.
struct BuildPaths {
    folder: PathBuf,
    source: PathBuf,
    program: PathBuf,
}

impl BuildPaths {
    fn new(folder: &Path, source: &str) -> Self {
        Self {
            folder: folder.to_owned(),
            source: folder.join(source),
            program: folder.join("sieve"),
        }
    }

    fn fill(&self, words: &[String]) -> Vec<String> {
        let fill = |word: &String| {
            word.replace("{folder}", &self.folder.to_string_lossy())
                .replace("{source}", &self.source.to_string_lossy())
                .replace("{program}", &self.program.to_string_lossy())
        };
        words.iter().map(fill).collect()
    }
}

/// What a tool prints. Without a home, as under a service manager, `go` finds no place for what it compiles, so the tool
/// is given the folder as its home.
fn ask(tool: &Path, arguments: &[String], folder: &Path) -> Result<String, Failure> {
    let mut command = Command::new(tool);
    command.args(arguments);
    if env::var_os("HOME").is_none() {
        command.env("HOME", folder);
    }
    let output = ended::output(&mut command)
        .map_err(|error| Failure::io(format!("starting {}", tool.display()), &error))?;
    if output.status.success() {
        let text = [output.stdout, output.stderr].concat();
        return Ok(String::from_utf8_lossy(&text).into_owned());
    }
    Err(Failure(format!(
        "{} does not work here: {}",
        tool.display(),
        last_line(&output.stderr).unwrap_or_else(|| output.status.to_string())
    )))
}

fn last_line(bytes: &[u8]) -> Option<String> {
    String::from_utf8_lossy(bytes).lines().rev().find(|l| !l.trim().is_empty()).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;

    use plumb_protocol::StartError;

    use super::{LANGUAGES, Language, LanguageFile, SOURCES, lines_of_answer};

    #[test]
    fn every_entry_has_its_source_and_every_source_an_entry() {
        let file: LanguageFile = toml::from_str(include_str!("languages/languages.toml")).unwrap();
        let names: BTreeSet<&str> = file.language.iter().map(|entry| entry.name.as_str()).collect();
        assert_eq!(names.len(), file.language.len(), "names are distinct");
        assert_eq!(LANGUAGES.len(), names.len());
        let used: BTreeSet<&str> =
            file.language.iter().map(|entry| entry.source.as_str()).collect();
        assert_eq!(used, SOURCES.iter().map(|(name, _)| *name).collect());
    }

    #[test]
    fn another_compiler_brings_the_program_that_runs_what_it_compiles() {
        let folder = tempfile::tempdir().unwrap();
        let java = Language::find("java").unwrap();
        let javac = folder.path().join("javac").to_string_lossy().into_owned();
        assert_eq!(java.with_tool(&javac).runner.as_deref(), Some("java"));
        fs::write(folder.path().join("java"), "").unwrap();
        let beside = folder.path().join("java").to_string_lossy().into_owned();
        assert_eq!(java.with_tool(&javac).runner, Some(beside));
        let said = "NOTE: Picked up JDK_JAVA_OPTIONS: -Xmx1g\nopenjdk version \"17\"\n";
        assert_eq!(lines_of_answer(said).next(), Some("openjdk version \"17\""));
    }

    #[test]
    fn a_missing_or_broken_tool_is_unsupported_with_a_fix() {
        let folder = tempfile::tempdir().unwrap();
        let missing = Language { tool: "no-such-compiler".into(), ..LANGUAGES[0].clone() };
        let broken = Language {
            probe: vec!["--no-such-option".into()],
            tool: "false".into(),
            ..missing.clone()
        };
        for (language, reason) in
            [(missing, "`no-such-compiler` is not in PATH"), (broken, "does not work")]
        {
            match language.build(folder.path(), "") {
                Err(StartError::Unsupported { why, fix }) => {
                    assert!(why.contains(reason), "{why}");
                    assert!(fix.starts_with("apt-get install"), "{fix}");
                }
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
