//! All tests, with several test binaries at once: many of them wait for processes that they have started,
//! and `cargo test` runs one binary after the other. Many measure too, and two cores are few: what fails
//! beside others runs again alone, and is named as flaky if it passes then.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use serde_json::Value;

/// What takes longest, so that it does not begin last and run alone.
const FIRST: [&str; 7] =
    ["robust", "plugins", "pages", "process", "store", "plumb_stats", "network"];
/// Test binaries at once.
const AT_ONCE: usize = 3;
/// More failures than these are no chance.
const MOST_FLAKY: usize = 10;
/// How often what failed is tried alone: a machine may stall for minutes.
const TRIES_ALONE: usize = 2;

/// A built test binary.
struct Binary {
    name: String,
    program: PathBuf,
    /// The folder of its package, where cargo would start it.
    folder: PathBuf,
}

impl Binary {
    /// Runs all of its tests, or those that are named.
    fn command(&self, tests: &[String]) -> Command {
        let mut command = Command::new(&self.program);
        command.current_dir(&self.folder).env("CARGO_MANIFEST_DIR", &self.folder);
        if !tests.is_empty() {
            command.args(["--exact", "--test-threads=1"]).args(tests);
        }
        command
    }
}

/// A binary of which tests failed, and their names.
struct Failure {
    binary: Binary,
    tests: Vec<String>,
}

/// Builds and runs the tests of all packages; of those binaries whose name has the filter, if there is one.
///
/// # Errors
/// When the build or a test fails.
pub fn run(arguments: &[String]) -> Result<(), String> {
    let filter = match arguments {
        [] => "",
        [filter] => filter,
        _ => return Err("usage: cargo xtask test [BINARY]".to_owned()),
    };
    let mut binaries = built()?;
    binaries.retain(|binary| binary.name.contains(filter));
    binaries.sort_by_key(|binary| {
        FIRST.iter().position(|name| *name == binary.name).unwrap_or(FIRST.len())
    });
    let began = Instant::now();
    let (failures, count) = (Mutex::new(Vec::new()), binaries.len());
    let waiting = Mutex::new(VecDeque::from(binaries));
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| work(&waiting, &failures));
        }
    });
    let mut failures = failures.into_inner().unwrap_or_else(PoisonError::into_inner);
    if failures.iter().map(|it| it.tests.len()).sum::<usize>() <= MOST_FLAKY {
        failures.retain(|it| !passes_alone(it));
    }
    let mut names: Vec<&str> = failures.iter().map(|it| it.binary.name.as_str()).collect();
    if filter.is_empty() && timed("documentation", &mut documentation()).is_some() {
        names.push("documentation");
    }
    println!("{count} test binaries in {:.0} s", began.elapsed().as_secs_f64());
    if names.is_empty() { Ok(()) } else { Err(format!("failed: {}", names.join(", "))) }
}

/// Builds the tests.
fn built() -> Result<Vec<Binary>, String> {
    let build =
        ["test", "--locked", "--workspace", "--no-run", "--message-format=json-render-diagnostics"];
    let output =
        cargo().args(build).stderr(Stdio::inherit()).output().map_err(|e| e.to_string())?;
    if !output.status.success() {
        return Err("the tests do not build".to_owned());
    }
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(text.lines().filter_map(binary).collect())
}

/// A line of what cargo tells, where it is a test binary.
fn binary(line: &str) -> Option<Binary> {
    let message: Value = serde_json::from_str(line).ok()?;
    let is_test = message["reason"] == "compiler-artifact" && message["profile"]["test"] == true;
    let program = PathBuf::from(message["executable"].as_str().filter(|_| is_test)?);
    let folder = Path::new(message["manifest_path"].as_str()?).parent()?.to_owned();
    Some(Binary { name: message["target"]["name"].as_str()?.to_owned(), program, folder })
}

fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// Runs one binary after the other, as long as there are some.
fn work(waiting: &Mutex<VecDeque<Binary>>, failures: &Mutex<Vec<Failure>>) {
    loop {
        let next = waiting.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        let Some(binary) = next else { return };
        if let Some(output) = timed(&binary.name, &mut binary.command(&[])) {
            let failure = Failure { binary, tests: failed_tests(&output) };
            failures.lock().unwrap_or_else(PoisonError::into_inner).push(failure);
        }
    }
}

/// Whether the tests that failed beside others pass when nothing else runs.
fn passes_alone(Failure { binary, tests }: &Failure) -> bool {
    let well = |_| timed(&binary.name, &mut binary.command(tests)).is_none();
    let passes = !tests.is_empty() && (0..TRIES_ALONE).any(well);
    if passes {
        println!("FLAKY: failed beside others, passes alone: {}", tests.join(", "));
    }
    passes
}

/// The names of the tests that failed, of what their binary printed.
fn failed_tests(output: &str) -> Vec<String> {
    let name = |line: &str| {
        Some(line.strip_prefix("test ")?.strip_suffix(" ... FAILED")?.trim_end().to_owned())
    };
    output.lines().filter_map(name).collect()
}

/// The examples in the documentation of the code.
fn documentation() -> Command {
    let mut command = cargo();
    command.args(["test", "--locked", "--workspace", "--doc", "--quiet"]);
    command
}

/// Runs to the end, and prints a line; what a failure says is printed and returned.
fn timed(name: &str, command: &mut Command) -> Option<String> {
    let began = Instant::now();
    let (well, said) = match command.stdin(Stdio::null()).output() {
        Ok(output) => {
            let (out, error) = (&output.stdout, &output.stderr);
            let said =
                format!("{}{}", String::from_utf8_lossy(out), String::from_utf8_lossy(error));
            (output.status.success(), said)
        }
        Err(error) => (false, format!("{name} can't be started: {error}")),
    };
    let word = if well { "ok" } else { "FAILED" };
    println!("{word:<7} {:>6.1} s  {name}", began.elapsed().as_secs_f64());
    if well {
        return None;
    }
    println!("{said}");
    Some(said)
}

#[cfg(test)]
mod tests {
    use super::{binary, failed_tests};

    #[test]
    fn test_binaries_are_told_from_all_else() {
        let line = |test: bool| {
            format!(
                r#"{{"reason":"compiler-artifact","manifest_path":"/p/Cargo.toml","target":{{"name":"robust"}},
                "profile":{{"test":{test}}},"executable":"/t/robust-1"}}"#
            )
        };
        let found = binary(&line(true)).unwrap();
        assert_eq!((found.name.as_str(), found.folder.to_str()), ("robust", Some("/p")));
        assert!(binary(&line(false)).is_none() && binary("{}").is_none() && binary("x").is_none());
    }

    #[test]
    fn failed_tests_are_told_by_name() {
        let output =
            "running 2 tests\ntest a::b ... ok\ntest a::c ... FAILED\n\nfailures:\n    a::c\n";
        assert_eq!(failed_tests(output), ["a::c"]);
        assert!(failed_tests("test result: FAILED. 1 passed").is_empty());
    }
}
