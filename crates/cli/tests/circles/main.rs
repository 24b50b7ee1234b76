//! No circles of files inside a crate, and no file too long.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod modules;
mod tokens;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::modules::Crate;

/// Most lines of a file, without those for tests.
const LONGEST_FILE: usize = 800;

/// Crate, files under its `src/` that use each other in circles, and why that is right.
const CIRCLES: &[(&str, &[&str], &str)] = &[];

/// Files with more lines, and why that is right.
const LONG_FILES: &[(&str, &str)] = &[];

/// Every crate's name (`judge/analysis`) and its folder `src`.
fn crates() -> Vec<(String, PathBuf)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut found = Vec::new();
    let mut folders = vec![root.to_owned(), root.parent().unwrap().join("xtask")];
    while let Some(folder) = folders.pop() {
        if folder.join("Cargo.toml").exists() {
            let name = folder.strip_prefix(root).unwrap_or(Path::new("xtask"));
            found.push((name.display().to_string(), folder.join("src")));
            continue;
        }
        let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        folders.extend(entries.filter(|path| path.is_dir()));
    }
    found.sort();
    assert!(found.len() > 10, "{found:?}");
    found
}

/// Groups of files of which each uses each other, by whatever way.
fn circles(uses: &BTreeMap<usize, BTreeSet<usize>>) -> Vec<BTreeSet<usize>> {
    let reach = |from: usize| {
        let mut seen = BTreeSet::new();
        let mut next = vec![from];
        while let Some(at) = next.pop() {
            let others = uses.get(&at).into_iter().flatten();
            next.extend(others.filter(|other| seen.insert(**other)));
        }
        seen
    };
    let reached: BTreeMap<usize, BTreeSet<usize>> =
        uses.keys().map(|&file| (file, reach(file))).collect();
    let mut found: Vec<BTreeSet<usize>> = Vec::new();
    for (file, others) in &reached {
        let back = |other: &&usize| reached.get(other).is_some_and(|others| others.contains(file));
        let circle: BTreeSet<usize> = others.iter().filter(back).copied().collect();
        if circle.len() > 1 && !found.contains(&circle) {
            found.push(circle);
        }
    }
    found
}

#[test]
fn no_files_of_a_crate_use_each_other_in_a_circle() {
    let mut wrong = Vec::new();
    for (name, src) in crates() {
        let read = Crate::read(&src);
        let uses = read.uses();
        let path = |file: &usize| read.files[*file].path.display().to_string();
        let is_listed = |circle: &BTreeSet<usize>| {
            let mut listed = CIRCLES.iter().filter(|(of, ..)| *of == name);
            listed
                .any(|(_, files, _)| circle.iter().all(|file| files.contains(&path(file).as_str())))
        };
        let all: Vec<_> = circles(&uses).into_iter().filter(|circle| !is_listed(circle)).collect();
        for circle in all {
            wrong.push(format!("{name}: a circle:"));
            for file in &circle {
                let others: Vec<_> = uses[file].intersection(&circle).map(&path).collect();
                wrong.push(format!("    {} uses {}", path(file), others.join(", ")));
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn no_file_is_too_long() {
    let mut wrong = Vec::new();
    for (name, src) in crates() {
        let read = Crate::read(&src);
        for file in &read.files {
            let path = format!("{name}/src/{}", file.path.display());
            if file.lines > LONGEST_FILE && !LONG_FILES.iter().any(|(of, _)| *of == path) {
                wrong.push(format!("{path} has {} lines before tests", file.lines));
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// A crate in a temporary folder: its files, and the circles that are found.
fn circles_of(files: &[(&str, &str)]) -> Vec<Vec<String>> {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let read = Crate::read(folder.path());
    let name = |file: &usize| read.files[*file].path.display().to_string();
    circles(&read.uses()).iter().map(|circle| circle.iter().map(name).collect()).collect()
}

#[test]
fn a_circle_is_found_through_imports_paths_and_re_exports() {
    let lib = "mod a;\nmod b;\npub use a::A;\npub use b::*;";
    let by = |a: &str, b: &str| circles_of(&[("lib.rs", lib), ("a.rs", a), ("b/mod.rs", b)]);
    let both = [["a.rs".to_owned(), "b/mod.rs".to_owned()]];
    assert_eq!(by("use crate::b::B; pub struct A;", "use super::a::A; pub struct B;"), both);
    assert_eq!(by("use crate::B; pub struct A;", "pub struct B(crate::A);"), both, "re-exported");
    assert_eq!(
        by("use crate::b; pub struct A(b::B);", "use crate::{A}; pub enum B { A(A) }"),
        both
    );
    let alone = "pub struct B;";
    let none = Vec::<Vec<String>>::new();
    assert_eq!(by("use crate::B; pub struct A;", alone), none);
    assert_eq!(
        by("// crate::B\npub struct A(&'static str); const X: &str = \"crate::B\";", alone),
        none
    );
    let test = "pub struct B; #[cfg(test)] mod tests { use crate::A; }";
    assert_eq!(by("use crate::B; pub struct A;", test), none);
}

#[test]
fn a_parent_and_its_child_are_a_circle_when_each_uses_the_other() {
    let child = "use super::Shared; pub fn work() -> Shared { Shared }";
    let with = |lib: &str| circles_of(&[("lib.rs", lib), ("child.rs", child)]);
    let whole = with("mod child; pub struct Shared; pub fn all() { child::work(); }");
    assert_eq!(whole, [["lib.rs", "child.rs"]]);
    assert!(with("mod child; pub struct Shared;").is_empty());
}
