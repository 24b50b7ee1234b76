//! The machine is prepared, and as it was after: whatever is killed, whoever else prepares.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use plumb_workload_testing::{Lack, skip};

use crate::common::knobs::{
    KnobKill, KnobOwner, RESTORED_WITHIN, is_root, kill_both, kill_prepared,
};
use crate::common::processes::{children, signal, wait_for};
use crate::common::{ProgramOutput, TestEnvironment, ran};
use crate::machine_tree::MachineTree;
use crate::{PATIENCE, last, parsed, place, results};

/// Kills in the ordinary tests; `cargo xtask soak` makes many more.
const KILLS: u64 = 8;

#[test]
fn kill_9_of_plumb_keeper_or_both_brings_the_exact_old_values_back() {
    let seed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() * KILLS;
    let restored = (seed..seed + KILLS).filter_map(|number| {
        let moment = KnobKill::of(number);
        kill_prepared(&place(), moment).unwrap_or_else(|why| panic!("{moment:?}: {why}"))
    });
    let restored: Vec<_> = restored.collect();
    assert!(restored.len() > 4, "most runs had ended: {restored:?}");
    assert!(restored.iter().filter(|kill| kill.changed > 0).count() > 2, "{restored:?}");
    let soon = restored.iter().filter(|kill| kill.after < RESTORED_WITHIN);
    assert!(2 * soon.count() > restored.len(), "{restored:?}");
}

/// A run that has set swappiness to 10 and waits to be told to end.
fn holding(tree: &MachineTree<'_>) -> std::process::Child {
    let mut plumb = tree.plumb("exec -n 1 --no-lock -q --set sysctl.vm.swappiness=10");
    plumb.args(["--shell", crate::WAIT]).stdout(Stdio::null()).stderr(Stdio::null());
    let plumb = plumb.spawn().unwrap();
    let set = || (tree.text("proc/sys/vm/swappiness") == "10").then_some(());
    wait_for(PATIENCE, set).unwrap();
    plumb
}

#[test]
fn what_was_prepared_is_told_with_the_run() {
    let place = place();
    let tree = MachineTree::new(&place);
    let set = "--set thp=always --set sysctl.vm.swappiness=10@round --set cooldown=1ms";
    let run = format!("run cpu.sieve --min-invocations 2 --no-lock -q {set}");
    tree.run(&run).exits(0).shows(&["prepared", "thp madvise → always", "swappiness 60 → 10"]);
    assert_eq!(tree.text("proc/sys/vm/swappiness"), "60\n");
    assert_eq!(tree.text("sys/kernel/mm/transparent_hugepage/enabled"), "madvise");
    let document = last(&place);
    let made = document["preparations"].as_array().unwrap();
    let thp = made.iter().find(|setting| setting["setting"] == "thp").unwrap();
    assert_eq!((&thp["was"], &thp["became"]), (&"madvise".into(), &"always".into()));
    assert!(thp["restored_ns"].as_u64() > thp["at_ns"].as_u64(), "{thp}");
    let rounds = made.iter().filter(|setting| setting["setting"] == "sysctl.vm.swappiness");
    assert!(rounds.count() >= 2, "{made:?}");
    let facts = &document["targets"][0]["environment"]["facts"];
    assert!(facts["prepared"].as_str().unwrap().contains("thp=always"), "{facts}");
}

#[test]
fn a_run_without_knobs_says_nothing_of_preparing() {
    let place = place();
    let ran = place.run("run cpu.sieve --min-invocations 1 --no-lock -q").unwrap().exits(0);
    assert!(!ran.stdout.contains("prepared"), "{}", ran.stdout);
    let document = last(&place);
    assert_eq!(document["targets"][0]["environment"]["facts"]["prepared"], "nothing");
    // Chance alone: the length of the environment.
    assert_eq!(document["preparations"].as_array().unwrap().len(), 1);
    place.run("run cpu.sieve --min-invocations 1 --no-lock -q --prepare none").unwrap().exits(0);
    assert!(last(&place)["preparations"].as_array().unwrap().is_empty());
}

