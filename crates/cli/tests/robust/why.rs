//! What makes a command slow: a cause is named only if it is one.

use crate::common::{ProgramOutput, ran};
use crate::machine_tree::MachineTree;
use crate::{parsed, place};

/// `plumb why` of a shell command, in an environment with these variables. The machine has a name server and no settings that are
/// suspicious, so that only the environment is.
fn why(command: &str, variables: &[(&str, &str)], options: &str) -> ProgramOutput {
    let place = place();
    let tree = MachineTree::new(&place);
    tree.put("etc/resolv.conf", "nameserver 192.0.2.1\n");
    tree.put("sys/kernel/mm/transparent_hugepage/enabled", "[always] madvise never\n");
    let mut plumb = tree.plumb(&format!("why --no-lock --json {options} --shell"));
    ran(plumb.arg(command).envs(variables.iter().copied())).unwrap()
}

#[test]
fn a_variable_that_makes_a_command_slow_is_the_cause() {
    // It waits only if the variable of the loader is there; the one of the allocator does nothing.
    let command = "if [ \"$LD_LIBRARY_PATH\" ]; then sleep 0.06; else sleep 0.01; fi";
    let variables =
        [("LD_LIBRARY_PATH", "/nowhere"), ("MALLOC_ARENA_MAX", "4"), ("LC_ALL", "C.UTF-8")];
    let document = parsed(&why(command, &variables, "").exits(0));
    assert_eq!(document["outcome"], "causes", "{document}");
    let candidates = document["candidates"].as_array().unwrap();
    let of = |cause: &str| candidates.iter().find(|one| one["cause"] == cause).unwrap();
    assert_eq!(of("loader")["outcome"], "cause", "{document}");
    assert_eq!(of("loader")["way"], "unset-env.LD_LIBRARY_PATH");
    assert!(of("loader")["ratio"]["high"].as_f64().unwrap() < 0.6, "{document}");
    assert_ne!(of("allocator")["outcome"], "cause", "{document}");
    // Many healthy machines have a locale.
    assert_eq!(of("locale")["outcome"], "not-needed", "{document}");
    let answer = document["answer"][0].as_str().unwrap();
    assert!(answer.starts_with("Cause: environment variables of the dynamic loader."), "{answer}");
    // What is no cause is tried again without it.
    let removed = &of("allocator")["after_causes"]["removed"];
    assert_eq!(*removed, serde_json::json!(["loader"]), "{document}");
}

#[test]
fn what_many_healthy_machines_have_too_is_tried_last() {
    let command = "if [ \"$LC_ALL\" = C ]; then sleep 0.01; else sleep 0.06; fi";
    let document = parsed(&why(command, &[("LC_ALL", "C.UTF-8")], "").exits(0));
    let candidates = document["candidates"].as_array().unwrap();
    let locale = candidates.iter().find(|one| one["cause"] == "locale").unwrap();
    assert_eq!((&locale["outcome"], &locale["way"]), (&"cause".into(), &"set-env.LC_ALL=C".into()));
    // A name server cannot be the cause of so short a time.
    let servers = candidates.iter().find(|one| one["cause"] == "name-resolution").unwrap();
    assert_eq!(servers["outcome"], "excluded", "{document}");
}

#[test]
fn a_cause_that_another_one_hides_is_found_once_that_is_removed() {
    // Both waits begin at the same time, so the shorter one shows only if the longer one is gone.
    let command = "[ \"$LD_LIBRARY_PATH\" ] && sleep 0.12 & [ \"$PERL5OPT\" ] && sleep 0.06 & sleep 0.01; wait";
    let variables = [("LD_LIBRARY_PATH", "/nowhere"), ("PERL5OPT", "-w")];
    let document = parsed(&why(command, &variables, "").exits(0));
    let candidates = document["candidates"].as_array().unwrap();
    let of = |cause: &str| candidates.iter().find(|one| one["cause"] == cause).unwrap();
    assert_eq!(of("loader")["outcome"], "cause", "{document}");
    assert_ne!(of("runtime")["outcome"], "cause", "{document}");
    let after = &of("runtime")["after_causes"];
    assert_eq!(after["outcome"], "cause", "{document}");
    assert_eq!(after["removed"], serde_json::json!(["loader"]), "{document}");
    assert!(after["ratio"]["high"].as_f64().unwrap() < 0.8, "{document}");
}

