//! Why a program of a plug-in does not start, and what to try.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use plumb_model::Program;

/// No first line of a script that is looked at is longer, in bytes.
const LONGEST_FIRST_LINE: u64 = 4096;

/// What to try when a program that is there could not be started.
#[must_use]
pub fn starting_hint(program: &Program) -> Option<String> {
    let file = program.argv.first().filter(|file| Path::new(file).is_file())?;
    if interpreter(Path::new(file)).is_some_and(|program| !program.exists()) {
        return Some(format!("the interpreter in the first line of {file} is not installed"));
    }
    // Without one, execvp gives it to the shell.
    (!starts_like_a_program(Path::new(file)))
        .then(|| format!("give {file} a first line that names its interpreter: #!/bin/sh"))
}

/// The program that the first line of a script names.
fn interpreter(path: &Path) -> Option<PathBuf> {
    let mut line = String::new();
    BufReader::new(File::open(path).ok()?.take(LONGEST_FIRST_LINE)).read_line(&mut line).ok()?;
    line.strip_prefix("#!")?.split_whitespace().next().map(PathBuf::from)
}

fn starts_like_a_program(path: &Path) -> bool {
    let mut start = [0; 4];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut start));
    read.is_ok() && (start.starts_with(b"#!") || start == *b"\x7fELF")
}
