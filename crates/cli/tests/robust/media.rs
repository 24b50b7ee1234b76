//! The storage below the target directory: built for a run, private to it, and gone with it, however it ends.

use std::fs;
use std::time::{SystemTime, UNIX_EPOCH};

use plumb_workload_testing::{Lack, skip};

use crate::common::TestEnvironment;
use crate::common::knobs::is_root;
use crate::common::media::{MediaKill, kill_on_medium, traces};
use crate::common::processes::wait_for;
use crate::{PATIENCE, in_namespace, last, place, results};

/// Kills in the ordinary tests; `cargo xtask soak` makes many more.
const KILLS: u64 = 3;

/// A point that is measured quickly, on its own medium.
const RUN: &str =
    "run storage.oneblock --min-invocations 2 --max-invocations 2 --no-lock -q --dir ../work --set";

/// Nothing is left, soon.
fn is_gone(place: &TestEnvironment) {
    let gone = wait_for(PATIENCE, || traces(place).is_empty().then_some(()));
    assert!(gone.is_some(), "{:?}", traces(place));
}

#[test]
fn workloads_lie_on_a_medium_that_nobody_else_sees_and_that_is_gone_afterwards() {
    let place = place();
    if !is_root() {
        place.run(&format!("{RUN} medium=ram+ext4")).unwrap().exits(3).says(&["needs root"]);
        skip(Lack::Root);
        return;
    }
    for (medium, words) in [
        ("ram:128MiB+ext4", "128 MiB on /dev/loop"),
        ("loop:128MiB+ext2", "128 MiB on /dev/loop"),
        ("ram:512MiB+xfs", "512 MiB on /dev/loop"),
        ("ram:256MiB+btrfs:compress=zstd", "256 MiB on /dev/loop"),
        ("ram:128MiB+luks:aes-128+ext4", "128 MiB on /dev/loop"),
        ("ram:128MiB+ext4+fscrypt", "128 MiB on /dev/loop"),
        ("ram:128MiB+ext4+gocryptfs", "128 MiB on /dev/loop"),
    ] {
        place.run(&format!("{RUN} medium={medium}")).unwrap().exits(0).shows(&["prepared", medium]);
        let document = last(&place);
        let made = document["preparations"].as_array().unwrap();
        let made = made.iter().find(|setting| setting["setting"] == "medium").unwrap();
        let became = made["became"].as_str().unwrap();
        assert!(became.starts_with(medium) && became.contains(words), "{became}");
        is_gone(&place);
    }
}

#[test]
fn a_folder_elsewhere_needs_no_root_and_is_removed_again() {
    let place = place();
    let folder = place.cwd().join("other");
    fs::create_dir(&folder).unwrap();
    let other = format!("folder:{}", folder.display());
    place.run(&format!("{RUN} medium={other}")).unwrap().exits(0).shows(&["prepared", &other]);
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
    place
        .run(&format!("{RUN} medium={other}/none"))
        .unwrap()
        .exits(3)
        .says(&["none is not a folder"]);
    place.run(&format!("{RUN} medium=folder:tmp")).unwrap().exits(2).says(&["absolute path"]);
}

#[test]
fn a_cipher_that_the_kernel_lacks_is_named_before_anything_is_measured() {
    if !is_root() {
        skip(Lack::Root);
        return;
    }
    let place = place();
    let ran = place.run(&format!("{RUN} medium=ram:128MiB+ext4+fscrypt:aes-128")).unwrap();
    match ran.code {
        Some(0) => ran.shows(&["fscrypt:aes-128"]),
        _ => ran.exits(3).says(&["CONFIG_CRYPTO_ESSIV", "luks:aes-128"]),
    };
    is_gone(&place);
}

#[test]
fn a_compressed_device_stands_in_the_journal() {
    let place = place();
    let run = format!("{RUN} medium=zram:128MiB+ext4");
    if !is_root() {
        skip(Lack::Root);
        return;
    }
    if fs::metadata("/sys/class/zram-control").is_err() {
        place.run(&run).unwrap().exits(3).says(&["no zram", "ram+ext4"]);
        skip(Lack::Kernel("zram"));
        return;
    }
    let devices = || {
        let blocks = fs::read_dir("/sys/block").unwrap().flatten();
        blocks.filter(|block| block.file_name().to_string_lossy().starts_with("zram")).count()
    };
    let before = devices();
    place.run(&run).unwrap().exits(0);
    let made = last(&place)["preparations"].to_string();
    assert!(made.contains("128 MiB on /dev/zram"), "{made}");
    let gone = wait_for(PATIENCE, || (devices() == before).then_some(()));
    assert!(gone.is_some() && traces(&place).is_empty());
}

#[test]
fn what_cannot_be_is_refused_before_anything_is_measured() {
    let place = place();
    let refused = |medium: &str, code: i32, words: &[&str]| {
        place.run(&format!("{RUN} medium={medium}")).unwrap().exits(code).says(words);
    };
    refused("ext4+ram", 2, &["`ext4` needs a device below it", "try medium=ram+ext4"]);
    refused("ram+fscrypt", 2, &["`fscrypt` needs ext4 below it", "try medium=ram+ext4+fscrypt"]);
    refused("ram+ext5", 2, &["no layer is called `ext5`", "gocryptfs"]);
    refused("ram:much+ext4", 2, &["`much` is not a size"]);
    refused("ram+ext4@round", 2, &["takes no @slot"]);
    if !is_root() {
        skip(Lack::Root);
        return;
    }
    refused("ram:1000GiB+ext4", 3, &["1024000 MiB", "more than 80 % of", "MiB free in memory"]);
    refused("loop:1000XiB+ext4", 2, &["not a size"]);
    refused("loop:1000TiB+ext4", 3, &["1048576000 MiB", "more than 80 % of", "free in "]);
    refused("ram:128MiB+ext4:nonsense", 4, &["ext4: mount: "]);
    if fs::metadata("/sys/class/misc/device-mapper").is_err() {
        let words = ["unsupported", "no device mapper", "ram+ext4+fscrypt"];
        refused("ram+dm-crypt+ext4", 3, &words);
    }
    is_gone(&place);
    place.run("show").unwrap().exits(2);
}

