//! All tests, with several test binaries at once: many of them wait for processes that they have started,
//! and `cargo test` runs one binary after the other. Many measure as well, and two cores are few: a test that fails
//! next to others runs again alone, and is reported as flaky if it passes then. If a hypervisor takes CPU time meanwhile, a
//! test of times is undecided.

use std::collections::{BTreeSet, VecDeque};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::reruns::{self, RecordedRun};
use crate::stolen::{self, CpuTime};
use crate::{host, skips};

/// The binaries that take longest. They begin first, so that none of them runs alone at the end.
const FIRST: [&str; 7] =
    ["robust", BROWSER, "conformance", "plugins", "plumb_simulate", "pages", "export"];
/// The binaries that have the machine to themselves, before all others: they judge ratios of times by their intervals, which
/// other work widens.
const ALONE: [&str; 18] = [
    "cpu",
    "memory",
    "process",
    "scheduler",
    "network",
    "web",
    "block",
    "ssh",
    "conformance-times",
    "latencies",
    "files",
    "storage",
    "crypto",
    "tls",
    "compression",
    "generator_busy",
    TIMED_BROWSER,
    "robust-verdicts",
];
/// The tests of pages in a real browser, and those of them that measure time.
const BROWSER: &str = "browser";
const TIMED_BROWSER: &str = "browser-timed";

/// Tests of a binary that run apart from its others, as a binary of their own.
struct TestGroup {
    name: &'static str,
    binary: &'static str,
    /// Parts of the names of its tests.
    tests: &'static [&'static str],
    threads: &'static str,
}

const GROUPS: [TestGroup; 2] = [
    // Next to more work, a check finds the machine too busy, and is repeated, and a search for causes finds, rightly, that the CPUs
    // are busy. These tests wait most of the time: four of them keep two CPUs busy for a third of it.
    TestGroup {
        name: "robust-verdicts",
        binary: WAITING.0,
        tests: &[
            "addresses::",
            "budgets::rates_that_nobody_can_reach",
            "doctor::an_audit",
            "check::",
            "loops::a_credit_that_is_spent",
            "ab::a_gate_proves",
            "ab::sessions_are_judged",
            "ab::work_that_a_daemon_does",
            "why::",
        ],
        threads: "4",
    },
    TestGroup {
        name: "conformance-times",
        binary: "conformance",
        tests: &["iterations_of_every_workload"],
        threads: "1",
    },
];
/// The number of test binaries that run at the same time.
const AT_ONCE: usize = 3;
/// The binary whose tests spend half of their time waiting for processes, and how many of them run at the same time. With
/// six, the tests of verdicts find the machine too busy.
const WAITING: (&str, &str) = ("robust", "3");
/// With more failures than this on a calm machine, chance is not the reason, and no test is tried again.
const MOST_FLAKY: usize = 10;
/// How often a failed test is tried alone: a machine may stall for minutes. Each test that needs it is recorded.
const TRIES_ALONE: usize = 3;
/// All reruns together wait so long for a machine that is calm.
const WAIT_FOR_CALM: Duration = Duration::from_secs(300);

/// The languages of blocks in documentation that rustdoc does not run.
const NO_EXAMPLE: [&str; 7] = ["text", "toml", "sh", "json", "console", "ignore", "sql"];

/// A built test binary, or a script of tests.
struct Binary {
    name: String,
    program: PathBuf,
    /// What the program is given, unless single tests are named.
    arguments: Vec<String>,
    /// Whether it is a script, which runs all of its tests or none.
    is_script: bool,
    /// The folder of its package, where cargo would start it.
    folder: PathBuf,
}

impl Binary {
    /// Runs all of its tests, or those that are named.
    fn command(&self, tests: &[String]) -> Command {
        let mut command = Command::new(&self.program);
        command.current_dir(&self.folder).env("CARGO_MANIFEST_DIR", &self.folder);
        command.env(skips::FILE_VARIABLE, skips::file());
        if self.name == WAITING.0 {
            command.env("RUST_TEST_THREADS", WAITING.1);
        }
        if self.is_script || tests.is_empty() {
            command.args(&self.arguments);
        } else {
            command.args(["--exact", "--test-threads=1"]).args(tests);
        }
        command
    }
}

/// A binary of which tests failed, and their names.
struct FailedBinary {
    binary: Binary,
    tests: Vec<String>,
    /// Whether the machine was restless when they failed.
    is_restless: bool,
}

