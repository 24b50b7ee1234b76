//! The workspace and its dependencies on Linux, from `cargo metadata`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;

/// Packages, and who uses whom.
#[derive(Debug, Deserialize)]
pub struct Metadata {
    pub packages: Vec<Package>,
    resolve: Resolve,
    workspace_members: BTreeSet<String>,
    pub workspace_root: PathBuf,
}

/// A package as `cargo metadata` describes it.
#[derive(Debug, Deserialize)]
pub struct Package {
    id: String,
    pub name: String,
    pub version: String,
    /// An SPDX expression.
    pub license: Option<String>,
    /// Where it comes from; None for a folder of the workspace.
    pub source: Option<String>,
    pub dependencies: Vec<Dependency>,
    manifest_path: PathBuf,
    targets: Vec<CargoTarget>,
}

/// A dependency as a manifest names it.
#[derive(Debug, Deserialize)]
pub struct Dependency {
    pub name: String,
    pub rename: Option<String>,
}

#[derive(Debug, Deserialize)]
struct CargoTarget {
    kind: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct Resolve {
    nodes: Vec<Node>,
}

#[derive(Debug, Deserialize)]
struct Node {
    id: String,
    deps: Vec<Edge>,
}

#[derive(Debug, Deserialize)]
struct Edge {
    pkg: String,
    dep_kinds: Vec<DependencyKind>,
}

/// None is a dependency of what is built, not of its tests or build script.
#[derive(Debug, Deserialize)]
struct DependencyKind {
    kind: Option<String>,
}

impl Package {
    /// The folder of its manifest.
    pub fn folder(&self) -> &Path {
        self.manifest_path.parent().unwrap_or(&self.manifest_path)
    }

    fn is_macro(&self) -> bool {
        self.targets.iter().any(|target| target.kind.iter().any(|kind| kind == "proc-macro"))
    }
}

impl Metadata {
    /// Asks cargo, which needs no network once everything is fetched.
    pub fn read() -> Result<Self, String> {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut command = Command::new(cargo);
        command.args(["metadata", "--locked", "--format-version", "1"]);
        // The lock file also has what other systems would need, which is never built.
        command.args(["--filter-platform", "x86_64-unknown-linux-gnu"]);
        let said = command.output().map_err(|error| format!("cargo metadata: {error}"))?;
        if !said.status.success() {
            return Err(format!("cargo metadata: {}", String::from_utf8_lossy(&said.stderr)));
        }
        serde_json::from_slice(&said.stdout).map_err(|error| format!("cargo metadata: {error}"))
    }

    /// The packages of the workspace.
    pub fn members(&self) -> impl Iterator<Item = &Package> {
        self.packages.iter().filter(|package| self.workspace_members.contains(&package.id))
    }

    /// The packages that are used on Linux, for tests and builds, too.
    pub fn used(&self) -> Vec<&Package> {
        let resolved: BTreeSet<&str> =
            self.resolve.nodes.iter().map(|node| node.id.as_str()).collect();
        self.packages.iter().filter(|package| resolved.contains(package.id.as_str())).collect()
    }

    /// The packages whose code is in the binary: no macros, no build scripts.
    pub fn shipped(&self, binary: &str) -> Vec<&Package> {
        let packages: BTreeMap<&str, &Package> =
            self.packages.iter().map(|package| (package.id.as_str(), package)).collect();
        let nodes: BTreeMap<&str, &Node> =
            self.resolve.nodes.iter().map(|node| (node.id.as_str(), node)).collect();
        let mut todo: Vec<&str> = self
            .packages
            .iter()
            .filter(|package| package.name == binary)
            .map(|package| package.id.as_str())
            .collect();
        let mut seen: BTreeSet<&str> = BTreeSet::new();
        while let Some(id) = todo.pop() {
            if !seen.insert(id) {
                continue;
            }
            let edges = nodes.get(id).into_iter().flat_map(|node| &node.deps);
            // Dependencies of builds and of tests have a kind, and are not in the binary.
            let linked = edges.filter(|edge| edge.dep_kinds.iter().any(|kind| kind.kind.is_none()));
            let ids = linked.map(|edge| edge.pkg.as_str());
            todo.extend(
                ids.filter(|id| packages.get(id).is_some_and(|package| !package.is_macro())),
            );
        }
        let mut shipped: Vec<&Package> =
            seen.into_iter().filter_map(|id| packages.get(id).copied()).collect();
        shipped.sort_by_key(|package| (package.name.as_str(), package.version.as_str()));
        shipped
    }
}
