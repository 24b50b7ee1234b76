//! A hermetic place for the real binary, shared by the tests and by `cargo xtask soak`.
//!
//! Nothing here panics, except the `Ran` methods that tests assert with: the soak gathers reasons.

pub mod kill;
pub mod knobs;
pub mod media;
pub mod processes;
pub mod samples;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

/// The width of every output.
const COLUMNS: usize = 100;

/// The variable that marks every process of a test.
pub const MARK: &str = "PLUMB_TEST_ID";

/// Folders of one test: home, data, temporary files, target directory, current directory, store.
/// Dropping it removes them.
pub struct TestEnvironment {
    binary: PathBuf,
    root: PathBuf,
    mark: String,
}

impl TestEnvironment {
    /// A fresh place for this binary.
    ///
    /// # Errors
    /// When the folders can't be made.
    pub fn new(binary: &str) -> io::Result<Self> {
        static PLACES: AtomicU32 = AtomicU32::new(0);
        let number = PLACES.fetch_add(1, Ordering::Relaxed);
        let mark = format!("plumb-test-{}-{number}", std::process::id());
        let root = fs::canonicalize(std::env::temp_dir())?.join(&mark);
        for folder in ["home", "data", "tmp", "work", "cwd", "store"] {
            fs::create_dir_all(root.join(folder))?;
        }
        Ok(Self { binary: binary.into(), root, mark })
    }

    /// The folder of all its folders.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The folder for temporary files, TMPDIR.
    pub fn tmp(&self) -> PathBuf {
        self.root.join("tmp")
    }

    /// A target directory.
    pub fn work(&self) -> PathBuf {
        self.root.join("work")
    }

    /// The current directory.
    pub fn cwd(&self) -> PathBuf {
        self.root.join("cwd")
    }

    /// The file of the store.
    pub fn store(&self) -> PathBuf {
        self.root.join("store/plumb.db")
    }

    /// The plumb that is tested.
    pub fn binary(&self) -> &Path {
        &self.binary
    }

    /// Writes a file in the current directory.
    ///
    /// # Errors
    /// When it can't be written.
    pub fn write(&self, name: &str, text: &str) -> io::Result<PathBuf> {
        let path = self.cwd().join(name);
        fs::write(&path, text)?;
        Ok(path)
    }

    /// A program in these surroundings: nothing of the caller's environment but PATH.
    pub fn program(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        command.env_clear().current_dir(self.cwd()).stdin(Stdio::null());
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("HOME", self.root.join("home")).env("XDG_DATA_HOME", self.root.join("data"));
        command
            .env("TMPDIR", self.tmp())
            .env("PLUMB_STORE", self.store())
            .env("COLUMNS", COLUMNS.to_string());
        command.env("PLUMB_HOST", "here");
        command
    }

    /// plumb with these arguments, words apart by single spaces.
    pub fn plumb(&self, arguments: &str) -> Command {
        let mut command = self.program(&self.binary);
        command.args(arguments.split(' ').filter(|word| !word.is_empty()));
        command
    }

    /// The same with the mark that its processes are found by.
    pub fn marked(&self, arguments: &str) -> Command {
        let mut command = self.plumb(arguments);
        command.env(MARK, &self.mark);
        command
    }

    /// Runs plumb to its end.
    ///
    /// # Errors
    /// When it can't be started.
    pub fn run(&self, arguments: &str) -> io::Result<ProgramOutput> {
        ran(&mut self.plumb(arguments))
    }

    /// What is left of a run where nothing should be: files below TMPDIR and the target directory,
    /// mounts below the root, processes with the mark.
    pub fn leftovers(&self) -> Vec<String> {
        let folders = [self.tmp(), self.work()];
        let files = folders.iter().flat_map(|folder| fs::read_dir(folder).into_iter().flatten());
        let files = files.flatten().map(|entry| format!("file {}", entry.path().display()));
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        let root = self.root.display().to_string();
        let mounts = mounts.lines().filter(|line| line.contains(&root));
        let mounts = mounts.map(|line| format!("mount {line}"));
        let left = processes::marked(&self.mark, &root).into_iter();
        let left = left.map(|pid| format!("process {}", processes::describe(pid)));
        files.chain(mounts).chain(left).collect()
    }
}

impl Drop for TestEnvironment {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.root);
    }
}

/// How a program ended and what it said.
#[derive(Debug)]
pub struct ProgramOutput {
    /// Exit status; None after a signal.
    pub code: Option<i32>,
    /// The text on its standard output.
    pub stdout: String,
    /// The text on its standard error.
    pub stderr: String,
}

/// Runs a command to its end.
///
/// # Errors
/// When it can't be started.
pub fn ran(command: &mut Command) -> io::Result<ProgramOutput> {
    command.output().map(ProgramOutput::from)
}

impl From<Output> for ProgramOutput {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

impl ProgramOutput {
    /// Asserts the exit code.
    #[track_caller]
    pub fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "stdout:\n{}\nstderr:\n{}", self.stdout, self.stderr);
        self
    }

    /// Asserts words on stderr, each phrase on one line.
    #[track_caller]
    pub fn says(self, words: &[&str]) -> Self {
        holds("stderr", &self.stderr, words);
        self
    }

    /// Asserts words on stdout, each phrase on one line.
    #[track_caller]
    pub fn shows(self, words: &[&str]) -> Self {
        holds("stdout", &self.stdout, words);
        self
    }
}

#[track_caller]
fn holds(name: &str, text: &str, words: &[&str]) {
    let lines = unwrapped(text);
    for word in words {
        let found = lines.iter().any(|line| line.contains(word));
        assert!(found, "no `{word}` on a line of {name}:\n{text}");
    }
}

/// The lines of a text, with one space between columns. A line that had no room for the next word goes on in the next one; a line
/// that ends earlier ends there, so a phrase that a misplaced break cuts is not found.
fn unwrapped(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut width = 0;
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let next = words.first().map_or(0, |word| word.chars().count());
        match lines.last_mut() {
            Some(last) if next > 0 && width + 1 + next > COLUMNS => {
                last.push(' ');
                last.push_str(&words.join(" "));
            }
            _ => lines.push(words.join(" ")),
        }
        width = line.chars().count();
    }
    lines
}
