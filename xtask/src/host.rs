//! What chores ask of the machine that they run on: the date, its kernel, a fresh plumb.

use std::process::Command;

/// Today's date in UTC.
pub fn today() -> String {
    jiff::Timestamp::now().strftime("%Y-%m-%d").to_string()
}

/// The time in UTC, to the second.
pub fn now() -> String {
    jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// The commit that is checked out, or `unknown`.
pub fn commit() -> String {
    let output = Command::new("git").args(["rev-parse", "--short=8", "HEAD"]).output();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    text.ok().filter(|text| !text.is_empty()).unwrap_or_else(|| "unknown".to_owned())
}

/// The kernel and the number of CPUs.
pub fn machine() -> String {
    let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    format!("Linux {} with {cpus} CPUs", kernel.trim())
}

/// The processor, the kernel and the number of CPUs.
pub fn hardware() -> String {
    let cpuinfo = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpuinfo
        .lines()
        .find(|line| line.starts_with("model name"))
        .and_then(|line| line.split(": ").nth(1))
        .unwrap_or("unknown processor");
    format!("{model}, {}", machine())
}

/// Builds plumb as people get it. Returns the path of the binary, in the target folder of this one.
///
/// # Errors
/// When it can't be built.
pub fn build() -> Result<String, String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let built = Command::new(cargo)
        .args(["build", "--locked", "--release", "--package", "plumb-cli"])
        .status();
    if !built.is_ok_and(|status| status.success()) {
        return Err("plumb could not be built".into());
    }
    let me = std::env::current_exe().map_err(|error| format!("this binary: {error}"))?;
    // This binary is TARGET/debug/xtask, also if the target folder has another place.
    let target = me.ancestors().nth(2).ok_or("no folder above this binary")?;
    Ok(target.join("release/plumb").display().to_string())
}
