//! As an ordinary user: what needs no root, and what the limits of such a user say.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::common::{ProgramOutput, TestEnvironment, ran};
use crate::{is_root, parsed, place, results};

/// How each run goes on.
const RUN: &str = "--no-lock -q --prepare none --monitor none --max-invocations 2";

/// Runs a shell command, in which PLUMB is the binary, as somebody who is not root: root becomes a user that is known there alone.
fn as_user(place: &TestEnvironment, command: &str) -> ProgramOutput {
    for folder in fs::read_dir(place.root()).unwrap().flatten() {
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
    }
    let command = command.replace("PLUMB", &place.binary().display().to_string());
    let mut shell = place.program(if is_root() { "unshare" } else { "sh" });
    if is_root() {
        let enter = r#"{ cat /etc/passwd; echo "tester:x:54321:54321::/:/bin/sh"; } > "$0" && mount --bind "$0" /etc/passwd &&
                       exec setpriv --reuid 54321 --regid 54321 --clear-groups sh "$@""#;
        shell.args(["--mount", "sh", "-c", enter]).arg(place.root().join("passwd"));
    }
    ran(shell.args(["-c", &command])).unwrap()
}

#[test]
fn paths_need_no_root_where_users_may_have_namespaces() {
    let place = place();
    let points = "network.tcp:path=veth,up=100Mbit/s network.udp:path=veth,loss=1%,rate=2k/s \
                  network.rr:path=routed,rtt=2ms network.icmp:path=veth network.connect \
                  ssh.cipher:path=veth,up=200Mbit/s,loss=0.1%";
    let document = parsed(&as_user(&place, &format!("PLUMB run {points} {RUN} --json")).exits(0));
    let measured: Vec<_> = ["throughput", "received", "rate", "time"]
        .into_iter()
        .flat_map(|metric| results(&document, metric))
        .filter_map(|result| result["name"].as_str())
        .collect();
    let of = "network.tcp network.udp network.rr network.icmp network.connect ssh.cipher";
    for point in of.split(' ') {
        assert!(measured.iter().any(|name| name.starts_with(point)), "{point}: {measured:?}");
    }
    assert_eq!(place.leftovers(), [""; 0]);
}

#[test]
fn a_kernel_that_gives_users_no_namespaces_is_told_with_its_switch() {
    let place = place();
    let run = format!("PLUMB run network.rr:path=veth {RUN}");
    let without = "setpriv --bounding-set -all --inh-caps -all --ambient-caps -all";
    let shut = "echo 0 > /proc/sys/user/max_user_namespaces";
    let ran = as_user(&place, &format!("unshare --map-root-user sh -c '{shut}; {without} {run}'"));
    ran.exits(3).shows(&[
        "cannot create a network namespace",
        "sudo sysctl user.max_user_namespaces=10000",
    ]);
}

#[test]
fn low_limits_are_errors_and_no_bugs() {
    let place = place();
    let processes = [2, 3, 4, 6, 8].map(|limit| format!("--nproc={limit}"));
    let files = [64, 70, 90].map(|limit| format!("--nofile={limit}"));
    let memory = [128, 160, 300].map(|mib| format!("--as={}", mib << 20));
    for limit in [&processes[..], &files[..], &memory[..]].concat() {
        let run = format!("exec prlimit {limit} PLUMB exec --no-lock -q -n 2 true");
        let ran = as_user(&place, &run);
        assert!(!ran.stderr.contains("panicked"), "{limit}: {}", ran.stderr);
        assert!(matches!(ran.code, Some(0 | 3 | 4 | 6)), "{limit}: {:?} {}", ran.code, ran.stderr);
    }
}

#[test]
fn limits_below_which_nothing_works_are_named_with_the_command_that_raises_them() {
    let place = place();
    let files = [5, 6, 8, 12, 20, 40, 63].map(|limit| format!("--nofile={limit}"));
    for limit in files {
        let run = format!("exec prlimit {limit} PLUMB exec --no-lock -q -n 2 true");
        as_user(&place, &run).exits(2).says(&["the limit of open files is", "ulimit -n 1024"]);
    }
    let run = format!("exec prlimit --as={} PLUMB exec --no-lock -q -n 2 true", 100 << 20);
    as_user(&place, &run).exits(2).says(&["the limit of address space is 100 MiB", "ulimit -v"]);
}

#[test]
fn more_tasks_than_a_user_may_have_are_unsupported() {
    let place = place();
    let run = format!("prlimit --nproc=300 PLUMB run scheduler.switch -p tasks=400 {RUN}");
    as_user(&place, &run).exits(3).shows(&["needs 399 tasks", "`ulimit -u` allows 300"]);
}
