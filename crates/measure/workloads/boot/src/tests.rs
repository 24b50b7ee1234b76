//! Whole machines: captured or written trees, whose journals a real `journalctl` reads.

use std::collections::BTreeMap;

use plumb_machine::Root;
use plumb_protocol::{StartError, StartedWorkload};
use plumb_workload_testing::{samples, unsupported};

use crate::{milestones, startup};

#[path = "../tests/trees/mod.rs"]
mod machines;
#[expect(dead_code, reason = "the trees there are of other tests")]
#[path = "../../../../base/machine/tests/trees/mod.rs"]
mod trees;

/// The tree of a machine, with its journal.
fn machine(text: &str) -> (tempfile::TempDir, Root) {
    let folder = tempfile::tempdir().unwrap();
    trees::lay_out(text, folder.path());
    machines::make_journal(folder.path());
    let root = Root::at(folder.path());
    (folder, root)
}

/// The columns of all samples of a started workload.
fn columns(started: &mut StartedWorkload) -> BTreeMap<String, Vec<f64>> {
    let supply = usize::try_from(started.ready.supply.unwrap()).unwrap();
    let taken = samples(started, &vec![1; supply]);
    assert_eq!(taken.len(), supply);
    taken.values
}

fn started(result: Result<StartedWorkload, StartError>) -> StartedWorkload {
    result.unwrap_or_else(|error| panic!("{error:?}"))
}

fn close(value: f64, expected: f64) -> bool {
    (value - expected).abs() < 1e-6
}

#[test]
fn the_laptop_has_two_kernels_and_firmware_that_grows() {
    let (_folder, root) = machine(machines::LAPTOP);
    let mut running = started(startup::started(&root, "running"));
    assert_eq!(running.ready.supply, Some(9), "{:?}", running.ready.notes);
    assert!(running.ready.without.is_empty());
    let note = "9 of 16 boots in the journal: 6.1.0-47-amd64 (6), 6.12.9+bpo-amd64 (9), unknown kernels (1)";
    assert_eq!(running.ready.notes[0], note);
    let columns = columns(&mut running);
    for (index, startup) in columns["startup"].iter().enumerate() {
        let stages = ["kernel", "initrd", "userspace"].map(|name| columns[name][index]);
        assert!(close(*startup, stages.iter().sum()), "{index}");
        assert!((1.3..1.46).contains(&stages[0]), "the kernel of the old release took less");
    }
    let flag = &running.ready.flags[0];
    assert_eq!(flag.flag.word(), "firmware-grows");
    assert!(flag.why.contains("grew in 5 boots in a row, from 9 s to 5 h 18 min"), "{}", flag.why);

    let supply = |kernel| startup::started(&root, kernel).map(|started| started.ready.supply);
    assert_eq!(supply("any"), Ok(Some(16)));
    assert_eq!(supply("6.1.0-47-amd64"), Ok(Some(6)));
    let (why, fix) = unsupported("another kernel", supply("5.10.0"));
    assert!(why.contains("no boot of kernel 5.10.0: it has 6.1.0-47-amd64 (6)"), "{why}");
    assert!(fix.contains("-p kernel=any"), "{fix}");
}

#[test]
fn this_boot_of_the_laptop_waited_for_the_network() {
    let (_folder, root) = machine(machines::LAPTOP);
    let mut boot = started(milestones::started(&root));
    assert_eq!(boot.ready.supply, Some(1));
    let chain = "graphical.target at 13.0 s, waited for multi-user.target at 13.0 s, waited for NetworkManager-wait-online.service at 13.0 s after 5.80 s, waited for";
    let notes = boot.ready.notes.concat();
    assert!(notes.contains(chain), "{notes}");
    assert!(
        notes.contains("slowest units of this boot: NetworkManager-wait-online.service 5.80 s")
    );
    assert!(!notes.contains("apt-daily"), "it was started after the boot had finished");
    let found = columns(&mut boot);
    let expected = [
        ("program", 1.390_112),
        ("root", 3.902_118),
        ("init", 4.502_118),
        ("udev", 6.648),
        ("ssh", 7.340_5),
        ("login", 7.42),
        ("finished", 13.100_555),
    ];
    for (name, seconds) in expected {
        assert!(close(found[name][0], seconds), "{name}: {found:?}");
    }
}