#[test]
fn two_media_are_two_sides_and_points_of_a_suite_have_their_own() {
    if !is_root() {
        skip(Lack::Root);
        return;
    }
    let place = place();
    let sets = "--set medium=ram:128MiB+ext4 --set medium=ram:128MiB+ext4+fscrypt";
    let ab =
        format!("ab {sets} storage.sequential:size=64MiB,operation=write --budget 8s --no-lock -q");
    place.run(&format!("{ab} --dir ../work")).unwrap().exits(0).shows(&[
        "medium=ram:128MiB+ext4",
        "medium=ram:128MiB+ext4+fscrypt",
        "encryption is not a bottleneck below",
    ]);
    let point =
        |set: &str| format!("[[point]]\nworkload = \"storage.oneblock\"\nknobs = [{set}]\n");
    let points = [point(""), point("\"medium=ram:128MiB+ext4\"")].concat();
    place.write("media.toml", &format!("name = \"media\"\n{points}")).unwrap();
    place
        .run("run media.toml --min-invocations 2 --max-invocations 2 --dir ../work --no-lock -q")
        .unwrap()
        .exits(0);
    let document = last(&place);
    let names: Vec<&str> =
        results(&document, "rate").iter().filter_map(|result| result["name"].as_str()).collect();
    let on_medium = |name: &&&str| name.contains("set=medium=ram:128MiB+ext4");
    assert!(names.len() == 2 && names.iter().filter(on_medium).count() == 1, "{names:?}");
    is_gone(&place);
}

#[test]
fn zeros_on_a_filesystem_that_compresses_are_flagged() {
    if !is_root() {
        skip(Lack::Root);
        return;
    }
    let place = place();
    let points = "storage.sequential:size=32MiB,direct=no,data=zeros storage.sequential:size=32MiB,direct=no";
    let run =
        format!("run {points} --min-invocations 2 --max-invocations 2 --no-lock -q --dir ../work");
    let is_flagged = |medium: &str| -> Vec<bool> {
        place.run(&format!("{run} --set medium={medium}")).unwrap().exits(0);
        let document = last(&place);
        let all = results(&document, "bandwidth").into_iter();
        all.map(|result| result["flags"].to_string().contains("\"compressed\"")).collect()
    };
    assert_eq!(is_flagged("ram:512MiB+btrfs:compress=zstd"), [true, false]);
    assert_eq!(is_flagged("ram:512MiB+btrfs"), [false, false]);
    assert_eq!(is_flagged("ram:512MiB+ext4"), [false, false]);
}

#[test]
fn kill_9_of_plumb_keeper_or_both_takes_the_medium_away() {
    if !is_root() {
        skip(Lack::Root);
        return;
    }
    let seed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    for number in seed..seed + KILLS {
        let moment = MediaKill::of(number);
        let gone = kill_on_medium(&place(), moment);
        assert!(gone.is_ok(), "{moment:?}: {gone:?}");
    }
}

#[test]
fn a_device_is_written_only_when_it_is_named_twice_and_nobody_uses_it() {
    let place = place();
    let run = "run storage.random:size=8MiB,operation=write --min-invocations 1 --no-lock -q --dir";
    let folder = place.run(&format!("{run} ../work --destroy-data ../work")).unwrap();
    folder.exits(2).says(&["is not a device", "give --dir alone"]);
    place.run("run storage.random --destroy-data /dev/null").unwrap().exits(2);
    if !is_root() {
        skip(Lack::Root);
        return;
    }
    if fs::metadata("/dev/loop-control").is_err() {
        skip(Lack::Kernel("loop"));
        return;
    }
    let script = format!(
        r#"head -c 64M /dev/zero > ../work/disk && mkfs.ext4 -q -F ../work/disk
         DISK=$(losetup --find --show ../work/disk)
         sum() {{ sync; sha256sum < ../work/disk; }}
         before=$(sum)
         $PLUMB {run} $DISK; echo once $?
         $PLUMB {run} $DISK --destroy-data /dev/null; echo other $?
         mkdir on && mount $DISK on && umount on && before=$(sum) && mount -o ro $DISK on
         $PLUMB {run} $DISK --destroy-data $DISK; echo mounted $?
         umount on; [ "$before" = "$(sum)" ] && echo unchanged
         $PLUMB {run} $DISK --destroy-data $DISK; echo twice $?
         [ "$before" = "$(sum)" ] || echo written
         losetup --detach $DISK; rm ../work/disk"#
    );
    let ran = in_namespace(&place, "--mount", &script);
    let ran = ran.says(&[
        "is a device, and all its data would be lost",
        "--destroy-data /dev/loop",
        "are different devices",
        "is mounted, or the kernel uses it",
    ]);
    ran.shows(&["once 2", "other 2", "mounted 2", "unchanged", "unflushed", "twice 0", "written"]);
    assert_eq!(results(&last(&place), "rate").len(), 1);
    is_gone(&place);
}
