//! Programs that tests start.

use std::path::PathBuf;

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