#[test]
fn what_is_named_and_cannot_be_had_ends_before_anything_is_measured() {
    let place = place();
    let tree = MachineTree::new(&place);
    let refused = |set: &str, code: i32, words: &[&str]| {
        let run = format!("run cpu.sieve --min-invocations 1 --no-lock -q --set {set}");
        tree.run(&run).exits(code).says(words);
    };
    refused("governor=performance", 3, &["--set governor=performance is unsupported", "cpufreq"]);
    refused("stop-service=x@round", 3, &["systemd is not running"]);
    refused("thq=never", 2, &["no knob is called `thq`", "did you mean `thp`?", "plumb tune"]);
    refused("thp=seldom", 2, &["always, madvise, never"]);
    refused("thp", 2, &["needs a value"]);
    refused("thp=never --set thp=always", 2, &["conflict", "plumb ab --set"]);
    refused("cpu.sieve", 2, &["is not a preparation"]);
    place.run("show").unwrap().exits(2);
}

#[test]
fn a_preset_skips_what_this_machine_lacks_and_says_so() {
    let place = place();
    let tree = MachineTree::new(&place);
    let run = "run cpu.sieve --min-invocations 1 --no-lock -q --prepare lab --set cooldown=1ms";
    tree.run(run).exits(0);
    let words = tree.run("show --in-words").exits(0).stdout;
    let log = place.run("store info").unwrap().exits(0);
    assert!(!words.contains("governor=performance"), "{words}{}", log.stdout);
    let made = last(&place);
    let made = made["preparations"].as_array().unwrap();
    assert!(made.iter().all(|setting| setting["setting"] != "governor"), "{made:?}");
}

#[test]
fn another_plumb_is_refused_a_knob_that_one_holds() {
    let place = place();
    let tree = MachineTree::new(&place);
    let mut first = holding(&tree);
    let same = "exec -n 1 --no-lock -q --set sysctl.vm.swappiness=20 true";
    let holder = format!("(pid {})", first.id());
    tree.run(same).exits(3).says(&["is changed by another plumb", &holder, "--no-lock"]);
    // By a preset it is skipped, and other knobs are free.
    tree.run("exec -n 1 --no-lock -q --set thp=never true").exits(0);
    tree.run("tune").exits(0).shows(&["/proc/sys/vm/swappiness", "60", "10", &holder]);
    assert_eq!(tree.text("proc/sys/vm/swappiness"), "10");
    place.write("go", "").unwrap();
    first.wait().unwrap();
    assert_eq!(tree.text("proc/sys/vm/swappiness"), "60\n");
    tree.run(same).exits(0);
}

#[test]
fn what_somebody_else_changes_meanwhile_stays() {
    let place = place();
    let tree = MachineTree::new(&place);
    let mut first = holding(&tree);
    tree.put("proc/sys/vm/swappiness", "33\n");
    place.write("go", "").unwrap();
    first.wait().unwrap();
    assert_eq!(tree.text("proc/sys/vm/swappiness"), "33\n");
}

#[test]
fn values_of_another_boot_are_not_restored() {
    let place = place();
    let tree = MachineTree::new(&place);
    let mut first = holding(&tree);
    let keeper = children(first.id(), "keeper")[0];
    kill_both(&mut first, keeper).unwrap();
    tree.put("proc/sys/kernel/random/boot_id", "another\n");
    tree.run("tune --restore").exits(0).shows(&["another boot"]);
    assert_eq!(tree.text("proc/sys/vm/swappiness"), "10");
    tree.run("tune --restore").exits(0).shows(&["nothing to restore"]);
}

/// A plug-in whose preparation is a file; it notes what it is told.
const TUNES: &str = r#"#!/usr/bin/env -S python3 -ES
import json, os, sys
here = os.path.dirname(os.path.abspath(__file__))
tuned = os.path.join(here, "tuned")
prepared = None
def say(request, **reply):
    print(json.dumps({"id": request["id"], **reply}), flush=True)
