//! THIRD-PARTY.md: the notices of all that is in the binary, each text once.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use super::metadata::{Metadata, Package};
use super::spdx::terms;

const HEAD: &str = "# Third-party notices

What the binary `plumb` contains that others wrote, with their licences. Written by `cargo xtask dependencies --write`;
do not edit.
";

const SQLITE: &str = "`libsqlite3-sys` brings SQLite, which is in the public domain.\n";

/// A text and those whose it is.
#[derive(Debug, Default)]
struct Notice {
    owners: Vec<String>,
    text: String,
}

/// The whole file.
pub fn notices(metadata: &Metadata) -> Result<String, String> {
    let root = &metadata.workspace_root;
    let font = read(root, "crates/show/chart/fonts/LICENSE")?;
    let script = read(root, "web/dist/plumb.js")?;
    let web = bundled(&script)?;
    let mut page = format!("{HEAD}\n## Crates\n\n{SQLITE}");
    for notice in crates(&metadata.shipped("plumb-cli"))? {
        let owners = notice.owners.join("\n- ");
        page.push_str(&format!("\n- {owners}\n\n```text\n{}\n```\n", notice.text));
    }
    page.push_str(&format!("\n## Fonts\n\n```text\n{}\n```\n", font.trim()));
    page.push_str(&format!("\n## Pages\n\nAs in `web/dist/plumb.js`.\n\n```text\n{web}\n```\n"));
    Ok(page)
}

/// The text of a file of the repository.
fn read(root: &Path, file: &str) -> Result<String, String> {
    fs::read_to_string(root.join(file)).map_err(|error| format!("{file}: {error}"))
}

/// The comment at the head of the script that pages bring.
fn bundled(script: &str) -> Result<&str, String> {
    let comment = script.strip_prefix("/*!\n").and_then(|rest| rest.split_once("*/"));
    let (comment, _) = comment.ok_or("web/dist/plumb.js has no licences at its head")?;
    Ok(comment.trim())
}

fn crates(packages: &[&Package]) -> Result<Vec<Notice>, String> {
    let mut notices: BTreeMap<String, Notice> = BTreeMap::new();
    for package in packages.iter().filter(|package| package.source.is_some()) {
        let licence = package.license.as_deref().unwrap_or_default();
        let texts = texts(package.folder(), licence)?;
        if texts.is_empty() {
            return Err(format!("{} has no licence text", package.name));
        }
        for text in texts {
            let (copyright, text) = parted(&text);
            let notice = notices.entry(key(&text)).or_default();
            let copyright = copyright.map_or_else(String::new, |line| format!(". {line}"));
            notice
                .owners
                .push(format!("{} {} ({licence}){copyright}", package.name, package.version));
            notice.text = text;
        }
    }
    let mut notices: Vec<Notice> = notices.into_values().collect();
    // Those of most first.
    notices.sort_by(|a, b| b.owners.len().cmp(&a.owners.len()).then(a.owners.cmp(&b.owners)));
    Ok(notices)
}

/// The licences of a package: of those among which one may choose MIT, if its text is there.
fn texts(folder: &Path, licence: &str) -> Result<Vec<String>, String> {
    let entries = fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut files: Vec<String> = entries
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| is_licence(name))
        .collect();
    // A folder lists its files in any order, and the page is compared with the committed one.
    files.sort();
    let choices = terms(licence);
    if let [choices] = choices.as_slice()
        && choices.contains(&"MIT")
        && let Some(mit) = files.iter().find(|name| name.contains("MIT"))
    {
        files = vec![mit.clone()];
    }
    let mut texts = Vec::new();
    for name in &files {
        // Some licences are in Latin-1.
        let bytes = fs::read(folder.join(name)).map_err(|error| format!("{name}: {error}"))?;
        texts.push(String::from_utf8_lossy(&bytes).into_owned());
    }
    Ok(texts)
}

fn is_copyright(line: &str) -> bool {
    line.trim_start().starts_with("Copyright ")
}

fn is_licence(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    ["LICENSE", "LICENCE", "COPYING", "NOTICE", "UNLICENSE"]
        .iter()
        .any(|start| name.starts_with(start))
}

/// The copyright of a text, if it has one, and the rest, which others share.
fn parted(text: &str) -> (Option<String>, String) {
    let mut lines: Vec<&str> = text.trim().lines().map(str::trim_end).collect();
    let mut of: Vec<String> = Vec::new();
    // One text with several of them is several licences, each with its own.
    if lines.iter().filter(|line| is_copyright(line)).count() == 1 {
        of.extend(lines.iter().find(|line| is_copyright(line)).map(|line| line.trim().to_owned()));
        lines.retain(|line| !is_copyright(line));
    }
    let rest = lines.join("\n").replace("\n\n\n", "\n\n").trim().to_owned();
    (of.pop(), rest)
}

/// The same for texts that differ in how their lines are broken.
fn key(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::{bundled, key, parted};

    #[test]
    fn a_copyright_is_parted_from_a_text_that_others_share() {
        let (copyright, text) = parted("MIT\n\nCopyright (c) 2020 A\n\nPermission is\ngranted\n");
        assert_eq!(copyright.as_deref(), Some("Copyright (c) 2020 A"));
        assert_eq!(text, "MIT\n\nPermission is\ngranted");
        assert_eq!(key(&text), "MIT Permission is granted");
        let several = "Copyright A\nx\nCopyright B\ny";
        assert_eq!(parted(several), (None, several.to_owned()));
    }

    #[test]
    fn a_script_has_its_licences_at_its_head() {
        assert_eq!(bundled("/*!\nISC\n*/\nvar a;"), Ok("ISC"));
        assert!(bundled("var a;/*!\nISC\n*/").is_err());
    }
}
