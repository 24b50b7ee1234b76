//! Finds the store, this binary, and the folders of journals and temporary files.

use std::env;
use std::path::{Path, PathBuf};

use plumb_machine::Root;
use plumb_model::Host;
use plumb_text::command_line::quoted;

use crate::error::{CommandError, Result};

/// The variable that names the store for all commands.
pub const STORE_VARIABLE: &str = "PLUMB_STORE";

/// The store: `--store`, `PLUMB_STORE`, or the user's data folder.
pub fn store(given: Option<&Path>) -> Result<PathBuf> {
    if let Some(path) = given {
        return Ok(path.to_owned());
    }
    match data_home() {
        Some(data) => Ok(data.join("plumb/plumb.db")),
        None => Err(CommandError::usage(
            "can't locate the store: neither XDG_DATA_HOME nor HOME is set",
        )
        .hint("name one with --store FILE")),
    }
}

/// ` --store FILE` if commands without it would use another store than this one; else nothing.
pub fn store_option(path: &Path) -> String {
    let usual = env::var_os(STORE_VARIABLE).map(PathBuf::from).or_else(|| store(None).ok());
    if usual.is_some_and(|usual| usual == path) {
        return String::new();
    }
    format!(" --store {}", quoted(&path.display().to_string()))
}

/// Whether something that could be a store lies there. An empty file is none yet: whoever was killed while it made one leaves
/// such a file, and the next run goes on with it. With a log beside it, its content may be there.
pub fn holds_store(path: &Path) -> bool {
    let Ok(metadata) = path.metadata() else { return path.exists() };
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    !metadata.is_file() || metadata.len() > 0 || Path::new(&log).exists()
}

/// `$XDG_DATA_HOME`, or `~/.local/share`.
pub fn data_home() -> Option<PathBuf> {
    home("XDG_DATA_HOME", ".local/share")
}

/// `$XDG_CONFIG_HOME`, or `~/.config`.
pub fn config_home() -> Option<PathBuf> {
    home("XDG_CONFIG_HOME", ".config")
}

/// `$XDG_CACHE_HOME`, or `~/.cache`.
pub fn cache_home() -> Option<PathBuf> {
    home("XDG_CACHE_HOME", ".cache")
}

fn home(variable: &str, below: &str) -> Option<PathBuf> {
    absolute(variable).or_else(|| Some(absolute("HOME")?.join(below)))
}

/// The folder in a variable. The XDG specification requires that relative ones are ignored.
fn absolute(variable: &str) -> Option<PathBuf> {
    env::var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute())
}

/// The path by which plumb starts itself again: through /proc, so that a replaced file does not matter, or
/// the file that the user typed.
///
/// # Errors
/// When neither can be found.
pub fn plumb() -> Result<PathBuf> {
    let own = PathBuf::from("/proc/self/exe");
    if own.exists() {
        return Ok(own);
    }
    file_of_command().ok_or_else(|| {
        CommandError::nothing(
            "plumb can't find its own binary to start workers: /proc is not mounted",
        )
        .hint("mount it (`mount -t proc proc /proc`) or start plumb by its absolute path")
    })
}

/// The path of this binary for other programs.
pub fn plumb_for_others() -> String {
    let path = env::current_exe().ok().or_else(file_of_command);
    path.map(|path| path.to_string_lossy().into_owned()).unwrap_or_default()
}

/// The file of the command that started this process, found as a shell finds it.
fn file_of_command() -> Option<PathBuf> {
    let command = PathBuf::from(env::args_os().next()?);
    // A shell searches PATH only for a bare name.
    if command.components().count() > 1 {
        return std::fs::canonicalize(command).ok();
    }
    on_path(&command)
}

/// The file that a shell starts for a bare name.
pub fn on_path(name: &Path) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file())
}

/// A name that no other run uses at the same time: `plumb-PID-TIME`.
pub fn fresh_name() -> String {
    let moment = plumb_machine::now();
    format!("plumb-{}-{:x}", std::process::id(), moment.monotonic_ns)
}

/// The kernel's files: `/`, or the captured tree that `PLUMB_ROOT` names, for tests.
pub fn root() -> Root {
    Root::from_environment()
}

/// The folder of the journals, which hold the settings of the machine as they were before plumb changed them.
/// Root's folder serves the whole machine, so that the next plumb of any user finds what it has to restore. Tests
/// name their own folder in `PLUMB_JOURNALS`.
pub fn journals() -> PathBuf {
    if let Some(folder) = env::var_os("PLUMB_JOURNALS") {
        return folder.into();
    }
    if rustix::process::geteuid().is_root() {
        return root().path("/var/lib/plumb/journals");
    }
    match home("XDG_STATE_HOME", ".local/state") {
        Some(state) => state.join("plumb/journals"),
        // The folder for temporary files is shared: each user needs a name of their own there.
        None => env::temp_dir()
            .join(format!("plumb-{}", rustix::process::geteuid().as_raw()))
            .join("journals"),
    }
}

/// The environment variable that names this host.
pub const HOST: &str = "PLUMB_HOST";

/// This host: from `--host`, `PLUMB_HOST`, or its machine id.
///
/// # Errors
/// When the variable holds no name of a host.
pub fn host(given: Option<&Host>) -> Result<Host> {
    let named = match given {
        Some(host) => host.clone(),
        None => env::var(HOST)
            .unwrap_or_default()
            .parse()
            .map_err(|why: String| CommandError::usage(format!("{HOST}: {why}")))?,
    };
    Ok(if named.known().is_some() { named } else { plumb_machine::host(&root()) })
}

/// The target directory as the kernel names it.
pub fn directory(given: Option<&Path>) -> Result<PathBuf> {
    let dir = given.unwrap_or(Path::new("."));
    std::fs::canonicalize(dir).map_err(|error| {
        CommandError::usage(format!("the target directory {}: {error}", dir.display()))
            .hint("give an existing folder: --dir DIR")
    })
}