for line in sys.stdin:
    request = json.loads(line)
    kind = request["type"]
    if kind == "hello":
        say(request, type="hello", protocol=1, max_line=1 << 20)
    elif kind == "describe":
        size = {"name": "size", "type": "integer", "default": 1}
        say(request, type="description", description={"id": "test.tunes", "version": 1, "summary": "tunes",
            "roles": ["preparation"], "parameters": [size], "metrics": []})
    elif kind == "prepare":
        prepared = request
        with open(tuned, "w") as file:
            file.write(str(request["params"]["size"]))
        say(request, type="ready")
    elif kind == "clean":
        size = str((prepared or request)["params"]["size"])
        with open(os.path.join(here, "cleaned"), "a") as file:
            file.write(("own " if prepared else "fresh ") + size + "\n")
        if os.path.exists(tuned) and open(tuned).read() == size:
            os.remove(tuned)
        say(request, type="done")
    elif kind == "stop":
        say(request, type="done")
        sys.exit(0)
"#;

/// Kills somebody while a plug-in's preparation holds; what its `clean` was told once plumb was started
/// again, and what that said.
fn killed_while_a_plugin_holds(
    kill: impl Fn(&mut std::process::Child, u32),
) -> (String, ProgramOutput) {
    let place = place();
    let tree = MachineTree::new(&place);
    let folder = place.cwd().join("tunes");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("plumb-plugin.toml"), "exec = 'program'\n").unwrap();
    fs::write(folder.join("program"), TUNES).unwrap();
    let may_run = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(folder.join("program"), may_run).unwrap();
    let set = "--set test.tunes:size=7 --set sysctl.vm.swappiness=10";
    let mut plumb = tree.plumb(&format!("exec -n 1 --no-lock -q {set}"));
    plumb.env("PLUMB_PLUGIN_PATH", place.cwd());
    plumb.args(["--shell", crate::WAIT]).stdout(Stdio::null()).stderr(Stdio::null());
    let mut plumb = plumb.spawn().unwrap();
    wait_for(PATIENCE, || place.cwd().join("started").exists().then_some(())).unwrap();
    assert_eq!(fs::read_to_string(folder.join("tuned")).unwrap(), "7");
    tree.run("tune").exits(0).shows(&["plug-in test.tunes:size=7", "by a plumb that"]);
    let keeper = children(plumb.id(), "keeper")[0];
    kill(&mut plumb, keeper);
    plumb.wait().unwrap();
    // The keeper may be at it just now.
    let alone = || {
        children(keeper, "").is_empty() && !PathBuf::from(format!("/proc/{keeper}/fd/0")).exists()
    };
    wait_for(PATIENCE, || alone().then_some(())).unwrap();
    let next = tree.run("tune --restore");
    assert!(!folder.join("tuned").exists(), "{}{}", next.stdout, next.stderr);
    assert_eq!(tree.text("proc/sys/vm/swappiness"), "60\n");
    tree.run("tune --restore").exits(0).shows(&["nothing to restore"]);
    (fs::read_to_string(folder.join("cleaned")).unwrap(), next)
}

#[test]
fn kill_9_of_plumb_has_the_keeper_ask_a_plugin_to_undo() {
    let (cleaned, next) = killed_while_a_plugin_holds(|plumb, _| plumb.kill().unwrap());
    assert_eq!(cleaned, "fresh 7\n");
    next.shows(&["nothing to restore"]);
}

#[test]
fn kill_9_of_the_keeper_has_plumb_ask_a_plugin_to_undo() {
    let kill = |_: &mut std::process::Child, keeper| signal("KILL", keeper).unwrap();
    let (cleaned, next) = killed_while_a_plugin_holds(kill);
    assert_eq!(cleaned, "fresh 7\n");
    next.shows(&["nothing to restore"]);
}

#[test]
fn kill_9_of_both_has_whoever_comes_next_ask_a_plugin_to_undo() {
    let (cleaned, next) = killed_while_a_plugin_holds(|plumb, keeper| {
        kill_both(plumb, keeper).unwrap();
    });
    assert_eq!(cleaned, "fresh 7\n");
    next.shows(&["plug-in test.tunes:size=7 undid its change"]);
}

