//! Readings of monitors next to a run, and their signs of other activity: real neighbours, a real quota.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use plumb_workload_testing::{Lack, skip};

use crate::common::{TestEnvironment, ran};
use crate::{exec, is_root, last, parsed, place};

/// A shell that goes on until it is dropped.
struct BusyShell(Child);

impl BusyShell {
    fn new(script: &str, at: &Path) -> Self {
        let mut shell = Command::new("setsid");
        let shell = shell.args(["sh", "-c", script]).current_dir(at).stderr(Stdio::null());
        Self(shell.spawn().unwrap())
    }
}

impl Drop for BusyShell {
    fn drop(&mut self) {
        // Its own group: what it started goes with it.
        let group = format!("-{}", self.0.id());
        let _ = Command::new("kill").args(["-9", "--", &group]).status();
        let _ = self.0.wait();
    }
}

/// How many invocations of the last run each rule found something in, and how many there were.
fn found(place: &TestEnvironment) -> (Value, u64) {
    let document = last(place);
    let interference = &document["interference"];
    (interference["rules"].clone(), interference["invocations"].as_u64().unwrap())
}

const SIEVE: &str = "run cpu.sieve --no-lock -q --prepare none --min-invocations 3";

#[test]
fn a_neighbour_that_burns_the_cpus_is_on_every_invocation() {
    let place = place();
    let burn = "while :; do :; done";
    let neighbours: Vec<_> = (0..3).map(|_| BusyShell::new(burn, &place.cwd())).collect();
    place
        .run(&format!("{SIEVE} --full"))
        .unwrap()
        .exits(0)
        .shows(&["interference", "other processes used"]);
    drop(neighbours);
    let (rules, invocations) = found(&place);
    assert_eq!(rules["foreign-cpu"].as_u64(), Some(invocations), "{rules}");
}

#[test]
fn a_neighbour_that_writes_to_the_disk_is_seen() {
    let place = place();
    if fs::read_to_string("/proc/vmstat").is_ok_and(|text| !text.contains("pgpgout")) {
        skip(Lack::Kernel("disk counters in /proc/vmstat"));
        return;
    }
    let write = "while :; do dd if=/dev/zero of=big bs=1M count=32 conv=fsync; done";
    let neighbour = BusyShell::new(write, &place.cwd());
    place.run(SIEVE).unwrap().exits(0);
    drop(neighbour);
    let (rules, _) = found(&place);
    let of_disk = ["foreign-io", "io-pressure", "foreign-cpu"];
    assert!(of_disk.iter().any(|rule| rules[rule].as_u64() > Some(0)), "{rules}");
}

/// A group of version 1 or 2 with a fifth of a CPU; None if none can be made.
struct Quota(PathBuf);

impl Quota {
    fn new() -> Option<Self> {
        let name = format!("plumb-test-{}", std::process::id());
        let one = Path::new("/sys/fs/cgroup/cpu").join(&name);
        let two = Path::new("/sys/fs/cgroup").join(&name);
        for (folder, file, quota) in
            [(one, "cpu.cfs_quota_us", "20000"), (two, "cpu.max", "20000 100000")]
        {
            if fs::create_dir(&folder).is_ok() {
                let group = Self(folder);
                if fs::write(group.0.join(file), quota).is_ok() {
                    return Some(group);
                }
            }
        }
        None
    }
}

impl Drop for Quota {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}

#[test]
fn a_quota_that_holds_plumb_up_is_found() {
    if !is_root() {
        skip(Lack::Root);
        return;
    }
    let Some(quota) = Quota::new() else { return skip(Lack::Kernel("cgroups")) };
    let place = place();
    let inside = format!("echo $$ > {}/cgroup.procs && exec \"$@\"", quota.0.display());
    let mut command = place.program("sh");
    command.args(["-c", &inside, "sh"]).arg(place.binary()).args(SIEVE.split(' '));
    ran(&mut command).unwrap().exits(0);
    let (rules, invocations) = found(&place);
    assert_eq!(rules["throttled"].as_u64(), Some(invocations), "{rules}");
}

