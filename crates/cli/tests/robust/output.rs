//! Output that can't be written: every command that prints says so.

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use crate::common::{ProgramOutput, TestEnvironment, ran};
use crate::{exec, place};

/// Every subcommand, in a form that prints; first those that read the stored runs of `true`.
const PRINTING: &[&str] = &[
    "baseline list",
    "compare last last~1",
    "history true",
    "list",
    "list --charts",
    "show",
    "show --json",
    "show --runs",
    "show --in-words",
    "report --chart process.command/boxes",
    "export",
    "export --format csv",
    "export --format xlsx",
    "reference list",
    "reference show efs",
    "reference export ours last",
    "compare reference:efs last",
    "check --no-lock -q --apart 0s",
    "run --dry-run",
    "run cpu.sieve:limit=20000 --max-invocations 1 --no-lock -q",
    "exec -n 2 --no-lock -q true",
    "exec -n 2 --no-lock -q --json true",
    "ab true true --max-pairs 8 --no-lock -q",
    "why true --budget 3s --no-lock -q",
    "crosscheck process --budget 2s --no-lock -q --prepare none",
    "doctor",
    "doctor --json",
    "tune",
    "tune --advise true --allow sched=batch --budget 3s --no-lock -q",
    "suite new - --workload cpu.sieve",
    "explain memory.copy",
    "serve --listen 127.0.0.1:0",
    "peer --key peer.key --new-key",
    "peer --key peer.key --listen 127.0.0.1:0",
    "import hyperfine.json",
    "plugin check ./plugin.sh",
    "fleet list --json",
    "fleet run --help",
    "store info",
    "completions bash",
    "man run",
];

/// Results of hyperfine.
const RESULTS: &str = r#"{"results":[{"command":"true","mean":0.5,"stddev":0.1,"median":0.5,"user":0.1,"system":0.1,"min":0.4,"max":0.6,"times":[0.4,0.5,0.6],"exit_codes":[0,0,0]}]}"#;

/// What plumb says if each write to stdout fails as on a full disk.
fn on_full_disk(place: &TestEnvironment, arguments: &str) -> ProgramOutput {
    let full = File::options().write(true).open("/dev/full").unwrap();
    let plumb = place.plumb(arguments).stdout(full).stderr(Stdio::piped()).spawn().unwrap();
    plumb.wait_with_output().unwrap().into()
}

#[test]
fn every_command_reports_that_its_output_is_lost() {
    let place = place();
    // A check needs six runs.
    let runs = ["last", "last~1", "last~2", "last~3", "last~4", "last~5"];
    for _ in runs {
        exec(&place, "-n 2 -q", &["true"]).exits(0);
    }
    place.run(&format!("baseline set good {}", runs.join(" "))).unwrap().exits(0);
    place.write("hyperfine.json", RESULTS).unwrap();
    let plugin = place.write("plugin.sh", "#!/bin/sh\nexit 1\n").unwrap();
    fs::set_permissions(plugin, fs::Permissions::from_mode(0o755)).unwrap();
    for command in plumb_cli::command_line().get_subcommands() {
        let name = command.get_name();
        assert!(
            PRINTING.iter().any(|words| words.split(' ').next() == Some(name)),
            "list a form of `{name}` that prints"
        );
    }
    let mut wrong = Vec::new();
    for words in PRINTING.iter().copied().chain(["", "--help", "--version", "run --help"]) {
        let ended = on_full_disk(&place, words);
        let reports = ended.stderr.matches("can't write to stdout: No space left").count();
        if ended.code != Some(6) || reports != 1 {
            wrong.push(format!("plumb {words}: exit {:?}, {}", ended.code, ended.stderr));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_list_of_runs_stays_within_the_terminal() {
    let place = place();
    let long =
        "--label kernel=6.12.3-with-a-name-that-is-longer-than-the-narrowest-terminal-of-all";
    exec(&place, &format!("-n 2 -q {long}"), &["true"]).exits(0);
    exec(&place, "-n 2 -q --host web1", &["true with many words as arguments, and then some more"])
        .exits(0);
    for columns in [40, 41, 47, 55, 63, 70, 80, 120] {
        let mut show = place.plumb("show --runs");
        let shown = ran(show.env("COLUMNS", columns.to_string())).unwrap().exits(0).stdout;
        for line in shown.lines() {
            assert!(line.chars().count() <= columns, "{columns}: {line}");
        }
        assert!(shown.contains("complete"), "{shown}");
    }
}