#[test]
fn tune_shows_every_knob_with_what_presets_would_make_of_it() {
    let place = place();
    let tree = MachineTree::new(&place);
    tree.put("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n");
    let tune = tree.run("tune").exits(0);
    tune.shows(&["governor", "powersave", "performance", "turbo", "unsupported", "drop-caches"]);
    let document = parsed(&tree.run("tune --json").exits(0));
    assert_eq!(document["schema"], "plumb.tune/1");
    let knobs = document["knobs"].as_array().unwrap();
    let governor = knobs.iter().find(|knob| knob["name"] == "governor").unwrap();
    assert_eq!((&governor["now"], &governor["lab"]), (&"powersave".into(), &"performance".into()));
    let turbo = knobs.iter().find(|knob| knob["name"] == "turbo").unwrap();
    assert!(turbo["unsupported"].as_str().unwrap().contains("can't switch"), "{turbo}");
    assert!(document["changes"].as_array().unwrap().is_empty());
}

#[test]
fn processes_are_started_as_they_should_be() {
    let place = place();
    let set = "--set nice=7 --set sched=batch --set pin=0 --set env-size=100 --set aslr=off";
    let script = "awk '{print $19}' /proc/self/stat > nice; \
                  awk '{print $41}' /proc/self/stat > class; \
                  grep Cpus_allowed_list /proc/self/status > cpus; \
                  printf %s \"$PLUMB_PADDING\" | wc -c > padding; cat /proc/self/personality > layout";
    let mut plumb = place.plumb(&format!("exec -n 1 --no-lock -q {set} --shell"));
    ran(plumb.arg(script)).unwrap().exits(0).shows(&["layout-fixed"]);
    let said = |name: &str| fs::read_to_string(place.cwd().join(name)).unwrap().trim().to_owned();
    assert_eq!(
        (said("nice"), said("class"), said("padding")),
        ("7".into(), "3".into(), "100".into())
    );
    assert!(said("cpus").ends_with("\t0"), "{}", said("cpus"));
    assert_eq!(said("layout"), "00040000");
}

#[test]
fn a_group_of_cpus_holds_the_command_and_is_gone_after() {
    let place = place();
    let mut plumb = place.plumb("exec -n 1 --no-lock -q --set cpuset=0 --shell");
    let script = "grep Cpus_allowed_list /proc/self/status > cpus; cat /proc/self/cgroup > groups";
    let done = ran(plumb.arg(script)).unwrap();
    if done.code == Some(3) {
        // Without root, or without such groups here.
        done.says(&["--set cpuset=0 is unsupported"]);
        skip(if is_root() { Lack::Kernel("groups of CPUs") } else { Lack::Root });
        return;
    }
    done.exits(0);
    let said = |name: &str| fs::read_to_string(place.cwd().join(name)).unwrap();
    assert!(said("cpus").trim().ends_with("\t0"), "{}", said("cpus"));
    let groups = said("groups");
    let group = groups.lines().find_map(|line| Some(line.split_once("/plumb-")?.1.to_owned()));
    let group = format!("plumb-{}", group.unwrap());
    for folder in ["/sys/fs/cgroup", "/sys/fs/cgroup/cpuset"] {
        assert!(!PathBuf::from(folder).join(&group).exists(), "{folder}/{group}");
    }
}

