//! The test program once more, as a process of its own.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Writes a script into `folder` under this name that runs one test of the calling test program, with the
/// variable set: that test can then stand in for a program.
#[must_use]
pub fn helper_process(folder: &Path, name: &str, variable: &str, test: &str) -> PathBuf {
    let program = std::env::current_exe().unwrap_or_else(|error| panic!("{error}"));
    let script = format!(
        "#!/bin/sh\n{variable}=1 exec '{}' -q --nocapture --test-threads=1 --exact {test}\n",
        program.display()
    );
    let path = folder.join(name);
    let written = std::fs::write(&path, script)
        .and_then(|()| std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)));
    written.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    path
}

/// The program of an example of the calling test's package. `cargo test` builds examples next to tests, but not if
/// `--test` chooses a test.
///
/// # Panics
/// If it was not built.
#[must_use]
pub fn example(name: &str) -> PathBuf {
    // The test is in TARGET/debug/deps, the example in TARGET/debug/examples.
    let test = std::env::current_exe().unwrap_or_else(|error| panic!("{error}"));
    let profile = test.ancestors().nth(2).unwrap_or_else(|| panic!("{}", test.display()));
    let program = profile.join("examples").join(name);
    assert!(program.exists(), "{} is missing: cargo build --examples", program.display());
    program
}
