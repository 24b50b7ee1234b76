//! What nobody can know: mistyped names, values and folders are exit code 2, with what was meant.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;

use crate::common::ran;
use crate::{is_root, measured, place};

#[test]
fn mistyped_names_get_the_nearest_one() {
    let place = place();
    for (arguments, words) in [
        ("run cpu.seive", ["`cpu.seive`", "did you mean `cpu.sieve`"]),
        ("run first-lok", ["`first-lok`", "did you mean `first-look`"]),
        ("run nothing.like.it", ["`nothing.like.it`", "`plumb list`"]),
        ("run cpu.sieve --with cpu.siev", ["`cpu.siev`", "did you mean `cpu.sieve`"]),
        ("run cpu.sieve -p limt=5", ["`limt`", "did you mean `limit`"]),
        ("run first-look -p limt=5", ["`limt`", "did you mean `limit`"]),
        ("run cpu.sieve:limt=5", ["`limt`", "did you mean `limit`"]),
        ("run cpu.sieve -p limit=many", ["`many`", "whole number"]),
        ("run cpu.sieve -p growth=pish", ["`pish`", "did you mean `push`"]),
        ("run cpu.sieve -p threads=0", ["`0`", "try 1, 2 or all"]),
        ("run cpu.sieve -p limit", ["`limit`", "NAME=VALUE"]),
        ("run storage.random -p size=1GoB", ["size", "1GoB"]),
        ("run cpu.sieve --precision 0", ["`0`", "try 3%"]),
        ("run cpu.sieve --budget soon", ["`soon`", "try 500ms"]),
        ("run cpu.sieve --label x", ["`x`", "NAME=VALUE"]),
        ("run --precison 3%", ["--precison", "--precision"]),
        ("explain cpu.seive", ["`cpu.seive`", "plumb explain cpu.sieve"]),
        ("explain first-lok", ["`first-lok`", "plumb explain first-look"]),
        ("shwo", ["shwo", "show"]),
    ] {
        let ran = place.run(arguments).unwrap().exits(2).says(&words);
        assert_eq!(ran.stdout, "", "{arguments}");
    }
    assert!(!place.store().exists(), "nothing of it makes a store");
    assert_eq!(place.leftovers(), [""; 0]);
}

#[test]
fn more_points_than_anybody_wants_are_refused_at_once() {
    let place = place();
    let many = (1..=2000).map(|n| n.to_string()).collect::<Vec<_>>().join(",");
    for name in ["cpu.sieve", "first-look"] {
        let run = format!("run {name} --dry-run -p limit={many} -p threads={many}");
        place.run(&run).unwrap().exits(2).says(&["more than 10000 points"]);
    }
}

#[test]
fn runs_that_are_not_there_get_the_nearest_one() {
    let place = measured();
    place.run("show lats").unwrap().exits(2).says(&["no run `lats`", "`last`"]);
    place.run("show last~5").unwrap().exits(2).says(&["no run `last~5`"]);
    place.run("show round=2").unwrap().exits(2).says(&["round=2"]);
    place.run("export ffffffff").unwrap().exits(2).says(&["ffffffff"]);
    place.run("run --resume").unwrap().exits(2).says(&["is complete", "plumb run starts a new"]);
    place.run("run --resume nobody").unwrap().exits(2).says(&["no run `nobody`"]);
}

#[test]
fn a_target_directory_that_is_missing_or_closed_is_named() {
    let place = place();
    let run = |dir: &str| {
        let run = format!("run cpu.sieve:limit=20000 --min-invocations 1 --no-lock --dir {dir}");
        place.run(&run).unwrap()
    };
    run("missing").exits(2).says(&["--dir missing", "No such file", "--dir FOLDER"]);
    place.write("file", "").unwrap();
    run("file").exits(2).says(&["file", "--dir FOLDER"]);
    run("file/below").exits(2).says(&["file/below", "Not a directory", "--dir FOLDER"]);
    // In the kernel's filesystems nobody, not even root, makes a folder.
    run("/proc/self/fd").exits(2).says(&["can't make the folder", "--dir FOLDER"]);
    assert_eq!(place.leftovers(), [""; 0]);
}

#[test]
fn a_folder_that_cannot_be_told_to_others_is_named() {
    let place = place();
    let odd = OsStr::from_bytes(b"caf\xe9");
    fs::create_dir(place.cwd().join(odd)).unwrap();
    let mut plumb = place.plumb("run cpu.sieve:limit=20000 --no-lock --dir");
    ran(plumb.arg(odd)).unwrap().exits(2).says(&["not UTF-8", "--dir FOLDER"]);
    let mut plumb = place.plumb("exec --no-lock");
    ran(plumb.arg(odd)).unwrap().exits(2).says(&["UTF-8"]);
    assert_eq!(fs::read_dir(place.cwd().join(odd)).unwrap().count(), 0);
    assert_eq!(place.leftovers(), [""; 0]);
}

#[test]
fn a_target_directory_of_somebody_else_is_named() {
    let place = place();
    let closed = place.cwd().join("closed");
    fs::create_dir(&closed).unwrap();
    let mode = |mode| fs::set_permissions(&closed, fs::Permissions::from_mode(mode)).unwrap();
    mode(0o555);
    let run = "run cpu.sieve:limit=20000 --min-invocations 1 --no-lock -q --dir closed";
    let mut plumb = place.plumb(run);
    if is_root() {
        // Root as a user without the right to ignore permissions.
        plumb = place.program("setpriv");
        plumb.args(["--bounding-set", "-all", "--inh-caps", "-all", "--ambient-caps", "-all"]);
        plumb.arg(place.binary()).args(run.split(' '));
    }
    ran(&mut plumb).unwrap().exits(2).says(&["closed", "Permission denied", "--dir FOLDER"]);
    mode(0o755);
    assert_eq!(place.leftovers(), [""; 0]);
}

#[test]
fn a_folder_for_temporary_files_that_is_missing_is_named_or_done_without() {
    let place = place();
    let mut plumb = place.plumb("exec true -n 2 -q --no-lock");
    let ran = ran(plumb.env("TMPDIR", "/proc/self/fd")).unwrap();
    ran.exits(2).says(&["can't make the folder", "TMPDIR=FOLDER"]);
    assert_eq!(fs::read_dir(place.cwd()).unwrap().count(), 0);
}

#[test]
fn options_of_other_tools_are_answered_with_their_equals() {
    let place = place();
    for (line, hint) in [
        ("exec --warmup 3 true", "instead of --warmup: plumb finds and discards warm-up by itself"),
        ("exec -L n 1,2 true", "instead of -L: -p NAME=VALUE,VALUE"),
        ("exec --export-json f true", "plumb export --format hyperfine -o FILE"),
        ("exec --prepare sync true", "--before-each COMMAND"),
        ("exec -p sync true", "--before-each COMMAND"),
        ("run storage.random --rw=randread", "-p operation=read, write or mixed"),
        ("run network.tcp -c host -R", "instead of -R: -p direction=down"),
        ("-c host -R", "instead of -c: --to ssh:HOST or --to peer:HOST"),
        ("run bonnie -d /srv -s 2048", "plumb run bonnie -- -d /srv -s 2048"),
        ("fio --rw=randread", "plumb run storage.random"),
    ] {
        place.run(line).unwrap().exits(2).says(&[hint]);
    }
    let other = place.run("show --nonsense").unwrap().exits(2);
    assert!(!other.stderr.contains("hint:"), "{}", other.stderr);
}
