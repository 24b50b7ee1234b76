//! Plug-ins: executables of third parties, named by a `plumb-plugin.toml` on the plug-in path.
//!
//! The path is `PLUMB_PLUGIN_PATH` (folders joined by `:`), else the user's and the system's folders;
//! never the current directory. Each plug-in is a folder in one of them. See `docs/plugins.md`.

use std::env;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use plumb_model::Program;
use serde::Deserialize;

/// The name of the file that makes a folder a plug-in.
pub const MANIFEST: &str = "plumb-plugin.toml";

/// The contents of a `plumb-plugin.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Manifest {
    /// The executable: relative to the file's folder, absolute, or a name on PATH when it has no `/`
    /// and no such file stands in the folder.
    exec: String,
    #[serde(default)]
    arguments: Vec<String>,
}

/// Why there is no such plug-in.
#[derive(Debug)]
pub struct ManifestError {
    /// What happened, and to what.
    pub message: String,
    /// A hint for the user.
    pub hint: Option<String>,
    /// Whether a file could not be read, which is nobody's mistake.
    pub is_of_file: bool,
}

impl ManifestError {
    fn usage(message: String) -> Self {
        Self { message, hint: None, is_of_file: false }
    }

    fn hint(self, hint: String) -> Self {
        Self { hint: Some(hint), ..self }
    }
}

/// The manifests on the plug-in path, in its order, of which the user's part is below this folder of data.
#[must_use]
pub fn on_path(data: Option<&Path>) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for folder in folders(data) {
        let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
        let mut manifests: Vec<PathBuf> = entries
            .map(|entry| entry.path().join(MANIFEST))
            .filter(|path| path.is_file())
            .collect();
        // The order of a folder is the filesystem's: which of two namesakes wins must not depend on it.
        manifests.sort();
        found.extend(manifests);
    }
    found
}

/// The suites that plug-ins on the path bring, in the folder `suites` next to their manifest: name and file.
#[must_use]
pub fn suites(data: Option<&Path>) -> Vec<(String, PathBuf)> {
    let mut found = Vec::new();
    for manifest in on_path(data) {
        let entries =
            fs::read_dir(manifest.with_file_name("suites")).into_iter().flatten().flatten();
        let mut files: Vec<PathBuf> = entries
            .map(|entry| entry.path())
            .filter(|path| path.extension().is_some_and(|extension| extension == "toml"))
            .collect();
        // The order of a folder is the filesystem's: what is listed must not depend on it.
        files.sort();
        for file in files {
            let name = file.file_stem().and_then(|stem| stem.to_str()).map(str::to_owned);
            found.extend(name.map(|name| (name, file)));
        }
    }
    found
}

fn folders(data: Option<&Path>) -> Vec<PathBuf> {
    if let Some(path) = env::var_os("PLUMB_PLUGIN_PATH") {
        // What a relative folder names would depend on where plumb is started.
        return env::split_paths(&path).filter(|folder| folder.is_absolute()).collect();
    }
    let own = data.map(|data| data.join("plumb/plugins"));
    let system = ["/usr/local/lib/plumb/plugins", "/usr/lib/plumb/plugins"].map(PathBuf::from);
    own.into_iter().chain(system).collect()
}

/// The program of a plug-in: of its folder, its manifest, or its executable itself.
///
/// # Errors
/// When there is none, it can't be executed, or its manifest is malformed.
pub fn program(path: &Path) -> Result<Program, ManifestError> {
    if path.is_dir() {
        return program(&path.join(MANIFEST));
    }
    let full = fs::canonicalize(path).map_err(|error| {
        ManifestError::usage(format!("no plug-in at {}: {error}", path.display()))
            .hint(format!("a plug-in is an executable, or a folder with a {MANIFEST}"))
    })?;
    if full.file_name().is_some_and(|name| name == MANIFEST) {
        return from_manifest(&full);
    }
    executable(&full)?;
    Ok(Program { argv: vec![full.to_string_lossy().into_owned()] })
}

fn from_manifest(path: &Path) -> Result<Program, ManifestError> {
    let shown = path.display();
    let text = fs::read_to_string(path).map_err(|error| ManifestError {
        is_of_file: true,
        ..ManifestError::usage(format!("can't read {shown}: {error}"))
    })?;
    let manifest: Manifest = toml::from_str(&text).map_err(|error| {
        ManifestError::usage(format!("{shown} is malformed: {error}"))
            .hint("it needs one line: exec = \"my-workload\"".to_owned())
    })?;
    let beside = path.parent().unwrap_or(Path::new("/")).join(&manifest.exec);
    let program = if beside.is_file() || manifest.exec.contains('/') {
        executable(&beside)?;
        beside.to_string_lossy().into_owned()
    } else {
        manifest.exec
    };
    let mut argv = vec![program];
    argv.extend(manifest.arguments);
    Ok(Program { argv })
}

fn executable(path: &Path) -> Result<(), ManifestError> {
    let shown = path.display();
    let file = fs::metadata(path)
        .map_err(|error| ManifestError::usage(format!("no program at {shown}: {error}")))?;
    if file.permissions().mode() & 0o111 == 0 {
        let error = ManifestError::usage(format!("{shown} is not executable"));
        return Err(error.hint(format!("chmod +x {shown}")));
    }
    Ok(())
}
