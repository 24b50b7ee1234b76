//! The written direction of dependencies: an arrow between crates that is not listed here fails.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The stages of a plan on its way to a report, as folders under `crates/`, in their order: a crate uses
/// crates of its own stage and of earlier ones.
const STAGES: &[&str] = &["base", "measure", "record", "judge", "show"];

/// Where the workloads are: `ends`, `kit`, `path`, `testing`, `registry`, and a crate a family.
const WORKLOADS: &str = "measure/workloads";

/// The crates that a family of workloads may use; never another family.
const OF_A_FAMILY: &[&str] = &[
    "classics",
    "machine",
    "protocol",
    "workload-ends",
    "workload-kit",
    "workload-path",
    "workload-testing",
];

/// The crates that every crate may use: the words and the units.
const OF_EVERYBODY: [&str; 2] = ["model", "units"];

/// stage/crate → the crates that it may use, families and those of [`OF_EVERYBODY`] aside; `cli` joins all.
const ARROWS: &[(&str, &[&str])] = &[
    ("base/hdr", &[]),
    ("base/model", &["hdr", "stats"]),
    ("base/stats", &[]),
    ("base/units", &[]),
    ("base/simulate", &["stats"]),
    ("base/classics", &[]),
    ("base/machine", &[]),
    ("measure/protocol", &[]),
    ("measure/monitors", &["machine"]),
    ("measure/causes", &["machine"]),
    ("measure/media", &["machine", "protocol", "workload-kit"]),
    ("measure/keeper", &["machine", "media", "protocol"]),
    ("measure/agent", &["launch", "machine", "protocol"]),
    ("measure/peer", &["protocol"]),
    ("measure/plugins", &["keeper", "launch", "protocol", "stats"]),
    ("measure/relink", &["stats"]),
    ("measure/suite", &[]),
    ("measure/workloads/kit", &["protocol"]),
    ("measure/workloads/ends", &["protocol", "workload-kit", "workload-path"]),
    ("measure/workloads/path", &["protocol", "workload-kit"]),
    ("measure/workloads/testing", &["protocol", "stats"]),
    ("measure/launch", &["keeper", "machine", "media", "protocol"]),
    ("measure/engine", &["launch", "machine", "monitors", "protocol", "stats"]),
    ("record/store", &[]),
    ("judge/analysis", &["stats"]),
    ("judge/reference", &[]),
    ("judge/query", &["analysis", "store"]),
    ("show/text", &[]),
    ("show/chart", &["text"]),
    ("show/report", &["analysis", "chart", "reference", "text"]),
    ("show/live", &["analysis", "chart", "report", "text"]),
    ("show/crosscheck", &["analysis", "report", "text"]),
    ("show/doctor", &["analysis", "text"]),
    ("show/menus", &["keeper", "monitors", "suite", "text"]),
    ("show/export", &["analysis", "classics", "report", "text"]),
    ("show/site", &["analysis", "chart", "live", "report", "text"]),
    ("show/serve", &["analysis", "live", "query", "report", "site", "store", "text"]),
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
    let mut found = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        if folder.join("Cargo.toml").exists() {
            found.push(folder.strip_prefix(root).unwrap().display().to_string());
            continue;
        }
        let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        folders.extend(entries.filter(|path| path.is_dir()));
    }
    found.retain(|place| place != "cli");
    found
}

/// The families of workloads, as the folders tell.
fn families() -> Vec<String> {
    let names = crates().into_iter().filter_map(|place| {
        let name = place.strip_prefix(WORKLOADS)?.strip_prefix('/')?;
        Some(name.to_owned())
    });
    names
        .filter(|name| !["ends", "kit", "path", "registry", "testing"].contains(&name.as_str()))
        .collect()
}

fn manifest(place: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    root.join(place).join("Cargo.toml")
}

#[test]
fn crates_use_only_what_the_architecture_lists() {
    let mut places = crates();
    let families: Vec<String> =
        families().iter().map(|family| format!("{WORKLOADS}/{family}")).collect();
    places.retain(|place| !families.contains(place) && place != "measure/workloads/registry");
    let allowed: BTreeMap<&str, &[&str]> = ARROWS.iter().copied().collect();
    for place in places {
        let name = place.rsplit_once('/').unwrap().1;
        let used = used(&manifest(&place));
        let Some(allowed) = allowed.get(place.as_str()) else {
            panic!("`{place}` is not listed in ARROWS");
        };
        for other in used.iter().filter(|other| *other != name) {
            let known = OF_EVERYBODY.contains(&other.as_str()) || allowed.contains(&other.as_str());
            assert!(known, "{place} must not use {other}: see ARCHITECTURE.md");
        }
    }
}

#[test]
fn a_family_of_workloads_uses_the_kit_and_the_registry_lists_every_family() {
    let families = families();
    assert!(families.len() > 10, "{families:?}");
    for family in &families {
        for other in used(&manifest(&format!("{WORKLOADS}/{family}"))) {
            let known =
                OF_EVERYBODY.contains(&other.as_str()) || OF_A_FAMILY.contains(&other.as_str());
            assert!(known, "the family {family} must not use {other}: put what both need into kit");
        }
    }
    let listed = used(&manifest(&format!("{WORKLOADS}/registry")));
    let listed: BTreeSet<String> = listed
        .iter()
        .filter_map(|name| Some(name.strip_prefix("workload-")?.to_owned()))
        .filter(|name| name != "testing")
        .collect();
    assert_eq!(listed, families.into_iter().collect());
}

#[test]
fn timed_code_is_generated_in_one_unit() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
    let text = fs::read_to_string(root.join("Cargo.toml")).unwrap();
    let workspace: toml::Table = toml::from_str(&text).unwrap();
    let release = workspace["profile"]["release"].as_table().unwrap();
    assert_eq!(release.get("codegen-units"), Some(&toml::Value::Integer(1)));
    // Libraries may be built as their other users build them.
    let packages = release["package"].as_table().unwrap().iter();
    for (name, package) in packages.filter(|(name, _)| name.starts_with("plumb-")) {
        assert!(package.get("codegen-units").is_none(), "[profile.release.package.{name}]");
    }
}

#[test]
fn a_crate_uses_its_own_stage_and_earlier_ones() {
    let places: BTreeMap<String, usize> = ARROWS
        .iter()
        .map(|(place, _)| {
            let (stage, name) = place.split_once('/').unwrap();
            (
                name.replace("workloads/", "workload-"),
                STAGES.iter().position(|known| *known == stage).unwrap(),
            )
        })
        .collect();
    for (place, allowed) in ARROWS {
        let stage = place.split_once('/').unwrap().0;
        let own = STAGES.iter().position(|known| *known == stage).unwrap();
        for other in *allowed {
            assert!(places[*other] <= own, "{place} uses {other}, which is of a later stage");
        }
    }
}