#[test]
fn what_was_disturbed_is_replaced_where_asked() {
    let place = place();
    let burn = "while :; do :; done";
    let neighbours: Vec<_> = (0..3).map(|_| BusyShell::new(burn, &place.cwd())).collect();
    let options = "--on-interference retry --budget 8s";
    place.run(&format!("{SIEVE} {options}")).unwrap();
    drop(neighbours);
    let document = last(&place);
    let interference = &document["interference"];
    assert_eq!(interference["on_interference"], "retry");
    assert!(interference["excluded"].as_u64() >= Some(5), "{interference}");
    assert_eq!(interference["excluded"], interference["disturbed"], "{interference}");
}

#[test]
fn what_monitors_counted_is_shown_by_point() {
    let place = place();
    exec(&place, "-n 3 -q --monitor psi=50", &["sleep 0.05", "sleep 0.1"]).exits(0);
    let shown = place.run("show --monitors").unwrap().exits(0);
    let shown = shown.shows(&["sleep 0.05 · ", "worker.threads", "stat.procs_running", "median"]);
    assert!(!shown.stdout.contains("meminfo.MemFree"));
    place.run("show --monitors --all").unwrap().exits(0).shows(&["meminfo.MemFree", "kB"]);
    let document = parsed(&place.run("show --monitors --json").unwrap().exits(0));
    assert_eq!(document["schema"], "plumb.counters/1");
    let counters = document["points"][1]["counters"].as_array().unwrap();
    let faults = counters.iter().find(|counter| counter["counter"] == "vmstat.pgfault").unwrap();
    assert!(faults["median"].as_f64().unwrap() > 100.0, "{faults}");
    let sql = "SELECT count(*) FROM counters WHERE counter = 'stat.procs_running' AND rate > 0";
    let counted = place.program("sqlite3").arg(place.store()).arg(sql).output().unwrap();
    assert_ne!(String::from_utf8(counted.stdout).unwrap().trim(), "0");
}

#[test]
fn without_monitors_nothing_is_read_and_nothing_is_found() {
    let place = place();
    exec(&place, "-n 3 -q --monitor none", &["true"]).exits(0);
    let (rules, _) = found(&place);
    assert_eq!(rules, serde_json::json!({}));
    place.run("show --monitors").unwrap().exits(3).says(&["no monitor ran", "--monitor none"]);
}

#[test]
fn monitors_have_manuals_and_names_that_are_checked() {
    let place = place();
    place.run("explain monitor.psi").unwrap().exits(0).shows(&["# monitor.psi", "Pitfalls"]);
    place.run("explain monitor.pis").unwrap().exits(2).says(&["plumb explain monitor.psi"]);
    let wrong = |options: &str, words: &[&str]| {
        place.run(&format!("exec --no-lock {options} true")).unwrap().exits(2).says(words);
    };
    wrong("--monitor sta", &["no monitor is called `sta`", "known monitors: stat, psi"]);
    wrong("--monitor stat=1000", &["`1000` is not a rate from 0.1 to 100"]);
}

#[test]
fn the_doctor_says_what_monitors_cost() {
    let place = place();
    let run = "doctor --monitors --for 1s --no-lock -q --json";
    let document = parsed(&place.run(run).unwrap().exits(0));
    assert_eq!(document["schema"], "plumb.monitors/1");
    let monitors = document["monitors"].as_array().unwrap();
    let stat = monitors.iter().find(|monitor| monitor["name"] == "stat").unwrap();
    assert!((1.0..5000.0).contains(&stat["read_us"].as_f64().unwrap()), "{stat}");
    let share = document["cpu_share"].as_f64().unwrap();
    assert!(share > 0.0 && share < 0.2, "{share}");
    assert!(document["effect"]["pairs"].as_u64() > Some(0), "{document}");
}