#[test]
fn limits_of_cpu_time_and_memory_hold_and_their_groups_are_gone_after() {
    let place = place();
    let set = "--set cpu-quota=20% --set memory-limit=64MiB";
    let mut plumb = place.plumb(&format!("exec -n 1 --no-lock -q --json {set} --shell"));
    // At a fifth of a CPU, the loop takes about five times its CPU time.
    let script =
        "cat /proc/self/cgroup > groups; i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done";
    let done = ran(plumb.arg(script)).unwrap();
    if done.code == Some(3) {
        done.says(&["is unsupported"]);
        skip(if is_root() { Lack::Kernel("groups of CPU time") } else { Lack::Root });
        return;
    }
    let document = parsed(&done.exits(0));
    let estimate = |metric: &str| results(&document, metric)[0]["estimate"].as_f64().unwrap();
    assert!(estimate("wall") > 2.5 * estimate("cpu"), "{document}");
    let groups = fs::read_to_string(place.cwd().join("groups")).unwrap();
    let names = groups.lines().filter_map(|line| Some(line.split_once("/plumb-")?.1));
    let names: Vec<String> = names.map(|number| format!("plumb-{number}")).collect();
    assert!(!names.is_empty(), "{groups}");
    for folder in ["/sys/fs/cgroup", "/sys/fs/cgroup/cpu", "/sys/fs/cgroup/memory"] {
        for name in &names {
            assert!(!PathBuf::from(folder).join(name).exists(), "{folder}/{name}");
        }
    }
    let has_swap = fs::read_to_string("/proc/swaps").is_ok_and(|swaps| swaps.lines().count() > 1);
    if !has_swap {
        let mut plumb = place.plumb(&format!("exec -n 1 --no-lock -q {set} --shell"));
        ran(plumb.arg("head -c 200M /dev/zero | tail -n 1 > /dev/null")).unwrap().exits(4);
    }
}

#[test]
fn the_environment_is_longer_by_chance_and_the_same_again_with_the_seed() {
    let place = place();
    let lengths = |seed: u32| {
        let _ = fs::remove_file(place.cwd().join("lengths"));
        let script = "printf '%s ' ${#PLUMB_PADDING} >> lengths";
        let mut plumb = place.plumb(&format!("exec -n 3 --no-lock -q --seed {seed} --shell"));
        ran(plumb.arg(script)).unwrap().exits(0);
        let text = fs::read_to_string(place.cwd().join("lengths")).unwrap();
        // How many runs warm up depends on how long the first one takes; these are more in any case.
        text.split_whitespace().take(4).map(str::to_owned).collect::<Vec<_>>()
    };
    let first = lengths(1);
    assert_eq!(first.len(), 4, "{first:?}");
    assert_eq!(first, lengths(1));
    assert_ne!(first, lengths(2));
}

#[test]
fn values_of_a_knob_are_compared_by_mean_and_spread() {
    let place = place();
    let tree = MachineTree::new(&place);
    let swappiness = tree.root.join("proc/sys/vm/swappiness");
    let command = format!("sleep 0.0$(cat {})", swappiness.display());
    let set = "--set sysctl.vm.swappiness=10 --set sysctl.vm.swappiness=40 --set thp=never";
    let mut ab = tree.plumb(&format!("ab --no-lock -q --on-interference keep {set} --shell"));
    ran(ab.arg(&command)).unwrap().exits(0).shows(&[
        "Compared with sysctl.vm.swappiness=10",
        "sysctl.vm.swappiness=40 slower",
        "processes differ",
        "prepared: thp madvise → never",
    ]);
    assert_eq!(tree.text("proc/sys/vm/swappiness"), "60\n");
    let document = last(&place);
    let against = &crate::results(&document, "wall")[1]["against_first"][0];
    assert!(against["ratio"].as_f64() > Some(1.5), "{against}");
    assert!(against["spread_between"]["ratio"].as_f64() > Some(0.0), "{against}");
    assert!(
        document["flags"]
            .as_array()
            .unwrap()
            .iter()
            .all(|flag| flag["flag"] != "environment-changed")
    );
    // Its sides are two values of a knob, which no history mixes.
    let history = ran(place.plumb("history").arg(&command)).unwrap();
    assert_ne!(history.code, Some(0), "{}", history.stdout);
    // One side without two values of one knob is not a comparison.
    for set in ["", "--set thp=never", "--set thp=never --set thp=always --set nice=1 --set nice=2"]
    {
        let alone = tree.run(&format!("ab --no-lock -q {set} cpu.sieve"));
        alone.exits(2).says(&["two sides, or one side at two values of a knob"]);
    }
}

