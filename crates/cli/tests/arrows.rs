//! The written direction of dependencies: an arrow between crates that is not listed here fails.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// The stages of a plan on its way to a report, as folders under `crates/`, in their order: a crate uses
/// crates of its own stage and of earlier ones.
const STAGES: &[&str] = &["base", "measure", "record", "judge", "show"];

/// stage/crate → the crates that it may use. Every crate may use `model`; `cli` joins all.
const ARROWS: &[(&str, &[&str])] = &[
    ("base/model", &[]),
    ("base/stats", &[]),
    ("base/classics", &[]),
    ("measure/protocol", &[]),
    ("measure/host", &[]),
    ("measure/workloads", &["protocol"]),
    ("measure/engine", &["host", "protocol", "stats"]),
    ("record/store", &[]),
    ("judge/analysis", &["stats"]),
    ("judge/query", &["analysis", "store"]),
    ("show/text", &[]),
    ("show/chart", &["text"]),
    ("show/report", &["analysis", "chart", "text"]),
    ("show/site", &["analysis", "chart", "report", "text"]),
    ("show/serve", &["analysis", "query", "report", "site", "store", "text"]),
];

fn used(manifest: &Path) -> BTreeSet<String> {
    let text = fs::read_to_string(manifest).unwrap();
    let document: toml::Table = toml::from_str(&text).unwrap();
    let sections = ["dependencies", "dev-dependencies", "build-dependencies"];
    let tables = sections.iter().filter_map(|section| document.get(*section)?.as_table());
    let names = tables.flat_map(|table| table.keys());
    names.filter_map(|name| Some(name.strip_prefix("plumb-")?.to_owned())).collect()
}

/// `stage/crate` of every crate but `cli`, as the folders tell.
fn crates() -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let names = |folder: &Path| -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    };
    let stages = names(root).into_iter().filter(|name| name != "cli");
    stages
        .flat_map(|stage| {
            let crates = names(&root.join(&stage));
            crates.into_iter().map(move |name| format!("{stage}/{name}")).collect::<Vec<_>>()
        })
        .collect()
}

#[test]
fn crates_use_only_what_the_architecture_lists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let allowed: BTreeMap<&str, &[&str]> = ARROWS.iter().copied().collect();
    for place in crates() {
        let name = place.split_once('/').unwrap().1;
        let used = used(&root.join(&place).join("Cargo.toml"));
        let Some(allowed) = allowed.get(place.as_str()) else {
            panic!("`{place}` is not listed in ARROWS");
        };
        for other in used.iter().filter(|other| *other != "model" && *other != name) {
            let known = allowed.contains(&other.as_str());
            assert!(known, "{place} must not use {other}: see ARCHITECTURE.md");
        }
    }
}

#[test]
fn a_crate_uses_its_own_stage_and_earlier_ones() {
    let places: BTreeMap<&str, usize> = ARROWS
        .iter()
        .map(|(place, _)| {
            let (stage, name) = place.split_once('/').unwrap();
            (name, STAGES.iter().position(|known| *known == stage).unwrap())
        })
        .collect();
    for (place, allowed) in ARROWS {
        let own = places[place.split_once('/').unwrap().1];
        for other in *allowed {
            assert!(places[other] <= own, "{place} uses {other}, which is of a later stage");
        }
    }
}
