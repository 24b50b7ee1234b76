//! The compiler or interpreter behind a language: found, asked for its version, and given the source.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use plumb_protocol::{Failure, StartError};

use plumb_workload_kit::ended;
use plumb_workload_kit::spawn::find_program;

/// A language that the sieve is written in.
pub(super) struct Language {
    /// The parameter's word.
    pub(super) word: &'static str,
    /// The compiler or interpreter.
    tool: &'static str,
    /// Whether the source is compiled.
    compiled: bool,
    file: &'static str,
    source: &'static str,
    /// Asks an interpreter for its own path and version, each on a line: what PATH finds may be a
    /// wrapper script (pyenv, nvm), whose time is not the interpreter's.
    probe: &'static [&'static str],
    /// Memory of a process, as measured: in bytes, and in bytes for each number up to the limit.
    memory: (u64, u64),
    fix: &'static str,
}

/// All languages; the first is the default.
pub(super) const LANGUAGES: [Language; 3] = [
    Language {
        word: "c",
        tool: "cc",
        compiled: true,
        file: "sieve.c",
        source: include_str!("sieve.c"),
        probe: &["--version"],
        memory: (4 << 20, 3),
        fix: "apt-get install gcc libc6-dev",
    },
    Language {
        word: "python",
        tool: "python3",
        compiled: false,
        file: "sieve.py",
        source: include_str!("sieve.py"),
        probe: &[
            "-c",
            "import sys; print(sys.executable); print(sys.implementation.name, sys.version.split()[0])",
        ],
        memory: (14 << 20, 22),
        fix: "apt-get install python3",
    },
    Language {
        word: "node",
        tool: "node",
        compiled: false,
        file: "sieve.js",
        source: include_str!("sieve.js"),
        probe: &["-e", "console.log(process.execPath); console.log(process.version)"],
        memory: (64 << 20, 16),
        fix: "apt-get install nodejs",
    },
];

/// A sieve that can be started.
#[derive(Debug)]
pub(super) struct BuiltSieve {
    /// The file to start.
    pub(super) program: PathBuf,
    /// The script that it is given, for an interpreter.
    pub(super) script: Option<PathBuf>,
    /// The version of the compiler or interpreter.
    pub(super) version: String,
}

impl Language {
    /// The language of this word.
    pub(super) fn find(word: &str) -> Option<&'static Self> {
        LANGUAGES.iter().find(|language| language.word == word)
    }

    /// About how much memory a process takes that finds the primes up to `limit`, in bytes.
    pub(super) fn memory_bytes(&self, limit: u64) -> u64 {
        self.memory.0 + self.memory.1 * limit
    }

    /// The name of the compiler or interpreter.
    pub(super) fn tool(&self) -> &'static str {
        self.tool
    }

    /// Writes the source into `folder` and compiles it, or finds its interpreter.
    ///
    /// # Errors
    /// Unsupported when the compiler or interpreter is missing.
    pub(super) fn build(&self, folder: &Path) -> Result<BuiltSieve, StartError> {
        let tool = find_program(self.tool).map_err(|_| {
            StartError::unsupported(format!("`{}` is not in PATH", self.tool), self.fix)
        })?;
        let said =
            ask(&tool, self.probe).map_err(|why| StartError::unsupported(why.0, self.fix))?;
        let source = folder.join(self.file);
        fs::write(&source, self.source)
            .map_err(|e| Failure::io(format!("writing {}", source.display()), &e))?;
        let mut lines = said.lines().map(str::trim);
        if self.compiled {
            let version = lines.next().unwrap_or_default().to_owned();
            let program = folder.join("sieve");
            compile(&tool, &source, &program)
                .map_err(|why| StartError::unsupported(why.0, self.fix))?;
            return Ok(BuiltSieve { program, script: None, version });
        }
        let program = lines.next().map(PathBuf::from).filter(|path| path.is_file()).unwrap_or(tool);
        let version = lines.next().unwrap_or_default().to_owned();
        Ok(BuiltSieve { program, script: Some(source), version })
    }
}

fn ask(tool: &Path, arguments: &[&str]) -> Result<String, Failure> {
    let output = ended::output(Command::new(tool).args(arguments))
        .map_err(|e| Failure::io(format!("starting {}", tool.display()), &e))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(Failure(format!(
        "{} does not work here: {}",
        tool.display(),
        last_line(&output.stderr).unwrap_or_else(|| output.status.to_string())
    )))
}

fn compile(tool: &Path, source: &Path, program: &Path) -> Result<(), Failure> {
    let source = source.to_string_lossy();
    let program = program.to_string_lossy();
    ask(tool, &["-O2", "-o", &program, &source, "-lm"]).map(drop)
}

fn last_line(bytes: &[u8]) -> Option<String> {
    String::from_utf8_lossy(bytes).lines().rev().find(|l| !l.trim().is_empty()).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use plumb_protocol::StartError;

    use super::{LANGUAGES, Language};

    #[test]
    fn a_missing_or_broken_tool_is_unsupported_with_a_fix() {
        let folder = tempfile::tempdir().unwrap();
        let [c, ..] = LANGUAGES;
        let missing = Language { tool: "no-such-compiler", ..c };
        let broken = Language { probe: &["--no-such-option"], tool: "false", ..missing };
        for (language, reason) in
            [(missing, "`no-such-compiler` is not in PATH"), (broken, "does not work")]
        {
            match language.build(folder.path()) {
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
