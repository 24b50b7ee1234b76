//! Builds differ in their addresses, and in nothing else.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use plumb_relink::{CompiledProgram, Layout, RelinkError, TEST_PROGRAM};

const SEEDS: u64 = 10;

/// What compilers put between functions.
const FILLERS: [&str; 6] = ["nop", "nopl", "nopw", "cs", "data16", "xchg"];

/// The addresses of all symbols that `nm` reads from a file.
fn symbols(program: &Path) -> BTreeMap<String, u64> {
    let output = Command::new("nm").arg(program).output().unwrap();
    let listed = String::from_utf8(output.stdout).unwrap();
    let mut found = BTreeMap::new();
    for line in listed.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        if let [address, _, name] = words[..] {
            found.insert(name.to_owned(), u64::from_str_radix(address, 16).unwrap());
        }
    }
    found
}

/// The operations of a function, without operands, which hold addresses.
fn operations(program: &Path, function: &str) -> Vec<String> {
    // `--disassemble=FUNCTION` prints nothing if the bytes before the function are zeros.
    let words = ["-d", "--no-addresses", "--no-show-raw-insn"];
    let output = Command::new("objdump").args(words).arg(program).output().unwrap();
    let listed = String::from_utf8(output.stdout).unwrap();
    let title = format!("<{function}>:");
    let of_function = listed.lines().skip_while(|line| *line != title).skip(1);
    of_function.map_while(|line| line.split_whitespace().next()).map(str::to_owned).collect()
}

fn printed(program: &Path) -> String {
    let output = Command::new(program).arg("2").output().unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn relinked_copies_have_other_addresses_and_the_same_instructions() {
    let folder = tempfile::tempdir().unwrap();
    let compiled = CompiledProgram::compile(folder.path(), &TEST_PROGRAM).unwrap();
    let first = folder.path().join("first");
    compiled.link(Layout::AsGiven, &first).unwrap();
    let at_first = symbols(&first);
    let answer = printed(&first);
    let functions = ["main", "sort_round", "hash_round", "scan_round"];
    let variables = ["numbers", "slots", "text"];
    let mut lines = BTreeSet::new();
    for seed in 0..SEEDS {
        let other = folder.path().join("other");
        compiled.link(Layout::Seeded(seed), &other).unwrap();
        let at = symbols(&other);
        for name in functions.iter().chain(&variables) {
            assert_ne!(at[*name], at_first[*name], "{name} did not move with seed {seed}");
        }
        for function in functions {
            let mut before = operations(&first, function);
            // What fills the room up to the next function is not its own.
            while before.last().is_some_and(|last| FILLERS.contains(&last.as_str())) {
                before.pop();
            }
            assert!(before.len() > 10, "{function}: {before:?}");
            let after = operations(&other, function);
            assert_eq!(before, after[..before.len().min(after.len())], "{function}, seed {seed}");
        }
        assert_eq!(printed(&other), answer, "seed {seed}");
        // The place within a cache line of 64 bytes, as branch predictors and decoders see it.
        lines.insert(at["sort_round"] % 64);
    }
    assert!(lines.len() >= 3, "sort_round begins at {lines:?} of a cache line only");
}

#[test]
fn a_seed_gives_the_same_build_again() {
    let folder = tempfile::tempdir().unwrap();
    let compiled = CompiledProgram::compile(folder.path(), &TEST_PROGRAM).unwrap();
    let one = folder.path().join("one");
    let two = folder.path().join("two");
    compiled.link(Layout::Seeded(7), &one).unwrap();
    compiled.link(Layout::Seeded(8), &two).unwrap();
    assert_ne!(std::fs::read(&one).unwrap(), std::fs::read(&two).unwrap());
    compiled.link(Layout::Seeded(7), &two).unwrap();
    assert_eq!(std::fs::read(&one).unwrap(), std::fs::read(&two).unwrap());
}

#[test]
fn a_source_with_an_error_is_refused_with_what_the_compiler_says() {
    let folder = tempfile::tempdir().unwrap();
    let error = CompiledProgram::compile(folder.path(), &[("bad", "int main( {}")]).unwrap_err();
    assert!(matches!(error, RelinkError::Compiler { .. }));
    assert!(error.to_string().contains("bad.c"), "{error}");
}