/// How a test binary ended.
struct TimedRun {
    /// What it printed, if a test failed.
    failure: Option<String>,
    /// The share of CPU time that the hypervisor took meanwhile, from 0 to 1.
    stolen_share: f64,
}

/// What reruns of failed tests showed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rerun {
    Passed,
    Failed,
    /// The hypervisor took CPU time in every try, from tests that judge times.
    Undecided,
}

/// What was asked for.
struct TestOptions {
    /// Only binaries whose name has this; all if it is empty.
    filter: String,
    /// Whether the tests that needed a rerun are recorded in [`reruns::FILE`].
    record: bool,
}

/// Builds and runs the tests of all packages; of those binaries whose name has the filter, if there is one.
///
/// # Errors
/// When the build or a test fails, or a test needed a rerun in too many recorded runs.
pub fn run(arguments: &[String]) -> Result<(), String> {
    let options = parse(arguments)?;
    let date = host::now();
    let mut binaries = with_groups_apart(built()?);
    binaries.extend([browser(BROWSER, "--untimed")?, browser(TIMED_BROWSER, "--timed")?]);
    let folders: BTreeSet<PathBuf> = binaries.iter().map(|binary| binary.folder.clone()).collect();
    binaries.retain(|binary| binary.name.contains(&options.filter));
    binaries.sort_by_key(|binary| {
        FIRST.iter().position(|name| *name == binary.name).unwrap_or(FIRST.len())
    });
    let began = Instant::now();
    let failures = Mutex::new(Vec::new());
    let count = binaries.len();
    let (alone, together): (Vec<Binary>, Vec<Binary>) =
        binaries.into_iter().partition(|binary| ALONE.contains(&binary.name.as_str()));
    work(&Mutex::new(VecDeque::from(alone)), &failures);
    let waiting = Mutex::new(VecDeque::from(together));
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| work(&waiting, &failures));
        }
    });
    let mut failures = failures.into_inner().unwrap_or_else(PoisonError::into_inner);
    let mut rerun = Vec::new();
    let calm_failures: usize = failures
        .iter()
        .filter(|failure| !failure.is_restless)
        .map(|failure| failure.tests.len())
        .sum();
    if calm_failures <= MOST_FLAKY {
        let deadline = Instant::now() + WAIT_FOR_CALM;
        failures.retain(|failure| {
            let ended = run_again(failure, deadline);
            if ended != Rerun::Failed {
                let name = &failure.binary.name;
                rerun.extend(failure.tests.iter().map(|test| format!("{name} {test}")));
            }
            ended == Rerun::Failed
        });
    }
    let mut names: Vec<&str> =
        failures.iter().map(|failure| failure.binary.name.as_str()).collect();
    // rustdoc compiles a whole crate to find out that it has no example, so crates without any are left out.
    let is_all = options.filter.is_empty();
    let with_examples = if is_all { packages_with_examples(&folders) } else { Vec::new() };
    if !with_examples.is_empty()
        && timed("examples", &mut examples(&with_examples)).failure.is_some()
    {
        names.push("examples");
    }
    print!("{}", skips::report());
    println!("{count} test binaries in {:.0} s", began.elapsed().as_secs_f64());
    let recorded =
        options.record.then(|| RecordedRun { date, commit: host::commit(), tests: rerun });
    let reliable = if is_all { reruns::judge(Path::new("."), recorded) } else { Ok(()) };
    let failed = (!names.is_empty()).then(|| format!("failed: {}", names.join(", ")));
    let wrong: Vec<String> = failed.into_iter().chain(reliable.err()).collect();
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n")) }
}

fn parse(arguments: &[String]) -> Result<TestOptions, String> {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        [] => Ok(TestOptions { filter: String::new(), record: false }),
        ["--record"] => Ok(TestOptions { filter: String::new(), record: true }),
        // Reruns of some binaries would look like runs in which the tests of all others passed.
        [filter] if !filter.starts_with('-') => {
            Ok(TestOptions { filter: filter.to_owned(), record: false })
        }
        _ => Err("usage: cargo xtask test [--record | BINARY]".to_owned()),
    }
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

/// These binaries, with each of [`GROUPS`] as one of its own.
fn with_groups_apart(mut binaries: Vec<Binary>) -> Vec<Binary> {
    let mut apart = Vec::new();
    for group in GROUPS {
        for binary in binaries.iter_mut().filter(|binary| binary.name == group.binary) {
            let mut arguments: Vec<String> =
                group.tests.iter().map(|test| (*test).to_owned()).collect();
            arguments.push(format!("--test-threads={}", group.threads));
            apart.push(Binary {
                name: group.name.to_owned(),
                program: binary.program.clone(),
                arguments,
                is_script: false,
                folder: binary.folder.clone(),
            });
            let others = group.tests.iter().flat_map(|test| ["--skip", test]).map(str::to_owned);
            binary.arguments.extend(others);
        }
    }
    binaries.extend(apart);
    binaries
}

