//! deny.toml, and what of the dependencies breaks it: licences, versions, sources.

use std::collections::BTreeMap;
use std::fs;

use serde::Deserialize;

use super::metadata::{Metadata, Package};
use super::spdx::terms;

/// The rules of deny.toml that are read here; cargo-deny reads the same file.
#[derive(Debug, Deserialize)]
struct DenyRules {
    licenses: Licenses,
    bans: Bans,
    sources: Sources,
}

#[derive(Debug, Deserialize)]
struct Licenses {
    allow: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct Bans {
    deny: Vec<NamedPackage>,
    /// Versions that may be used next to another version.
    skip: Vec<NamedPackage>,
}

#[derive(Debug, Deserialize)]
struct Sources {
    #[serde(rename = "allow-registry")]
    allow_registry: Vec<String>,
}

/// `name` or `name@version`.
#[derive(Debug, Deserialize)]
struct NamedPackage {
    #[serde(rename = "crate")]
    name: String,
}

/// Violations of deny.toml, one per line.
pub fn broken(metadata: &Metadata) -> Result<Vec<String>, String> {
    let file = metadata.workspace_root.join("deny.toml");
    let text = fs::read_to_string(&file).map_err(|error| format!("deny.toml: {error}"))?;
    let rules: DenyRules = toml::from_str(&text).map_err(|error| format!("deny.toml: {error}"))?;
    let used = metadata.used();
    let mut broken: Vec<String> =
        used.iter().filter_map(|package| licence(&rules, package)).collect();
    broken.extend(used.iter().filter_map(|package| source(&rules, package)));
    broken.extend(used.iter().filter_map(|package| banned(&rules, package)));
    broken.extend(twice(&rules, &used));
    broken.extend(skipped_for_nothing(&rules, &used));
    Ok(broken)
}

fn licence(rules: &DenyRules, package: &Package) -> Option<String> {
    let expression = package.license.as_deref().unwrap_or_default();
    let terms = terms(expression);
    let allowed = &rules.licenses.allow;
    let fine = !terms.is_empty()
        && terms.iter().all(|choices| {
            choices.iter().any(|choice| allowed.iter().any(|licence| licence == choice))
        });
    (!fine).then(|| format!("{}: the licence `{expression}` is not allowed", name(package)))
}

fn source(rules: &DenyRules, package: &Package) -> Option<String> {
    let source = package.source.as_deref()?;
    let fine = rules
        .sources
        .allow_registry
        .iter()
        .any(|registry| source == format!("registry+{registry}"));
    (!fine).then(|| format!("{} comes from {source}", name(package)))
}

fn banned(rules: &DenyRules, package: &Package) -> Option<String> {
    let banned = rules.bans.deny.iter().any(|denied| denied.name == package.name);
    banned.then(|| format!("{} is banned", name(package)))
}

/// Packages in several versions, but for those that are skipped.
fn twice(rules: &DenyRules, used: &[&Package]) -> Vec<String> {
    let mut versions: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for package in used.iter().filter(|package| !is_skipped(rules, package)) {
        versions.entry(&package.name).or_default().push(&package.version);
    }
    let several = versions.iter().filter(|(_, versions)| versions.len() > 1);
    several
        .map(|(name, versions)| format!("{name} is used as {}", versions.join(" and ")))
        .collect()
}

fn is_skipped(rules: &DenyRules, package: &Package) -> bool {
    rules.bans.skip.iter().any(|skipped| skipped.name == name(package))
}

fn skipped_for_nothing(rules: &DenyRules, used: &[&Package]) -> Vec<String> {
    let names: Vec<String> = used.iter().map(|package| name(package)).collect();
    let stale = rules.bans.skip.iter().filter(|skipped| !names.contains(&skipped.name));
    stale.map(|skipped| format!("deny.toml skips {}, which is not used", skipped.name)).collect()
}

fn name(package: &Package) -> String {
    format!("{}@{}", package.name, package.version)
}
