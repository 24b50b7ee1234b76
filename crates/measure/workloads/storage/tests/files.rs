//! The workloads of many files, driven as the engine drives them.

use std::fs;
use std::path::Path;

use plumb_model::FlagKind;
use plumb_protocol::{Batch, StartError, StartedWorkload};
use plumb_workload_storage::ALL;
use plumb_workload_testing::{
    TestPoint, alone, assert_doubles, has_flag, refusal, refused_settings, samples, take,
    unsupported,
};

fn try_files(dir: &Path, settings: &[(&str, &str)]) -> Result<StartedWorkload, StartError> {
    let settings = [&[("files", "40")], settings].concat();
    TestPoint::new(ALL, "storage.files", &settings).in_folder(dir).try_start()
}

#[test]
fn every_operation_is_done_to_every_file_and_nothing_is_left() {
    let dir = tempfile::tempdir().unwrap();
    for operation in ["create", "open", "stat", "readdir", "rename", "link", "unlink"] {
        for order in ["sequential", "random"] {
            for (threads, folder) in [("1", "shared"), ("3", "shared"), ("3", "private")] {
                let settings = [
                    ("operation", operation),
                    ("order", order),
                    ("threads", threads),
                    ("folder", folder),
                    ("size", "700"),
                ];
                let mut started = try_files(dir.path(), &settings).unwrap();
                assert_eq!(started.instance.least_iterations(), 40);
                // Whole passes, one that ends midway, and the next after that.
                let taken = samples(&mut started, &[40, 100, 7, 40]);
                let times = taken
                    .histograms
                    .get("latency")
                    .map(|histograms| histograms[1].counts().unwrap());
                let counted = times.map(|counts| counts.iter().map(|bucket| bucket.1).sum::<u64>());
                let expected = 100 * threads.parse::<u64>().unwrap();
                assert_eq!(counted, (operation != "readdir").then_some(expected), "{settings:?}");
                started.instance.finish().unwrap();
                assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0, "{settings:?}");
            }
        }
    }
}

#[test]
fn files_that_vanish_or_change_fail_the_invocation() {
    let dir = tempfile::tempdir().unwrap();
    for operation in ["open", "stat", "readdir", "rename", "unlink"] {
        let mut started = try_files(dir.path(), &[("operation", operation)]).unwrap();
        let folder = fs::read_dir(dir.path()).unwrap().next().unwrap().unwrap().path();
        let file = fs::read_dir(&folder).unwrap().next().unwrap().unwrap().path();
        fs::remove_file(&file).unwrap();
        let failure = take(started.instance.as_mut(), &[40]).unwrap_err();
        assert!(failure.0.contains("file"), "{operation}: {failure}");
    }
    let mut started = try_files(dir.path(), &[("operation", "stat")]).unwrap();
    let folder = fs::read_dir(dir.path()).unwrap().next().unwrap().unwrap().path();
    let file = fs::read_dir(folder).unwrap().next().unwrap().unwrap().path();
    fs::write(file, "x").unwrap();
    assert!(take(started.instance.as_mut(), &[40]).is_err());
}

#[test]
fn cold_is_read_from_the_device_or_unsupported() {
    let _alone = alone();
    let dir = tempfile::tempdir().unwrap();
    let cold = [("operation", "stat"), ("state", "cold")];
    match try_files(dir.path(), &cold) {
        Ok(mut started) => {
            let (samples, flags) = take(started.instance.as_mut(), &[40, 40]).unwrap();
            if let Some(read) = samples.values.get("device_read") {
                assert_eq!(read[0] == 0.0, has_flag(&flags, &FlagKind::Cached), "{read:?}");
            }
        }
        Err(error) => {
            let (why, fix) = unsupported::<()>("cold", Err(error));
            assert!(why.contains("can't drop") && fix.contains("root"), "{why}");
        }
    }
    let (why, _) =
        unsupported("create", try_files(dir.path(), &[("operation", "create"), ("state", "cold")]));
    assert!(why.contains("only open, stat and readdir"), "{why}");
    let memory = tempfile::tempdir_in("/dev/shm").unwrap();
    let (why, _) = unsupported("tmpfs", try_files(memory.path(), &cold));
    assert!(why.contains("never cold"), "{why}");
}

