//! docs/cli.md is what `--help` says; `UPDATE_DOCS=1 cargo test --package plumb-cli` rewrites it.

use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::Command;

const COMMANDS: &[&[&str]] = &[
    &[],
    &["run"],
    &["exec"],
    &["ab"],
    &["compare"],
    &["baseline", "set"],
    &["check"],
    &["history"],
    &["list"],
    &["explain"],
    &["show"],
    &["export"],
    &["import"],
    &["plugin", "check"],
    &["store", "info"],
];

#[test]
fn the_reference_is_what_help_says() {
    let mut text =
        String::from("# The command line\n\nGenerated from `--help`; a test compares.\n");
    for command in COMMANDS {
        let output = Command::new(env!("CARGO_BIN_EXE_plumb"))
            .args(*command)
            .arg("--help")
            .env("COLUMNS", "100")
            .env_remove("PLUMB_STORE")
            .output()
            .unwrap();
        assert!(output.status.success());
        let name = ["plumb"].iter().chain(*command).copied().collect::<Vec<_>>().join(" ");
        let help = String::from_utf8(output.stdout).unwrap();
        let help: Vec<&str> = help.lines().map(str::trim_end).collect();
        write!(text, "\n## {name}\n\n```text\n{}\n```\n", help.join("\n").trim_end()).unwrap();
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/cli.md");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&path, &text).unwrap();
    }
    let committed = fs::read_to_string(&path).unwrap_or_default();
    let mend = "UPDATE_DOCS=1 cargo test --package plumb-cli --test reference";
    assert!(committed == text, "docs/cli.md is stale: {mend}");
}
