//! What documents and comments cite exists: files that a clone has, and sections of the method.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Every file below `folder` with one of these endings; what builds leave behind is left out.
fn files(folder: &Path, endings: &[&str]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() && !["target", "node_modules", ".git", "corpus"].contains(&name.as_str()) {
            found.extend(files(&path, endings));
        } else if endings.iter().any(|ending| name.ends_with(ending)) {
            found.push(path);
        }
    }
    found
}

/// The words of a text that begin with one of these, up to their `.md`.
fn cited(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| c.is_whitespace() || "()[]`\"'*,;:<>|\\{}".contains(c));
    let documents = words.filter_map(|word| {
        let begins = word.starts_with("docs/") || word.starts_with("crates/");
        begins.then(|| word.split('#').next()).flatten()
    });
    documents.filter_map(|word| Some(format!("{}.md", word.split_once(".md")?.0))).collect()
}

#[test]
fn cited_documents_exist() {
    let root = root();
    for file in files(&root, &[".md", ".rs", ".toml", ".ts"]) {
        let text = fs::read_to_string(&file).unwrap();
        for name in cited(&text) {
            let placeholder = name.chars().any(|c| c.is_ascii_uppercase());
            let exists = placeholder || root.join(&name).exists();
            assert!(exists, "{} cites {name}, which does not exist", file.display());
        }
    }
}

#[test]
fn links_between_documents_lead_somewhere() {
    for file in files(&root(), &[".md"]) {
        let text = fs::read_to_string(&file).unwrap();
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let path = link.split('#').next().unwrap();
            let outside = path.is_empty() || path.contains("://") || path.contains(' ');
            let exists = outside || file.parent().unwrap().join(path).exists();
            assert!(exists, "{} links to {link}, which does not exist", file.display());
        }
    }
}

#[test]
fn cited_sections_of_the_method_exist() {
    let root = root();
    let method = fs::read_to_string(root.join("docs/method.md")).unwrap();
    let sections: BTreeSet<&str> =
        method.lines().filter_map(|line| line.strip_prefix("## ")).collect();
    let citation = format!("{}, *", "docs/method.md");
    for file in files(&root.join("crates"), &[".rs"]) {
        let text = fs::read_to_string(&file).unwrap();
        for line in text.lines() {
            for rest in line.split(&citation).skip(1) {
                let section = rest.split('*').next().unwrap();
                let exists = sections.contains(section);
                assert!(exists, "{}: docs/method.md has no section {section}", file.display());
            }
        }
    }
}