#[test]
fn a_suite_prepares_and_the_user_wins() {
    let place = place();
    let tree = MachineTree::new(&place);
    let point = "[[point]]\nworkload = 'cpu.sieve'";
    let text =
        format!("name = 'x'\nprepare = 'none'\nset = ['thp=never', 'cooldown=1ms@round']\n{point}");
    place.write("x.toml", &text).unwrap();
    tree.run("run x.toml --min-invocations 1 --no-lock -q").exits(0);
    let settings = || {
        let document = last(&place);
        let made = document["preparations"].as_array().unwrap().iter();
        let made = made.map(|setting| format!("{}={}", setting["setting"], setting["became"]));
        made.collect::<Vec<_>>().join(" ").replace('"', "")
    };
    assert!(settings().starts_with("thp=never cooldown="), "{}", settings());
    // The user wins over the suite. A file of a tree is not a list any more once it was written.
    tree.put("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
    tree.run("run x.toml --min-invocations 1 --no-lock -q --set thp=always").exits(0);
    assert!(settings().contains("thp=always"), "{}", settings());
    place.write("y.toml", &text.replace("thp=never", "thq=never")).unwrap();
    tree.run("run y.toml --no-lock").exits(2).says(&["no knob is called `thq`"]);
}

/// A service manager on a tree: each unit that is a file runs.
struct Units<'p> {
    tree: MachineTree<'p>,
    bin: PathBuf,
}

impl<'p> Units<'p> {
    const SYSTEMCTL: &'static str = r#"#!/bin/sh
unit="$(dirname "$0")/units/$4"
case "$2" in
  is-active) test -e "$unit" ;;
  start) : > "$unit" ;;
  stop) test "$4" != stuck.service && rm "$unit" ;;
  *) exit 64 ;;
