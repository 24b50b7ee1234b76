//! The written direction of dependencies: an arrow between crates that is not listed here fails.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// crate → the crates that it may use. Every crate may use `model`; `cli` joins all.
const ARROWS: &[(&str, &[&str])] = &[
    ("model", &[]),
    ("stats", &[]),
    ("protocol", &[]),
    ("host", &[]),
    ("store", &[]),
    ("classics", &[]),
    ("workloads", &["protocol"]),
    ("engine", &["host", "protocol", "stats"]),
    ("analysis", &["stats"]),
    ("report", &["analysis"]),
    ("serve", &["analysis", "report", "store"]),
];

fn used(manifest: &Path) -> BTreeSet<String> {
    let text = fs::read_to_string(manifest).unwrap();
    let document: toml::Table = toml::from_str(&text).unwrap();
    let sections = ["dependencies", "dev-dependencies", "build-dependencies"];
    let tables = sections.iter().filter_map(|section| document.get(*section)?.as_table());
    let names = tables.flat_map(|table| table.keys());
    names.filter_map(|name| Some(name.strip_prefix("plumb-")?.to_owned())).collect()
}

#[test]
fn crates_use_only_what_the_architecture_lists() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let allowed: BTreeMap<&str, &[&str]> = ARROWS.iter().copied().collect();
    for entry in fs::read_dir(crates).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let used = used(&crates.join(&name).join("Cargo.toml"));
        if name == "cli" {
            continue;
        }
        let Some(allowed) = allowed.get(name.as_str()) else {
            panic!("`{name}` is not listed in ARROWS");
        };
        for other in used.iter().filter(|other| *other != "model" && **other != name) {
            let known = allowed.contains(&other.as_str());
            assert!(known, "{name} must not use {other}: see ARCHITECTURE.md");
        }
    }
}
