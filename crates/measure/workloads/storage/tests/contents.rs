//! What files hold: zeros, or what the user has in a file.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail the test")]

use std::fs;
use std::path::Path;

use plumb_model::FlagKind;
use plumb_protocol::{StartError, StartedWorkload};
use plumb_workload_storage::ALL;
use plumb_workload_testing::{TestPoint, alone, has_flag, refusal, samples, unsupported};

const BOTH: [&str; 2] = ["storage.sequential", "storage.random"];

/// A point whose fixture was prepared.
fn prepared(
    id: &str,
    folder: &Path,
    settings: &[(&str, &str)],
) -> Result<TestPoint<'static>, StartError> {
    let mut point = TestPoint::new(ALL, id, settings).in_folder(folder);
    point.prepare()?;
    Ok(point)
}

/// Why a point on a file of the user's is refused.
fn refused(folder: &Path, settings: &[(&str, &str)]) -> String {
    let tried =
        prepared("storage.random", folder, settings).and_then(|prepared| prepared.try_start());
    refusal(&format!("{settings:?}"), tried)
}

#[test]
fn zeros_lie_behind_the_stamps_of_what_was_laid_out_and_written() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    for id in BOTH {
        for (data, workers, is_zero) in
            [("zeros", "1", true), ("zeros", "2", true), ("random", "1", false)]
        {
            let settings = [
                ("size", "1MiB"),
                ("data", data),
                ("workers", workers),
                ("operation", "write"),
                ("block", "4KiB"),
                ("depth", "2"),
            ];
            let point = prepared(id, folder.path(), &settings).unwrap();
            let file = &point.fixture.endpoints["file"];
            let before = fs::read(file).unwrap();
            let mut started = point.started();
            assert_eq!(samples(&mut started, &[40, 40]).len(), 2);
            drop(started);
            let after = fs::read(file).unwrap();
            assert_ne!(before, after, "{id}: nothing was written");
            for bytes in [before, after] {
                let mut zeros =
                    bytes.chunks_exact(512).map(|sector| sector[16..].iter().all(|b| *b == 0));
                assert!(zeros.all(|all_zero| all_zero == is_zero), "{id} {settings:?}");
            }
        }
    }
}

/// Reads a file of the user's: what is said of it.
fn read_own(id: &str, path: &Path, workers: &str) -> StartedWorkload {
    let file = path.display().to_string();
    let settings = [
        ("file", file.as_str()),
        ("size", "4MiB"),
        ("block", "16KiB"),
        ("depth", "4"),
        ("workers", workers),
    ];
    let point = prepared(id, Path::new("/nowhere"), &settings).unwrap();
    assert_eq!((point.fixture.bytes_on_disk, path), (0, point_file(&point).as_path()));
    let mut started = point.started();
    assert_eq!(samples(&mut started, &[30, 100]).len(), 2);
    started
}

fn point_file(point: &TestPoint) -> std::path::PathBuf {
    point.fixture.endpoints["file"].clone().into()
}

#[test]
fn a_file_of_the_user_is_read_and_left_as_it_was() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("own");
    let bytes: Vec<u8> = (0..4_u32 << 20).map(|offset| (offset >> 9).to_le_bytes()[0]).collect();
    fs::write(&path, &bytes).unwrap();
    for id in BOTH {
        for workers in ["1", "2"] {
            let started = read_own(id, &path, workers);
            assert!(!has_flag(&started.ready.flags, &FlagKind::Sparse), "{:?}", started.ready);
            let said = started.ready.notes.iter().any(|note| note.contains("is not checked"));
            assert!(said, "{:?}", started.ready.notes);
        }
    }
    assert!(fs::read(&path).unwrap() == bytes, "it was written");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "another file was laid out");
}

#[test]
fn a_file_of_the_user_with_holes_is_flagged_with_what_is_not_there() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("own");
    fs::write(&path, vec![7_u8; 1 << 20]).unwrap();
    fs::File::options().write(true).open(&path).unwrap().set_len(4 << 20).unwrap();
    for id in BOTH {
        let started = read_own(id, &path, "1");
        let flag = started.ready.flags.iter().find(|flag| flag.flag == FlagKind::Sparse).unwrap();
        assert!(flag.why.starts_with("3 MiB of the first 4 MiB"), "{flag:?}");
    }
}

#[test]
fn a_file_of_the_user_is_never_written_nor_guessed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("own");
    fs::write(&path, vec![7_u8; 1 << 20]).unwrap();
    let file = path.display().to_string();
    let own = [("file", file.as_str()), ("size", "1MiB")];
    for operation in ["write", "mixed"] {
        let why = refused(folder.path(), &[&own[..], &[("operation", operation)]].concat());
        assert!(why.contains("never writes") && why.contains("operation=read"), "{why}");
    }
    let why = refused(folder.path(), &[("file", "own"), ("size", "1MiB")]);
    assert!(why.contains("absolute path"), "{why}");
    let missing = format!("{file}.gone");
    assert!(refused(folder.path(), &[("file", missing.as_str())]).contains("own.gone"));
    for (name, value) in [("place", "memory"), ("data", "zeros")] {
        let settings = [&own[..], &[(name, value)]].concat();
        let (why, fix) = unsupported(name, prepared("storage.random", folder.path(), &settings));
        assert!(why.contains("`file`") && fix.contains("place=dir"), "{why}; {fix}");
    }
    let long = [("file", file.as_str()), ("size", "2MiB")];
    let (why, fix) = unsupported("length", prepared("storage.random", folder.path(), &long));
    assert!(
        why.contains("is 1MiB long, less than 2MiB") && fix == "set size=1MiB or less",
        "{why}; {fix}"
    );
    assert!(fs::read(&path).unwrap() == vec![7_u8; 1 << 20], "it was written");
}