esac
"#;

    fn new(place: &'p TestEnvironment, units: &[&str]) -> Self {
        let tree = MachineTree::new(place);
        let bin = place.root().join("bin");
        fs::create_dir_all(bin.join("units")).unwrap();
        let systemctl = bin.join("systemctl");
        fs::write(&systemctl, Self::SYSTEMCTL).unwrap();
        let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(systemctl, executable).unwrap();
        units.iter().for_each(|unit| fs::write(bin.join("units").join(unit), "").unwrap());
        fs::create_dir_all(tree.root.join("run/systemd/system")).unwrap();
        Self { tree, bin }
    }

    fn plumb(&self, arguments: &str) -> std::process::Command {
        let mut plumb = self.tree.plumb(arguments);
        let path = std::env::var("PATH").unwrap_or_default();
        plumb.env("PATH", format!("{}:{path}", self.bin.display()));
        plumb
    }

    /// Those that run.
    fn running(&self) -> Vec<String> {
        let units = fs::read_dir(self.bin.join("units")).unwrap().flatten();
        let mut names: Vec<_> = units.map(|unit| unit.file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

#[test]
fn units_that_ran_are_stopped_and_run_again_after() {
    let place = place();
    let all = ["apt-daily.timer", "fstrim.timer", "noisy.service", "stuck.service"];
    let units = Units::new(&place, &all);
    let run = "exec -n 1 --no-lock -q --set timers=off --set stop-service=noisy.service --shell";
    let script = format!("ls {} > during", units.bin.join("units").display());
    let done = ran(units.plumb(run).arg(script)).unwrap();
    if !is_root() {
        done.exits(3).says(&["--set timers=off is unsupported", "root"]);
        skip(Lack::Root);
        return;
    }
    done.exits(0).shows(&["timers apt-daily.timer on, fstrim.timer on → off", "noisy.service on"]);
    assert_eq!(fs::read_to_string(place.cwd().join("during")).unwrap(), "stuck.service\n");
    assert_eq!(units.running(), all);

    // Killed, the keeper starts them again; what did not run is not started.
    let mut killed = units.plumb(&run.replace("noisy", "absent"));
    killed.args([crate::WAIT]).stdout(Stdio::null()).stderr(Stdio::null());
    let mut killed = killed.spawn().unwrap();
    wait_for(PATIENCE, || (units.running().len() == 2).then_some(())).unwrap();
    killed.kill().unwrap();
    killed.wait().unwrap();
    wait_for(PATIENCE, || (units.running() == all).then_some(())).unwrap();

    let stuck = units.plumb("run cpu.sieve --no-lock -q --set stop-service=stuck.service").output();
    let said = String::from_utf8(stuck.unwrap().stderr).unwrap();
    assert!(said.contains("systemctl stop stuck.service failed"), "{said}");
}

#[test]
fn swap_is_reset_and_has_its_priority_again() {
    let place = place();
    let area = place.root().join("swap");
    let run = "run cpu.sieve --min-invocations 1 --no-lock -q --set swap-reset";
    let swaps = || fs::read_to_string("/proc/swaps").unwrap_or_default();
    let make = "dd if=/dev/zero of=\"$0\" bs=1M count=8 && chmod 600 \"$0\" && \
                mkswap \"$0\" && swapon -p 7 \"$0\"";
    let made = place.program("sh").args(["-c", make]).arg(&area).output().unwrap();
    if !made.status.success() {
        // Not root, or nothing here that may swap: it is said, and nothing is measured.
        place.run(run).unwrap().exits(3).says(&["--set swap-reset is unsupported"]);
        skip(if is_root() { Lack::Kernel("swap on this filesystem") } else { Lack::Root });
        return;
    }
    let before = swaps();
    let reset = place.run(run);
    let after = swaps();
    place.program("swapoff").arg(&area).status().unwrap();
    reset.unwrap().exits(0).shows(&["prepared: ", "areas turned off and on again"]);
    let line = |of: &str| of.lines().find(|line| line.contains("/swap ")).unwrap().to_owned();
    let before = line(&before);
    let after = line(&after);
    let priority = |of: &str| of.split_whitespace().last().unwrap().to_owned();
    assert_eq!((priority(&before), priority(&after)), ("7".into(), "7".into()), "{after}");
}

#[test]
fn a_moment_is_of_every_kind() {
    let moments: Vec<KnobKill> = (0..6).map(KnobKill::of).collect();
    assert!(moments.iter().any(|moment| moment.machine == KnobOwner::Tree));
    assert!(moments.iter().all(|moment| moment.delay.as_millis() < 700));
}

/// The energy counters of a machine of two packages, and of the platform that contains them, while they count.
struct EnergyCounters {
    ends: Arc<AtomicBool>,
    writer: Option<JoinHandle<()>>,
}

impl EnergyCounters {
    /// Each package uses so many watts, the platform three times as much.
    fn counting(tree: &MachineTree<'_>, watts: u64) -> Self {
        let zones = [
            ("intel-rapl:0", "package-0", watts),
            ("intel-rapl:1", "package-1", watts),
            ("intel-rapl:2", "psys", 3 * watts),
        ];
        let mut files = Vec::new();
        for (folder, name, watts) in zones {
            tree.put_zone(folder, name);
            let path = tree.root.join(format!("sys/class/powercap/{folder}/energy_uj"));
            files.push((OpenOptions::new().write(true).open(path).unwrap(), watts));
        }
        let ends = Arc::new(AtomicBool::new(false));
        let end_seen = Arc::clone(&ends);
        let writer = thread::spawn(move || {
            let begun = Instant::now();
            while !end_seen.load(Ordering::Relaxed) {
                let elapsed_us = u64::try_from(begun.elapsed().as_micros()).unwrap();
                for (file, watts) in &files {
                    // Always as many digits: a reader never sees a part of a number.
                    let text = format!("{:020}\n", 1 + watts * elapsed_us);
                    file.write_all_at(text.as_bytes(), 0).unwrap();
                }
                thread::sleep(Duration::from_millis(1));
            }
        });
        Self { ends, writer: Some(writer) }
    }
}

impl Drop for EnergyCounters {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        self.writer.take().map(JoinHandle::join);
    }
}

impl MachineTree<'_> {
    /// An energy counter that stands still.
    fn put_zone(&self, folder: &str, name: &str) {
        let path = format!("sys/class/powercap/{folder}");
        self.put(&format!("{path}/name"), name);
        self.put(&format!("{path}/max_energy_range_uj"), "262143328850");
        self.put(&format!("{path}/energy_uj"), "0\n");
    }
}

