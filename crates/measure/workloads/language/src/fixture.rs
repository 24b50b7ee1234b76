//! The program of a language, written and compiled once for all invocations of a point.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use plumb_model::Ready;
use plumb_protocol::{Failure, Held, Start, StartError};

use crate::toolchain::Language;

/// Writes and compiles the source in a folder of this name, for all invocations.
///
/// # Errors
/// Unsupported if the compiler or interpreter is missing.
pub(crate) fn prepare(
    start: &Start,
    name: &str,
    language: &Language,
    source: &str,
) -> Result<(Ready, Box<dyn Held>), StartError> {
    let folder = BuildFolder(Path::new(&start.scratch).join(name));
    fs::create_dir_all(&folder.0)
        .map_err(|e| Failure::io(format!("creating {}", folder.0.display()), &e))?;
    let built = language.build(&folder.0, source)?;
    let mut ready = Ready { bytes_on_disk: folder.bytes(), ..Ready::default() };
    ready.versions.insert(language.tool().to_owned(), built.version.clone());
    let endpoints = &mut ready.endpoints;
    endpoints.insert("program".into(), built.program.to_string_lossy().into_owned());
    endpoints.insert("version".into(), built.version);
    endpoints.extend(built.heap_bytes.map(|bytes| ("heap".to_owned(), bytes.to_string())));
    endpoints.insert("arguments".into(), built.arguments.join("\n"));
    Ok((ready, Box::new(folder)))
}

/// The program and its arguments.
///
/// # Errors
/// If it was not prepared.
pub(crate) fn argv(start: &Start) -> Result<Vec<OsString>, StartError> {
    let Some(path) = start.endpoints.get("program") else {
        return Err(StartError::Failed("the program was not prepared: no `program`".into()));
    };
    let mut all: Vec<OsString> = vec![path.into()];
    let given = start.endpoints.get("arguments").map_or("", String::as_str);
    all.extend(given.lines().map(OsString::from));
    Ok(all)
}

/// The compiler or interpreter with its version.
pub(crate) fn version(language: &Language, start: &Start) -> (String, String) {
    let version = start.endpoints.get("version").cloned().unwrap_or_default();
    (language.tool().to_owned(), version)
}

/// The fixture's folder, removed with it.
struct BuildFolder(PathBuf);

impl BuildFolder {
    fn bytes(&self) -> u64 {
        let files = fs::read_dir(&self.0).into_iter().flatten().flatten();
        files.filter_map(|file| file.metadata().ok()).map(|meta| meta.len()).sum()
    }
}

impl Held for BuildFolder {
    fn clean(self: Box<Self>) -> Result<(), Failure> {
        fs::remove_dir_all(&self.0)
            .map_err(|e| Failure::io(format!("removing {}", self.0.display()), &e))
    }
}

impl Drop for BuildFolder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
