//! The binary that an agent is made of.

use std::path::PathBuf;

use crate::locate;

/// The file of plumb for an architecture as `uname -m` names it.
///
/// # Errors
/// The path where a binary for another architecture belongs, if none is there.
pub fn binary_for(architecture: &str) -> Result<PathBuf, String> {
    if architecture == std::env::consts::ARCH {
        return locate::plumb().map_err(|error| error.to_string());
    }
    let is_word = architecture.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let folder = locate::data_home().map(|data| data.join("plumb/binaries"));
    match folder {
        Some(folder) if is_word => {
            let file = folder.join(format!("plumb-{architecture}"));
            if file.is_file() { Ok(file) } else { Err(file.display().to_string()) }
        }
        _ => Err("~/.local/share/plumb/binaries".to_owned()),
    }
}
