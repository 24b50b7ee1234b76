//! What tests skipped because this machine lacks something: they append it to a file, which is read at the end.

use std::collections::BTreeSet;
use std::path::PathBuf;

/// The variable that names the file to tests; `plumb-workload-testing` has the other end.
pub const FILE_VARIABLE: &str = "PLUMB_TEST_SKIPS";

/// The file of this run of the tests.
pub fn file() -> PathBuf {
    std::env::temp_dir().join(format!("plumb-test-skips-{}", std::process::id()))
}

/// What was skipped, for people. The file is gone after that.
pub fn report() -> String {
    let text = std::fs::read_to_string(file()).unwrap_or_default();
    // Without any skip there is no file.
    _ = std::fs::remove_file(file());
    listed(&text)
}

/// A line for each test and reason of a file. Tests that ran twice count once.
fn listed(text: &str) -> String {
    let skips: BTreeSet<&str> = text.lines().collect();
    if skips.is_empty() {
        return "nothing was skipped\n".to_owned();
    }
    let lines = skips.iter().map(|line| format!("  {}\n", line.replacen('\t', ": ", 1)));
    format!("{} skipped for want of something here:\n{}", skips.len(), lines.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::listed;

    #[test]
    fn skips_are_counted_and_named() {
        assert_eq!(listed(""), "nothing was skipped\n");
        let text = listed("robust a::b\troot\nblock c\tzram\nrobust a::b\troot\n");
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "2 skipped for want of something here:");
        assert_eq!(lines[1..], ["  block c: zram", "  robust a::b: root"]);
    }
}
