//! Programs in C, built with the compiler of this machine.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::process::Command;

use plumb_protocol::{Failure, Start, StartError};

use plumb_workload_kit::ended;
use plumb_workload_kit::folder::Folder;

use crate::tool::Built;

/// Builds a program from its source.
///
/// # Errors
/// With what the compiler says.
pub(crate) fn built(start: &Start, source: &str, options: &[&str]) -> Result<Built, StartError> {
    let parent = if start.scratch.is_empty() { &start.dir } else { &start.scratch };
    let folder = Folder::create(Path::new(parent), "c")?;
    let text = folder.path().join("program.c");
    let path = folder.path().join("program");
    fs::write(&text, source).map_err(|e| Failure::io(format!("writing {}", text.display()), &e))?;
    let words = [OsStr::new("-pthread"), OsStr::new("-o"), path.as_os_str()];
    let mut compiler = Command::new("cc");
    compiler
        .args(options)
        .args(words)
        .arg(&text)
        // What it writes in between goes with the folder.
        .env("TMPDIR", folder.path());
    let output = ended::output(&mut compiler).map_err(|e| Failure::io("starting cc", &e))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let last = said.lines().last().unwrap_or("nothing").to_owned();
        return Err(StartError::Failed(format!("cc could not build the program: {last}")));
    }
    Ok(Built { path, folder })
}