#[test]
fn parameters_of_a_path_that_make_it_slow_are_named_together() {
    let place = place();
    let why = "why --no-lock --json network.rr:path=veth,rtt=1ms,up=1MB/s,down=1MB/s,request=9000";
    let document = parsed(&place.run(why).unwrap().exits(0));
    let candidates = document["candidates"].as_array().unwrap();
    let of = |cause: &str| candidates.iter().find(|one| one["cause"] == cause).unwrap();
    assert_eq!(of("bandwidth")["outcome"], "cause", "{document}");
    assert_eq!(of("bandwidth")["way"], "up=unlimited down=unlimited");
    assert_eq!(of("delay")["outcome"], "not-needed", "nobody can change a distance: {document}");
}

#[test]
fn a_search_since_a_run_needs_that_run_to_be_comparable() {
    let place = place();
    place.run("exec -n 2 --no-lock -q true").unwrap().exits(0);
    let since = "--since last --budget 4s --no-lock --json";
    let document = parsed(&place.run(&format!("why true {since}")).unwrap());
    assert!(document["since"]["result"]["estimate"].as_f64().unwrap() > 0.0, "{document}");
    place
        .run(&format!("why cpu.sieve {since}"))
        .unwrap()
        .exits(2)
        .says(&["has no result of cpu.sieve"]);
    place.run("exec -n 2 --no-lock -q --set nice=1 true").unwrap().exits(0);
    place.run(&format!("why true {since}")).unwrap().exits(2).says(&["was prepared: nice=1"]);
}

#[test]
fn advice_is_a_setting_that_helps_with_its_commands() {
    let place = place();
    // It is slow unless the setting is there.
    let command = "if [ \"$FAST\" ]; then sleep 0.01; else sleep 0.05; fi";
    let options =
        "tune --allow set-env.FAST=1 --allow sched=batch --json --no-lock --shell --advise";
    let document = parsed(&ran(place.marked(options).arg(command)).unwrap().exits(0));
    let settings = document["settings"].as_array().unwrap();
    assert_eq!(settings[0]["setting"], "set-env.FAST=1");
    assert_eq!(settings[0]["helps"], true, "{document}");
    assert_eq!(settings[1]["helps"], false, "{document}");
    assert_eq!(settings[1]["set"], "chrt --batch 0 COMMAND");
    place.run("tune --allow thp=always").unwrap().exits(2).says(&["--advise"]);
    place.run("tune --set thp=always").unwrap().exits(2).says(&["--set needs --advise"]);
    place.run("tune --advise true --allow thq=always").unwrap().exits(2).says(&["`thp`"]);
}

#[test]
fn work_that_fails_without_a_suspected_cause_is_reported_next_to_it() {
    let command = "test \"$PERL5OPT\" && sleep 0.01";
    let document = parsed(&why(command, &[("PERL5OPT", "-w")], "--budget 4s"));
    assert_ne!(document["outcome"], "causes", "{document}");
    let candidates = document["candidates"].as_array().unwrap();
    let runtime = candidates.iter().find(|one| one["cause"] == "runtime").unwrap();
    assert_eq!(runtime["outcome"], "failed", "{document}");
    assert!(runtime["why"].as_str().unwrap().contains("exit"), "{document}");
}

#[test]
fn a_command_that_fails_as_it_is_and_several_points_are_errors() {
    why("exit 3", &[("PERL5OPT", "-w")], "--budget 5s").exits(4).says(&["failed in"]);
    let place = place();
    place
        .run("why memory.copy:method=libc,nt")
        .unwrap()
        .exits(2)
        .says(&["stands for 2 points", "give one value for each parameter"]);
    place
        .run("why cpu.sieev")
        .unwrap()
        .exits(2)
        .says(&["neither a workload nor a command", "did you mean `cpu.sieve`?"]);
    place.run("explain cause.cpu-quota").unwrap().exits(0).shows(&["# cause.cpu-quota"]);
    place.run("explain cause.cpu-quotas").unwrap().exits(2).says(&["cause.cpu-quota"]);
}

#[test]
fn without_a_cause_the_parts_of_the_work_are_measured() {
    let place = place();
    let tree = MachineTree::new(&place);
    tree.put("sys/kernel/mm/transparent_hugepage/enabled", "[always] madvise never\n");
    // The parent has so many page tables that to copy them is most of the work.
    let search = "why process.fork:resident=64MiB --budget 14s --no-lock -q --json";
    let document = parsed(&tree.run(search));
    assert_eq!(document["candidates"], serde_json::json!([]), "{document}");
    let parts = document["parts"].as_array().unwrap();
    let names: Vec<&str> = parts.iter().map(|part| part["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["vfork, which copies no page tables", "process.fork:resident=64MiB"]);
    let share = |index: usize, figure: &str| parts[index][figure]["estimate"].as_f64().unwrap();
    assert!(share(0, "of_whole") < 0.8, "{document}");
    assert!((share(0, "of_whole") + share(1, "step") - 1.0).abs() < 1e-6, "{document}");
}
