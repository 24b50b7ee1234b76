//! The real binary where things go wrong: killed, interrupted, on full disks, with broken files and
//! mistyped names; and what its commands promise. One test binary, so that all runs side by side.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../common/mod.rs"]
mod common;
#[path = "../../../base/machine/tests/trees/mod.rs"]
mod trees;

mod ab;
mod addresses;
mod bonnie;
mod boot;
mod budgets;
mod check;
mod commands;
mod compare;
mod crosscheck;
mod datastores;
mod disk;
mod doctor;
mod exec;
mod exec_around;
mod exec_values;
mod far_end;
mod fleet;
mod history;
mod hosts;
mod https;
mod imports;
mod interrupt;
mod kill;
mod languages;
mod libraries;
mod loads;
mod loopback;
mod loops;
mod machine_tree;
mod media;
mod menus;
mod monitors;
mod names;
mod output;
mod peer;
mod prepare;
mod private;
mod proc;
mod references;
mod report;
mod rules;
mod schedule;
mod seccomp;
mod secrets;
mod serve;
mod site;
mod slurm;
mod slurm_cluster;
mod sshd;
mod store;
mod suites;
mod two_runs;
mod users;
mod why;

use std::sync::OnceLock;

use common::processes::PATIENCE;
use common::{ProgramOutput, TestEnvironment, ran};
use serde_json::Value;

/// A command that says that it runs, and ends when it is told.
const WAIT: &str = "touch started; until [ -e go ]; do sleep 0.02; done";

/// At neither end of a run anything is left after this time, however it ended.
const GONE_WITHIN: std::time::Duration = std::time::Duration::from_secs(2);

/// A fresh place for the real binary.
fn place() -> TestEnvironment {
    TestEnvironment::new(env!("CARGO_BIN_EXE_plumb")).unwrap()
}

/// `plumb exec` with options and commands.
fn exec(place: &TestEnvironment, options: &str, commands: &[&str]) -> ProgramOutput {
    ran(place.plumb(&format!("exec --no-lock {options}")).args(commands)).unwrap()
}

/// A place with one stored run of two commands, which no other place has.
fn freshly_measured() -> TestEnvironment {
    let place = place();
    exec(&place, "-n 2 -q --label round=1", &["true", "sleep 0.01"]).exits(0);
    place
}

/// A place with one stored run of two commands. It is measured once and copied, because thirty tests need one.
fn measured() -> TestEnvironment {
    static STORE: OnceLock<Vec<u8>> = OnceLock::new();
    let store = STORE.get_or_init(|| std::fs::read(freshly_measured().store()).unwrap());
    let place = place();
    std::fs::write(place.store(), store).unwrap();
    place
}

/// The JSON on stdout.
#[track_caller]
fn parsed(ran: &ProgramOutput) -> Value {
    serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}:\n{}", ran.stdout))
}

/// The document of the last run.
fn last(place: &TestEnvironment) -> Value {
    parsed(&place.run("show --json").unwrap().exits(0))
}

/// The results of a metric in a document, in its order.
fn results<'d>(document: &'d Value, metric: &str) -> Vec<&'d Value> {
    let all = document["results"].as_array().unwrap();
    all.iter().filter(|result| result["metric"] == metric).collect()
}

/// Whether this process may do anything.
fn is_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|me| std::os::unix::fs::MetadataExt::uid(&me) == 0)
}

/// A shell script in namespaces of its own (`--mount`, `--net`), in which it is root.
fn in_namespace(place: &TestEnvironment, kind: &str, script: &str) -> ProgramOutput {
    let user = if is_root() { "" } else { "--map-root-user" };
    let unshare = |script: &str| {
        let mut command = place.program("unshare");
        command.args([kind, user].iter().filter(|word| !word.is_empty()));
        command.args(["sh", "-c", script]).env("PLUMB", place.binary());
        ran(&mut command).unwrap()
    };
    let tried = unshare(if kind == "--mount" { "mount -t tmpfs tmpfs ../home" } else { ":" });
    assert_eq!(
        tried.code,
        Some(0),
        "this test needs `unshare {kind}`: {}; run it as root, in a container with \
         `--privileged`, or allow user namespaces: sysctl kernel.unprivileged_userns_clone=1 \
         kernel.apparmor_restrict_unprivileged_userns=0",
        tried.stderr
    );
    unshare(script)
}

/// Whether servers of every kind were measured at this far end.
#[track_caller]
fn measured_at(document: &Value, far_end: &str) {
    for (metric, workload) in [
        ("throughput", "network.tcp"),
        ("received", "network.udp"),
        ("rate", "network.rr"),
        ("throughput", "ssh.cipher"),
    ] {
        let of_point = results(document, metric);
        let result = of_point.iter().find(|result| result["workload"] == workload).unwrap();
        let name = result["name"].as_str().unwrap();
        assert!(name.ends_with(&format!("to={far_end}")), "{name}");
        assert!(result["estimate"].as_f64().unwrap() > 0.0, "{result}");
    }
}
