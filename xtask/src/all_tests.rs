//! All tests, with several test binaries at once: many of them wait for processes that they have started,
//! and `cargo test` runs one binary after the other.

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

/// A built test binary.
struct Binary {
    name: String,
    program: PathBuf,
    /// The folder of its package, where cargo would start it.
    folder: PathBuf,
}

/// Whether one went well.
struct Done {
    name: String,
    well: bool,
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
    let (done, count) = (Mutex::new(Vec::new()), binaries.len());
    let waiting = Mutex::new(VecDeque::from(binaries));
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| work(&waiting, &done));
        }
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    if filter.is_empty() {
        done.push(documentation());
    }
    let failed: Vec<&str> = done.iter().filter(|it| !it.well).map(|it| it.name.as_str()).collect();
    println!("{count} test binaries in {:.0} s", began.elapsed().as_secs_f64());
    match failed.as_slice() {
        [] => Ok(()),
        names => Err(format!("failed: {}", names.join(", "))),
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
fn work(waiting: &Mutex<VecDeque<Binary>>, done: &Mutex<Vec<Done>>) {
    loop {
        let next = waiting.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        let Some(binary) = next else { return };
        let mut command = Command::new(&binary.program);
        command.current_dir(&binary.folder).env("CARGO_MANIFEST_DIR", &binary.folder);
        let ended = timed(&binary.name, &mut command);
        done.lock().unwrap_or_else(PoisonError::into_inner).push(ended);
    }
}

/// The examples in the documentation of the code.
fn documentation() -> Done {
    timed("documentation", cargo().args(["test", "--locked", "--workspace", "--doc", "--quiet"]))
}

/// Runs to the end, and prints a line; what a failure says as well.
fn timed(name: &str, command: &mut Command) -> Done {
    let began = Instant::now();
    let output = match command.stdin(Stdio::null()).output() {
        Ok(output) => output,
        Err(error) => {
            println!("{name} can't be started: {error}");
            return Done { name: name.to_owned(), well: false };
        }
    };
    let word = if output.status.success() { "ok" } else { "FAILED" };
    println!("{word:<7} {:>6.1} s  {name}", began.elapsed().as_secs_f64());
    if !output.status.success() {
        let (out, error) = (&output.stdout, &output.stderr);
        println!("{}{}", String::from_utf8_lossy(out), String::from_utf8_lossy(error));
    }
    Done { name: name.to_owned(), well: output.status.success() }
}

#[cfg(test)]
mod tests {
    use super::binary;

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
}