/// The tests of pages in a browser, with the binary that was just built.
fn browser(name: &str, which: &str) -> Result<Binary, String> {
    let folder = std::env::current_dir().map_err(|error| error.to_string())?;
    let script = folder.join("web/test/run").display().to_string();
    Ok(Binary {
        name: name.to_owned(),
        program: "bash".into(),
        arguments: vec![script, which.to_owned()],
        is_script: true,
        folder,
    })
}

/// The test binary that a line of cargo's messages names, if it names one.
fn binary(line: &str) -> Option<Binary> {
    let message: Value = serde_json::from_str(line).ok()?;
    let is_test = message["reason"] == "compiler-artifact" && message["profile"]["test"] == true;
    let program = PathBuf::from(message["executable"].as_str().filter(|_| is_test)?);
    let folder = Path::new(message["manifest_path"].as_str()?).parent()?.to_owned();
    Some(Binary {
        name: message["target"]["name"].as_str()?.to_owned(),
        program,
        arguments: Vec::new(),
        is_script: false,
        folder,
    })
}

fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// Runs one binary after the other until none is left.
fn work(waiting: &Mutex<VecDeque<Binary>>, failures: &Mutex<Vec<FailedBinary>>) {
    loop {
        let next = waiting.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        let Some(binary) = next else { return };
        let ended = timed(&binary.name, &mut binary.command(&[]));
        if let Some(output) = ended.failure {
            let failure = FailedBinary {
                binary,
                tests: failed_tests(&output),
                is_restless: stolen::is_restless(ended.stolen_share),
            };
            failures.lock().unwrap_or_else(PoisonError::into_inner).push(failure);
        }
    }
}

/// Runs the tests that failed next to others when nothing else runs and, before the deadline, the machine is calm.
fn run_again(FailedBinary { binary, tests, .. }: &FailedBinary, deadline: Instant) -> Rerun {
    if tests.is_empty() {
        return Rerun::Failed;
    }
    let mut was_calm = false;
    let mut messages = BTreeSet::new();
    for _ in 0..TRIES_ALONE {
        stolen::wait_for_calm(deadline);
        let ended = timed(&binary.name, &mut binary.command(tests));
        let Some(output) = ended.failure else {
            println!("FLAKY: failed next to others, passes alone: {}", tests.join(", "));
            return Rerun::Passed;
        };
        was_calm |= !stolen::is_restless(ended.stolen_share);
        messages.insert(panic_messages(&output));
    }
    let differs = messages.len() == TRIES_ALONE;
    let rerun = without_a_pass(&binary.name, was_calm, differs);
    if rerun == Rerun::Undecided {
        println!("UNDECIDED: steal time in every try, run these again: {}", tests.join(", "));
    }
    rerun
}

/// What it means that no try passed, of a binary with this name: a test that judges times says nothing about the code if the
/// machine was never calm. One that fails with the same message twice does not depend on time.
fn without_a_pass(binary: &str, was_calm: bool, differs: bool) -> Rerun {
    let is_undecided = !was_calm && differs && ALONE.contains(&binary);
    if is_undecided { Rerun::Undecided } else { Rerun::Failed }
}

/// What the tests that failed said, from the output of their binary: the lines behind `panicked at`.
fn panic_messages(output: &str) -> Vec<String> {
    let mut messages = Vec::new();
    let mut lines = output.lines();
    while let Some(line) = lines.next() {
        if line.contains("panicked at") {
            messages.extend(lines.next().map(str::to_owned));
        }
    }
    messages
}

/// The names of the tests that failed, from the output of their binary.
fn failed_tests(output: &str) -> Vec<String> {
    output.lines().filter_map(failed_test).collect()
}

/// The name in a line `test NAME ... FAILED`, or `not ok NUMBER - NAME` as Node.js prints it.
fn failed_test(line: &str) -> Option<String> {
    if let Some(rest) = line.strip_prefix("not ok ") {
        return Some(rest.split_once(" - ")?.1.to_owned());
    }
    Some(line.strip_prefix("test ")?.strip_suffix(" ... FAILED")?.trim_end().to_owned())
}

