//! Insert rate of the store on tmpfs: the bench of its crate, quoted.

use std::path::Path;
use std::process::Command;

use crate::BenchResult;

/// Runs `cargo bench` of the store and takes its lines over.
pub fn bench(_plumb: &Path) -> BenchResult<String> {
    let output = Command::new("cargo")
        .args(["bench", "--quiet", "--package", "plumb-store", "--bench", "insert"])
        .output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned().into());
    }
    let lines = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    Ok(format!(
        "`cargo bench --package plumb-store --bench insert`, the store on tmpfs, one commit per batch:\n\n```text\n{lines}\n```\n"
    ))
}
