//! Full disks, under the store and under the target directory.

use std::fs;

use crate::common::{ProgramOutput, TestEnvironment, ran};
use crate::{in_namespace, last, parsed, place, results};

/// More samples than there will be room for.
const MUCH: &str = "run cpu.sieve:limit=20000 scheduler.pipe --min-invocations 8 --no-lock -q";

/// plumb with a limit to the size of each file: a full disk for people without root.
fn limited(place: &TestEnvironment, bytes: u32, arguments: &str) -> ProgramOutput {
    let mut prlimit = place.program("prlimit");
    prlimit.arg(format!("--fsize={bytes}")).arg(place.binary()).args(arguments.split(' '));
    ran(&mut prlimit).unwrap()
}

#[test]
fn a_store_that_may_not_grow_keeps_what_was_acknowledged() {
    let place = place();
    let run = limited(&place, 300_000, MUCH).exits(6);
    run.says(&["cannot use the store", "shows what is stored so far", "--resume"]);
    let document = last(&place);
    assert_eq!(document["run"]["status"], "interrupted");
    assert!(results(&document, "rate").iter().all(|r| r["samples"].as_u64().unwrap() > 0));
    place.run("store info").unwrap().exits(0).shows(&["1 interrupted", "intact"]);
    assert_eq!(place.leftovers(), [""; 0]);
    // With room again it goes on.
    let resumed = place.run("run --resume --no-lock -q --json");
    assert_eq!(parsed(&resumed.unwrap().exits(0))["run"]["status"], "complete");
}

#[test]
fn a_full_filesystem_keeps_what_was_acknowledged() {
    let place = place();
    // The store is made first, so that the room which is left is for samples alone. With room again, there is enough for
    // 1,000 pages of a write-ahead log, after which SQLite empties it.
    let script = format!(
        "mount -t tmpfs -o size=8000k tmpfs ../store && $PLUMB exec -n 2 -q --no-lock true
         head -c 8000k /dev/zero > ../store/other; truncate -s -250k ../store/other
         $PLUMB {MUCH}; echo exit $?
         $PLUMB show --full; $PLUMB store info
         run=$($PLUMB show | sed -n 's/^plumb run --resume \\([^ ]*\\).*/\\1/p')
         $PLUMB exec -q --no-lock true; echo then $?
         rm ../store/other; $PLUMB run --resume $run -q --no-lock && echo room"
    );
    let ran = in_namespace(&place, "--mount", &script);
    let ran = ran.says(&["no space for the store", "shows what is stored so far", "--resume"]);
    ran.exits(0).shows(&[
        "exit 6",
        "interrupted",
        "sieve limit=20000",
        "intact",
        "then 6",
        "in 2 segments",
        "room",
    ]);
    assert_eq!(place.leftovers(), [""; 0]);
}

#[test]
fn a_full_target_directory_fails_its_point_alone() {
    let place = place();
    let run = "run storage.random:size=16MiB cpu.sieve:limit=20000 --min-invocations 1 --no-lock -q \
               --dir ../work";
    limited(&place, 4 << 20, run).exits(4).shows(&["can't lay out", "of 16 MiB", "File too large"]);
    assert_eq!(place.leftovers(), [""; 0], "what was written of the file is removed");
    assert_eq!(results(&last(&place), "rate").len(), 1);
    let script = format!(
        "mount -t tmpfs -o size=8m tmpfs ../work && $PLUMB {run}; echo exit $?, left $(ls ../work | wc -l)"
    );
    let ran = in_namespace(&place, "--mount", &script);
    ran.shows(&[
        "exit 3, left 0",
        "Not supported here",
        "storage.random:size=16MiB",
        "sieve limit=20000",
    ]);
    assert_eq!(results(&last(&place), "rate").len(), 1);
}

#[test]
fn an_export_to_a_full_disk_is_told() {
    let place = crate::measured();
    let ran = place.run("export --format samples-csv -o /dev/full").unwrap();
    ran.exits(6).says(&["/dev/full", "No space left"]);
    assert!(fs::metadata("/dev/full").is_ok());
}
