//! Stores that are damaged, newer, something else, or can't be written: exit code 6 and what to do.

use std::fs;

use crate::common::{TestEnvironment, ran};
use crate::{exec, is_root, measured, place};

/// All commands that open the store; those that measure first.
const MEASURE: &str = "exec true -n 2 -q --no-lock";
const READ: [&str; 5] = ["show", "export", "store info", "run --resume", ""];

#[track_caller]
fn all_refuse(place: &TestEnvironment, words: &[&str]) {
    let before = fs::read(place.store()).ok();
    for arguments in READ.into_iter().chain([MEASURE]) {
        place.run(arguments).unwrap().exits(6).says(words);
    }
    assert_eq!(fs::read(place.store()).ok(), before, "nothing is written to it");
    let copy = place.store().display().to_string();
    let other = format!("--store other.db import {copy}");
    place.run(&other).unwrap().exits(6).says(words);
    assert_eq!(place.leftovers(), [""; 0]);
}

#[test]
fn a_file_of_another_kind_is_left_alone() {
    let place = place();
    fs::write(place.store(), "milk, eggs\n".repeat(500)).unwrap();
    all_refuse(&place, &["a plumb store"]);
}

#[test]
fn a_folder_is_no_store() {
    let place = place();
    fs::create_dir(place.store()).unwrap();
    all_refuse(&place, &["is not a plumb store: it is a folder", "name another file"]);
}

#[test]
fn a_newer_store_is_left_alone() {
    let place = measured();
    let mut bytes = fs::read(place.store()).unwrap();
    // `user_version` in the header of the file.
    bytes[60..64].copy_from_slice(&99_u32.to_be_bytes());
    fs::write(place.store(), bytes).unwrap();
    all_refuse(&place, &["has schema version 99", "use a newer plumb"]);
}

#[test]
fn a_damaged_store_is_told_with_what_can_be_saved() {
    let place = measured();
    let mut bytes = fs::read(place.store()).unwrap();
    for page in 1..bytes.len() / 4096 {
        bytes[page * 4096..][..8].fill(0xff);
    }
    fs::write(place.store(), &bytes).unwrap();
    place.run("show").unwrap().exits(6).says(&["is damaged", "restore a backup", ".recover"]);
    place.run(MEASURE).unwrap().exits(6).says(&["is damaged"]);
    let info = place.run("store info").unwrap().exits(6);
    assert!(info.stdout.contains("DAMAGED") || info.stderr.contains("is damaged"), "{info:?}");
    fs::write(place.store(), &bytes[..5000]).unwrap();
    place.run("show").unwrap().exits(6).says(&["is damaged"]);
}

#[test]
fn a_store_that_cannot_be_made_is_named_before_anything_is_measured() {
    let place = place();
    place.write("file", "").unwrap();
    let run = |store: &str| {
        let ran = place.run(&format!("--store {store} exec touch -n 2 -q --no-lock -- measured"));
        ran.unwrap()
    };
    run("file/below.db").exits(6).says(&["plumb can't create its folder", "name another file"]);
    run("/proc/plumb.db").exits(6).says(&["/proc/plumb.db", "name another file"]);
    assert!(!place.cwd().join("measured").exists());
    assert_eq!(place.leftovers(), [""; 0]);
}

#[test]
fn a_store_that_may_only_be_read_is_read() {
    let place = measured();
    let folder = place.root().join("store");
    let as_reader = |arguments: &str| {
        let mut plumb = place.plumb(arguments);
        if is_root() {
            plumb = place.program("setpriv");
            plumb.args(["--bounding-set", "-all", "--inh-caps", "-all"]).arg(place.binary());
            plumb.args(arguments.split(' '));
        }
        ran(&mut plumb).unwrap()
    };
    let modes = |folder_mode, file_mode| {
        use std::os::unix::fs::PermissionsExt;
        let set = |path: &std::path::Path, mode| {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        };
        set(&place.store(), file_mode);
        set(&folder, folder_mode);
    };
    modes(0o555, 0o444);
    as_reader("show").exits(0).shows(&["sleep 0.01"]);
    as_reader(MEASURE).exits(6).says(&["it is read-only", "check its permissions"]);
    modes(0o755, 0o644);
    exec(&place, "-n 2 -q", &["true"]).exits(0);
}
