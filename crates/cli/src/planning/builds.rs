//! Fresh builds of both sides of a comparison (`ab --build`).

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::error::{CommandError, Result};
use crate::planning::command::{asks_for, placeholder};
use crate::ui::Ui;

/// The placeholder for the file that a build writes.
const OUT: &str = "out";
/// The placeholder for the number that makes builds differ.
const SEED: &str = "seed";
/// Lines of a failed build's output that an error shows.
const LOG_LINES: usize = 10;

/// How the builds of one side are made and started.
pub struct BuildFamily {
    /// The command of the shell that makes one.
    build: String,
    /// The command that runs one.
    run: String,
    /// Hashes of the files that were made.
    contents: BTreeSet<u64>,
    /// The number of builds that were made.
    made: usize,
}

impl BuildFamily {
    /// The families of both sides. Each of `runs`, if there are any, is the command of a side, or of both.
    ///
    /// # Errors
    /// When there are not two commands that build, or one has no place for the file to write or to run.
    pub fn both(builds: &[String], runs: &[String], ui: &Ui) -> Result<[Self; 2]> {
        let [first, second] = builds else {
            return Err(CommandError::usage("--build compares two sides: give it twice")
                .hint("plumb ab --build 'cc old.c -o {out}' --build 'cc new.c -o {out}'"));
        };
        let alone = placeholder(OUT);
        let (run_first, run_second) = match runs {
            [] => (&alone, &alone),
            [both] => (both, both),
            [first, second] => (first, second),
            _ => return Err(CommandError::usage("--build compares two sides")),
        };
        for text in [first, second, run_first, run_second] {
            if !asks_for(text, OUT) {
                return Err(CommandError::usage(format!("`{text}` does not contain {alone}"))
                    .hint("{out} is the file that a build writes and that is then run"));
            }
        }
        for text in [first, second] {
            if !asks_for(text, SEED) {
                ui.warn(&format!("`{text}` does not use {{seed}}: its builds may all be alike"));
            }
        }
        Ok([Self::new(first, run_first), Self::new(second, run_second)])
    }

    fn new(build: &str, run: &str) -> Self {
        Self { build: build.to_owned(), run: run.to_owned(), contents: BTreeSet::new(), made: 0 }
    }

    /// The command that builds, as it was typed.
    pub fn name(&self) -> &str {
        &self.build
    }

    /// Makes the build with this number in `folder`, and returns the command that runs it.
    ///
    /// # Errors
    /// When the command fails or writes no file.
    pub fn make(&mut self, number: u16, file: &str, folder: &Path) -> Result<String> {
        let out = folder.join(file);
        let replaced = |text: &str| {
            text.replace(&placeholder(OUT), &out.to_string_lossy())
                .replace(&placeholder(SEED), &number.to_string())
        };
        let log = folder.join("build.log");
        run_shell(&replaced(&self.build), &log)?;
        let content = fs::read(&out).map_err(|error| {
            CommandError::failed(format!("`{}` wrote no file to {{out}}: {error}", self.build))
        })?;
        let mut hasher = DefaultHasher::new();
        content.hash(&mut hasher);
        self.contents.insert(hasher.finish());
        self.made += 1;
        Ok(replaced(&self.run))
    }

    /// What is to be known of the builds if all are one and the same file.
    pub fn remark(&self) -> Option<String> {
        (self.made > 1 && self.contents.len() == 1).then(|| {
            format!(
                "all builds of `{}` are the same file: the result is about this file, not about builds",
                self.build
            )
        })
    }
}

/// Runs a command of the shell with its output in a file, so that a process that it leaves behind is not waited for.
fn run_shell(command: &str, log: &Path) -> Result<()> {
    let open = || -> std::io::Result<(File, File)> {
        let output = File::create(log)?;
        let errors = output.try_clone()?;
        Ok((output, errors))
    };
    let (output, errors) = open()
        .map_err(|error| CommandError::file(format!("can't write {}: {error}", log.display())))?;
    let status = Command::new("/bin/sh")
        .args(["-c", command])
        .stdin(Stdio::null())
        .stdout(output)
        .stderr(errors)
        .status()
        .map_err(|error| CommandError::failed(format!("can't start /bin/sh: {error}")))?;
    if status.success() {
        return Ok(());
    }
    let written = fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&written);
    let lines: Vec<&str> = text.lines().collect();
    let last = lines[lines.len().saturating_sub(LOG_LINES)..].join("\n");
    let error = CommandError::failed(format!("the build `{command}` failed: {status}"));
    Err(if last.is_empty() { error } else { error.hint(last) })
}

/// The names of the files of both sides: of one length, so that neither path differs in it.
pub const FILES: [&str; 2] = ["build-a", "build-b"];