#[test]
fn what_can_not_be_done_to_files_is_refused_with_a_reason() {
    let dir = tempfile::tempdir().unwrap();
    let refused = |settings: &[(&str, &str)]| {
        unsupported(&format!("{settings:?}"), try_files(dir.path(), settings)).0
    };
    assert!(refused(&[("operation", "stat"), ("sync", "fsync")]).contains("nothing to sync"));
    assert!(refused(&[("operation", "unlink"), ("sync", "fsync")]).contains("not a file"));
    assert!(refused(&[("size", "1GiB"), ("files", "200000")]).contains("80 %"));
    for files in ["0", "262145"] {
        let why = refusal(files, try_files(dir.path(), &[("files", files)]));
        assert!(why.contains("262144 in total"), "{why}");
    }
    let why = unsupported("nowhere", try_files(Path::new("/proc"), &[])).0;
    assert!(why.contains("can't create a folder in /proc"), "{why}");
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn syncing_makes_files_slower() {
    let _alone = alone();
    let dir = tempfile::tempdir().unwrap();
    let fastest = |sync: &str| {
        let mut started = try_files(dir.path(), &[("sync", sync)]).unwrap();
        samples(&mut started, &[40; 5]).elapsed_ns.into_iter().min().unwrap()
    };
    if !plumb_workload_kit::filesystem::is_in_memory(dir.path()) {
        let none = fastest("none");
        let file = fastest("fsync");
        assert!(file > none, "{file} ns with fsync, {none} without");
        assert!(fastest("fsync+folder") > none);
    }
}

#[test]
fn twice_the_files_take_about_twice_the_time() {
    let _alone = alone();
    let dir = tempfile::tempdir().unwrap();
    let mut started = try_files(dir.path(), &[("operation", "stat"), ("files", "2000")]).unwrap();
    assert_doubles("files", &mut started, 4000);
}

#[test]
fn a_pass_of_bonnie_reports_every_phase_that_it_has() {
    let _alone = alone();
    let dir = tempfile::tempdir().unwrap();
    let pass = |settings: &[(&str, &str)]| {
        let small = [("size", "4MiB"), ("byte_size", "4KiB"), ("seeks", "64"), ("files", "64")];
        let settings = [small.as_slice(), settings].concat();
        let point = TestPoint::new(ALL, "storage.bonnie", &settings).in_folder(dir.path());
        let mut started = point.started();
        let taken = samples(&mut started, &[1, 1]);
        started.instance.finish().unwrap();
        taken.values
    };
    let all = pass(&[]);
    assert_eq!(all.len(), 38);
    assert!(all["device_share"][0] < 0.5, "4 MiB are read from memory: {all:?}");
    assert!(all.values().all(|values| values[0] >= 0.0), "{all:?}");
    assert!(all["write_block"][0] > all["write_byte"][0], "blocks are faster than bytes: {all:?}");
    let many = [("folders", "3"), ("largest", "9000"), ("smallest", "1"), ("sync", "each")];
    assert_eq!(pass(&many).len(), 38);
    for links in ["hard", "symbolic"] {
        assert_eq!(pass(&[("links", links), ("folders", "3")]).len(), 38);
    }
    let less = pass(&[("byte_size", "0"), ("seeks", "0"), ("files", "0")]);
    let names: Vec<_> =
        less.keys().filter(|name| !name.contains('_') || name.ends_with("block")).collect();
    assert_eq!((less.len(), names.len()), (11, 3), "{less:?}");
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn a_pass_of_bonnie_says_which_phase_it_is_in() {
    let dir = tempfile::tempdir().unwrap();
    let said = |settings: &[(&str, &str)]| {
        let small = [("size", "1MiB"), ("byte_size", "1KiB"), ("seeks", "8"), ("files", "4")];
        let settings = [small.as_slice(), settings].concat();
        let point = TestPoint::new(ALL, "storage.bonnie", &settings).in_folder(dir.path());
        let mut started = point.started();
        let mut texts = Vec::new();
        let mut hear = |text: &str| texts.push(text.to_owned());
        let mut batch =
            Batch::with_room(1, started.instance.value_names()).with_progress(&mut hear);
        started.instance.batch(&[1], &mut batch).unwrap();
        let (samples, _) = batch.finish();
        assert_eq!((samples.len(), samples.iterations[0]), (1, 1));
        started.instance.finish().unwrap();
        texts
    };
    let all = said(&[]);
    assert_eq!(all.len(), 12, "{all:?}");
    assert_eq!(all[0], "phase 1 of 12: write_byte");
    assert_eq!(all[11], "phase 12 of 12: delete_random");
    let less = said(&[("byte_size", "0"), ("seeks", "0"), ("files", "0")]);
    assert_eq!(
        less,
        ["phase 1 of 3: write_block", "phase 2 of 3: rewrite", "phase 3 of 3: read_block"]
    );
}

#[test]
fn a_pass_of_bonnie_that_can_not_be_is_refused_with_a_reason() {
    let dir = tempfile::tempdir().unwrap();
    let bonnie = |settings: &[(&str, &str)]| {
        TestPoint::new(ALL, "storage.bonnie", settings).in_folder(dir.path()).try_start()
    };
    assert!(unsupported("room", bonnie(&[("size", "9000GiB")])).0.contains("80 %"));
    let links = [("size", "1MiB"), ("files", "70000"), ("links", "hard")];
    assert!(unsupported("links", bonnie(&links)).0.contains("more than filesystems allow"));
    for (settings, words) in [
        ([("size", "100"), ("chunk", "8KiB")], "two chunks"),
        ([("smallest", "2"), ("size", "1MiB")], "is more than `largest`"),
        ([("user", "nobody-of-this-name"), ("size", "1MiB")], "there is no user"),
    ] {
        let why = refusal(words, bonnie(&settings));
        assert!(why.contains(words), "{why}");
    }
    let why = refused_settings(ALL, "storage.bonnie", &[("chunk", "100")]);
    assert!(why.contains("`100B` is not 256B to 1MiB"), "{why}");
    // Twice the memory of a machine of 1 GiB, if there is room.
    let started = bonnie(&[]).unwrap();
    let capped = has_flag(&started.ready.flags, &FlagKind::Capped);
    let free = plumb_workload_kit::filesystem::free_bytes(dir.path()).unwrap();
    assert_eq!(capped, free / 5 * 4 < 2 << 30, "{:?}", started.ready);
    drop(started);
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
}
