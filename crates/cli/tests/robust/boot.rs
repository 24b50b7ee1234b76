//! Boots of captured machines, read by the real binary, and machines that have none.

use std::process::Command;

use crate::common::{ProgramOutput, TestEnvironment, ran};
use crate::{parsed, place, trees};

#[expect(dead_code, reason = "the workload's own tests use all of them")]
#[path = "../../../measure/workloads/boot/tests/trees/mod.rs"]
mod machines;

/// plumb with these arguments on the machine of a tree.
fn run_on(place: &TestEnvironment, tree: &str, arguments: &str) -> ProgramOutput {
    let machine = place.root().join("machine");
    trees::lay_out(tree, &machine);
    machines::make_journal(&machine);
    let mut plumb: Command = place.plumb(&format!("run --no-lock -q {arguments} --dir ../work"));
    ran(plumb.env("PLUMB_ROOT", machine)).unwrap()
}

#[test]
fn past_boots_give_an_interval_at_once_and_end_with_the_supply() {
    let place = place();
    let run = run_on(&place, machines::LAPTOP, "boot.startup --json --precision 1%");
    let document = parsed(&run.exits(0));
    let startup = &document["results"][0];
    assert_eq!(startup["metric"], "startup", "{document}");
    assert_eq!(
        (startup["stop"].as_str(), startup["invocations"].as_u64()),
        (Some("supply"), Some(9))
    );
    assert!(startup["low"].as_f64() < startup["high"].as_f64(), "{startup}");
    let flags = startup["flags"].to_string();
    assert!(flags.contains("firmware-grows"), "{flags}");
    assert!(!flags.contains("overhead") && !flags.contains("single-process"), "{flags}");
    let card = place.run("show last").unwrap().exits(0);
    card.shows(&["no more samples exist", "firmware-grows"]);
    place.run("report last -o pages").unwrap().exits(0);
    let pages = std::fs::read_dir(place.cwd().join("pages")).unwrap();
    let has_reason = |path: &std::path::Path| {
        std::fs::read_to_string(path).is_ok_and(|text| text.contains(">supply<"))
    };
    assert!(pages.flatten().any(|entry| has_reason(&entry.path())), "a page shows the reason");
}

/// Why the first point is unsupported, and the fix.
fn refused(run: ProgramOutput) -> String {
    let document = parsed(&run.exits(3));
    document["unsupported"][0].to_string()
}

#[test]
fn a_machine_that_systemd_did_not_start_is_unsupported_with_the_reason() {
    let without_systemd = refused(run_on(&place(), machines::BUSYBOX, "boot.startup --json"));
    assert!(without_systemd.contains("PID 1 is init, not systemd"), "{without_systemd}");
    assert!(without_systemd.contains("boot.milestones"), "{without_systemd}");
    let container = refused(run_on(&place(), machines::CONTAINER, "boot.startup --json"));
    assert!(container.contains("a container (systemd-nspawn)"), "{container}");
    // Also on this very machine, if it is one.
    let first = std::fs::read_to_string("/proc/1/comm").unwrap();
    if first.trim() != "systemd" {
        let run = place().run("run --no-lock -q --json boot.startup --dir ../work").unwrap();
        let here = refused(run);
        assert!(here.contains(&format!("PID 1 is {}, not systemd", first.trim())), "{here}");
    }
}
