//! Dependencies that a manifest names and no source does.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use super::metadata::{Dependency, Metadata};

/// `package: dependency`, a line each.
pub fn unused(metadata: &Metadata) -> Result<Vec<String>, String> {
    let mut unused = Vec::new();
    for package in metadata.members() {
        let mut text = String::new();
        read(package.folder(), &mut text).map_err(|error| format!("{}: {error}", package.name))?;
        let missing =
            package.dependencies.iter().filter(|dependency| !names(&text, &identifier(dependency)));
        unused.extend(
            missing.map(|dependency| format!("{}: {} is not used", package.name, dependency.name)),
        );
    }
    unused.extend(workspace(metadata)?);
    Ok(unused)
}

/// Dependencies of the workspace that no member takes.
fn workspace(metadata: &Metadata) -> Result<Vec<String>, String> {
    let file = metadata.workspace_root.join("Cargo.toml");
    let text = fs::read_to_string(file).map_err(|error| format!("Cargo.toml: {error}"))?;
    let table: toml::Table =
        toml::from_str(&text).map_err(|error| format!("Cargo.toml: {error}"))?;
    let named =
        table.get("workspace").and_then(|workspace| workspace.get("dependencies")?.as_table());
    let taken: BTreeSet<&str> = metadata
        .members()
        .flat_map(|package| &package.dependencies)
        .map(|dependency| dependency.name.as_str())
        .collect();
    let names = named.into_iter().flat_map(|table| table.keys());
    let free = names.filter(|name| !taken.contains(name.as_str()));
    Ok(free.map(|name| format!("workspace: no package takes {name}")).collect())
}

fn identifier(dependency: &Dependency) -> String {
    dependency.rename.as_ref().unwrap_or(&dependency.name).replace('-', "_")
}

/// All sources of a package.
fn read(folder: &Path, text: &mut String) -> std::io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() && path.file_name().is_some_and(|name| name != "target") {
            read(&path, text)?;
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            text.push_str(&fs::read_to_string(&path)?);
        }
    }
    Ok(())
}

/// Whether a text has this word.
fn names(text: &str, word: &str) -> bool {
    text.match_indices(word).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + word.len()..].chars().next();
        !before.is_some_and(is_of_word) && !after.is_some_and(is_of_word)
    })
}

fn is_of_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests {
    use super::names;

    #[test]
    fn a_dependency_is_a_whole_word() {
        assert!(names("use toml::Table;", "toml"));
        assert!(names("#[derive(serde::Deserialize)]", "serde"));
        assert!(!names("use serde_json::Value;", "serde"));
        assert!(!names("let automl = 1;", "toml"));
    }
}
