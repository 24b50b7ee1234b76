//! What makes a command slow: a cause is named only if it is one.

use crate::common::{ProgramOutput, ran};
use crate::{parsed, place};

/// `plumb why` of a shell command, in an environment with these variables.
fn why(command: &str, variables: &[(&str, &str)], options: &str) -> ProgramOutput {
    let place = place();
    let mut plumb = place.marked(&format!("why --no-lock --json {options} --shell"));
    ran(plumb.arg(command).envs(variables.iter().copied())).unwrap()
}

#[test]
fn a_variable_that_makes_a_command_slow_is_the_cause() {
    // It waits only if the variable of the loader is there; the one of the allocator does nothing.
    let command = "if [ \"$LD_LIBRARY_PATH\" ]; then sleep 0.06; else sleep 0.01; fi";
    let variables = [("LD_LIBRARY_PATH", "/nowhere"), ("MALLOC_ARENA_MAX", "4")];
    let document = parsed(&why(command, &variables, "").exits(0));
    assert_eq!(document["outcome"], "causes", "{document}");
    let candidates = document["candidates"].as_array().unwrap();
    let of = |cause: &str| candidates.iter().find(|one| one["cause"] == cause).unwrap();
    assert_eq!(of("loader")["outcome"], "cause", "{document}");
    assert_eq!(of("loader")["way"], "unset-env.LD_LIBRARY_PATH");
    assert!(of("loader")["ratio"]["high"].as_f64().unwrap() < 0.6, "{document}");
    assert_ne!(of("allocator")["outcome"], "cause", "{document}");
    let answer = document["answer"][0].as_str().unwrap();
    assert!(answer.starts_with("Cause: environment variables of the dynamic loader."), "{answer}");
    assert_eq!(document["runs"].as_array().unwrap().len(), 2);
}

#[test]
fn work_that_fails_without_a_suspected_cause_is_reported_next_to_it() {
    let command = "test \"$PERL5OPT\" && sleep 0.01";
    // What becomes of huge pages may be undecided after so short a time.
    let document = parsed(&why(command, &[("PERL5OPT", "-w")], "--budget 8s"));
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