#[test]
fn a_container_has_no_boot_of_its_own() {
    let (_folder, root) = machine(machines::CONTAINER);
    for result in [startup::started(&root, "any"), milestones::started(&root)] {
        let (why, fix) = unsupported("a container", result);
        assert!(why.contains("a container (systemd-nspawn)"), "{why}");
        assert_eq!(fix, "measure on the host");
    }
    // Also its journal has none: the message is that of a manager without a kernel.
    std::fs::remove_file(root.path("/run/systemd/container")).unwrap();
    let (why, _) = unsupported("its journal", startup::started(&root, "any"));
    assert!(why.contains("no boot in"), "{why}");
}

#[test]
fn a_machine_without_a_journal_says_how_to_keep_one() {
    let (_folder, root) = machine("== /proc/1/comm\nsystemd\n");
    let (why, fix) = unsupported("no journal", startup::started(&root, "any"));
    assert!(why.contains("keeps no journal") && fix.contains("/var/log/journal"), "{why}; {fix}");
    let (why, _) = unsupported("no record of units", milestones::started(&root));
    assert!(why.contains("systemctl-show.txt"), "{why}");
}

#[test]
fn without_systemd_milestones_come_from_the_kernel_and_from_start_times() {
    let (folder, root) = machine(machines::BUSYBOX);
    let (why, fix) = unsupported("no systemd", startup::started(&root, "any"));
    assert!(why.contains("PID 1 is init, not systemd") && fix.contains("boot.milestones"), "{why}");

    let mut boot = started(milestones::started(&root));
    // Its initrd handed over to init without a message.
    assert_eq!(boot.ready.without, ["init", "udev", "finished"]);
    let found = columns(&mut boot);
    let expected = [("program", 5.703_904), ("root", 8.096_934), ("ssh", 22.53), ("login", 22.72)];
    for (name, seconds) in expected {
        assert!(close(found[name][0], seconds), "{name}: {found:?}");
    }

    // A kernel that has forgotten its first messages, or shows them only to root.
    std::fs::remove_file(folder.path().join("dev/kmsg")).unwrap();
    let mut boot = started(milestones::started(&root));
    assert!(boot.ready.notes[0].contains("/dev/kmsg can't be read"), "{:?}", boot.ready.notes);
    assert_eq!(boot.ready.without, ["root", "init", "udev", "finished"]);
    assert!(close(columns(&mut boot)["program"][0], 1.01), "the start of PID 1");
    std::fs::remove_file(folder.path().join("proc/1/stat")).unwrap();
    let (why, _) = unsupported("nothing at all", milestones::started(&root));
    assert!(why.contains("neither the kernel's log nor"), "{why}");
}

#[test]
fn a_guest_with_systemd_in_its_initrd_has_that_stage_in_each_boot() {
    let (_folder, root) = machine(machines::INITRD);
    let mut boots = started(startup::started(&root, "running"));
    assert_eq!(boots.ready.without, ["firmware", "loader"]);
    // The journal of the initrd, which has the kernel's version, has a machine id of its own.
    assert_eq!(boots.ready.notes[0], "3 of 3 boots in the journal: 6.12.95+deb12-cloud-amd64 (3)");
    assert!(boots.ready.flags.is_empty());
    let found = columns(&mut boots);
    assert!(close(found["initrd"][0], 47.542_788) && close(found["startup"][2], 146.811_748));

    // As systemd-analyze said in the guest.
    let notes = boots.ready.notes.concat();
    assert!(notes.contains("graphical.target at "), "{notes}");
    let milestones = columns(&mut started(milestones::started(&root)));
    let expected = [("program", 15.477_832), ("root", 34.870_125), ("init", 39.046_916)];
    for (name, seconds) in expected {
        assert!(close(milestones[name][0], seconds), "{name}: {milestones:?}");
    }
    assert!(
        milestones["ssh"] <= milestones["finished"] && milestones["login"] > milestones["init"]
    );
}

#[test]
fn a_guest_without_firmware_times_has_a_kernel_stage_that_includes_its_initrd() {
    let (_folder, root) = machine(machines::GUEST);
    let mut boots = started(startup::started(&root, "running"));
    assert_eq!(boots.ready.supply, Some(2));
    assert_eq!(boots.ready.without, ["firmware", "loader", "initrd"]);
    let found = columns(&mut boots);
    // As systemd-analyze said in the guest: 6.086s (kernel) + 28.087s (userspace) = 34.173s.
    for (name, seconds) in [("kernel", 6.086), ("userspace", 28.087), ("startup", 34.173)] {
        assert!((found[name][1] - seconds).abs() < 1e-3, "{name}: {found:?}");
    }
    let milestones = columns(&mut started(milestones::started(&root)));
    assert!(milestones["program"] < milestones["root"] && milestones["root"] < milestones["init"]);
    assert!(close(milestones["init"][0], found["kernel"][1]));
}