/// The examples in the documentation of these packages.
fn examples(packages: &[String]) -> Command {
    let mut command = cargo();
    command.args(["test", "--locked", "--doc", "--quiet"]);
    for package in packages {
        command.args(["--package", package]);
    }
    command
}

/// The packages in these folders whose documentation has an example that rustdoc would run.
fn packages_with_examples(folders: &BTreeSet<PathBuf>) -> Vec<String> {
    let with_examples = folders.iter().filter(|folder| has_examples(&folder.join("src")));
    with_examples.filter_map(|folder| package_in(&folder.join("Cargo.toml"))).collect()
}

/// The name of the package of a manifest.
fn package_in(manifest: &Path) -> Option<String> {
    let manifest: toml::Table = toml::from_str(&std::fs::read_to_string(manifest).ok()?).ok()?;
    Some(manifest.get("package")?.get("name")?.as_str()?.to_owned())
}

/// Whether a source file below a folder has an example in its documentation.
fn has_examples(folder: &Path) -> bool {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).any(|path| {
        if path.is_dir() {
            return has_examples(&path);
        }
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        path.extension().is_some_and(|ending| ending == "rs") && is_with_example(&text)
    })
}

/// Whether a source has a block of code in its documentation, other than one that rustdoc leaves alone.
fn is_with_example(source: &str) -> bool {
    let documentation = source.lines().filter_map(|line| {
        let line = line.trim_start();
        line.strip_prefix("///").or_else(|| line.strip_prefix("//!"))
    });
    let fences = documentation.filter_map(|line| line.trim().strip_prefix("```"));
    // Every second fence ends a block.
    fences.step_by(2).any(|language| !NO_EXAMPLE.contains(&language))
}

/// Runs to the end, and prints a line, and the output of a failure.
fn timed(name: &str, command: &mut Command) -> TimedRun {
    let began = Instant::now();
    let cpu_before = CpuTime::now();
    let (well, said) = match command.stdin(Stdio::null()).output() {
        Ok(output) => {
            let out = &output.stdout;
            let error = &output.stderr;
            let said =
                format!("{}{}", String::from_utf8_lossy(out), String::from_utf8_lossy(error));
            (output.status.success(), said)
        }
        Err(error) => (false, format!("{name} can't be started: {error}")),
    };
    let stolen_share = CpuTime::now().stolen_share_since(cpu_before);
    let word = if well { "ok" } else { "FAILED" };
    let restless = if stolen::is_restless(stolen_share) {
        format!(" (steal time {:.0} %)", 100.0 * stolen_share)
    } else {
        String::new()
    };
    println!("{word:<7} {:>6.1} s  {name}{restless}", began.elapsed().as_secs_f64());
    if !well {
        println!("{said}");
    }
    TimedRun { failure: (!well).then_some(said), stolen_share }
}

#[cfg(test)]
mod tests {
    use super::{Rerun, binary, failed_tests, is_with_example, panic_messages, without_a_pass};

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
    fn only_tests_of_times_are_undecided_and_only_on_a_restless_machine() {
        assert_eq!(without_a_pass("network", false, true), Rerun::Undecided);
        assert_eq!(without_a_pass("network", true, true), Rerun::Failed);
        assert_eq!(without_a_pass("robust", false, true), Rerun::Failed);
        // The same wrong result in two tries is no matter of time.
        assert_eq!(without_a_pass("network", false, false), Rerun::Failed);
        let output = "thread 'a' (12) panicked at a.rs:1:2:\nvfork: 3.4 is not in 1..2\nstack";
        assert_eq!(panic_messages(output), ["vfork: 3.4 is not in 1..2"]);
    }

    #[test]
    fn only_code_in_documentation_is_an_example() {
        assert!(is_with_example("/// ```\n/// f();\n/// ```\nfn f() {}"));
        assert!(is_with_example("//! ```text\n//! x\n//! ```\n//! ```rust\n//! f();\n//! ```"));
        assert!(!is_with_example("/// ```text\n/// x\n/// ```\nfn f() {}"));
        assert!(!is_with_example("// ```\nconst F: &str = \"```\";"));
    }

    #[test]
    fn failed_tests_are_told_by_name() {
        let output =
            "running 2 tests\ntest a::b ... ok\ntest a::c ... FAILED\n\nfailures:\n    a::c\n";
        assert_eq!(failed_tests(output), ["a::c"]);
        assert_eq!(failed_tests("ok 1 - a\nnot ok 2 - a page opens\n"), ["a page opens"]);
        assert!(failed_tests("test result: FAILED. 1 passed").is_empty());
    }
}
