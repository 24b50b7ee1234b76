//! Nobody but `sqlite/` knows which database is behind the store.

use std::fs;
use std::path::{Path, PathBuf};

fn files_below(folder: &Path, end: &str, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && path.file_name().is_none_or(|name| name != "target") {
            files_below(&path, end, found);
        } else if path.to_string_lossy().ends_with(end) {
            found.push(path);
        }
    }
}

#[test]
fn the_database_is_named_in_one_folder() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    files_below(&src, ".rs", &mut files);
    assert!(files.len() > 15);
    for file in files.iter().filter(|file| !file.starts_with(src.join("sqlite"))) {
        let text = fs::read_to_string(file).unwrap();
        assert!(!text.contains("rusqlite"), "{} goes around the trait", file.display());
    }
}

#[test]
fn no_other_crate_opens_the_database_itself() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(3).unwrap();
    let mut manifests = Vec::new();
    for folder in ["crates", "benches", "xtask"] {
        files_below(&root.join(folder), "Cargo.toml", &mut manifests);
    }
    assert!(manifests.len() > 12);
    for manifest in manifests {
        let path = manifest.strip_prefix(root).unwrap().to_string_lossy().into_owned();
        // One is the store; the other measures SQLite itself.
        if path.contains("record/store") || path.contains("workloads/datastore") {
            continue;
        }
        let text = fs::read_to_string(&manifest).unwrap();
        // Tests may spoil a file.
        let shipped = text.split("[dev-dependencies]").next().unwrap_or_default();
        assert!(!shipped.contains("rusqlite"), "{path} goes around the store");
    }
}