#[test]
fn energy_is_that_of_the_packages_with_and_without_the_idle_power() {
    let place = place();
    let tree = MachineTree::new(&place);
    let counters = EnergyCounters::counting(&tree, 10);
    let ran = tree.run("exec -n 7 --set energy=500ms --no-lock --json -- sleep 0.1");
    drop(counters);
    let document = parsed(&ran.exits(0));
    let energy = &document["results"][0]["energy"];
    let number = |of: &str| energy[of]["estimate"].as_f64().unwrap_or_else(|| panic!("{energy}"));
    assert!((18.0..22.0).contains(&number("power_w")), "{energy}");
    assert!((18.0..22.0).contains(&energy["idle_w"].as_f64().unwrap()), "{energy}");
    // 20 W for about 100 ms; all of it is idle power.
    assert!((1.8..4.0).contains(&number("per_work")), "{energy}");
    assert!(number("net_per_work").abs() < 0.4, "{energy}");
    assert_eq!(energy["unit"], "J");
    tree.run("show last").exits(0).shows(&["energy: ", " W when idle; ", "without the idle power"]);
}

#[test]
fn without_energy_counters_that_move_energy_is_unsupported() {
    let place = place();
    let tree = MachineTree::new(&place);
    tree.run("run cpu.sieve --energy --no-lock")
        .exits(3)
        .says(&["--energy is unsupported: this machine has no energy counters (no RAPL)"]);
    tree.put_zone("intel-rapl:0", "package-0");
    tree.run("exec -n 1 --energy --no-lock -- true")
        .exits(3)
        .says(&["the energy counters never move: there is no sensor"]);
    tree.run("exec -n 1 --set energy=1ms --no-lock -- true").exits(2).says(&["at least 100 ms"]);
}

#[test]
fn a_quota_of_one_side_of_a_comparison_limits_that_side() {
    if !is_root() {
        return skip(Lack::Root);
    }
    let place = place();
    // 40 ms of CPU time: two periods under a quota of 20 %.
    let loops = "i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done";
    let mut plumb = place.marked(
        "ab --no-lock --json --max-pairs 8 --set cpu-quota=20% --set cpu-quota=200% --shell",
    );
    let document = parsed(&ran(plumb.arg(loops)).unwrap().exits(0));
    let sides = document["results"].as_array().unwrap();
    let free = sides.iter().find(|side| side["against_first"][0]["ratio"].is_number()).unwrap();
    let ratio = free["against_first"][0]["ratio"].as_f64().unwrap();
    assert!(ratio < 0.7, "{ratio}: {document}");
}

/// The processes that traced the runs of a command, while strace traces plumb.
fn tracers(options: &[&str]) -> Vec<String> {
    let place = place();
    place.write("look.sh", "grep TracerPid /proc/self/status >> traced\nexit 3\n").unwrap();
    let plumb = place.plumb("");
    let mut strace = place.program("strace");
    strace.args(["-f", "-q", "-o", "/dev/null"]).arg(plumb.get_program());
    strace.args(["exec", "-i", "-n", "2", "-q", "--no-lock"]);
    ran(strace.args(options).arg("sh look.sh")).unwrap().exits(0);
    let document = last(&place);
    assert_eq!(document["failed"].as_array().unwrap().len(), 0, "{document}");
    let seen = fs::read_to_string(place.cwd().join("traced")).unwrap();
    seen.lines().filter_map(|line| line.split_whitespace().nth(1)).map(str::to_owned).collect()
}

#[test]
fn a_tracer_of_plumb_traces_the_workload_unless_it_is_off() {
    let traced = tracers(&[]);
    assert!(!traced.is_empty() && traced.iter().all(|tracer| tracer != "0"), "{traced:?}");
    let untraced = tracers(&["--set", "tracer=off"]);
    assert!(!untraced.is_empty() && untraced.iter().all(|tracer| tracer == "0"), "{untraced:?}");
}
